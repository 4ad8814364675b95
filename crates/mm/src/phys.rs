//! [`PhysMem`]: the frames of the machine with all that is in force for them, the ground that the layers above stand on.

use order9_frames::{Frames, Idx, Zone, ZoneId};
use order9_units::{NodeId, Pages, Pfn};

use crate::daemons::Daemons;
use crate::heard::Heard;
use crate::policy::Policy;
use crate::settings::Settings;
use crate::trace::{Event, Tracer};
use crate::vmstat::Counters;
use crate::work::Work;

/// Physical memory: frames, the policy and the settings in force, what daemons are asked for, and the account of what was done.
#[derive(Clone)]
pub struct PhysMem<T: Tracer> {
    /// Frames, zones and nodes.
    pub(crate) frames: Frames<Heard<T>>,
    /// Switches in force.
    pub(crate) policy: Policy,
    /// Settings in force.
    pub(crate) settings: Settings,
    /// What daemons are asked for.
    pub(crate) daemons: Daemons,
    /// Events since boot, those of the frames apart.
    pub(crate) counters: Counters,
    /// Work since it was last taken, that on frames apart.
    pub(crate) work: Work,
}

impl<T: Tracer> PhysMem<T> {
    /// The same with another tracer.
    pub(crate) fn with_tracer<U: Tracer>(self, tracer: U) -> PhysMem<U> {
        let Self { frames, policy, settings, daemons, counters, work } = self;
        let frames = frames.with_watch(|heard| heard.with_tracer(tracer));
        PhysMem { frames, policy, settings, daemons, counters, work }
    }
}

impl<T: Tracer> PhysMem<T> {
    /// Traces an event.
    #[inline]
    pub(crate) fn trace(&mut self, event: impl FnOnce() -> Event) {
        self.frames.watch_mut().tracer.event(event);
    }
}

impl<T: Tracer> PhysMem<T> {
    /// Pages that the allocator manages, and those that it will: `MemTotal`.
    #[must_use]
    pub fn managed_pages(&self) -> Pages {
        Pages::new(self.frames.zones().iter().map(Zone::managed).sum()) + self.frames.deferred_pages()
    }
}

/// Machines with less memory start without huge pages.
const LEAST_FOR_THP: Pages = Pages::new((512 << 20) >> 12);

impl<T: Tracer> PhysMem<T> {
    /// Whether there is memory to spare for huge pages.
    pub(crate) fn has_memory_for_thp(&self) -> bool {
        let managed: u64 = self.frames.zones().iter().map(|zone| zone.managed()).sum();
        managed >= LEAST_FOR_THP.get()
    }
}

impl<T: Tracer> PhysMem<T> {
    pub(crate) fn node_of_pfn(&self, pfn: Pfn) -> NodeId {
        self.frames.idx(pfn).map_or(NodeId(0), |idx| self.node_of(idx))
    }
}

impl<T: Tracer> PhysMem<T> {
    /// The set of lists that holds pages of `zone`.
    pub(crate) fn lru_set(&self, zone: ZoneId) -> usize {
        self.policy.reclaim.lru.set(zone.index(), self.frames.zones()[zone.index()].node())
    }

    /// Zones whose pages are on the lists of a set.
    pub(super) fn zones_of_set(&self, set: usize) -> impl Iterator<Item = &Zone> {
        self.frames.zones().iter().filter(move |zone| self.lru_set(zone.id()) == set)
    }
}

impl<T: Tracer> PhysMem<T> {
    /// Pages of a set of LRU lists were scanned.
    pub(crate) fn note_scanned(&mut self, set: usize, pages: u64) {
        self.frames.watch_mut().scanned_since_free.pages[set] += pages;
    }
}

impl<T: Tracer> PhysMem<T> {
    pub(crate) fn node_of(&self, frame: Idx) -> NodeId {
        self.frames.zones()[self.frames.blocks()[frame.block()].zone.index()].node()
    }
}
