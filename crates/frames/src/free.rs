//! Giving frames back: the checks before it, and the way to the per-CPU lists or the buddy lists.

use core::fmt;

use order9_units::{Order, Pfn};

use crate::Frames;
use crate::count::Class;
use crate::frame::{Flag, FrameState, Idx, READ_TOGETHER, Word};
use crate::pageblock::Pageblock;
use crate::pcp;
use crate::storage::Storage;
use crate::watch::{FrameEvent, Watch};

/// Why a frame could not be freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreeError {
    /// The frame is no memory of this machine.
    NoSuchFrame(Pfn),
    /// The frame is not the first one of a live allocation.
    NotAllocated(Pfn, FrameState),
    /// The allocation is pinned.
    Pinned(Pfn),
    /// The allocation is not pinned.
    NotPinned(Pfn),
    /// The allocation is isolated by reclaim or compaction.
    Isolated(Pfn),
    /// An address space, file or slab cache uses the allocation.
    Owned(Pfn),
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Frees the allocation that starts at `pfn`, on behalf of `cpu`.
    ///
    /// # Errors
    /// [`FreeError`] where that is no allocation that can be freed; nothing has changed then.
    pub fn free(&mut self, pfn: Pfn, cpu: usize) -> Result<(), FreeError> {
        let (idx, word) = self.freeable(pfn)?;
        self.free_block(idx, word, cpu);
        Ok(())
    }

    /// Frees the allocations that start at `pfns`, one after the other, on behalf of `cpu`. Where they lie far apart this is
    /// cheaper than as many calls of [`free`](Self::free), because the state of a batch is fetched side by side.
    ///
    /// # Errors
    /// [`FreeError`] of the first that cannot be freed; those before it are free then, those behind it are not.
    pub fn free_bulk(&mut self, pfns: &[Pfn], cpu: usize) -> Result<(), FreeError> {
        for batch in pfns.chunks(READ_TOGETHER) {
            self.table.read_for_frees(batch);
            batch.iter().try_for_each(|&pfn| self.free(pfn, cpu))?;
        }
        Ok(())
    }

    /// The live allocation that starts at `pfn`, which nobody pins, isolates or owns.
    ///
    /// # Errors
    /// [`FreeError`] where there is none.
    #[inline]
    pub fn freeable(&self, pfn: Pfn) -> Result<(Idx, Word), FreeError> {
        match self.table.find(pfn) {
            Some((idx, word)) if word.can_free() => Ok((idx, word)),
            _ => Err(self.why_not_freeable(pfn)),
        }
    }

    #[cold]
    fn why_not_freeable(&self, pfn: Pfn) -> FreeError {
        match self.live(pfn) {
            Err(error) => error,
            Ok((_, word)) if word.has(Flag::Pinned) => FreeError::Pinned(pfn),
            Ok((_, word)) if word.has(Flag::Isolated) => FreeError::Isolated(pfn),
            Ok(_) => FreeError::Owned(pfn),
        }
    }

    /// Frees a live allocation that nobody pins, isolates or owns; `word` is its word.
    #[inline]
    pub fn free_block(&mut self, idx: Idx, word: Word, cpu: usize) {
        // The way of single pages is short once it is compiled for them alone.
        if !word.is_single() || !self.free_cached(idx, word, Order::ZERO, cpu) {
            self.free_several(idx, word, cpu);
        }
    }

    /// Frees a block of any order.
    #[inline(never)]
    fn free_several(&mut self, idx: Idx, word: Word, cpu: usize) {
        let order = word.order();
        self.huge_block_ends(idx, order);
        if self.free_cached(idx, word, order, cpu) {
            return;
        }
        self.note_free(idx, order);
        self.lock_zone(self.zone_around(idx));
        self.count_out(idx, order, Class::of_used(word));
        self.free_to_own_lists(idx, order);
    }

    /// Frees a block to a list of the CPU; nothing has changed where no list holds such blocks.
    #[inline(always)]
    fn free_cached(&mut self, idx: Idx, word: Word, order: Order, cpu: usize) -> bool {
        let Pageblock { migratetype: mt, zone, .. } = self.blocks[idx.block()];
        let list = pcp::cached_as(mt).and_then(|cached| self.policy.pcp.lists.list_for(order, cached));
        let Some(n) = list.filter(|_| cpu < self.cpus.len()) else { return false };
        self.note_free(idx, order);
        let cached = pcp::cached_word(order, mt);
        self.table.set(idx, cached);
        let at = self.pcp_at(zone, cpu);
        let is_full = self.pcps[at].push(&mut self.table, n, idx, order);
        self.work.pcp_hits += 1;
        if word.has(Flag::CountedImmovable) != cached.has(Flag::CountedImmovable) {
            // Used otherwise than its pageblock is meant for: the rare case.
            self.recount_cached(idx, word);
        }
        if is_full || self.zones[zone.index()].keeps_lists_short() {
            self.trim_pcp(zone, cpu, n);
        }
        true
    }

    /// Counts and traces a free.
    #[inline(always)]
    fn note_free(&mut self, idx: Idx, order: Order) {
        let pfn = self.table.pfn(idx);
        self.counters.pgfree += order.pages().get();
        self.watch.trace(|| FrameEvent::PageFree { pfn, order });
    }

    /// A block that had this word has come onto a per-CPU list: its frames go to the class that they belong to now.
    #[cold]
    fn recount_cached(&mut self, idx: Idx, word: Word) {
        self.count_out(idx, word.order(), Class::of_used(word));
        self.count_in(idx, word.order(), Class::of_used(self.table.word(idx)));
    }

    /// Makes every page of the allocation at `pfn` an allocation of its own (`split_page`).
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there, or somebody pins, isolates or owns it.
    pub fn split_page(&mut self, pfn: Pfn) -> Result<(), FreeError> {
        let (idx, word) = self.freeable(pfn)?;
        self.huge_block_ends(idx, word.order());
        for page in 0..word.frames() as u32 {
            self.table.set(idx.plus(page), word.single());
        }
        self.touch_blocks(idx.block(), 1);
        Ok(())
    }

    /// Tells that a block of this order at `idx` is used as a whole no longer.
    #[inline]
    pub fn huge_block_ends(&mut self, idx: Idx, order: Order) {
        if order >= Order::PAGEBLOCK {
            self.watch.huge_block_ends(idx, order);
        }
    }

    /// The live allocation that starts at `pfn`.
    ///
    /// # Errors
    /// [`FreeError::NoSuchFrame`], [`FreeError::NotAllocated`].
    #[inline]
    pub fn live(&self, pfn: Pfn) -> Result<(Idx, Word), FreeError> {
        let (idx, word) = self.table.find(pfn).ok_or(FreeError::NoSuchFrame(pfn))?;
        if word.is_allocated() { Ok((idx, word)) } else { Err(FreeError::NotAllocated(pfn, word.state())) }
    }

    /// Says whether compaction may move the content of the allocation at `pfn`: an LRU page or a movable-driver page.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there.
    pub fn set_movable_content(&mut self, pfn: Pfn, movable: bool) -> Result<(), FreeError> {
        let (idx, word) = self.live(pfn)?;
        self.table.set(idx, word.with(Flag::MovableContent, movable));
        Ok(())
    }
}

impl fmt::Display for FreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchFrame(pfn) => write!(f, "{pfn:?} is no memory of this machine"),
            Self::NotAllocated(pfn, state) => write!(f, "no allocation starts at {pfn:?}, which is {state:?}"),
            Self::Pinned(pfn) => write!(f, "the allocation at {pfn:?} is pinned"),
            Self::NotPinned(pfn) => write!(f, "the allocation at {pfn:?} is not pinned"),
            Self::Isolated(pfn) => write!(f, "the allocation at {pfn:?} is isolated"),
            Self::Owned(pfn) => write!(f, "an address space, file or slab cache uses the allocation at {pfn:?}"),
        }
    }
}

impl core::error::Error for FreeError {}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use order9_units::{Migratetype, NodeId, PAGEBLOCK_PAGES, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::FramesPolicy;
    use crate::testing::{Layout, NodeSpec};
    use crate::{Gfp, Request, ZoneId, ZoneSpec};

    #[test]
    fn a_bulk_of_frees_does_what_as_many_frees_do() {
        let span = PfnRange::of(Pfn::new(1 << 20), PAGEBLOCK_PAGES * 16);
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        let mut bulk = layout.builder(FramesPolicy::default()).expect("the layout is sound").boot();
        let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
        let mut pages: Vec<Pfn> = (0..1000).map(|_| bulk.alloc(&request).expect("memory is free")).collect();
        // Far from each other, and more than one batch; the last is no memory.
        pages.sort_by_key(|pfn| pfn.get() * 619 % 1009);
        pages.truncate(300);
        let mut single = bulk.clone();
        pages.iter().for_each(|&pfn| single.free(pfn, 0).expect("it is allocated"));
        let (nowhere, behind) = (Pfn::new(1), pages.pop().expect("there are pages"));
        pages.extend([nowhere, behind]);
        assert_eq!(bulk.free_bulk(&pages, 0), Err(FreeError::NoSuchFrame(nowhere)));
        bulk.free_bulk(&[behind], 0).expect("the error has left it as it was");
        bulk.check().expect("every law holds");
        assert_eq!(bulk.work, single.work);
        for order in Order::all() {
            let lists =
                [&bulk, &single].map(|of| of.free_list(ZoneId(0), order, Migratetype::Movable).collect::<Vec<_>>());
            assert_eq!(lists[0], lists[1], "{order:?}");
        }
    }
}
