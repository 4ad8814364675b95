//! [`PhysMem`]: the frames of the machine with all that is in force for them, the ground that the layers above stand on.

mod free_page_reporting;
mod watermarks;

use alloc::vec::Vec;

use order9_frames::{Flag, Frames, FreeError, Idx, Zone, ZoneId};
use order9_units::{Bytes, NodeId, Pages, Pfn};

use crate::daemons::Daemons;
use crate::heard::Heard;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::trace::Event;
use crate::vmstat::Counters;
use crate::work::Work;

use free_page_reporting::FreePageReporting;
pub use free_page_reporting::ReportedBlocks;

/// Physical memory: frames, the policy and the settings in force, what daemons are asked for, and the account of what was done.
#[derive(Clone)]
pub struct PhysMem {
    /// Frames, zones and nodes.
    pub(crate) frames: Frames<Heard>,
    /// Switches in force.
    pub(crate) policy: Policy,
    /// Settings in force.
    pub(crate) settings: Settings,
    /// Requests to daemons.
    pub(crate) daemons: Daemons,
    /// Events since boot, those of the frames apart.
    pub(crate) counters: Counters,
    /// Work since it was last taken, that on frames apart.
    pub(crate) work: Work,
    /// Pageblocks that the hypervisor has, where the machine is a guest that reports free pages.
    pub(crate) reporting: Option<FreePageReporting>,
}

impl PhysMem {
    /// Traces an event.
    #[inline]
    pub(crate) fn trace(&mut self, event: impl FnOnce() -> Event) {
        self.frames.watch_mut().trace.event(event);
    }

    /// Traces that the single page `idx` was freed together with others.
    #[inline]
    pub(crate) fn trace_free_batched(&mut self, idx: Idx) {
        if self.frames.watch().trace.is_on {
            let pfn = self.frames.pfn(idx);
            self.trace(|| Event::PageFreeBatched { pfn });
        }
    }
}

impl PhysMem {
    /// Returns every cached page of the zone on every CPU (`drain_all_pages`).
    pub fn drain_zone(&mut self, zone: ZoneId) {
        self.frames.drain_zone(zone);
    }

    /// Returns every cached page on every CPU.
    pub fn drain_all(&mut self) {
        self.frames.drain_all();
    }

    /// Says whether compaction may move the content of the allocation at `pfn`: an LRU page or a movable-driver page.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there.
    pub fn set_movable_content(&mut self, pfn: Pfn, movable: bool) -> Result<(), FreeError> {
        self.frames.set_movable_content(pfn, movable)
    }

    /// Whether compaction may move the content of the allocation that starts at `pfn`.
    #[must_use]
    pub fn has_movable_content(&self, pfn: Pfn) -> bool {
        self.frames.live(pfn).is_ok_and(|(_, word)| word.has(Flag::MovableContent))
    }

    /// A process was killed for memory; counts as `oom_kill`.
    pub fn count_oom_kill(&mut self) {
        self.counters.oom_kill += 1;
    }

    /// Counts what a disk has transferred: `pgpgin` and `pgpgout`.
    pub const fn count_transfer(&mut self, read: Bytes, written: Bytes) {
        self.counters.pgpgin += read.get() >> 10;
        self.counters.pgpgout += written.get() >> 10;
    }

    /// Begins to keep events, or ends it; events that were kept stay.
    pub const fn set_tracing(&mut self, is_on: bool) {
        self.frames.watch_mut().trace.is_on = is_on;
    }

    /// Whether there are events that nobody has taken out.
    #[must_use]
    #[inline]
    pub const fn has_events(&self) -> bool {
        !self.frames.watch().trace.events.is_empty()
    }

    /// Events since they were last taken out, in order. Whoever traces takes them out.
    pub const fn events_mut(&mut self) -> &mut Vec<Event> {
        &mut self.frames.watch_mut().trace.events
    }

    /// Pages that the allocator manages, and those that it will: `MemTotal`.
    #[must_use]
    pub fn managed_pages(&self) -> Pages {
        Pages::new(self.frames.zones().iter().map(Zone::managed).sum()) + self.frames.deferred_pages()
    }
}

/// Machines with less memory start without huge pages.
const LEAST_FOR_THP: Pages = Pages::new((512 << 20) >> 12);

impl PhysMem {
    /// Whether there is memory to spare for huge pages.
    pub(crate) fn has_memory_for_thp(&self) -> bool {
        let managed: u64 = self.frames.zones().iter().map(|zone| zone.managed()).sum();
        managed >= LEAST_FOR_THP.get()
    }
}

impl PhysMem {
    pub(crate) fn node_of_pfn(&self, pfn: Pfn) -> NodeId {
        self.frames.idx(pfn).map_or(NodeId(0), |idx| self.node_of(idx))
    }
}

impl PhysMem {
    /// The set of lists that holds pages of `zone`.
    pub(crate) fn lru_set(&self, zone: ZoneId) -> usize {
        self.policy.reclaim.lru.set(zone.index(), self.frames.zones()[zone.index()].node())
    }

    /// Zones whose pages are on the lists of a set.
    pub(super) fn zones_of_set(&self, set: usize) -> impl Iterator<Item = &Zone> {
        self.frames.zones().iter().filter(move |zone| self.lru_set(zone.id()) == set)
    }
}

impl PhysMem {
    /// Pages of a set of LRU lists were scanned.
    pub(crate) fn note_scanned(&mut self, set: usize, pages: u64) {
        self.frames.watch_mut().scanned_since_free.pages[set] += pages;
    }
}

impl PhysMem {
    pub(crate) fn node_of(&self, frame: Idx) -> NodeId {
        self.frames.zones()[self.frames.blocks()[frame.block()].zone.index()].node()
    }
}
