//! Sizes of hugetlb pools in words: how many pages of how many there are, and why not more.

use order9_machine::PoolResized;
use order9_mm::HugeOutlook;
use order9_mm::hugetlb::PoolSize;

/// A sentence about every pool whose size was set: about the last time, if there were several.
pub(crate) fn pool_notes(resized: &[PoolResized]) -> impl Iterator<Item = String> {
    let is_last = |&(at, of): &(usize, &PoolResized)| {
        let node = of.asked.node;
        resized[at + 1..].iter().all(|later| later.asked.node != node)
    };
    resized.iter().enumerate().filter(is_last).map(|(_, resized)| note(resized))
}

fn note(resized: &PoolResized) -> String {
    let &PoolResized { asked: PoolSize { pages, node }, had, has, took, failed, error, left } = resized;
    let node = node.map_or_else(String::new, |node| format!(" of node {}", node.0));
    let before = if had == 0 { String::new() } else { format!(", {had} of which there were before") };
    let seconds = took.get() as f64 / 1e9;
    let reached = format!("nr_hugepages{node}: {has} of {pages} huge pages after {seconds:.3} s{before}");
    if !resized.fell_short() {
        return reached;
    }
    let why = error.map_or_else(String::new, |error| format!(", the last one: {error}"));
    let requests = if failed == 1 { "request" } else { "requests" };
    let HugeOutlook { free, recoverable, lost, .. } = left;
    format!(
        "{reached}; {failed} {requests} failed{why}. Of all 2 MiB blocks {free} are free then, {recoverable} could be emptied by \
         moving pages, and {lost} hold what cannot be moved, pages of the pools included, or have no room to move to"
    )
}

#[cfg(test)]
mod tests {
    use order9_mm::AllocError;
    use order9_units::{Nanos, NodeId};

    use super::*;

    #[test]
    fn a_pool_that_fell_short_says_why() {
        let resized = |pages, node: Option<NodeId>, has| PoolResized {
            asked: PoolSize { pages, node },
            had: 4,
            has,
            took: Nanos::new(1_500_000_000),
            failed: u64::from(has < pages),
            error: (has < pages).then_some(AllocError::NoneAboveWatermark),
            left: HugeOutlook { free: 3, recoverable: 2, lost: 9, ..HugeOutlook::default() },
        };
        let all = [resized(8, None, 5), resized(9, Some(NodeId(1)), 9), resized(8, None, 6)];
        let notes: Vec<_> = pool_notes(&all).collect();
        assert_eq!(notes[0], "nr_hugepages of node 1: 9 of 9 huge pages after 1.500 s, 4 of which there were before");
        assert_eq!(
            notes[1],
            format!(
                "nr_hugepages: 6 of 8 huge pages after 1.500 s, 4 of which there were before; 1 request failed, the last one: \
                 {}. Of all 2 MiB blocks 3 are free then, 2 could be emptied by moving pages, and 9 hold what cannot be moved, \
                 pages of the pools included, or have no room to move to",
                AllocError::NoneAboveWatermark
            )
        );
        assert_eq!(notes.len(), 2);
    }
}
