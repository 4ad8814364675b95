//! Results of a run: samples, counters over time, phases, events, and its end.

use std::collections::{BTreeMap, BTreeSet};

use order9_mm::{HugeOutlook, ZoneFragmentation};
use order9_units::Nanos;
use order9_workloads::{Stop, Times};

use crate::events::Traced;
use crate::hugetlb::PoolResized;
use crate::kernel::{Engine, Kernel};
use crate::oom::OutOfMemory;
use crate::time::{CpuId, LockId, RunError, TaskId};

/// Results of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// End of the run.
    pub outcome: Outcome,
    /// Time at which the last program ended.
    pub elapsed: Nanos,
    /// CPU time of all programs.
    pub times: Times,
    /// The operations that were measured, in the order in which they were first.
    pub operations: Vec<Operation>,
    /// Samples in the order in which they were taken.
    pub samples: Vec<Sample>,
    /// Phases, in order; the first begins with the run.
    pub phases: Vec<Phase>,
    /// Counters over time: at the beginning, at every tick, at the end.
    pub series: Series,
    /// Trace events, in order.
    pub events: Vec<Traced>,
    /// Events that were not kept, the log being full.
    pub events_lost: u64,
    /// Names of tasks, by number.
    pub tasks: Vec<String>,
    /// Kills for memory, in order.
    pub kills: Vec<OutOfMemory>,
    /// Changes of the size of hugetlb pools, in order.
    pub pools: Vec<PoolResized>,
    /// /proc/PID/numa_maps of processes as they were when they ended, of each name the last, where somebody has chosen nodes.
    pub numa_maps: Vec<(String, String)>,
    /// Notes that a reader of the results needs, a sentence each.
    pub notes: Vec<&'static str>,
    /// Hash of everything the scheduler did.
    pub schedule: u64,
}

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All programs came to their end.
    Completed,
    /// Memory ran out, which ended the workload.
    OutOfMemory(OutOfMemory),
    /// The workload ended before its time.
    Stopped(Stop),
    /// No task could go on.
    Stuck(RunError),
}

/// Operation that samples measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Name in tables.
    pub name: String,
    /// Unit of all its samples.
    pub unit: Unit,
}

/// Unit of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Durations in nanoseconds.
    Nanos,
    /// Rates: so many per second.
    PerSecond,
    /// Shares of a hundred.
    Percent,
    /// Counts.
    Count,
}

/// One measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Position of its operation in [`Results::operations`].
    pub operation: u32,
    /// Time at which it was taken.
    pub at: Nanos,
    /// The value, in the unit of its operation.
    pub value: f64,
}

/// A part of a run with counters of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Name of the phase.
    pub name: String,
    /// Begin of the phase. It ends with the begin of the next one.
    pub begin: Nanos,
    /// The counters then, in the order of [`Series::names`].
    pub counters: Vec<u64>,
}

/// Fields of /proc/vmstat, and counters that Linux does not have, over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// Names of the counters.
    pub names: Vec<String>,
    /// Times of the readings.
    pub times: Vec<Nanos>,
    /// Values of all counters, one row for each time.
    pub rows: Vec<Vec<u64>>,
}

/// Record of a run up to now.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) operations: Vec<Operation>,
    pub(crate) samples: Vec<Sample>,
    pub(crate) phases: Vec<Phase>,
    pub(crate) series: Series,
    pub(crate) pools: Vec<PoolResized>,
    /// Path and content by name of the process.
    pub(crate) numa_maps: BTreeMap<String, (String, String)>,
    pub(crate) notes: BTreeSet<&'static str>,
}

impl Record {
    /// Every operation has one unit: its first.
    pub(crate) fn sample(&mut self, operation: &str, unit: Unit, at: Nanos, value: f64) {
        // Samples of an operation come in a row.
        let known = self.operations.iter().rposition(|known| known.name == operation);
        let operation = known.unwrap_or_else(|| {
            self.operations.push(Operation { name: operation.to_owned(), unit });
            self.operations.len() - 1
        });
        self.samples.push(Sample { operation: operation as u32, at, value });
    }
}

/// Counters that Linux does not have: use of the CPUs and of both kinds of locks, times in ns; levels of
/// [`HugeOutlook`]; fragmentation events and reclaim's answers to them; time that threads spend in direct compaction,
/// and blocks that it gives them.
const OWN_COUNTERS: [&str; 44] = [
    "order9_cpu_busy_ns",
    "order9_kswapd_cpu_ns",
    "order9_kcompactd_cpu_ns",
    "order9_khugepaged_cpu_ns",
    "order9_compact_stall_ns",
    "order9_flusher_cpu_ns",
    "order9_zone_lock_acquisitions",
    "order9_zone_lock_contended",
    "order9_zone_lock_wait_ns",
    "order9_zone_lock_hold_ns",
    "order9_lru_lock_acquisitions",
    "order9_lru_lock_contended",
    "order9_lru_lock_wait_ns",
    "order9_lru_lock_hold_ns",
    "order9_mmap_lock_acquisitions",
    "order9_mmap_lock_contended",
    "order9_mmap_lock_wait_ns",
    "order9_mmap_lock_hold_ns",
    "order9_nr_huge_free",
    "order9_nr_huge_recoverable",
    "order9_nr_huge_lost",
    "order9_nr_polluted_blocks",
    "order9_nr_polluting_pages",
    "order9_nr_slab_blocks",
    "order9_nr_fragmentation_score",
    "order9_extfrag_fragmenting",
    "order9_extfrag_claimed",
    "order9_boost_added",
    "order9_boost_saturated",
    "order9_nr_boost",
    "order9_gentle_runs",
    "order9_gentle_aborts",
    "order9_gentle_switches",
    "order9_gentle_reclaimed",
    "order9_huge_reclaimed",
    "order9_huge_reclaimed_behind",
    "order9_slab_pages_freed",
    "order9_compact_blocks_emptied",
    "order9_compact_least_moves",
    "order9_compact_pages_moved",
    "order9_compact_captured",
    "order9_compact_proactive_runs",
    "order9_compact_proactive_deferred",
    "order9_collapse_filled",
];

/// Attempts to move a page that failed, by reason; waits of migration, by who had the page, and their time in ns.
const MIGRATION_COUNTERS: [&str; 14] = [
    "order9_migrate_locked",
    "order9_migrate_writeback",
    "order9_migrate_pinned",
    "order9_migrate_dirty",
    "order9_migrate_private_data",
    "order9_migrate_driver_busy",
    "order9_migrate_driver_refused",
    "order9_migrate_no_target",
    "order9_migrate_read_waits",
    "order9_migrate_read_wait_ns",
    "order9_migrate_file_write_waits",
    "order9_migrate_file_write_wait_ns",
    "order9_migrate_swap_write_waits",
    "order9_migrate_swap_write_wait_ns",
];

/// Names of the levels of a zone: its score, in percent, and its fragmentation index of order 9, in thousandths.
fn zone_levels(zone: ZoneFragmentation) -> [String; 2] {
    let of = |level: &str| format!("order9_nr_{level}_node{}_{}", zone.node.0, zone.kind.name());
    [of("fragmentation_score"), of("extfrag_index")]
}

impl Kernel {
    fn counter_names(&self) -> Vec<String> {
        self.look(|mm| {
            let fields = order9_procfs::vmstat(mm).map(|(name, _)| name).chain(OWN_COUNTERS).chain(MIGRATION_COUNTERS);
            fields.map(str::to_owned).chain(mm.phys().zone_fragmentation().flat_map(zone_levels)).collect()
        })
    }

    fn counters(&self) -> Vec<u64> {
        let mut counters: Vec<u64> = self.look(|mm| order9_procfs::vmstat(mm).map(|(_, value)| value).collect());
        let cpus = (0..self.cpus.len()).filter_map(|cpu| self.handle.cpu_stats(CpuId(cpu as u16)));
        counters.push(cpus.map(|cpu| cpu.busy.get()).sum());
        counters.push(self.cpu_of(self.kswapds.borrow().iter().copied()));
        counters.push(self.cpu_of(self.kcompactds.borrow().iter().copied()));
        counters.push(self.cpu_of(self.khugepaged.get().into_iter()));
        counters.push(self.compact_stall.get().get());
        counters.push(self.cpu_of(self.flusher.get().into_iter()));
        counters.extend(self.use_of(self.zone_locks.iter().copied()));
        counters.extend(self.use_of(self.lru_locks.iter().copied()));
        let mmap_locks: Vec<LockId> = self.processes.borrow().iter().map(|process| process.mmap_lock).collect();
        counters.extend(self.use_of(mmap_locks.into_iter()));
        counters.extend(self.outlook());
        counters.extend(self.look(boosts));
        counters.extend(self.look(migration));
        // Linux prints an index of -1000 where a huge page is free; a level has no sign.
        let levels = |zone: ZoneFragmentation| [zone.score, zone.index.max(0) as u64];
        self.look(|mm| counters.extend(mm.phys().zone_fragmentation().flat_map(levels)));
        counters
    }

    /// CPU time of daemons, spinning included, in ns.
    fn cpu_of(&self, tasks: impl Iterator<Item = TaskId>) -> u64 {
        let stats = tasks.map(|task| self.handle.task_stats(task));
        stats.map(|stats| (stats.user + stats.system + stats.spin).get()).sum()
    }

    /// The outlook for huge pages, in the order of [`OWN_COUNTERS`].
    fn outlook(&self) -> [u64; 7] {
        let outlook = self.look(Engine::huge_outlook);
        let HugeOutlook { free, recoverable, lost, polluted_blocks, polluting_pages, .. } = outlook;
        let HugeOutlook { slab_blocks, fragmentation_score, .. } = outlook;
        [free, recoverable, lost, polluted_blocks, polluting_pages, slab_blocks, fragmentation_score]
    }

    /// Use of some locks, in the order of [`OWN_COUNTERS`].
    fn use_of(&self, locks: impl Iterator<Item = LockId>) -> [u64; 4] {
        locks.map(|lock| self.handle.lock_stats(lock)).fold([0; 4], |[taken, contended, wait, hold], stats| {
            [taken + stats.acquisitions, contended + stats.contended, wait + stats.wait.get(), hold + stats.hold.get()]
        })
    }

    /// Begins a phase of the workload.
    pub(crate) fn begin_phase(&self, name: &str) {
        let phase = Phase { name: name.to_owned(), begin: self.handle.now(), counters: self.counters() };
        self.record.borrow_mut().phases.push(phase);
    }

    /// Reads the counters, for now.
    pub(crate) fn read_counters(&self) {
        self.read_counters_at(self.handle.now());
    }

    /// Reads the counters, which have not changed since `at`.
    pub(crate) fn read_counters_at(&self, at: Nanos) {
        let row = self.counters();
        let series = &mut self.record.borrow_mut().series;
        if series.names.is_empty() {
            series.names = self.counter_names();
        }
        if series.times.last() != Some(&at) {
            series.times.push(at);
            series.rows.push(row);
        }
    }

    /// Number of readings of the counters that are held.
    pub(crate) fn readings(&self) -> usize {
        self.record.borrow().series.times.len()
    }

    /// Drops every other reading of the counters, the second first.
    pub(crate) fn thin_readings(&self) {
        let series = &mut self.record.borrow_mut().series;
        let mut nth = 0..;
        series.times.retain(|_| nth.next().is_some_and(|nth: usize| nth.is_multiple_of(2)));
        let mut nth = 0..;
        series.rows.retain(|_| nth.next().is_some_and(|nth: usize| nth.is_multiple_of(2)));
    }

    /// Puts together what came of a run.
    pub(crate) fn results(&self, outcome: Outcome, elapsed: Nanos, times: Times) -> Results {
        let Record { operations, samples, phases, series, pools, numa_maps, notes } = self.record.take();
        let kills = self.kills.take();
        let (events, events_lost) = self.with(|mm| mm.tracer_mut().take());
        let name = |task: TaskId| self.handle.task_name(task).to_string();
        let tasks = self.handle.tasks().map(name).collect();
        let schedule = self.handle.digest();
        Results {
            outcome,
            elapsed,
            times,
            operations,
            samples,
            phases,
            series,
            events,
            events_lost,
            tasks,
            kills,
            pools,
            numa_maps: numa_maps.into_values().collect(),
            notes: notes.into_iter().collect(),
            schedule,
        }
    }
}

/// Fragmentation events, boosts, what kswapd did about them, and what compaction and collapse did, in the order of [`OWN_COUNTERS`].
fn boosts(mm: &Engine) -> [u64; 19] {
    let (counters, frames) = (mm.counters(), mm.frame_counters());
    [
        frames.extfrag.fragmenting(),
        frames.extfrag.claimed,
        frames.boost_added,
        frames.boost_saturated,
        mm.zones().iter().map(order9_mm::Zone::boost).sum(),
        counters.gentle_runs,
        counters.gentle_aborts,
        counters.gentle_switches,
        counters.gentle_reclaimed,
        counters.huge_reclaimed,
        counters.huge_reclaimed_behind,
        counters.slab_pages_freed,
        counters.compact_blocks_emptied,
        counters.compact_least_moves,
        counters.compact_pages_moved,
        counters.compact_captured,
        counters.proactive_runs,
        counters.proactive_deferred,
        counters.collapse_filled,
    ]
}

/// Counts of failures and waits of migration, in the order of [`MIGRATION_COUNTERS`].
fn migration(mm: &Engine) -> [u64; 14] {
    let (failures, waits) = (mm.counters().migrate_failures, mm.counters().migrate_waits);
    [
        failures.locked,
        failures.writeback,
        failures.pinned,
        failures.dirty,
        failures.private_data,
        failures.driver_busy,
        failures.driver_refused,
        failures.no_target,
        waits.read.number,
        waits.read.time.get(),
        waits.file_write.number,
        waits.file_write.time.get(),
        waits.swap_write.number,
        waits.swap_write.time.get(),
    ]
}
