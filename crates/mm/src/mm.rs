//! [`Mm`]: all state of one machine's memory.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use order9_frames::{
    Flag, FrameCounters, FrameState, FrameWork, Frames, FreeError, Idx, Pageblock, Word, Zone, ZoneId,
};
use order9_units::{Bytes, Migratetype, NodeId, Order, Pfn};

use crate::compaction::{BlockBits, CompactionState};
use crate::daemons::Daemons;
use crate::fs_cache::FsCache;
use crate::heard::Heard;
use crate::lru::{Locked, LruBatch, LruState};
use crate::policy::Policy;
use crate::reclaim::ReclaimState;
use crate::settings::Settings;
use crate::shrinker::Shrinker;
use crate::slab::SlabMemory;
use crate::space::UserMemory;
use crate::swap::SwapArea;
use crate::tags::Tags;
use crate::trace::{Event, NoTrace, Tracer};
use crate::vmstat::Counters;
use crate::wakeups::Wakeups;
use crate::work::Work;

/// Frames of one machine, and the layers above them: who uses frames, who gets them back, who makes blocks of them.
#[derive(Clone)]
pub struct Mm<T: Tracer = NoTrace> {
    pub(crate) frames: Frames<Heard<T>>,
    /// Pageblocks that scanners pass over.
    pub(crate) skip: BlockBits,
    pub(crate) policy: Policy,
    pub(crate) settings: Settings,
    /// Pins beyond the first, by frame.
    pub(crate) more_pins: BTreeMap<u32, u32>,
    /// LRU lists.
    pub(crate) lru: LruState,
    /// Address spaces and files.
    pub(crate) user: UserMemory,
    /// Swap space.
    pub(crate) swap: SwapArea,
    /// Daemons of the nodes, and who of all daemons has something to do.
    pub(crate) daemons: Daemons,
    /// Reclaim runs.
    pub(crate) reclaim: ReclaimState,
    /// Compaction runs.
    pub(crate) compaction: CompactionState,
    /// Kernel objects.
    pub(crate) slab: SlabMemory,
    /// Dentries and inodes, once there is a filesystem.
    pub(crate) fs: Option<Box<FsCache>>,
    /// Who gives up kernel objects.
    pub(crate) shrinkers: Vec<Shrinker>,
    pub(crate) counters: Counters,
    pub(crate) work: Work,
    /// The node whose LRU lock was taken last.
    pub(crate) locked_lru: NodeId,
    pub(crate) lru_batch: LruBatch,
}

impl Mm {
    /// The same with the contents of all pages followed from now on, as [`crate::MmBuilder::content_tags`] does. What pages
    /// hold already is taken to be zeros.
    #[must_use]
    pub fn with_content_tags(mut self) -> Self {
        self.user.tags = Some(Tags::new(self.frames.table().len()));
        self
    }

    /// The same with a tracer, which sees everything from now on.
    #[must_use]
    pub fn with_tracer<T: Tracer>(self, tracer: T) -> Mm<T> {
        let Self { frames, skip, policy, settings, more_pins, lru, user, swap, daemons, reclaim, compaction, .. } =
            self;
        let Self { slab, fs, shrinkers, counters, work, locked_lru, lru_batch, .. } = self;
        Mm {
            frames: frames.with_watch(|heard| heard.with_tracer(tracer)),
            skip,
            policy,
            settings,
            more_pins,
            lru,
            user,
            swap,
            daemons,
            reclaim,
            compaction,
            slab,
            fs,
            shrinkers,
            counters,
            work,
            locked_lru,
            lru_batch,
        }
    }
}

impl<T: Tracer> Mm<T> {
    /// Frees the allocation that starts at `pfn`, on behalf of `cpu`.
    ///
    /// # Errors
    /// [`FreeError`] where that is no allocation that can be freed; nothing has changed then.
    pub fn free(&mut self, pfn: Pfn, cpu: usize) -> Result<(), FreeError> {
        let (idx, word) = self.releasable(pfn)?;
        self.frames.free_block(idx, word, cpu);
        Ok(())
    }

    /// The live allocation that starts at `pfn`, which nobody pins, isolates or owns.
    pub(crate) fn releasable(&self, pfn: Pfn) -> Result<(Idx, Word), FreeError> {
        let (idx, word) = self.frames.releasable(pfn)?;
        // Whatever is movable without an owner may be a driver's.
        let is_driver_page = word.has(Flag::MovableContent) && self.user.drivers.answer(idx).is_some();
        if is_driver_page { Err(FreeError::Owned(pfn)) } else { Ok((idx, word)) }
    }

    /// Makes every page of the allocation at `pfn` an allocation of its own.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there, or somebody pins, isolates or owns it.
    pub fn split_page(&mut self, pfn: Pfn) -> Result<(), FreeError> {
        self.releasable(pfn)?;
        self.frames.split_page(pfn)
    }

    /// The frames of the machine, with their zones, pageblocks, lists and counters.
    #[must_use]
    pub const fn frames(&self) -> &Frames<impl order9_frames::Watch + use<T>> {
        &self.frames
    }

    /// Says whether compaction may move the content of the allocation at `pfn`: an LRU page or a movable-driver page.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there.
    pub fn set_movable_content(&mut self, pfn: Pfn, movable: bool) -> Result<(), FreeError> {
        self.frames.set_movable_content(pfn, movable)
    }

    /// State of a frame; a hole outside the machine's memory.
    #[must_use]
    pub fn frame(&self, pfn: Pfn) -> FrameState {
        self.frames.frame(pfn)
    }

    /// Whether compaction may move the content of the allocation that starts at `pfn`.
    #[must_use]
    pub fn has_movable_content(&self, pfn: Pfn) -> bool {
        self.frames.live(pfn).is_ok_and(|(_, word)| word.has(Flag::MovableContent))
    }

    /// The pageblock that holds `pfn`, or `None` outside the machine's memory.
    #[must_use]
    pub fn pageblock(&self, pfn: Pfn) -> Option<&Pageblock> {
        self.frames.pageblock(pfn)
    }

    /// Zones of all nodes, by [`ZoneId`].
    #[must_use]
    pub fn zones(&self) -> &[Zone] {
        self.frames.zones()
    }

    /// One zone.
    #[must_use]
    pub fn zone(&self, id: ZoneId) -> &Zone {
        self.frames.zone(id)
    }

    /// The zone of a frame, or `None` outside the machine's memory.
    #[must_use]
    pub fn zone_of(&self, pfn: Pfn) -> Option<ZoneId> {
        self.frames.zone_of(pfn)
    }

    /// Nodes, by number.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<T> {
        self.frames.nodes()
    }

    /// First blocks of the free list of `order` and `mt`, from the head.
    pub fn free_list(&self, zone: ZoneId, order: Order, mt: Migratetype) -> impl Iterator<Item = Pfn> {
        self.frames.free_list(zone, order, mt)
    }

    /// Returns every cached page of the zone on every CPU (`drain_all_pages`).
    pub fn drain_zone(&mut self, zone: ZoneId) {
        self.frames.drain_zone(zone);
    }

    /// Returns every cached page on every CPU.
    pub fn drain_all(&mut self) {
        self.frames.drain_all();
    }

    /// A process was killed for memory; counts as `oom_kill`.
    pub fn count_oom_kill(&mut self) {
        self.counters.oom_kill += 1;
    }

    /// The switches in force.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Event counters since boot, but for those of the allocator.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Event counters of the allocator since boot.
    #[must_use]
    pub const fn frame_counters(&self) -> &FrameCounters {
        self.frames.counters()
    }

    /// Counts what a disk has transferred: `pgpgin` and `pgpgout`.
    pub const fn count_transfer(&mut self, read: Bytes, written: Bytes) {
        self.counters.pgpgin += read.get() >> 10;
        self.counters.pgpgout += written.get() >> 10;
    }

    /// Work done since it was last taken, but for that of the allocator.
    #[must_use]
    pub const fn work(&self) -> &Work {
        &self.work
    }

    /// Work of the layers above the allocator since it was last taken, and takes all.
    pub fn take_work(&mut self) -> Work {
        self.frames.take_work();
        core::mem::take(&mut self.work)
    }

    /// Lends the work done since it was last taken, that of the allocator first, and takes it, with the locks that were taken
    /// last: those that sections under a lock are about, as long as a step takes only one of each kind.
    #[inline]
    pub fn settle_work<R>(&mut self, settle: impl FnOnce(&FrameWork, &Work, Locked) -> R) -> R {
        let locks = Locked { zone: self.frames.locked_last(), lru: self.locked_lru };
        let result = settle(self.frames.work(), &self.work, locks);
        *self.frames.work_mut() = FrameWork::NONE;
        self.work = Work::NONE;
        result
    }

    /// Whether [`take_wakeups`](Self::take_wakeups) would name anybody.
    #[inline]
    #[must_use]
    pub fn has_wakeups(&self) -> bool {
        self.daemons.wakeups != Wakeups::NONE
    }

    /// Daemons to be woken since the last call.
    pub fn take_wakeups(&mut self) -> Wakeups {
        core::mem::take(&mut self.daemons.wakeups)
    }

    /// The tracer.
    pub const fn tracer_mut(&mut self) -> &mut T {
        &mut self.frames.watch_mut().tracer
    }

    /// Traces an event.
    #[inline]
    pub(crate) fn trace(&mut self, event: impl FnOnce() -> Event) {
        self.frames.watch_mut().tracer.event(event);
    }

    /// Bytes of metadata, everything included, and the frames they describe.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let heard = self.frames.watch();
        let bytes = self.frames.bytes()
            + self.skip.bytes()
            + heard.known_huge.bytes()
            + heard.stretches.bytes()
            + heard.costs.as_ref().map_or(0, |costs| costs.bytes())
            + self.user.bytes()
            + self.swap.bytes()
            + self.slab.bytes()
            + self.more_pins.len() * 2 * size_of::<(u32, u32)>();
        Metadata { bytes: bytes as u64, frames: self.frames.table().len() as u64 }
    }
}

/// Size of the engine's own data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Bytes of all tables.
    pub bytes: u64,
    /// Frames in the frame table, holes between zones included.
    pub frames: u64,
}

impl Metadata {
    /// Bytes per frame.
    #[must_use]
    pub fn per_frame(&self) -> f64 {
        self.bytes as f64 / self.frames as f64
    }
}
