//! Bounds for two scanners that walk towards each other.

use order9_units::Pages;

use super::Block;

/// The most blocks that can be free when pages move only from below a meeting point to above it: free blocks above, plus
/// as many of the cheapest evacuable blocks below as the target blocks above have room for.
///
/// Free blocks above the meeting point are neither filled nor counted as room, as Linux' free scanner passes over them.
/// Real scanners stay below this, because they take blocks in order of address, not of cost. O(blocks · log pageblock).
#[must_use]
pub fn meeting_scanners(pageblock: Pages, blocks: &[Block]) -> u64 {
    let pageblock = pageblock.get();
    let is_free = |block: &Block| u64::from(block.free) == pageblock;
    let room_in = |block: &Block| if block.target && !is_free(block) { u64::from(block.free) } else { 0 };
    let mut free_above = blocks.iter().filter(|b| is_free(b)).count() as u64;
    let mut room: u64 = blocks.iter().map(room_in).sum();
    let mut below = Costs::new(pageblock as usize);
    let mut best = free_above;
    for block in blocks {
        free_above -= u64::from(is_free(block));
        room -= room_in(block);
        if u64::from(block.free) + u64::from(block.movable) == pageblock {
            below.add(usize::from(block.movable));
        }
        best = best.max(free_above + below.most_within(room));
    }
    best
}

/// A growing multiset of costs: two Fenwick trees, over how many there are of each cost and what they sum to.
struct Costs {
    tree: Vec<(u64, u64)>,
}

impl Costs {
    fn new(highest: usize) -> Self {
        Self { tree: vec![(0, 0); (highest + 1).next_power_of_two() + 1] }
    }

    fn add(&mut self, cost: usize) {
        let mut at = cost + 1;
        while at < self.tree.len() {
            self.tree[at].0 += 1;
            self.tree[at].1 += cost as u64;
            at += at & at.wrapping_neg();
        }
    }

    /// Number of the cheapest blocks whose costs sum to at most `limit`.
    fn most_within(&self, limit: u64) -> u64 {
        let (mut count, mut sum, mut at) = (0, 0, 0);
        let mut step = self.tree.len() - 1;
        while step > 0 {
            if let Some(&(more, cost)) = self.tree.get(at + step)
                && sum + cost <= limit
            {
                (count, sum, at) = (count + more, sum + cost, at + step);
            }
            step /= 2;
        }
        // Every cheaper one fits; of the next cost, `at`, some still may. There is one, or the descent had gone further.
        count + if at + 1 < self.tree.len() { (limit - sum) / at.max(1) as u64 } else { 0 }
    }
}
