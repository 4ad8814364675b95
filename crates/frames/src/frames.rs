//! [`Frames`]: all frames of a machine, with the settings and counters that belong to them.

use order9_units::{Migratetype, NodeId, Order, Pages, Pfn};

use crate::block_types::TypeBits;
use crate::counters::{FrameCounters, NumaCounters};
use crate::frame::{FrameState, FrameTable, Idx, Word};
use crate::index::Index;
use crate::nodes::{Distances, Nodes, ZoneRef};
use crate::pageblock::Pageblock;
use crate::pcp::Pcp;
use crate::policy::FramesPolicy;
use crate::settings::FrameSettings;
#[cfg(feature = "alloc")]
use crate::storage::Heap;
use crate::storage::{Storage, Usual};
use crate::watch::Watch;
use crate::work::FrameWork;
use crate::zone::{Zone, ZoneId, ZoneSet};

/// Frames, pageblocks, zones and nodes of one machine.
pub struct Frames<W: Watch = (), S: Storage = Usual> {
    pub(crate) table: FrameTable<S>,
    pub(crate) blocks: S::Of<Pageblock>,
    pub(crate) types: TypeBits<S>,
    pub(crate) zones: S::Of<Zone>,
    /// Per-CPU lists, those of a CPU together: the way to them does not wait for a multiplication by the zone of a frame.
    pub(crate) pcps: S::Of<Pcp>,
    pub(crate) nodes: Nodes<S>,
    /// Node of every CPU.
    pub(crate) cpus: S::Of<NodeId>,
    pub(crate) numa: S::Of<NumaCounters>,
    /// The pageblock index, where the policy or a layer above needs it.
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

impl<W: Watch, S: Storage> Frames<W, S> {
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

    /// The zone with this number.
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

    /// The frame table and the watch, borrowed side by side.
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

    /// Work done since it was last taken, for layers above to add theirs.
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

    /// The watch, which hears what happens.
    #[must_use]
    pub const fn watch(&self) -> &W {
        &self.watch
    }

    /// The watch, to be changed.
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

    /// Counts a section under the lock of `zone`. Work under the lock is counted from here on.
    #[inline]
    pub fn lock_zone(&mut self, zone: ZoneId) {
        if zone != self.locked {
            self.change_lock(zone);
        }
        self.work.locked.sections += 1;
    }

    #[cold]
    fn change_lock(&mut self, zone: ZoneId) {
        if self.work.locked.sections > 0 {
            self.watch.zone_unlocked(self.locked, &mut self.work.locked);
        }
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
