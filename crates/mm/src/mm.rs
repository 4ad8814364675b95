//! [`Mm`]: all state of one machine's memory.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::fmt;

use order9_units::{Bytes, Migratetype, Order, Pfn};

use crate::block_types::TypeBits;
use crate::compaction::{BlockBits, CompactionState, Costs};
use crate::count::Class;
use crate::frame::{Flag, FrameState, FrameTable, Idx, Word};
use crate::fs_cache::FsCache;
use crate::index::Index;
use crate::kswapd::KswapdNode;
use crate::lru::{Locked, LruBatch, LruState};
use crate::node::Node;
use crate::pageblock::Pageblock;
use crate::pcp;
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
use crate::zone::{Zone, ZoneId};

/// Frames, pageblocks, zones and nodes of one machine, with the settings and counters that belong to them.
#[derive(Clone)]
pub struct Mm<T: Tracer = NoTrace> {
    pub(crate) frames: FrameTable,
    pub(crate) blocks: Vec<Pageblock>,
    /// Pageblocks that scanners pass over.
    pub(crate) types: TypeBits,
    pub(crate) skip: BlockBits,
    /// Pageblocks that a scanner found to begin inside a huge block in use, which they still do.
    pub(crate) known_huge: BlockBits,
    pub(crate) zones: Vec<Zone>,
    pub(crate) nodes: Vec<Node>,
    /// Node of every CPU.
    pub(crate) cpus: Vec<order9_units::NodeId>,
    pub(crate) policy: Policy,
    pub(crate) settings: Settings,
    /// Off on machines so small that mobility types would never have room.
    pub(crate) mobility_grouping: bool,
    /// Pins beyond the first, by frame.
    pub(crate) more_pins: BTreeMap<u32, u32>,
    /// LRU lists.
    pub(crate) lru: LruState,
    /// Address spaces and files.
    pub(crate) user: UserMemory,
    /// Swap space.
    pub(crate) swap: SwapArea,
    /// State of the kswapd of each node.
    pub(crate) kswapd: Vec<KswapdNode>,
    /// Reclaim runs.
    pub(crate) reclaim: ReclaimState,
    /// Compaction runs.
    pub(crate) compaction: CompactionState,
    /// What pageblocks would cost to empty, where the policy needs to know.
    pub(crate) index: Option<Box<Index>>,
    /// What it takes to empty pageblocks, where somebody wants to know what compaction is worth.
    pub(crate) costs: Option<Box<Costs>>,
    /// Kernel objects.
    pub(crate) slab: SlabMemory,
    /// Dentries and inodes, once there is a filesystem.
    pub(crate) fs: Option<Box<FsCache>>,
    /// Who gives up kernel objects.
    pub(crate) shrinkers: Vec<Shrinker>,
    /// Frames that were in use when the machine was set up.
    pub(crate) boot_allocated: u64,
    pub(crate) counters: Counters,
    pub(crate) work: Work,
    pub(crate) locked_last: Locked,
    pub(crate) lru_batch: LruBatch,
    /// Daemons that have something to do.
    pub(crate) wakeups: Wakeups,
    pub(crate) tracer: T,
}

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

impl Mm {
    /// The same with the contents of all pages followed from now on, as [`crate::MmBuilder::content_tags`] does. What pages
    /// hold already is taken to be zeros.
    #[must_use]
    pub fn with_content_tags(mut self) -> Self {
        self.user.tags = Some(Tags::new(self.frames.len()));
        self
    }

    /// The same with a tracer, which sees everything from now on.
    #[must_use]
    pub fn with_tracer<T: Tracer>(self, tracer: T) -> Mm<T> {
        let Self { frames, blocks, zones, nodes, cpus, policy, settings, mobility_grouping, more_pins, user, .. } =
            self;
        let Self { swap, reclaim, slab, boot_allocated, counters, work, locked_last, lru_batch, wakeups, .. } = self;
        let Self { fs, shrinkers, types, skip, known_huge, compaction, index, costs, lru, kswapd, .. } = self;
        Mm {
            frames,
            blocks,
            types,
            skip,
            known_huge,
            zones,
            nodes,
            cpus,
            policy,
            settings,
            mobility_grouping,
            more_pins,
            lru,
            user,
            swap,
            kswapd,
            reclaim,
            compaction,
            index,
            costs,
            slab,
            fs,
            shrinkers,
            boot_allocated,
            counters,
            work,
            locked_last,
            lru_batch,
            wakeups,
            tracer,
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
        self.free_block(idx, word, cpu);
        Ok(())
    }

    /// The live allocation that starts at `pfn`, which nobody pins, isolates or owns.
    pub(crate) fn releasable(&self, pfn: Pfn) -> Result<(Idx, Word), FreeError> {
        let (idx, word) = self.live(pfn)?;
        // Whatever is movable without an owner may be a driver's.
        let is_driver_page = word.has(Flag::MovableContent) && self.user.drivers.answer(idx).is_some();
        match () {
            () if word.is_releasable() && !is_driver_page => Ok((idx, word)),
            () if word.has(Flag::Pinned) => Err(FreeError::Pinned(pfn)),
            () if word.has(Flag::Isolated) => Err(FreeError::Isolated(pfn)),
            () => Err(FreeError::Owned(pfn)),
        }
    }

    /// Frees a live allocation that nobody pins, isolates or owns.
    #[inline]
    pub(crate) fn free_block(&mut self, idx: Idx, word: Word, cpu: usize) {
        let order = word.order();
        self.forget_huge_block(idx, order);
        let pfn = self.frames.pfn(idx);
        let Pageblock { migratetype: mt, zone, .. } = self.blocks[idx.block()];
        self.counters.pgfree += order.pages().get();
        self.tracer.event(|| Event::PageFree { pfn, order });
        if let Some(cached) = pcp::cached_as(mt)
            && let Some(n) = self.policy.pcp.lists.list_for(order, cached)
            && let Some(pcp) = self.zones[zone.index()].pcps.get_mut(cpu)
        {
            let immovable = cached != Migratetype::Movable;
            let is_full = pcp.push(&mut self.frames, n, idx, order);
            if word.has(Flag::CountedImmovable) != immovable {
                // Used otherwise than its pageblock is meant for: the rare case.
                self.reflag(idx, Flag::CountedImmovable, immovable);
            }
            self.frames.set(idx, Word::pcp(order, mt).with(Flag::CountedImmovable, immovable));
            self.work.pcp_hits += 1;
            if is_full {
                self.trim_pcp(zone, cpu);
            }
            return;
        }
        self.lock_zone(zone);
        self.count_out(idx, order, Class::of_used(word));
        self.free_to_own_lists(idx, order);
    }

    /// The live allocation that starts at `pfn`.
    #[inline]
    pub(crate) fn live(&self, pfn: Pfn) -> Result<(Idx, Word), FreeError> {
        let idx = self.frames.idx(pfn).ok_or(FreeError::NoSuchFrame(pfn))?;
        let word = self.frames.word(idx);
        if word.is_allocated() { Ok((idx, word)) } else { Err(FreeError::NotAllocated(pfn, word.state())) }
    }

    /// Says whether compaction may move the content of the allocation at `pfn`: an LRU page or a movable-driver page.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there.
    pub fn set_movable_content(&mut self, pfn: Pfn, movable: bool) -> Result<(), FreeError> {
        let (idx, word) = self.live(pfn)?;
        self.frames.set(idx, word.with(Flag::MovableContent, movable));
        Ok(())
    }

    /// State of a frame; a hole outside the machine's memory.
    #[must_use]
    pub fn frame(&self, pfn: Pfn) -> FrameState {
        self.frames.idx(pfn).map_or(FrameState::Hole, |idx| self.frames.word(idx).state())
    }

    /// Whether compaction may move the content of the allocation that starts at `pfn`.
    #[must_use]
    pub fn has_movable_content(&self, pfn: Pfn) -> bool {
        self.live(pfn).is_ok_and(|(_, word)| word.has(Flag::MovableContent))
    }

    /// The pageblock that holds `pfn`, or `None` outside the machine's memory.
    #[must_use]
    pub fn pageblock(&self, pfn: Pfn) -> Option<&Pageblock> {
        self.blocks.get(self.frames.idx(pfn)?.block())
    }

    /// A process was killed for memory; counts as `oom_kill`.
    pub fn count_oom_kill(&mut self) {
        self.counters.oom_kill += 1;
    }

    /// Zones of all nodes, by [`ZoneId`].
    #[must_use]
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// One zone.
    #[must_use]
    pub fn zone(&self, id: ZoneId) -> &Zone {
        &self.zones[id.index()]
    }

    /// The zone of a frame, or `None` outside the machine's memory.
    #[must_use]
    pub fn zone_of(&self, pfn: Pfn) -> Option<ZoneId> {
        let zone = self.pageblock(pfn)?.zone;
        (zone.index() < self.zones.len()).then_some(zone)
    }

    /// Nodes, by number.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The switches in force.
    #[must_use]
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Event counters since boot.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Counts what a disk has transferred: `pgpgin` and `pgpgout`.
    pub const fn count_transfer(&mut self, read: Bytes, written: Bytes) {
        self.counters.pgpgin += read.get() >> 10;
        self.counters.pgpgout += written.get() >> 10;
    }

    /// Work done since it was last taken.
    #[must_use]
    pub const fn work(&self) -> &Work {
        &self.work
    }

    /// The same, and takes it.
    pub fn take_work(&mut self) -> Work {
        core::mem::take(&mut self.work)
    }

    /// Lends the work done since it was last taken, and takes it, with the locks that were taken last: those that sections
    /// under a lock are about, as long as a step takes only one of each kind.
    #[inline]
    pub fn settle_work<R>(&mut self, settle: impl FnOnce(&Work, Locked) -> R) -> R {
        let result = settle(&self.work, self.locked_last);
        self.work = Work::NONE;
        result
    }

    /// Counts a section under the lock of `zone`.
    #[inline]
    pub(crate) fn lock_zone(&mut self, zone: ZoneId) {
        self.work.zone_lock_sections += 1;
        self.locked_last.zone = zone;
    }

    /// The tracer.
    pub const fn tracer_mut(&mut self) -> &mut T {
        &mut self.tracer
    }

    /// First blocks of the free list of `order` and `mt`, from the head.
    pub fn free_list(&self, zone: ZoneId, order: Order, mt: Migratetype) -> impl Iterator<Item = Pfn> {
        self.frames.iter(self.zones[zone.index()].list(order, mt)).map(|idx| self.frames.pfn(idx))
    }

    /// Bytes of metadata, everything included, and the frames they describe.
    #[must_use]
    pub fn metadata(&self) -> Metadata {
        let bytes = self.frames.bytes()
            + self.blocks.capacity() * size_of::<Pageblock>()
            + self.types.bytes()
            + self.skip.bytes()
            + self.known_huge.bytes()
            + self.compaction.stretches.bytes()
            + self.costs.as_ref().map_or(0, |costs| costs.bytes())
            + self.index.as_ref().map_or(0, |index| index.bytes())
            + self.zones.capacity() * size_of::<Zone>()
            + self.zones.iter().map(|zone| zone.pcps.capacity() * size_of::<pcp::Pcp>()).sum::<usize>()
            + self.nodes.capacity() * size_of::<Node>()
            + self.user.bytes()
            + self.swap.bytes()
            + self.slab.bytes()
            + self.more_pins.len() * 2 * size_of::<(u32, u32)>();
        Metadata { bytes: bytes as u64, frames: self.frames.len() as u64 }
    }

    pub(crate) fn at(&self, pfn: Pfn) -> Idx {
        self.frames.idx(pfn).expect("a frame of a zone is in the frame table")
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
