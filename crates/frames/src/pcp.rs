//! Per-CPU lists: free pages kept near the CPU that freed them, so that most requests never take the zone lock.
//!
//! Key types: [`Pcp`] (one CPU's lists in one zone), [`PcpLists`] (which blocks they hold, on which list). Pages here are
//! not part of `nr_free_pages` and do not merge; a drain returns them.

use order9_units::{Migratetype, Order};

use crate::Frames;
use crate::count::Class;
use crate::fallback::TakeMode;
use crate::frame::{Flag, FrameTable, Idx, READ_TOGETHER, Word};
use crate::gfp::AllocFlags;
use crate::policy::{PcpHigh, PcpLists, PcpPolicy};
use crate::storage::Storage;
use crate::watch::{FrameEvent, Watch};
use crate::zone::ZoneId;

/// Lists of free blocks of one zone for one CPU, on a cache line. Sizes are in pages.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Pcp {
    first_list: u32,
    count: u64,
    high: u64,
    high_min: u64,
    high_max: u64,
    batch: u64,
    /// Doublings of what a full list gives back while frees go on without allocations. 5.14 to 6.6.
    free_factor: u8,
    /// Doublings of what a refill takes while allocations go on without frees. 6.7+.
    refill_factor: u8,
    /// Pages freed in a row; each allocation halves it. 6.7+.
    freed: u64,
}

impl Pcp {
    /// Lists of no CPU, to fill tables with.
    pub const NONE: Self = Self::new(Idx(0));

    pub(crate) const fn new(first_list: Idx) -> Self {
        Self {
            first_list: first_list.0,
            count: 0,
            high: 0,
            high_min: 0,
            high_max: 0,
            batch: 1,
            free_factor: 0,
            refill_factor: 0,
            freed: 0,
        }
    }

    /// Pages on the lists.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Pages at which some go back to the zone; 0 switches the lists off.
    #[must_use]
    pub const fn high(&self) -> u64 {
        self.high
    }

    /// Pages that move between the lists and the zone at once.
    #[must_use]
    pub const fn batch(&self) -> u64 {
        self.batch
    }

    /// Sentinel of list `n`.
    #[must_use]
    pub const fn list(&self, n: usize) -> Idx {
        Idx(self.first_list + n as u32)
    }

    /// Takes the first block of list `n`, which holds blocks of `order`.
    #[inline(always)]
    pub(crate) fn pop<S: Storage>(&mut self, frames: &mut FrameTable<S>, n: usize, order: Order) -> Option<Idx> {
        let idx = frames.pop_head(self.list(n))?;
        self.count -= order.pages().get();
        self.free_factor >>= 1;
        self.freed >>= 1;
        Some(idx)
    }

    /// Puts a block of `order` at the head of list `n`; says whether the lists are now too long.
    #[inline(always)]
    pub(crate) fn push<S: Storage>(&mut self, frames: &mut FrameTable<S>, n: usize, idx: Idx, order: Order) -> bool {
        frames.push_head(self.list(n), idx);
        self.count += order.pages().get();
        self.note_freed(order.pages().get());
        self.count >= self.high
    }

    /// Puts a block of `order` with this word at the tail of list `n`, as found on a running machine.
    pub(crate) fn inherit<S: Storage>(
        &mut self,
        frames: &mut FrameTable<S>,
        n: usize,
        idx: Idx,
        order: Order,
        word: Word,
    ) {
        frames.set(idx, word);
        frames.push_tail(self.list(n), idx);
        self.count += order.pages().get();
    }

    /// Sets the sizes for a zone of `managed` pages with low mark `low`, shared by `cpus` CPUs of its node. A
    /// `high_fraction` above 0 is `vm.percpu_pagelist_high_fraction`, which ends all tuning.
    pub(crate) fn resize(&mut self, managed: u64, low: u64, cpus: u64, high_fraction: u64, policy: &PcpPolicy) {
        let Some(batch) = batch(managed, policy.batch_max) else {
            (self.batch, self.high, self.high_min, self.high_max) = (1, 0, 0, 0);
            return;
        };
        self.batch = batch;
        let to_share = managed.checked_div(high_fraction).unwrap_or(low);
        let shared = (to_share / cpus.max(1)).max(4 * batch);
        (self.high_min, self.high_max) = match policy.high {
            PcpHigh::SixBatches => (6 * batch, 6 * batch),
            PcpHigh::AutoTuned if high_fraction == 0 => (shared, shared.max(managed / 8 / cpus.max(1))),
            PcpHigh::AutoTuned | PcpHigh::LowMark => (shared, shared),
        };
        self.high = self.high_min;
    }

    /// Raises the size to `high`, and to what the lists hold, as far as they follow the load.
    pub(crate) fn inherit_high(&mut self, high: u64) {
        self.high = self.count.max(high).clamp(self.high_min, self.high_max);
    }
}

/// `batch` of a zone; `None` where it is too small for per-CPU lists.
fn batch(managed: u64, batch_max: u64) -> Option<u64> {
    let quarter = ((managed / 1024).min(batch_max) / 4).max(1);
    let scaled = quarter + quarter / 2;
    let batch = (1 << scaled.ilog2()) - 1;
    (batch > 0).then_some(batch)
}

/// The map from blocks to per-CPU lists.
impl PcpLists {
    /// Lists per CPU and zone.
    #[must_use]
    pub const fn count(self) -> usize {
        let types = Migratetype::PCP.len();
        match self {
            Self::BasePages => types,
            Self::UpToCostly { huge_lists } => 4 * types + huge_lists as usize,
        }
    }

    /// The list for single pages.
    #[must_use]
    pub const fn of_single(mt: Migratetype) -> usize {
        mt.index()
    }

    /// The list for a block, or `None` where blocks of `order` go straight to the buddy lists.
    #[must_use]
    pub const fn list_for(self, order: Order, mt: Migratetype) -> Option<usize> {
        let types = Migratetype::PCP.len();
        match (self, order.get()) {
            (_, 0) => Some(Self::of_single(mt)),
            (Self::UpToCostly { .. }, 1..=3) => Some(order.index() * types + mt.index()),
            (Self::UpToCostly { huge_lists }, 9) => Some(
                4 * types
                    + match huge_lists {
                        3 => mt.index(),
                        2 => !matches!(mt, Migratetype::Movable) as usize,
                        _ => 0,
                    },
            ),
            _ => None,
        }
    }
}

/// The type whose per-CPU list takes a page of a pageblock of type `mt`; `None` where it must not be cached.
#[must_use]
pub const fn cached_as(mt: Migratetype) -> Option<Migratetype> {
    match mt {
        Migratetype::HighAtomic | Migratetype::Cma => Some(Migratetype::Movable),
        Migratetype::Isolate => None,
        mt => Some(mt),
    }
}

/// The next of the lists whose bits are set behind list `n`, from the first again after the last.
const fn next_of(lists: u32, n: usize) -> usize {
    let behind = lists & (u32::MAX << n << 1);
    (if behind == 0 { lists } else { behind }).trailing_zeros() as usize
}

/// By type of the pageblock: the word of a single page that is cached.
const CACHED_WORDS: [Word; Migratetype::COUNT] = {
    let mut words = [Word::TAIL; Migratetype::COUNT];
    let mut n = 0;
    while n < words.len() {
        let mt = Migratetype::ALL[n];
        let immovable = matches!(cached_as(mt), Some(Migratetype::Unmovable | Migratetype::Reclaimable));
        words[n] = Word::pcp(Order::ZERO, mt).with_bits(if immovable { Flag::CountedImmovable as u32 } else { 0 }, 0);
        n += 1;
    }
    words
};

/// The word of a cached block of a pageblock of type `mt`.
#[inline]
pub(crate) const fn cached_word(order: Order, mt: Migratetype) -> Word {
    CACHED_WORDS[mt.index()].of_order(order)
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Position of a CPU's lists of a zone.
    #[inline]
    pub(crate) fn pcp_at(&self, zone: ZoneId, cpu: usize) -> usize {
        cpu * self.zones.len() + zone.index()
    }

    /// Per-CPU lists of a zone, by CPU.
    pub fn pcps(&self, zone: ZoneId) -> impl ExactSizeIterator<Item = &Pcp> {
        self.pcps.iter().skip(zone.index()).step_by(self.zones.len())
    }

    /// A CPU's lists of a zone; `None` past the last CPU.
    #[must_use]
    pub fn pcp(&self, zone: ZoneId, cpu: usize) -> Option<&Pcp> {
        self.pcps.get(self.pcp_at(zone, cpu))
    }

    /// Pages of a zone on per-CPU lists.
    #[must_use]
    pub fn pcp_pages(&self, zone: ZoneId) -> u64 {
        self.pcps(zone).map(|pcp| pcp.count).sum()
    }

    /// Refills one of the CPU's lists from the zone and takes a block from it.
    #[cold]
    pub(crate) fn refill_and_take(
        &mut self,
        zone: ZoneId,
        cpu: usize,
        list: usize,
        order: Order,
        mt: Migratetype,
        flags: &AllocFlags,
    ) -> Option<Idx> {
        let sentinel = self.pcps[self.pcp_at(zone, cpu)].list(list);
        self.refill_pcp(zone, cpu, sentinel, order, mt, flags);
        let at = self.pcp_at(zone, cpu);
        self.pcps[at].pop(&mut self.table, list, order)
    }

    fn refill_pcp(&mut self, zone: ZoneId, cpu: usize, list: Idx, order: Order, mt: Migratetype, flags: &AllocFlags) {
        self.lock_zone(zone);
        let at = self.pcp_at(zone, cpu);
        let is_tuned = self.policy.pcp.high == PcpHigh::AutoTuned;
        let blocks = self.pcps[at].refill_blocks(order, is_tuned, self.zones[zone.index()].below_high);
        let mut mode = TakeMode::Own;
        let mut left: u64 = blocks;
        while left > 0 {
            let run = self.may_take_runs(order, mt, flags).then(|| self.take_run(zone, order, mt, left)).flatten();
            let run = run.or_else(|| Some((self.take_from_zone(zone, order, mt, flags, &mut mode)?, 1)));
            let Some((idx, count)) = run else { break };
            self.cache_run(idx, order, count, mt, list);
            self.pcps[at].count += count << order.get();
            left -= count;
        }
    }

    /// Whether a refill may take all it can from one block: nobody has to look at what is free after each page.
    fn may_take_runs(&self, order: Order, mt: Migratetype, flags: &AllocFlags) -> bool {
        let balances = self.policy.cma_balance && mt == Migratetype::Movable && flags.cma;
        order <= Order::PAGEBLOCK && !balances && self.index.is_none()
    }

    /// Puts `count` blocks from `idx` on, which no pageblock counts, at the tail of `list`, which is of type `mt`.
    fn cache_run(&mut self, idx: Idx, order: Order, count: u64, mt: Migratetype, list: Idx) {
        // What was lent from a contiguous memory area goes back there if nobody uses it.
        let own = self.blocks[idx.block()].migratetype;
        let cached = if own == Migratetype::Cma { own } else { mt };
        let word = Word::pcp(order, cached).with(Flag::CountedImmovable, mt != Migratetype::Movable);
        for n in 0..count as u32 {
            let idx = idx.plus(n << order.get());
            self.table.set(idx, word);
            self.table.push_tail(list, idx);
            let pfn = self.table.pfn(idx);
            self.watch.trace(|| FrameEvent::PageAllocZoneLocked { pfn, order, migratetype: mt, percpu_refill: true });
        }
        self.count_in_run(idx, order, count, Class::of_used(word));
    }

    /// Returns at least `pages` pages, or all there are, from the tails of the CPU's lists.
    pub fn drain_pcp(&mut self, zone: ZoneId, cpu: usize, pages: u64) {
        self.drain_pcp_from(zone, cpu, pages, 0);
    }

    /// Returns at least `pages` pages, or all there are. From 5.18 on, each list gives all it has before the next one does, and list `first`
    /// begins ("mm/page_alloc: drain the requested list first during bulk free", linux-mm, February 2022). Up to 5.17 each list in turn
    /// gives one block.
    pub(crate) fn drain_pcp_from(&mut self, zone: ZoneId, cpu: usize, pages: u64, first: usize) {
        self.lock_zone(zone);
        let pcp = self.pcps[self.pcp_at(zone, cpu)];
        let goal = pcp.count.saturating_sub(pages);
        // A bit for each list that has not been found empty.
        let mut filled = (1 << self.policy.pcp.lists.count()) - 1;
        let stays = self.policy.pcp.freed_list_first;
        let mut n = if stays { first } else { 0 };
        let mut left = pcp.count;
        while left > goal {
            let mut batch = [Idx::default(); READ_TOGETHER];
            let mut len = 0;
            while left > goal && len < batch.len() {
                if let Some(idx) = self.table.pop_tail(pcp.list(n)) {
                    left -= self.table.word(idx).frames();
                    batch[len] = idx;
                    len += 1;
                    if stays {
                        continue;
                    }
                } else {
                    filled &= !(1 << n);
                }
                n = next_of(filled, n);
            }
            self.table.read_for_merges(&batch[..len]);
            batch[..len].iter().for_each(|&idx| self.drain_block(zone, idx));
        }
        let at = self.pcp_at(zone, cpu);
        self.pcps[at].count = left;
    }

    /// Returns one cached block, already off its list, to the buddy lists.
    fn drain_block(&mut self, zone: ZoneId, idx: Idx) {
        let word = self.table.word(idx);
        let order = word.order();
        let current = self.blocks[idx.block()].migratetype;
        let keeps = self.policy.pcp.keeps_cached_type && self.zones[zone.index()].isolated_blocks == 0;
        let mt = if keeps { word.list() } else { current };
        self.count_out(idx, order, Class::of_used(word));
        let pfn = self.table.pfn(idx);
        self.watch.trace(|| FrameEvent::PagePcpuDrain { pfn, order, migratetype: mt });
        self.free_to_buddy(idx, order, mt);
    }

    /// Returns every cached page of the zone on every CPU (`drain_all_pages`).
    pub fn drain_zone(&mut self, zone: ZoneId) {
        for cpu in 0..self.cpus.len() {
            if self.pcps[self.pcp_at(zone, cpu)].count > 0 {
                self.drain_pcp(zone, cpu, u64::MAX);
            }
        }
    }

    /// Returns every cached page on every CPU.
    pub fn drain_all(&mut self) {
        for zone in 0..self.zones.len() {
            self.drain_zone(ZoneId(zone as u8));
        }
    }
}

#[cfg(test)]
mod tests;
mod tuning;
