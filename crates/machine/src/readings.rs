//! When counters are read: at a fixed interval, or finely at first and more and more seldom as a run goes on.
//!
//! Nobody knows before how long a run takes, and a picture of it needs some hundred readings. So the first interval is a small
//! part of the usual one; whenever [`KEPT`] readings are held every other one is dropped and the interval doubled, until it
//! is the usual one. A run then has between half of `KEPT` and `KEPT` readings, or more at the usual interval. To read
//! changes nothing about a run.

use order9_units::Nanos;

/// Readings that are held before they are thinned out.
pub(crate) const KEPT: usize = 400;
/// The first interval is one of this power of two parts of the usual one.
const FINEST: u32 = 13;

/// Time of the next reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The usual interval between two readings.
    every: Nanos,
    /// The interval now is one of `1 << halvings` parts of it.
    halvings: u32,
    /// Number of the reading, at this interval.
    nth: u64,
}

impl Clock {
    /// A clock at 0, which begins finely or reads at `every` throughout.
    pub(crate) fn new(every: Nanos, finely: bool) -> Self {
        Self { every, halvings: if finely { FINEST } else { 0 }, nth: 0 }
    }

    /// The time of the reading.
    pub(crate) fn now(self) -> Nanos {
        Nanos::new(((u128::from(self.nth) * u128::from(self.every.get())) >> self.halvings) as u64)
    }

    /// Whether there is a reading at this time at the usual interval, too.
    pub(crate) fn is_usual(self) -> bool {
        self.nth.is_multiple_of(1 << self.halvings)
    }

    /// Goes on to the next reading, where `held` are held; whether every other one of them, the second first, is to be
    /// dropped before.
    #[must_use]
    pub(crate) fn advance(&mut self, held: usize) -> bool {
        let thins = self.halvings > 0 && held >= KEPT;
        if thins {
            self.halvings -= 1;
            self.nth /= 2;
        }
        self.nth += 1;
        thins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of the readings of a run that ends after `end`.
    fn readings(every: u64, end: u64) -> Vec<u64> {
        let mut clock = Clock::new(Nanos::new(every), true);
        let mut times: Vec<u64> = Vec::new();
        while clock.now().get() <= end {
            times.push(clock.now().get());
            if clock.advance(times.len()) {
                let mut nth = 0;
                times.retain(|_| {
                    nth += 1;
                    nth % 2 == 1
                });
            }
        }
        times
    }

    #[test]
    fn every_run_has_some_hundred_readings_at_one_interval() {
        const SECOND: u64 = 1_000_000_000;
        for end in [SECOND / 14, SECOND, 7 * SECOND + 3, 300 * SECOND] {
            let times = readings(SECOND, end);
            assert!((200..=400).contains(&times.len()), "{} readings of {end} ns", times.len());
            let steps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            let (least, most) = (steps.iter().min().unwrap(), steps.iter().max().unwrap());
            assert!(most - least <= 1, "{least} to {most}");
        }
        let long = readings(SECOND, 1000 * SECOND);
        assert_eq!(long, (0..=1000).map(|second| second * SECOND).collect::<Vec<_>>());
    }

    #[test]
    fn usual_readings_are_those_of_the_usual_interval() {
        let mut clock = Clock::new(Nanos::new(10), true);
        let mut usual = Vec::new();
        for _ in 0..200_000 {
            if clock.is_usual() {
                usual.push(clock.now().get());
            }
            let _ = clock.advance(0);
        }
        assert_eq!(usual, (0..25).map(|nth| nth * 10).collect::<Vec<_>>());
        let mut fixed = Clock::new(Nanos::new(10), false);
        assert!(!fixed.advance(1000) && fixed.is_usual());
        assert_eq!(fixed.now(), Nanos::new(10));
    }
}
