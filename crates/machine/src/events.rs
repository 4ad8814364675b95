//! Trace events of a run: the engine's, with the time, the CPU and the task that each happened on.
//!
//! Key types: [`TraceKinds`] (which events a run keeps), [`Traced`] (one of them).

use order9_mm::FrameEvent;
use order9_units::Nanos;

use crate::time::{CpuId, Handle, Switch, TaskId};

pub use order9_mm::trace::{CollapseEvent, CompactEvent, Event};

/// Tracepoints, as Linux names them, in the order of their bits.
const NAMES: [&str; 46] = [
    "mm_page_alloc",
    "mm_page_alloc_zone_locked",
    "mm_page_alloc_extfrag",
    "mm_page_free",
    "mm_page_pcpu_drain",
    "mm_vmscan_wakeup_kswapd",
    "mm_shrink_slab_start",
    "mm_shrink_slab_end",
    "mm_vmscan_kswapd_sleep",
    "mm_vmscan_kswapd_wake",
    "mm_vmscan_direct_reclaim_begin",
    "mm_vmscan_direct_reclaim_end",
    "mm_vmscan_lru_isolate",
    "mm_vmscan_lru_shrink_inactive",
    "mm_vmscan_lru_shrink_active",
    "mm_vmscan_writepage",
    "mm_vmscan_inactive_list_is_low",
    "mm_migrate_pages",
    "mm_vmscan_throttled",
    "mm_compaction_isolate_migratepages",
    "mm_compaction_isolate_freepages",
    "mm_compaction_migratepages",
    "mm_compaction_begin",
    "mm_compaction_end",
    "mm_compaction_try_to_compact_pages",
    "mm_compaction_suitable",
    "mm_compaction_finished",
    "mm_compaction_deferred",
    "mm_compaction_defer_compaction",
    "mm_compaction_defer_reset",
    "mm_compaction_kcompactd_sleep",
    "mm_compaction_wakeup_kcompactd",
    "mm_compaction_kcompactd_wake",
    "compact_retry",
    "reclaim_retry_zone",
    "mm_khugepaged_scan_pmd",
    "mm_collapse_huge_page",
    "mm_collapse_huge_page_isolate",
    "mm_collapse_huge_page_swapin",
    "mm_compaction_fast_isolate_freepages",
    "mm_khugepaged_scan_file",
    "mm_khugepaged_collapse_file",
    "mm_page_free_batched",
    "mm_vmscan_node_reclaim_begin",
    "mm_vmscan_node_reclaim_end",
    SCHED_SWITCH,
];

/// Tracepoint of the scheduler, whose events the executor keeps.
const SCHED_SWITCH: &str = "sched_switch";

/// A set of tracepoints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceKinds(u64);

impl TraceKinds {
    /// No kind of event.
    pub const NONE: Self = Self(0);

    /// The names of all tracepoints.
    #[must_use]
    pub const fn names() -> &'static [&'static str] {
        &NAMES
    }

    /// The names of those in the set.
    pub fn chosen(self) -> impl Iterator<Item = &'static str> {
        NAMES.into_iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 != 0).map(|(_, name)| name)
    }

    /// The set with the tracepoint called `name`; `None` where there is none.
    #[must_use]
    pub fn with(self, name: &str) -> Option<Self> {
        let bit = NAMES.iter().position(|known| *known == name)?;
        Some(Self(self.0 | 1 << bit))
    }

    /// Whether switches of CPUs are among them.
    pub(crate) fn has_switches(self) -> bool {
        self.chosen().any(|name| name == SCHED_SWITCH)
    }

    fn has(self, event: &Event) -> bool {
        self.0 >> kind(event) & 1 != 0
    }
}

const fn kind(event: &Event) -> usize {
    match event {
        Event::Frame(FrameEvent::PageAlloc { .. }) => 0,
        Event::Frame(FrameEvent::PageAllocZoneLocked { .. }) => 1,
        Event::Frame(FrameEvent::Extfrag(_)) => 2,
        Event::Frame(FrameEvent::PageFree { .. }) => 3,
        Event::Frame(FrameEvent::PagePcpuDrain { .. }) => 4,
        Event::PageFreeBatched { .. } => 42,
        Event::WakeupKswapd { .. } => 5,
        Event::ShrinkSlabStart { .. } => 6,
        Event::ShrinkSlabEnd { .. } => 7,
        Event::KswapdSleep { .. } => 8,
        Event::KswapdWake { .. } => 9,
        Event::DirectReclaimBegin { .. } => 10,
        Event::DirectReclaimEnd { .. } => 11,
        Event::LruIsolate { .. } => 12,
        Event::LruShrinkInactive { .. } => 13,
        Event::LruShrinkActive { .. } => 14,
        Event::Writepage { .. } => 15,
        Event::InactiveListIsLow { .. } => 16,
        Event::MigratePages { .. } => 17,
        Event::Throttled { .. } => 18,
        Event::Collapse(event) => match event {
            CollapseEvent::ScanPmd { .. } => 35,
            CollapseEvent::HugePage { .. } => 36,
            CollapseEvent::Isolate { .. } => 37,
            CollapseEvent::Swapin { .. } => 38,
            CollapseEvent::ScanFile { .. } => 40,
            CollapseEvent::CollapseFile { .. } => 41,
        },
        Event::Compaction(event) => match event {
            CompactEvent::IsolateMigratepages { .. } => 19,
            CompactEvent::IsolateFreepages { .. } => 20,
            CompactEvent::Migratepages { .. } => 21,
            CompactEvent::Begin(_) => 22,
            CompactEvent::End { .. } => 23,
            CompactEvent::TryToCompactPages { .. } => 24,
            CompactEvent::Suitable { .. } => 25,
            CompactEvent::Finished { .. } => 26,
            CompactEvent::Deferred(_) => 27,
            CompactEvent::DeferCompaction(_) => 28,
            CompactEvent::DeferReset(_) => 29,
            CompactEvent::KcompactdSleep { .. } => 30,
            CompactEvent::WakeupKcompactd { .. } => 31,
            CompactEvent::KcompactdWake { .. } => 32,
            CompactEvent::Retry { .. } => 33,
            CompactEvent::FastIsolateFreepages { .. } => 39,
        },
        Event::ReclaimRetryZone { .. } => 34,
        Event::NodeReclaimBegin { .. } => 43,
        Event::NodeReclaimEnd { .. } => 44,
    }
}

/// An event of the engine, and where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// Time of the event.
    pub at: Nanos,
    /// CPU on which the event happened; `None` while the machine was set up.
    pub cpu: Option<CpuId>,
    /// Task that ran; `None` while the machine was set up.
    pub task: Option<TaskId>,
    /// The event with its fields.
    pub event: Event,
}

impl Traced {
    /// Name of the tracepoint.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        NAMES[kind(&self.event)]
    }
}

/// A switch of a CPU among the events of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracedSwitch {
    /// Number of events of the engine before the switch.
    pub events_before: usize,
    /// The switch.
    pub switch: Switch,
}

impl TracedSwitch {
    /// Name of the tracepoint.
    pub const NAME: &str = SCHED_SWITCH;
}

/// Events of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) events: Vec<Traced>,
    pub(crate) switches: Vec<TracedSwitch>,
    /// Events that came after the log was full.
    pub(crate) lost: u64,
}

/// Keeps the events of chosen kinds, up to a number of them.
#[derive(Clone, Debug)]
pub(crate) struct EventLog {
    handle: Handle,
    kinds: TraceKinds,
    max: usize,
    has_switches: bool,
    kept: Kept,
}

impl EventLog {
    pub(crate) fn new(handle: Handle, kinds: TraceKinds, max: usize) -> Self {
        Self { handle, kinds, max, has_switches: kinds.has_switches(), kept: Kept::default() }
    }

    /// The events kept.
    pub(crate) fn take(&mut self) -> Kept {
        self.take_switches();
        std::mem::take(&mut self.kept)
    }

    /// Takes over the switches up to now, so that they stand before the next event.
    fn take_switches(&mut self) {
        if self.has_switches {
            let (switches, lost) = self.handle.take_switches();
            let room = self.max - self.kept.events.len() - self.kept.switches.len();
            self.kept.lost += lost + switches.len().saturating_sub(room) as u64;
            let events_before = self.kept.events.len();
            let traced = switches.into_iter().take(room).map(|switch| TracedSwitch { events_before, switch });
            self.kept.switches.extend(traced);
        }
    }

    /// Takes over the events of a step that the present task has just done.
    #[cold]
    pub(crate) fn keep(&mut self, events: &mut Vec<Event>) {
        self.take_switches();
        let (at, cpu, task) = (self.handle.now(), self.handle.cpu(), self.handle.current());
        for event in events.drain(..).filter(|event| self.kinds.has(event)) {
            if self.kept.events.len() + self.kept.switches.len() == self.max {
                self.kept.lost += 1;
            } else {
                self.kept.events.push(Traced { at, cpu, task, event });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tracepoints_are_chosen_by_name() {
        let chosen = TraceKinds::NONE.with("mm_page_free").expect("it exists");
        let free =
            Event::Frame(FrameEvent::PageFree { pfn: order9_units::Pfn::new(1), order: order9_units::Order::ZERO });
        let wakeup = Event::WakeupKswapd {
            node: order9_units::NodeId(0),
            class: order9_units::ZoneKind::Normal,
            order: order9_units::Order::ZERO,
            gfp: order9_mm::Gfp::GFP_KERNEL,
        };
        assert!(chosen.has(&free) && !chosen.has(&wakeup));
        assert_eq!(TraceKinds::NONE.with("mm_page_fre"), None);
    }
}
