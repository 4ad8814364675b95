//! Random numbers, times and sizes; the same on every platform, hence no function of the platform's own library.

use order9_units::{Nanos, Order};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// The kernel's own blocks are of this order at most.
const BLOCK_ORDER_MAX: u8 = 3;
/// Probability that a block is of the order under consideration, and not of a higher one.
const ORDER_ENDS: f64 = 0.7;

/// One random stream.
pub(crate) struct Dice(Pcg64Mcg);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::new(u128::from(seed) | 1))
    }

    /// A number from 0 up to, but not including, 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    pub(crate) fn chance(&mut self, share: f64) -> bool {
        self.share() < share
    }

    /// One of `0..end`, which is not empty.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.next_u64() % end
    }

    /// A whole number from `from` to `to`, both included.
    pub(crate) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// An exponentially distributed duration.
    pub(crate) fn exponential(&mut self, mean: Nanos) -> Nanos {
        nanos(-libm::log(1.0 - self.share()) * mean.get() as f64)
    }

    /// Pareto distributed from `least` on, but at most `most`.
    pub(crate) fn pareto(&mut self, alpha: f64, least: Nanos, most: Nanos) -> Nanos {
        nanos(least.get() as f64 / libm::pow(1.0 - self.share(), 1.0 / alpha)).min(most)
    }

    /// A number whose logarithm is uniformly distributed: as likely between 1 and 2 as between 2 and 4.
    pub(crate) fn log_uniform(&mut self, least: f64, most: f64) -> f64 {
        least * libm::exp(self.share() * libm::log(most / least))
    }

    /// Order of a block that the kernel takes for itself: geometrically distributed; what would be too large is drawn again.
    pub(crate) fn block_order(&mut self) -> Order {
        loop {
            let order = (0..=BLOCK_ORDER_MAX).find(|_| self.chance(ORDER_ENDS));
            if let Some(order) = order.and_then(Order::new) {
                return order;
            }
        }
    }

    /// Every order of the items is as likely.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Rounds down; at most what can be counted.
pub(crate) fn nanos(ns: f64) -> Nanos {
    Nanos::new(ns as u64)
}

/// Ranks `0..n`, rank k with a likelihood in proportion to 1 / (k + 1)^exponent.
pub(crate) struct Zipf(Vec<f64>);

impl Zipf {
    /// `n` is not zero.
    pub(crate) fn new(n: usize, exponent: f64) -> Self {
        let mut sum = 0.0;
        let ranks = (1..=n).map(|rank| {
            sum += 1.0 / libm::pow(rank as f64, exponent);
            sum
        });
        Self(ranks.collect())
    }

    pub(crate) fn rank(&self, dice: &mut Dice) -> usize {
        let end = self.0.last().copied().unwrap_or_default();
        let at = dice.share() * end;
        self.0.partition_point(|&sum| sum <= at).min(self.0.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 100_000;

    fn mean(mut value: impl FnMut(&mut Dice) -> f64) -> f64 {
        let mut dice = Dice::new(7);
        (0..N).map(|_| value(&mut dice)).sum::<f64>() / N as f64
    }

    #[test]
    fn distributions_have_their_means() {
        let second = Nanos::new(1_000_000_000);
        let seconds = |time: Nanos| time.get() as f64 / 1e9;
        assert!((mean(|dice| seconds(dice.exponential(second))) - 1.0).abs() < 0.02);
        // alpha / (alpha - 1), nearly nothing being cut off.
        let pareto = mean(|dice| seconds(dice.pareto(3.0, second, Nanos::new(u64::MAX))));
        assert!((pareto - 1.5).abs() < 0.02, "{pareto}");
        let cut = mean(|dice| seconds(dice.pareto(1.2, second, second + second)));
        assert!((1.0..2.0).contains(&cut));
        // (most - least) / ln(most / least)
        assert!((mean(|dice| dice.log_uniform(1.0, 128.0)) - 127.0 / 4.852).abs() < 0.3);
        assert!((mean(|dice| dice.between(1, 64) as f64) - 32.5).abs() < 0.3);
    }

    #[test]
    fn low_ranks_are_likely_and_all_are_possible() {
        let zipf = Zipf::new(3, 0.9);
        let mut seen = [0.0f64; 3];
        let mut dice = Dice::new(1);
        (0..N).for_each(|_| seen[zipf.rank(&mut dice)] += 1.0);
        assert!((seen[0] / seen[1] - 1.866).abs() < 0.05 && (seen[0] / seen[2] - 2.688).abs() < 0.1, "{seen:?}");
    }

    #[test]
    fn orders_of_blocks_are_geometric_and_truncated() {
        let mut dice = Dice::new(2);
        let mut seen = [0u32; 4];
        (0..N).for_each(|_| seen[dice.block_order().index()] += 1);
        for (order, share) in [0.7058, 0.2117, 0.0635, 0.0191].into_iter().enumerate() {
            assert!((f64::from(seen[order]) / 1e5 - share).abs() < 0.01, "{seen:?}");
        }
    }

    #[test]
    fn shuffling_loses_nothing() {
        let mut items: Vec<u32> = (0..100).collect();
        Dice::new(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
