//! Successive halving: many combinations get little, the better ones get more, until few are left that were tried well.
//!
//! Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and Hyperparameter Optimization" (AISTATS 2016). Here a
//! third goes on each time, as in Li and others, "Hyperband" (2018), and the budget is a number of runs.

use super::front::ranks;
use super::score::Marks;

/// Part that goes on: one of so many.
const ONE_OF: usize = 3;

/// A round: so many combinations go on, and then have so many runs each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Round {
    pub(super) kept: usize,
    pub(super) seeds: usize,
}

/// Rounds after the first, in which each of `count` combinations has one run. No fewer than `least` go on.
pub(super) fn rounds(count: usize, seeds: usize, least: usize) -> Vec<Round> {
    let mut rounds: Vec<Round> = Vec::new();
    let (mut kept, mut runs) = (count, 1);
    while runs < seeds || rounds.is_empty() {
        (kept, runs) = (kept.div_ceil(ONE_OF).max(least).min(count), (runs * ONE_OF).min(seeds));
        rounds.push(Round { kept, seeds: runs });
    }
    rounds
}

/// A combination in a round: marks, and the number of settings that it changes.
pub(super) type Entrant = (Marks, usize);

/// Places of the `kept` entrants that go on: one half by worth, of equal ones those with fewer changes; the other half by their rank
/// in the trade-off, so that the front keeps its length.
pub(super) fn promoted(entrants: &[Entrant], kept: usize) -> Vec<usize> {
    let mut by_worth: Vec<usize> = (0..entrants.len()).collect();
    by_worth.sort_by(|&one, &other| {
        let ((one, changes), (other, others)) = (&entrants[one], &entrants[other]);
        one.better(other).then(changes.cmp(others))
    });
    let objectives: Vec<Vec<f64>> = entrants.iter().map(|(marks, _)| marks.objectives.clone()).collect();
    let ranks = ranks(&objectives);
    let (best, rest) = by_worth.split_at(kept.div_ceil(2).min(entrants.len()));
    let mut rest = rest.to_vec();
    // Of equal rank, the more worthy comes first: the sort is stable.
    rest.sort_by_key(|&at| ranks[at]);
    best.iter().copied().chain(rest).take(kept).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entrant(excess: f64, short: f64, objectives: [f64; 2]) -> Entrant {
        (Marks { excess, short, objectives: objectives.to_vec() }, 1)
    }

    #[test]
    fn a_third_goes_on_with_three_times_the_runs() {
        let round = |kept, seeds| Round { kept, seeds };
        assert_eq!(rounds(60, 3, 6), [round(20, 3)]);
        assert_eq!(rounds(60, 9, 6), [round(20, 3), round(7, 9)]);
        assert_eq!(rounds(60, 5, 10), [round(20, 3), round(10, 5)]);
        assert_eq!(rounds(60, 1, 6), [round(20, 1)], "a choice is made all the same");
        assert_eq!(rounds(4, 3, 6), [round(4, 3)], "of few, all go on");
    }

    #[test]
    fn both_the_best_and_the_front_go_on() {
        let entrants = [
            entrant(0.0, 0.1, [5.0, 5.0]),
            entrant(0.5, 0.0, [1.0, 9.0]),
            entrant(0.0, 0.2, [6.0, 6.0]),
            entrant(0.0, 0.3, [7.0, 1.0]),
            entrant(0.0, 0.0, [4.0, 4.0]),
        ];
        // Two by worth; then what nothing beats, of which the fourth is within limits.
        assert_eq!(promoted(&entrants, 3), [4, 0, 3]);
        assert_eq!(promoted(&entrants, 9), [4, 0, 2, 3, 1], "all, by worth");
        let equal = [(entrants[0].0.clone(), 3), (entrants[0].0.clone(), 1)];
        assert_eq!(promoted(&equal, 1), [1], "fewer changes");
    }

    proptest! {
        #[test]
        fn the_best_always_goes_on(
            values in prop::collection::vec((0..3_u8, 0..5_u8, 0..5_u8), 1..30), kept in 1..10_usize,
        ) {
            let entrants: Vec<Entrant> = values
                .into_iter()
                .map(|(excess, goal, price)| entrant(excess.into(), goal.into(), [goal.into(), price.into()]))
                .collect();
            let promoted = promoted(&entrants, kept);
            prop_assert_eq!(promoted.len(), kept.min(entrants.len()));
            let distinct: std::collections::BTreeSet<_> = promoted.iter().collect();
            prop_assert_eq!(distinct.len(), promoted.len());
            let best = entrants.iter().map(|(marks, _)| (marks.excess, marks.short)).min_by(|a, b| a.partial_cmp(b).unwrap());
            let first = &entrants[promoted[0]].0;
            prop_assert_eq!(Some((first.excess, first.short)), best);
        }
    }
}
