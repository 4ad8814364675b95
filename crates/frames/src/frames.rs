//! [`Frames`]: all frames of a machine, with the settings and counters that belong to them.

use core::fmt;

use order9_units::{Migratetype, NodeId, Order, Pages, Pfn};

use crate::block_types::TypeBits;
use crate::count::Class;
use crate::counters::{FrameCounters, NumaCounters};
use crate::frame::{Flag, FrameState, FrameTable, Idx, Word};
use crate::index::Index;
use crate::nodes::{Distances, Nodes, ZoneRef};
use crate::pageblock::Pageblock;
use crate::pcp::{self, Pcp};
use crate::policy::FramesPolicy;
use crate::settings::FrameSettings;
#[cfg(feature = "alloc")]
use crate::storage::Heap;
use crate::storage::{Storage, Usual};
use crate::watch::{FrameEvent, Watch};
use crate::work::FrameWork;
use crate::zone::{Zone, ZoneId, ZoneSet};

/// Frames, pageblocks, zones and nodes of one machine.
pub struct Frames<W: Watch = (), S: Storage = Usual> {
    pub(crate) table: FrameTable<S>,
    pub(crate) blocks: S::Of<Pageblock>,
    pub(crate) types: TypeBits<S>,
    pub(crate) zones: S::Of<Zone>,
    /// Per-CPU lists, those of a zone together.
    pub(crate) pcps: S::Of<Pcp>,
    pub(crate) nodes: Nodes<S>,
    /// Node of every CPU.
    pub(crate) cpus: S::Of<NodeId>,
    pub(crate) numa: S::Of<NumaCounters>,
    /// What pageblocks would cost to empty, where somebody needs to know.
    pub(crate) index: Option<Index<S>>,
    pub(crate) policy: FramesPolicy,
    pub(crate) settings: FrameSettings,
    /// Off on machines so small that mobility types would never have room.
    pub(crate) mobility_grouping: bool,
    /// Frames that were in use when the machine was set up.
    pub(crate) boot_allocated: u64,
    pub(crate) counters: FrameCounters,
    pub(crate) work: FrameWork,
    /// The zone whose lock was taken last.
    pub(crate) locked: ZoneId,
    /// Zones whose kswapd has been asked for.
    pub(crate) wanted: ZoneSet,
    pub(crate) watch: W,
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

impl<W: Watch, S: Storage> Frames<W, S> {
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
    ///
    /// # Errors
    /// [`FreeError`] where there is none.
    #[inline]
    pub fn releasable(&self, pfn: Pfn) -> Result<(Idx, Word), FreeError> {
        let (idx, word) = self.live(pfn)?;
        match () {
            () if word.is_releasable() => Ok((idx, word)),
            () if word.has(Flag::Pinned) => Err(FreeError::Pinned(pfn)),
            () if word.has(Flag::Isolated) => Err(FreeError::Isolated(pfn)),
            () => Err(FreeError::Owned(pfn)),
        }
    }

    /// Frees a live allocation that nobody pins, isolates or owns; `word` is its word.
    #[inline]
    pub fn free_block(&mut self, idx: Idx, word: Word, cpu: usize) {
        let order = word.order();
        self.huge_block_ends(idx, order);
        let pfn = self.table.pfn(idx);
        let Pageblock { migratetype: mt, zone, .. } = self.blocks[idx.block()];
        self.counters.pgfree += order.pages().get();
        self.watch.trace(|| FrameEvent::PageFree { pfn, order });
        if let Some(cached) = pcp::cached_as(mt)
            && let Some(n) = self.policy.pcp.lists.list_for(order, cached)
            && cpu < self.cpus.len()
        {
            let immovable = cached != Migratetype::Movable;
            let at = self.pcp_at(zone, cpu);
            let is_full = self.pcps[at].push(&mut self.table, n, idx, order);
            if word.has(Flag::CountedImmovable) != immovable {
                // Used otherwise than its pageblock is meant for: the rare case.
                self.reflag(idx, Flag::CountedImmovable, immovable);
            }
            self.table.set(idx, Word::pcp(order, mt).with(Flag::CountedImmovable, immovable));
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

    /// Makes every page of the allocation at `pfn` an allocation of its own (`split_page`).
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there, or somebody pins, isolates or owns it.
    pub fn split_page(&mut self, pfn: Pfn) -> Result<(), FreeError> {
        let (idx, word) = self.releasable(pfn)?;
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
        let idx = self.table.idx(pfn).ok_or(FreeError::NoSuchFrame(pfn))?;
        let word = self.table.word(idx);
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

    /// State of a frame; a hole outside the machine's memory.
    #[must_use]
    pub fn frame(&self, pfn: Pfn) -> FrameState {
        self.table.idx(pfn).map_or(FrameState::Hole, |idx| self.table.word(idx).state())
    }

    /// The pageblock that holds `pfn`, or `None` outside the machine's memory.
    #[must_use]
    pub fn pageblock(&self, pfn: Pfn) -> Option<&Pageblock> {
        self.blocks.get(self.table.idx(pfn)?.block())
    }

    /// Pageblocks of the frame table, by [`Idx::block`].
    #[inline]
    #[must_use]
    pub fn blocks(&self) -> &[Pageblock] {
        &self.blocks
    }

    /// Zones of all nodes, by [`ZoneId`].
    #[inline]
    #[must_use]
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// One zone.
    #[inline]
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

    /// The zone of the pageblock at a position.
    #[inline]
    #[must_use]
    pub fn zone_around(&self, idx: Idx) -> ZoneId {
        self.blocks[idx.block()].zone
    }

    /// The node of the pageblock at a position.
    #[inline]
    #[must_use]
    pub fn node_around(&self, idx: Idx) -> NodeId {
        self.zones[self.zone_around(idx).index()].node
    }

    /// Nodes, by number.
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<W, S> {
        (0..self.nodes.len() as u16).map(NodeId)
    }

    /// Distances between nodes.
    #[must_use]
    pub fn distances(&self) -> Distances<'_> {
        self.nodes.distances()
    }

    /// Distance between two nodes; 10 is local.
    #[must_use]
    pub fn distance(&self, from: NodeId, to: NodeId) -> u32 {
        self.distances().between(from, to)
    }

    /// The frame table and who hears what happens, each to be used for itself.
    pub const fn table_and_watch(&mut self) -> (&FrameTable<S>, &mut W) {
        (&self.table, &mut self.watch)
    }

    /// Zones of all nodes with memory, nearest node first, highest zone first within a node.
    #[must_use]
    pub fn fallback_list(&self, node: NodeId) -> &[ZoneRef] {
        self.nodes.fallback_list(node)
    }

    /// A node's own zones with memory, highest first.
    #[must_use]
    pub fn this_node_list(&self, node: NodeId) -> &[ZoneRef] {
        self.nodes.this_node_list(node)
    }

    /// Node of every CPU.
    #[must_use]
    pub fn cpus(&self) -> &[NodeId] {
        &self.cpus
    }

    /// The switches in force.
    #[must_use]
    pub const fn policy(&self) -> &FramesPolicy {
        &self.policy
    }

    /// The settings in force.
    #[must_use]
    pub const fn settings(&self) -> &FrameSettings {
        &self.settings
    }

    /// Event counters since boot.
    #[must_use]
    pub const fn counters(&self) -> &FrameCounters {
        &self.counters
    }

    /// `numa_*`, by node.
    #[must_use]
    pub fn numa_counters(&self) -> &[NumaCounters] {
        &self.numa
    }

    /// Whether requests are served by mobility type: not on machines so small that types would never have room.
    #[must_use]
    pub const fn groups_mobility(&self) -> bool {
        self.mobility_grouping
    }

    /// Frames that were in use when the machine was set up.
    #[must_use]
    pub const fn boot_allocated(&self) -> Pages {
        Pages::new(self.boot_allocated)
    }

    /// Work done since it was last taken.
    #[must_use]
    pub const fn work(&self) -> &FrameWork {
        &self.work
    }

    /// The same, for those above to add to it.
    pub const fn work_mut(&mut self) -> &mut FrameWork {
        &mut self.work
    }

    /// Work done since it was last taken, and takes it.
    pub const fn take_work(&mut self) -> FrameWork {
        core::mem::replace(&mut self.work, FrameWork::NONE)
    }

    /// The zone whose lock was taken last.
    #[must_use]
    pub const fn locked_last(&self) -> ZoneId {
        self.locked
    }

    /// Who hears what happens.
    #[must_use]
    pub const fn watch(&self) -> &W {
        &self.watch
    }

    /// The same, to change it.
    pub const fn watch_mut(&mut self) -> &mut W {
        &mut self.watch
    }

    /// The pageblock index, where there is one.
    #[inline]
    #[must_use]
    pub const fn index(&self) -> Option<&Index<S>> {
        self.index.as_ref()
    }

    /// The frame table.
    #[inline]
    #[must_use]
    pub const fn table(&self) -> &FrameTable<S> {
        &self.table
    }

    /// The frame table, for layers above that keep flags in words, and frames in use on lists of their own.
    #[inline]
    pub const fn table_mut(&mut self) -> &mut FrameTable<S> {
        &mut self.table
    }

    /// Counts a section under the lock of `zone`.
    #[inline]
    pub fn lock_zone(&mut self, zone: ZoneId) {
        self.work.zone_lock_sections += 1;
        self.locked = zone;
    }

    /// First blocks of the free list of `order` and `mt`, from the head.
    pub fn free_list(&self, zone: ZoneId, order: Order, mt: Migratetype) -> impl Iterator<Item = Pfn> {
        self.table.iter(self.zones[zone.index()].list(order, mt)).map(|idx| self.table.pfn(idx))
    }

    /// The position of a frame of a zone.
    ///
    /// # Panics
    /// If the frame is in no zone.
    #[must_use]
    #[inline]
    pub fn at(&self, pfn: Pfn) -> Idx {
        self.table.idx(pfn).expect("a frame of a zone is in the frame table")
    }

    /// Bytes of metadata.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.table.bytes()
            + size_of_val(&*self.blocks)
            + self.types.bytes()
            + self.index.as_ref().map_or(0, Index::bytes)
            + size_of_val(&*self.zones)
            + size_of_val(&*self.pcps)
            + self.nodes.bytes()
    }
}

/// Tests of layers above set up what takes long to come about.
#[cfg(feature = "testing")]
impl<W: Watch, S: Storage> Frames<W, S> {
    /// Changes a zone.
    pub fn edit_zone(&mut self, zone: usize, edit: impl FnOnce(&mut crate::ZoneEdit)) {
        self.zones[zone].edit(edit);
    }

    /// The switches, to be changed.
    pub const fn policy_mut(&mut self) -> &mut FramesPolicy {
        &mut self.policy
    }

    /// Moves a CPU to another node.
    pub fn move_cpu(&mut self, cpu: usize, node: NodeId) {
        self.cpus[cpu] = node;
    }

    /// Says whether requests are served by mobility type.
    pub const fn set_groups_mobility(&mut self, on: bool) {
        self.mobility_grouping = on;
    }
}

/// Positions and words of frames, as [`FrameTable`] has them.
impl<W: Watch, S: Storage> Frames<W, S> {
    /// The position of a frame; `None` outside the table.
    #[inline]
    #[must_use]
    pub fn idx(&self, pfn: Pfn) -> Option<Idx> {
        self.table.idx(pfn)
    }

    /// The frame at a position.
    #[inline]
    #[must_use]
    pub fn pfn(&self, idx: Idx) -> Pfn {
        self.table.pfn(idx)
    }

    /// The word of a frame.
    #[inline]
    #[must_use]
    pub fn word(&self, idx: Idx) -> Word {
        self.table.word(idx)
    }

    /// The frame's word, or that of a hole behind the end of the table.
    #[inline]
    #[must_use]
    pub fn word_or_hole(&self, idx: Idx) -> Word {
        self.table.word_or_hole(idx)
    }

    /// Sets the word of a frame. State and counted flags must stay in agreement with pageblocks: see
    /// [`reflag`](Self::reflag).
    #[inline]
    pub fn set(&mut self, idx: Idx, word: Word) {
        self.table.set(idx, word);
    }
}

#[cfg(feature = "alloc")]
impl<W: Watch + Clone> Clone for Frames<W, Heap> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.clone(),
            blocks: self.blocks.clone(),
            types: self.types.clone(),
            zones: self.zones.clone(),
            pcps: self.pcps.clone(),
            nodes: self.nodes.clone(),
            cpus: self.cpus.clone(),
            numa: self.numa.clone(),
            index: self.index.clone(),
            policy: self.policy.clone(),
            settings: self.settings,
            mobility_grouping: self.mobility_grouping,
            boot_allocated: self.boot_allocated,
            counters: self.counters,
            work: self.work,
            locked: self.locked,
            wanted: self.wanted,
            watch: self.watch.clone(),
        }
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// The same frames with somebody else who hears of them from now on. `with` makes them of who heard so far.
    pub fn with_watch<V: Watch>(self, with: impl FnOnce(W) -> V) -> Frames<V, S> {
        let Self { table, blocks, types, zones, pcps, nodes, cpus, numa, index, policy, settings, .. } = self;
        let Self { mobility_grouping, boot_allocated, counters, work, locked, wanted, watch, .. } = self;
        let watch = with(watch);
        Frames {
            table,
            blocks,
            types,
            zones,
            pcps,
            nodes,
            cpus,
            numa,
            index,
            policy,
            settings,
            mobility_grouping,
            boot_allocated,
            counters,
            work,
            locked,
            wanted,
            watch,
        }
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
