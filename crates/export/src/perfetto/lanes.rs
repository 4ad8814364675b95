//! Lanes: slices of a track that overlap go side by side, as a viewer nests what stands on one line.

use super::timeline::Slice;

/// Slices in as few lanes as it takes; those of a lane do not overlap, and stand in order of time.
pub(super) fn lanes(mut slices: Vec<Slice>) -> Vec<Vec<Slice>> {
    slices.sort_by_key(|slice| (slice.begin, slice.end));
    let mut lanes: Vec<Vec<Slice>> = Vec::new();
    for slice in slices {
        let is_free = |lane: &&mut Vec<Slice>| lane.last().is_none_or(|last| last.end <= slice.begin);
        match lanes.iter_mut().find(is_free) {
            Some(lane) => lane.push(slice),
            None => lanes.push(vec![slice]),
        }
    }
    lanes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlapping_slices_go_side_by_side() {
        let slice = |begin, end| Slice { name: String::new(), begin, end, fields: String::new() };
        let ends = |lanes: Vec<Vec<Slice>>| -> Vec<Vec<(u64, u64)>> {
            lanes.iter().map(|lane| lane.iter().map(|slice| (slice.begin, slice.end)).collect()).collect()
        };
        let found = ends(lanes(vec![slice(4, 9), slice(0, 4), slice(2, 6), slice(6, 7)]));
        assert_eq!(found, [vec![(0, 4), (4, 9)], vec![(2, 6), (6, 7)]]);
    }
}
