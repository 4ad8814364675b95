//! [`Heard`]: what the layers above the allocator hear of frames, as it happens.
//!
//! The allocator knows nothing above it. It tells its [`Watch`] of lists, merges and pageblocks; compaction, reclaim and the
//! trace keep here what they take of that.

pub(crate) mod block_bits;
pub(crate) mod capture;
pub(crate) mod costs;
pub(crate) mod skipped_entries;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use order9_frames::storage::Storage;
use order9_frames::{FrameEvent, FrameTable, Idx, Pageblock, Watch, ZoneId, ZoneLockWork};
use order9_units::{Migratetype, Order};

use crate::heard::block_bits::BlockBits;
use crate::heard::capture::Capture;
use crate::heard::costs::Costs;
use crate::heard::skipped_entries::SkippedEntriesCache;
use crate::trace::{Event, Trace};
use crate::work::EarlierLocks;

/// State of layers above that changes whenever frames do.
#[derive(Clone)]
pub(crate) struct Heard {
    pub(crate) trace: Trace,
    /// The run whose task does the present step, and so may take what that frees.
    pub(crate) capture: Option<Capture>,
    /// The block that this task has got in the step; its run has it at the latest when the step ends.
    pub(crate) caught: Option<Idx>,
    /// Free blocks that searches for sources have passed over.
    pub(crate) skipped_entries: SkippedEntriesCache,
    /// Moves that emptying pageblocks takes, where somebody wants to know what compaction is worth.
    pub(crate) costs: Option<Box<Costs>>,
    /// Pageblocks that a scanner found to begin inside a huge block in use, which they still do.
    pub(crate) known_huge: BlockBits,
    /// Work under zone locks taken before the last one, since work was last taken.
    pub(crate) earlier_locks: EarlierLocks<ZoneId, ZoneLockWork>,
    /// Pages scanned since one of the zones of a set of LRU lists was last given a page back, by zone.
    pub(crate) scanned_since_free: ScannedSinceFree,
}

/// By set of LRU lists: pages scanned since one of its zones was last given a page back.
#[derive(Clone, Default)]
pub(crate) struct ScannedSinceFree {
    /// The set of each zone.
    set_of: Vec<usize>,
    pub(crate) pages: Vec<u64>,
}

impl Heard {
    /// For a machine with so many pageblocks, whose zones have these sets of LRU lists.
    pub(crate) fn new(blocks: usize, set_of: Vec<usize>, sets: usize) -> Self {
        Self {
            trace: Trace::default(),
            capture: None,
            caught: None,
            skipped_entries: SkippedEntriesCache::default(),
            costs: None,
            known_huge: BlockBits::new(blocks),
            earlier_locks: EarlierLocks::default(),
            scanned_since_free: ScannedSinceFree { set_of, pages: vec![0; sets] },
        }
    }
}

impl Watch for Heard {
    #[inline(always)]
    fn trace(&mut self, event: impl FnOnce() -> FrameEvent) {
        self.trace.event(|| Event::Frame(event()));
    }

    #[inline]
    fn listing<S: Storage>(&mut self, table: &FrameTable<S>, list: Idx, zone: ZoneId, order: Order, mt: Migratetype) {
        self.skipped_entries.trim(table, list, zone, order, mt);
    }

    #[inline]
    fn unlisting<S: Storage>(&mut self, table: &FrameTable<S>, list: Idx, zone: ZoneId, order: Order, idx: Idx) {
        self.skipped_entries.remove(table, list, zone, order, idx);
    }

    #[inline]
    fn freeing(&mut self, zone: ZoneId) {
        let ScannedSinceFree { set_of, pages } = &mut self.scanned_since_free;
        pages[set_of[zone.index()]] = 0;
    }

    #[inline]
    fn zone_unlocked(&mut self, zone: ZoneId, work: &mut ZoneLockWork) {
        self.earlier_locks.take(zone, work);
    }

    #[inline]
    fn is_waiting(&self) -> bool {
        self.capture.is_some()
    }

    #[cold]
    fn takes(&mut self, zone: ZoneId, idx: Idx, order: Order, mt: Migratetype) -> bool {
        let takes = self.capture.is_some_and(|capture| capture.takes(zone, order, mt));
        if takes {
            (self.capture, self.caught) = (None, Some(idx));
        }
        takes
    }

    #[inline]
    fn recounted<S: Storage>(&mut self, block: usize, of: &Pageblock, table: &FrameTable<S>) {
        if let Some(costs) = &mut self.costs {
            costs.touch(block, of, table);
        }
    }

    #[inline]
    fn huge_block_ends(&mut self, idx: Idx, order: Order) {
        for block in idx.block()..idx.block() + (1 << (order.get() - Order::PAGEBLOCK.get())) {
            self.known_huge.set(block, false);
        }
    }
}
