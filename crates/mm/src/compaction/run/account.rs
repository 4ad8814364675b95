//! Account of what compaction was worth: pageblocks emptied and pages moved, against the least number of moves that would
//! have done.
//!
//! Key types: [`Costs`] (number of pageblocks of a zone by the moves that empty them, kept up to date by the allocator),
//! [`Account`] (the account of one run). The least is a lower bound: the cheapest pageblocks at the beginning of the run,
//! whatever was in their way. Nothing is decided by the account, and only [`Mm::with_compaction_account`] keeps one.

use alloc::boxed::Box;
use alloc::vec::Vec;

use order9_frames::{Idx, Verdict, require};
use order9_units::{Order, PAGEBLOCK_PAGES};

use crate::compaction::run::control::CompactControl;
use crate::heard::costs::{Costs, Histogram};
use crate::phys::PhysMem;

/// The least number of moves that empty `blocks` pageblocks which are not empty yet, or all there are.
fn least_moves(costs: &Histogram, blocks: u64) -> u64 {
    let mut left = blocks;
    let mut moves = 0;
    for (cost, &number) in (0_u64..).zip(costs).skip(1) {
        let taken = left.min(u64::from(number));
        moves += taken * cost;
        left -= taken;
    }
    moves
}

/// Account of one run.
#[derive(Clone, Debug, Default)]
pub(in crate::compaction) struct Account {
    /// Costs when the run began; `None` without an account, or if the run is for less than a pageblock.
    before: Option<Box<Histogram>>,
    /// Pageblocks that pages were moved out of and that are not known to be empty.
    left: Vec<u32>,
    emptied: u64,
    moved: u64,
}

impl PhysMem {
    pub(crate) fn open_account(&self, run: &mut CompactControl) {
        if run.order.is_none_or(|order| order >= Order::PAGEBLOCK) {
            run.account.before =
                self.frames.watch().costs.as_ref().map(|costs| Box::new(costs.zones[run.zone.index()]));
        }
    }

    /// Counts pages moved out of a pageblock.
    pub(super) fn count_moves(&self, run: &mut CompactControl, moved: u64, block: u32) {
        let account = &mut run.account;
        if account.before.is_some() {
            account.moved += moved;
            if moved > 0 && !account.left.contains(&block) {
                account.left.push(block);
            }
        }
    }

    /// Counts the pageblocks that are empty by now among those that the run took pages from.
    pub(super) fn count_emptied(&self, run: &mut CompactControl) {
        let captured = run.captured.map(Idx::block);
        let account = &mut run.account;
        let before = account.left.len();
        account.left.retain(|&block| captured != Some(block as usize) && !self.is_in_use(block));
        account.emptied += (before - account.left.len()) as u64;
    }

    /// Whether a frame of the pageblock is in use; free frames in per-CPU lists are not.
    fn is_in_use(&self, block: u32) -> bool {
        let first = Idx(block << Order::PAGEBLOCK.get());
        let mut at = 0;
        while at < PAGEBLOCK_PAGES.get() as u32 {
            let word = self.frames.word(first.plus(at));
            if !(word.is_free() || word.is_pcp()) {
                return false;
            }
            at += word.frames() as u32;
        }
        true
    }

    /// Counts the pageblock that a claim of the run has emptied.
    pub(in crate::compaction) fn count_claim(&self, run: &mut CompactControl, first: Idx) {
        if run.account.before.is_some() {
            run.account.left.retain(|&block| block as usize != first.block());
            run.account.emptied += 1;
        }
    }

    pub(crate) fn close_account(&mut self, run: &mut CompactControl) {
        self.count_emptied(run);
        let Some(before) = &run.account.before else { return };
        self.counters.compact_blocks_emptied += run.account.emptied;
        self.counters.compact_pages_moved += run.account.moved;
        self.counters.compact_least_moves += least_moves(before, run.account.emptied);
    }

    /// Checks the costs against a recount.
    pub(crate) fn check_costs(&self) -> Verdict {
        let Some(costs) = &self.frames.watch().costs else { return Ok(()) };
        let right = Costs::new(self.frames.zones().len(), self.frames.blocks(), self.frames.table());
        let wrong = (0..costs.of.len()).find(|&block| costs.of[block] != right.of[block]);
        require(wrong.is_none() && costs.zones == right.zones, "costs of pageblocks are kept", || {
            alloc::format!("pageblock {wrong:?}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heard::costs::EMPTY;

    #[test]
    fn the_cheapest_pageblocks_count() {
        let mut costs = EMPTY;
        (costs[0], costs[100], costs[300], costs[512]) = (7, 1, 2, 4);
        let least = |blocks| least_moves(&costs, blocks);
        assert_eq!((least(0), least(1), least(2), least(3), least(4)), (0, 100, 400, 700, 1212));
        assert_eq!(least(100), 700 + 4 * 512);
    }
}
