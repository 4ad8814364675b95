//! Counters of a run: the fields of /proc/vmstat, and those that Linux does not have.
//!
//! Key types: [`Own`] (a row: name, meaning, and the function that reads the value), [`Now`] (state that rows are read from). A new counter is a row.

use order9_mm::{Counters, FrameCounters, GigabyteOutlook, HugeOutlook, ReportedBlocks, ZoneFragmentation};
use order9_units::{CounterMeaning, CounterUnit};

use crate::kernel::{Engine, Kernel};
use crate::time::{CpuId, LockId, TaskId};

/// State of the machine that counters are read from.
struct Now<'a> {
    kernel: &'a Kernel,
    outlook: HugeOutlook,
    gigabytes: GigabyteOutlook,
    /// Events of the engine and of its frames.
    mm: &'a Counters,
    frames: &'a FrameCounters,
    /// Watermark boosts of all zones, in pages.
    boost: u64,
    zone_locks: LockUse,
    lru_locks: LockUse,
    mmap_locks: LockUse,
    reporting: ReportedBlocks,
}

/// Use of some locks; times in ns.
#[derive(Clone, Copy, Default)]
struct LockUse {
    acquisitions: u64,
    contended: u64,
    wait: u64,
    hold: u64,
}

/// A counter that Linux does not have.
struct Own {
    name: &'static str,
    meaning: CounterMeaning,
    read: fn(&Now<'_>) -> u64,
}

const fn time(name: &'static str, read: fn(&Now<'_>) -> u64) -> Own {
    Own { name, meaning: CounterMeaning::event(CounterUnit::Nanoseconds), read }
}

const fn events(name: &'static str, read: fn(&Now<'_>) -> u64) -> Own {
    Own { name, meaning: CounterMeaning::event(CounterUnit::Events), read }
}

const fn pages(name: &'static str, read: fn(&Now<'_>) -> u64) -> Own {
    Own { name, meaning: CounterMeaning::event(CounterUnit::Pages), read }
}

const fn level(name: &'static str, unit: CounterUnit, read: fn(&Now<'_>) -> u64) -> Own {
    Own { name, meaning: CounterMeaning::level(unit), read }
}

/// Every counter that Linux does not have, in the order of columns.
const OWN: &[Own] = &[
    time("order9_cpu_busy_ns", |now| now.kernel.cpu_busy()),
    time("order9_kswapd_cpu_ns", |now| now.kernel.cpu_of(now.kernel.kswapds.borrow().iter().copied())),
    time("order9_kcompactd_cpu_ns", |now| now.kernel.cpu_of(now.kernel.kcompactds.borrow().iter().copied())),
    time("order9_khugepaged_cpu_ns", |now| now.kernel.cpu_of(now.kernel.khugepaged.get().into_iter())),
    time("order9_compact_stall_ns", |now| now.kernel.compact_stall.get().get()),
    time("order9_flusher_cpu_ns", |now| now.kernel.cpu_of(now.kernel.flusher.get().into_iter())),
    events("order9_zone_lock_acquisitions", |now| now.zone_locks.acquisitions),
    events("order9_zone_lock_contended", |now| now.zone_locks.contended),
    time("order9_zone_lock_wait_ns", |now| now.zone_locks.wait),
    time("order9_zone_lock_hold_ns", |now| now.zone_locks.hold),
    events("order9_lru_lock_acquisitions", |now| now.lru_locks.acquisitions),
    events("order9_lru_lock_contended", |now| now.lru_locks.contended),
    time("order9_lru_lock_wait_ns", |now| now.lru_locks.wait),
    time("order9_lru_lock_hold_ns", |now| now.lru_locks.hold),
    events("order9_mmap_lock_acquisitions", |now| now.mmap_locks.acquisitions),
    events("order9_mmap_lock_contended", |now| now.mmap_locks.contended),
    time("order9_mmap_lock_wait_ns", |now| now.mmap_locks.wait),
    time("order9_mmap_lock_hold_ns", |now| now.mmap_locks.hold),
    level("order9_nr_huge_free", CounterUnit::Blocks, |now| now.outlook.free),
    level("order9_nr_huge_recoverable", CounterUnit::Blocks, |now| now.outlook.recoverable),
    level("order9_nr_huge_lost", CounterUnit::Blocks, |now| now.outlook.lost),
    level("order9_nr_polluted_blocks", CounterUnit::Blocks, |now| now.outlook.polluted_blocks),
    level("order9_nr_polluting_pages", CounterUnit::Pages, |now| now.outlook.polluting_pages),
    level("order9_nr_slab_blocks", CounterUnit::Blocks, |now| now.outlook.slab_blocks),
    level("order9_nr_fragmentation_score", CounterUnit::Percent, |now| now.outlook.fragmentation_score),
    level("order9_nr_gigabyte_free", CounterUnit::Events, |now| now.gigabytes.free),
    level("order9_nr_gigabyte_clean", CounterUnit::Events, |now| now.gigabytes.clean),
    level("order9_nr_gigabyte_tainted", CounterUnit::Events, |now| now.gigabytes.tainted),
    level("order9_nr_gigabyte_recoverable", CounterUnit::Events, |now| now.gigabytes.recoverable),
    events("order9_extfrag_fragmenting", |now| now.frames.extfrag.fragmenting()),
    events("order9_extfrag_claimed", |now| now.frames.extfrag.claimed),
    pages("order9_boost_added", |now| now.frames.boost_added),
    events("order9_boost_saturated", |now| now.frames.boost_saturated),
    level("order9_nr_boost", CounterUnit::Pages, |now| now.boost),
    events("order9_gentle_runs", |now| now.mm.gentle_runs),
    events("order9_gentle_aborts", |now| now.mm.gentle_aborts),
    events("order9_gentle_switches", |now| now.mm.gentle_switches),
    pages("order9_gentle_reclaimed", |now| now.mm.gentle_reclaimed),
    pages("order9_huge_reclaimed", |now| now.mm.huge_reclaimed),
    pages("order9_huge_reclaimed_behind", |now| now.mm.huge_reclaimed_behind),
    pages("order9_slab_pages_freed", |now| now.mm.slab_pages_freed),
    events("order9_compact_blocks_emptied", |now| now.mm.compact_blocks_emptied),
    pages("order9_compact_least_moves", |now| now.mm.compact_least_moves),
    pages("order9_compact_pages_moved", |now| now.mm.compact_pages_moved),
    events("order9_compact_captured", |now| now.mm.compact_captured),
    events("order9_compact_proactive_runs", |now| now.mm.proactive_runs),
    events("order9_compact_proactive_deferred", |now| now.mm.proactive_deferred),
    events("order9_collapse_filled", |now| now.mm.collapse_filled),
    // Attempts to move a page that failed, by reason.
    events("order9_migrate_locked", |now| now.mm.migrate_failures.locked),
    events("order9_migrate_writeback", |now| now.mm.migrate_failures.writeback),
    events("order9_migrate_pinned", |now| now.mm.migrate_failures.pinned),
    events("order9_migrate_dirty", |now| now.mm.migrate_failures.dirty),
    events("order9_migrate_private_data", |now| now.mm.migrate_failures.private_data),
    events("order9_migrate_driver_busy", |now| now.mm.migrate_failures.driver_busy),
    events("order9_migrate_driver_refused", |now| now.mm.migrate_failures.driver_refused),
    events("order9_migrate_no_target", |now| now.mm.migrate_failures.no_target),
    // Waits of migration, by who had the page.
    events("order9_migrate_read_waits", |now| now.mm.migrate_waits.read.number),
    time("order9_migrate_read_wait_ns", |now| now.mm.migrate_waits.read.time.get()),
    events("order9_migrate_file_write_waits", |now| now.mm.migrate_waits.file_write.number),
    time("order9_migrate_file_write_wait_ns", |now| now.mm.migrate_waits.file_write.time.get()),
    events("order9_migrate_swap_write_waits", |now| now.mm.migrate_waits.swap_write.number),
    time("order9_migrate_swap_write_wait_ns", |now| now.mm.migrate_waits.swap_write.time.get()),
];

/// Counters of guests that report free pages, after those of every machine.
const OF_GUESTS: &[Own] = &[
    level("order9_nr_reported_blocks", CounterUnit::Blocks, |now| now.reporting.missing),
    events("order9_reported_blocks", |now| now.reporting.reported),
    events("order9_hypervisor_faults", |now| now.reporting.faults),
];

fn all() -> impl Iterator<Item = &'static Own> {
    OWN.iter().chain(OF_GUESTS)
}

/// Counters that a machine has.
fn of_machine(mm: &Engine) -> impl Iterator<Item = &'static Own> + use<> {
    let of_guests = if mm.phys().reported_blocks().is_some() { OF_GUESTS } else { &[] };
    OWN.iter().chain(of_guests)
}

/// Names of the counters that Linux does not have.
pub fn counter_names() -> impl Iterator<Item = &'static str> {
    all().map(|own| own.name)
}

/// Meaning of a counter that Linux does not have; `None` where there is no such counter.
#[must_use]
pub fn counter_meaning(name: &str) -> Option<CounterMeaning> {
    all().find(|own| own.name == name).map(|own| own.meaning)
}

/// A level of every zone.
struct ZoneLevel {
    name: &'static str,
    unit: CounterUnit,
    read: fn(&ZoneFragmentation) -> u64,
}

const ZONE_LEVELS: [ZoneLevel; 2] = [
    ZoneLevel { name: "fragmentation_score", unit: CounterUnit::Percent, read: |zone| zone.score },
    // Linux prints an index of -1000 where a huge page is free; a level has no sign.
    ZoneLevel { name: "extfrag_index", unit: CounterUnit::Thousandths, read: |zone| zone.index.max(0) as u64 },
];

fn zone_levels(zone: &ZoneFragmentation) -> impl Iterator<Item = (String, CounterMeaning)> {
    ZONE_LEVELS.iter().map(move |level| {
        let name = format!("order9_nr_{}_node{}_{}", level.name, zone.node.0, zone.kind.name());
        (name, CounterMeaning::level(level.unit))
    })
}

impl Kernel {
    /// Every counter of this machine, in the order of the values of [`Kernel::counters`].
    pub(crate) fn counter_names(&self) -> Vec<(String, CounterMeaning)> {
        self.look(|mm| {
            let fields = order9_procfs::vmstat_fields(mm).map(|field| (field.name.to_owned(), field.meaning));
            let own = of_machine(mm).map(|own| (own.name.to_owned(), own.meaning));
            let zones: Vec<ZoneFragmentation> = mm.phys().zone_fragmentation().collect();
            fields.chain(own).chain(zones.iter().flat_map(zone_levels)).collect()
        })
    }

    /// Values of all counters.
    pub(crate) fn counters(&self) -> Vec<u64> {
        let mmap_locks: Vec<LockId> = self.processes.borrow().iter().map(|process| process.mmap_lock).collect();
        let [zone_locks, lru_locks] = [&self.zone_locks, &self.lru_locks].map(|locks| self.use_of(locks));
        let mmap_locks = self.use_of(&mmap_locks);
        self.look(|mm| {
            let now = Now {
                kernel: self,
                outlook: Engine::huge_outlook(mm),
                gigabytes: Engine::gigabyte_outlook(mm),
                mm: mm.counters(),
                frames: mm.frames().counters(),
                boost: mm.frames().zones().iter().map(order9_mm::Zone::boost).sum(),
                zone_locks,
                lru_locks,
                mmap_locks,
                reporting: mm.phys().reported_blocks().unwrap_or_default(),
            };
            let fields = order9_procfs::vmstat_fields(mm).map(|field| field.value);
            let zones: Vec<ZoneFragmentation> = mm.phys().zone_fragmentation().collect();
            let zones = zones.iter().flat_map(|zone| ZONE_LEVELS.iter().map(|level| (level.read)(zone)));
            fields.chain(of_machine(mm).map(|own| (own.read)(&now))).chain(zones).collect()
        })
    }

    /// Time that CPUs did not idle, in ns.
    fn cpu_busy(&self) -> u64 {
        let cpus = (0..self.cpus.len()).filter_map(|cpu| self.handle.cpu_stats(CpuId(cpu as u16)));
        cpus.map(|cpu| cpu.busy.get()).sum()
    }

    /// CPU time of tasks, spinning included, in ns.
    pub(crate) fn cpu_of(&self, tasks: impl Iterator<Item = TaskId>) -> u64 {
        let stats = tasks.map(|task| self.handle.task_stats(task));
        stats.map(|stats| (stats.user + stats.system + stats.spin).get()).sum()
    }

    fn use_of(&self, locks: &[LockId]) -> LockUse {
        locks.iter().map(|&lock| self.handle.lock_stats(lock)).fold(LockUse::default(), |sum, stats| LockUse {
            acquisitions: sum.acquisitions + stats.acquisitions,
            contended: sum.contended + stats.contended,
            wait: sum.wait + stats.wait.get(),
            hold: sum.hold + stats.hold.get(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use order9_units::CounterKind;

    use super::*;

    #[test]
    fn names_are_unique_and_tell_levels_and_times_apart() {
        let names: BTreeSet<&str> = counter_names().collect();
        assert_eq!(names.len(), all().count());
        for Own { name, meaning, .. } in all() {
            assert_eq!(name.starts_with("order9_nr_"), meaning.kind == CounterKind::Level, "{name}");
            assert_eq!(name.ends_with("_ns"), meaning.unit == CounterUnit::Nanoseconds, "{name}");
        }
    }
}
