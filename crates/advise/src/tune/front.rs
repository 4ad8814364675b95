//! Trade-offs: combinations that no other one beats in everything.

/// Whether `one` is nowhere worse than `other` and somewhere better. Less is better.
fn dominates(one: &[f64], other: &[f64]) -> bool {
    let pairs = || one.iter().zip(other);
    pairs().all(|(one, other)| one <= other) && pairs().any(|(one, other)| one < other)
}

/// The rank of every point: 0 is on the front, 1 is on the front of those that are left without it, and so on. Less is better.
/// Nondominated sorting: Deb and others, "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II" (2002).
pub(super) fn ranks(points: &[Vec<f64>]) -> Vec<usize> {
    let mut ranks = vec![None; points.len()];
    for rank in 0.. {
        let open: Vec<usize> = (0..points.len()).filter(|&at| ranks[at].is_none()).collect();
        if open.is_empty() {
            break;
        }
        let is_beaten = |at: usize| open.iter().any(|&other| dominates(&points[other], &points[at]));
        for &at in open.iter().filter(|&&at| !is_beaten(at)) {
            ranks[at] = Some(rank);
        }
    }
    ranks.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_front_is_what_nothing_beats() {
        let points =
            [[1.0, 9.0], [2.0, 2.0], [9.0, 1.0], [3.0, 3.0], [9.0, 9.0], [2.0, 2.0]].map(|point| point.to_vec());
        assert_eq!(ranks(&points), [0, 0, 0, 1, 2, 0], "equal points are on it together");
        assert_eq!(ranks(&[vec![f64::INFINITY], vec![1.0]]), [1, 0], "what was not measured is worst");
        assert!(ranks(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn ranks_agree_with_their_definition(
            points in prop::collection::vec(prop::collection::vec(0..4_u8, 3), 0..24),
        ) {
            let points: Vec<Vec<f64>> = points.into_iter().map(|of| of.into_iter().map(f64::from).collect()).collect();
            let ranks = ranks(&points);
            // Length of the longest chain of points of which each beats the next.
            fn chain(at: usize, points: &[Vec<f64>]) -> usize {
                let beating = (0..points.len()).filter(|&other| dominates(&points[other], &points[at]));
                beating.map(|other| 1 + chain(other, points)).max().unwrap_or(0)
            }
            for (at, rank) in ranks.iter().enumerate() {
                prop_assert_eq!(*rank, chain(at, &points));
            }
        }
    }
}
