//! Setting a machine's memory up: nodes, zones, holes and reserved frames first, then every frame's state.
//!
//! Key type: [`MmBuilder`], which fills a [`Layout`], frame by frame or as Linux does at boot. Frames set themselves up;
//! here the layers above are built around them.

mod hugetlb;
pub(crate) mod inherited;

use alloc::vec;

use order9_frames::{BuildError, Contents, Frames, IndexTables, Sizes, Tables};
use order9_units::{Migratetype, Order, Pfn, ZoneKind};

use crate::Mm;
use crate::boot::inherited::Inherited;
use crate::compaction::Compaction;
use crate::daemons::Daemons;
use crate::heard::Heard;
use crate::layout::Layout;
use crate::lru::{LruLock, LruState, Pressure, ZoneLru};
use crate::lru_list::LruList;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::Policy;
use crate::reclaim::Reclaim;
use crate::runs::Runs;
use crate::settings::Settings;
use crate::tags::Tags;
use crate::thp::{Filled, HugeEnabled, ThpSettings};
use crate::vmstat::Counters;
use crate::work::Work;
use crate::workingset::Workingset;

pub use crate::pages::space::inherited::UserPageUse;
pub use inherited::UserPage;

/// Builds an [`Mm`]. Every frame that is neither hole nor reserved must be given a state before [`MmBuilder::finish`].
pub struct MmBuilder {
    mm: Mm,
    sizes: Sizes,
    /// Frames that have no state yet.
    unassigned: u64,
    inherited: Inherited,
}

impl MmBuilder {
    /// Starts with the zones of `layout`, pageblocks Movable or CMA, and no frame given a state.
    ///
    /// # Errors
    /// The first contradiction in `layout`.
    pub fn new(layout: &Layout, policy: Policy) -> Result<Self, BuildError> {
        let (nodes, zones) = (layout.nodes.len(), layout.zones.len());
        let scope = policy.reclaim.lru;
        let sets = scope.sets(zones, nodes);
        let distances = layout.distances()?;
        let of_frames = layout.frames(&distances);
        let sizes = Sizes::new(&of_frames, &policy.frames, sets * LruList::COUNT)?;
        let set_of = layout.zones.iter().enumerate().map(|(at, zone)| scope.set(at, zone.node));
        let set_of: alloc::vec::Vec<usize> = set_of.collect();
        let heard = Heard::new(sizes.blocks, set_of.clone(), sets);
        let frames = Frames::unset(&of_frames, policy.frames.clone(), heard, &sizes, Tables::new(&sizes, false))?;
        let lru = set_of.iter().map(|set| ZoneLru::new(frames.table().list((set * LruList::COUNT) as u32))).collect();
        let filled = policy.thp.shrink_underused.then(|| Filled::new(sizes.frames));
        let unassigned = frames.zones().iter().map(order9_frames::Zone::managed).sum();
        let lru = LruState {
            zones: lru,
            pressure: vec![Pressure::default(); sets],
            workingset: Workingset::new(sets, sizes.frames as u64),
            lock: LruLock::default(),
        };
        let mm = Mm {
            phys: PhysMem {
                frames,
                settings: Settings::at_boot(&policy),
                policy,
                daemons: Daemons::new(nodes, zones),
                counters: Counters::default(),
                work: Work::NONE,
                reporting: None,
            },
            pages: UsedPages::new(nodes, zones, sizes.blocks, lru, filled),
            reclaim: Reclaim::new(sets),
            reclaim_runs: Runs::default(),
            compaction: Compaction::new(zones, sizes.blocks),
            compact_runs: Runs::default(),
        };
        Ok(Self { mm, sizes, unassigned, inherited: Inherited::default() })
    }

    /// Sets `vm.min_free_kbytes`, in kB, as `PhysMem::set_min_free_kbytes` does.
    #[must_use]
    pub fn min_free_kbytes(mut self, kbytes: u64) -> Self {
        self.mm.phys.frames.set_min_free_by_hand(kbytes);
        self
    }

    /// Sets `transparent_hugepage=`: which memory gets huge pages, all unless said otherwise. Any but `Never` raises
    /// `min_free_kbytes`. A machine with less than 512 MiB has none, whatever is said here.
    #[must_use]
    pub fn transparent_hugepage(mut self, enabled: HugeEnabled) -> Self {
        self.mm.phys.settings.thp.enabled = enabled;
        self
    }

    /// Keeps every event from boot on, for [`PhysMem::events_mut`].
    #[must_use]
    pub fn traced(mut self) -> Self {
        self.mm.phys.set_tracing(true);
        self
    }

    /// Tracks what every page of a program holds, so that `check()` finds a page that was lost or mixed up. Costs a note per
    /// written page; off unless asked for.
    #[must_use]
    pub fn content_tags(mut self) -> Self {
        self.mm.pages.tags = Some(Tags::new(self.mm.phys.frames.table().len()));
        self
    }

    /// Sets `vm.lowmem_reserve_ratio`, by zone; 0 switches a zone's reserve off.
    #[must_use]
    pub fn lowmem_reserve_ratio(mut self, ratios: [u64; ZoneKind::COUNT]) -> Self {
        self.mm.phys.frames.set_lowmem_reserve_ratio(ratios);
        self
    }

    /// Sets the type of the pageblock that holds `pfn`.
    ///
    /// # Errors
    /// [`BuildError::Taken`] outside the zones.
    pub fn set_block_type(&mut self, pfn: Pfn, mt: Migratetype) -> Result<(), BuildError> {
        self.mm.phys.frames.set_block_type(pfn, mt)
    }

    /// Gives the block at `pfn` to the free lists of its pageblock's type, at the head.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn free(&mut self, pfn: Pfn, order: Order) -> Result<(), BuildError> {
        self.mm.phys.frames.assign_free(pfn, order)?;
        self.unassigned = self.unassigned.saturating_sub(order.pages().get());
        Ok(())
    }

    /// Makes the block at `pfn` a live allocation.
    ///
    /// # Errors
    /// [`BuildError`] where the frames are not free to be given.
    pub fn allocate(&mut self, pfn: Pfn, order: Order, contents: Contents) -> Result<(), BuildError> {
        self.mm.phys.frames.assign_allocated(pfn, order, contents)?;
        self.unassigned = self.unassigned.saturating_sub(order.pages().get());
        Ok(())
    }

    /// Puts the block at `pfn`, which is free, on a per-CPU list: the list of `cpu`, or of the last CPU that there is, for the type
    /// of its pageblock. Where no such list takes blocks of the order, its pages go to that for single pages.
    ///
    /// # Errors
    /// [`BuildError`] where the block is not free to be given.
    pub fn free_to_pcp(&mut self, pfn: Pfn, order: Order, cpu: usize) -> Result<(), BuildError> {
        self.mm.phys.frames.assign_cached(pfn, order, cpu)?;
        self.unassigned = self.unassigned.saturating_sub(order.pages().get());
        Ok(())
    }

    /// Frees every frame as Linux does at boot: ascending, in the largest aligned blocks.
    #[must_use]
    pub fn boot(mut self) -> Mm {
        self.mm.phys.frames.free_all();
        self.unassigned = 0;
        self.finish()
    }

    /// Frames that have no state yet.
    #[must_use]
    pub const fn unassigned(&self) -> u64 {
        self.unassigned
    }

    /// Sets up zonelists, watermarks and per-CPU lists.
    #[must_use]
    pub fn finish(mut self) -> Mm {
        self.settle_inherited();
        let Self { mut mm, sizes, .. } = self;
        let index = needs_index(&mm.phys.policy).then(|| IndexTables::new(&sizes));
        mm.phys.frames.set_up(index);
        if !mm.phys.has_memory_for_thp() {
            mm.phys.settings.thp = ThpSettings::OFF;
        }
        mm.pages.register_thp_shrinkers(&mm.phys);
        mm.phys.setup_watermarks();
        mm.phys.frames.take_work();
        (mm.phys.work, mm.pages.lru.lock) = (Work::NONE, LruLock::default());
        mm
    }
}

/// Whether some switch needs the index of pageblocks.
fn needs_index(policy: &Policy) -> bool {
    policy.compaction.uses_index() || policy.frames.alloc.needs_index() || policy.thp.placement.rule().asks_index
}
