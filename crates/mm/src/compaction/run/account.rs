//! Account of what compaction was worth: pageblocks emptied and pages moved, against the least number of moves that would
//! have done.
//!
//! Key types: [`Costs`] (number of pageblocks of a zone by the moves that empty them, kept up to date by the allocator),
//! [`Account`] (the account of one run). The least is a lower bound: the cheapest pageblocks at the beginning of the run,
//! whatever was in their way. Nothing is decided by the account, and only [`Mm::with_compaction_account`] keeps one.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use order9_frames::storage::Storage;
use order9_frames::{FrameTable, Idx, Pageblock, Verdict, is_whole, require};
use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES};

use crate::Mm;
use crate::compaction::run::control::CompactControl;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// Number of pageblocks by the moves that empty them, from none to a full pageblock.
type Histogram = [u32; PAGEBLOCK_PAGES.get() as usize + 1];

const EMPTY: Histogram = [0; PAGEBLOCK_PAGES.get() as usize + 1];

/// Cost of a pageblock that cannot be emptied or has no memory.
const NEVER: u16 = u16::MAX;

/// Moves that empty each pageblock.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    zones: Vec<Histogram>,
    of: Vec<u16>,
}

impl Costs {
    fn new(zones: usize, blocks: &[Pageblock], frames: &FrameTable) -> Self {
        let mut costs = Self { zones: vec![EMPTY; zones], of: vec![NEVER; blocks.len()] };
        (0..blocks.len()).for_each(|block| costs.touch(block, &blocks[block], frames));
        costs
    }

    /// Updates the cost of a pageblock whose counts have changed.
    #[inline]
    pub(crate) fn touch<S: Storage>(&mut self, block: usize, own: &Pageblock, frames: &FrameTable<S>) {
        let Some(zone) = self.zones.get_mut(own.zone.index()) else { return };
        let new = cost(own, block, frames);
        let old = core::mem::replace(&mut self.of[block], new);
        if old != new {
            if old != NEVER {
                zone[usize::from(old)] -= 1;
            }
            if new != NEVER {
                zone[usize::from(new)] += 1;
            }
        }
    }

    /// Bytes of metadata.
    pub(crate) fn bytes(&self) -> usize {
        self.zones.capacity() * size_of::<Histogram>() + self.of.capacity() * size_of::<u16>()
    }
}

/// Moves that empty the pageblock.
#[inline]
fn cost<S: Storage>(own: &Pageblock, block: usize, frames: &FrameTable<S>) -> u16 {
    // A run that has claimed a pageblock keeps it from others.
    if !own.is_evacuable() || own.migratetype == Migratetype::Isolate {
        return NEVER;
    }
    let pages = own.movable() + own.isolated;
    if u64::from(pages) < PAGEBLOCK_PAGES.get() {
        return pages;
    }
    // Held as a whole, or a huge page.
    let first = frames.word(Idx((block as u32) << Order::PAGEBLOCK.get()));
    if own.isolated == pages || is_whole(first) { NEVER } else { pages }
}

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

impl<T: Tracer> Mm<T> {
    /// Keeps an account of what compaction is worth, in [`Counters::compact_blocks_emptied`],
    /// [`Counters::compact_least_moves`] and [`Counters::compact_pages_moved`].
    ///
    /// [`Counters::compact_blocks_emptied`]: crate::Counters::compact_blocks_emptied
    /// [`Counters::compact_least_moves`]: crate::Counters::compact_least_moves
    /// [`Counters::compact_pages_moved`]: crate::Counters::compact_pages_moved
    #[must_use]
    pub fn with_compaction_account(mut self) -> Self {
        let costs = Costs::new(self.phys.frames.zones().len(), self.phys.frames.blocks(), self.phys.frames.table());
        self.phys.frames.watch_mut().costs = Some(Box::new(costs));
        self
    }
}

impl<T: Tracer> PhysMem<T> {
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

    #[test]
    fn the_cheapest_pageblocks_count() {
        let mut costs = EMPTY;
        (costs[0], costs[100], costs[300], costs[512]) = (7, 1, 2, 4);
        let least = |blocks| least_moves(&costs, blocks);
        assert_eq!((least(0), least(1), least(2), least(3), least(4)), (0, 100, 400, 700, 1212));
        assert_eq!(least(100), 700 + 4 * 512);
    }
}
