//! A seeded sample of combinations: a Latin hypercube over lists of values.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

/// `count` combinations of positions in lists of these lengths. Every position of a list occurs as often as any other, give or
/// take one, and lists are shuffled apart: McKay, Beckman and Conover, "A Comparison of Three Methods for Selecting Values of Input Variables
/// in the Analysis of Output from a Computer Code" (1979).
pub(super) fn latin(lengths: &[usize], count: usize, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Pcg64Mcg::new(u128::from(seed) << 1 | 1);
    let columns: Vec<Vec<usize>> = lengths.iter().map(|&length| shuffled(length, count, &mut random)).collect();
    (0..count).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
}

/// Every position as often as any other, in any order.
fn shuffled(length: usize, count: usize, random: &mut Pcg64Mcg) -> Vec<usize> {
    // Which positions occur once more is as random as their order.
    let mut order: Vec<usize> = (0..length).collect();
    shuffle(&mut order, random);
    let mut column: Vec<usize> = (0..count).map(|row| order[row % length]).collect();
    shuffle(&mut column, random);
    column
}

fn shuffle(values: &mut [usize], random: &mut Pcg64Mcg) {
    for last in (1..values.len()).rev() {
        let at = random.next_u64() % (last as u64 + 1);
        values.swap(last, at as usize);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_value_occurs_as_often_as_any_other(
            lengths in prop::collection::vec(1..6_usize, 1..8), count in 1..60_usize, seed: u64,
        ) {
            let sample = latin(&lengths, count, seed);
            prop_assert_eq!(sample.len(), count);
            for (at, &length) in lengths.iter().enumerate() {
                let times = |value| sample.iter().filter(|row| row[at] == value).count();
                for value in 0..length {
                    prop_assert!((count / length..=count.div_ceil(length)).contains(&times(value)));
                }
            }
            prop_assert_eq!(sample, latin(&lengths, count, seed), "the same again");
        }
    }

    #[test]
    fn lists_are_shuffled_apart() {
        let sample = latin(&[5, 5], 100, 1);
        let pairs: std::collections::BTreeSet<_> = sample.into_iter().collect();
        assert!(pairs.len() > 20, "{} of 25 pairs", pairs.len());
    }
}
