//! The rows of the counter table, in order: what each is called and how it follows from /proc/vmstat.

use super::{Counters, Unit};

/// One row of the counter table.
pub(super) struct CounterRow {
    /// Name of the row in mmtests.
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    formula: Formula,
}

/// Formula by which a value follows from counters.
enum Formula {
    /// Sum of fields, each times a factor.
    Sum(&'static [(f64, &'static str)]),
    /// The first fields in percent of the second ones; `empty` where those are 0.
    Percent { part: &'static str, whole: &'static [&'static str], empty: f64 },
    /// A field for each of another; nothing where that is 0.
    Ratio(&'static [&'static str], &'static str),
    /// A field per second of elapsed time.
    PerSecond(&'static str),
    /// A field in ns of CPU time, in percent of elapsed time: 100 is one CPU all the time.
    CpuPercent(&'static str),
    /// Sum of fields, each times its price in cache-line accesses, in millions.
    Cost(&'static [(f64, &'static str)]),
}

impl CounterRow {
    /// The value, or `None` if this kernel has none of the fields or no time was measured.
    pub(super) fn value(&self, counters: &Counters, elapsed_seconds: Option<f64>) -> Option<f64> {
        match self.formula {
            Formula::Sum(terms) => sum(counters, terms),
            Formula::Cost(terms) => sum(counters, terms).map(|cost| cost / 1e6),
            Formula::Ratio(parts, whole) => {
                let parts: Vec<u64> = parts.iter().filter_map(|field| counters.get(field)).collect();
                let whole = counters.get(whole).filter(|&whole| whole > 0)?;
                Some(parts.iter().sum::<u64>() as f64 / whole as f64)
            }
            Formula::PerSecond(field) => {
                let seconds = elapsed_seconds.filter(|&seconds| seconds > 0.0)?;
                counters.get(field).map(|count| count as f64 / seconds)
            }
            Formula::CpuPercent(field) => {
                let seconds = elapsed_seconds.filter(|&seconds| seconds > 0.0)?;
                counters.get(field).map(|ns| ns as f64 / 1e7 / seconds)
            }
            Formula::Percent { part, whole, empty } => {
                let known: Vec<u64> = whole.iter().filter_map(|field| counters.get(field)).collect();
                let whole: f64 = known.iter().map(|&count| count as f64).sum();
                let part = counters.get(part).unwrap_or(0) as f64;
                (!known.is_empty()).then(|| if whole == 0.0 { empty } else { 100.0 * part / whole })
            }
        }
    }
}

fn sum(counters: &Counters, terms: &[(f64, &str)]) -> Option<f64> {
    let known = terms.iter().filter_map(|&(factor, field)| counters.get(field).map(|count| factor * count as f64));
    known.reduce(|sum, term| sum + term)
}

const fn count(name: &'static str, unit: Unit, field: &'static [(f64, &'static str)]) -> CounterRow {
    CounterRow { name, unit, formula: Formula::Sum(field) }
}

const fn percent(name: &'static str, part: &'static str, whole: &'static [&'static str], empty: f64) -> CounterRow {
    CounterRow { name, unit: Unit::Percent, formula: Formula::Percent { part, whole, empty } }
}

const fn velocity(name: &'static str, field: &'static str) -> CounterRow {
    CounterRow { name, unit: Unit::PagesPerSecond, formula: Formula::PerSecond(field) }
}

const fn cpu(name: &'static str, field: &'static str) -> CounterRow {
    CounterRow { name, unit: Unit::Percent, formula: Formula::CpuPercent(field) }
}

const fn cost(name: &'static str, prices: &'static [(f64, &'static str)]) -> CounterRow {
    CounterRow { name, unit: Unit::MillionAccesses, formula: Formula::Cost(prices) }
}

use Unit::{Events, Kibibytes, Pages};

/// All rows. Where nothing happened, an efficiency of reclaim and the share of local hinting faults are printed as 100,
/// other shares as 0.
pub(super) const COUNTER_ROWS: &[CounterRow] = &[
    count("Minor Faults", Events, &[(1.0, "pgfault"), (-1.0, "pgmajfault")]),
    count("Major Faults", Events, &[(1.0, "pgmajfault")]),
    count("Swap Ins", Pages, &[(1.0, "pswpin")]),
    count("Swap Outs", Pages, &[(1.0, "pswpout")]),
    count("Allocation stalls", Events, &[(1.0, "allocstall")]),
    count("Fragmentation stalls", Events, &[(1.0, "fragment_stall")]),
    count("DMA allocs", Pages, &[(1.0, "pgalloc_dma")]),
    count("DMA32 allocs", Pages, &[(1.0, "pgalloc_dma32")]),
    count("Normal allocs", Pages, &[(1.0, "pgalloc_normal")]),
    count("Movable allocs", Pages, &[(1.0, "pgalloc_movable")]),
    count("Direct pages scanned", Pages, &[(1.0, "pgscan_direct")]),
    count("Kswapd pages scanned", Pages, &[(1.0, "pgscan_kswapd")]),
    count("Kswapd pages reclaimed", Pages, &[(1.0, "pgsteal_kswapd")]),
    count("Direct pages reclaimed", Pages, &[(1.0, "pgsteal_direct")]),
    percent("Kswapd efficiency %", "pgsteal_kswapd", &["pgscan_kswapd"], 100.0),
    velocity("Kswapd velocity", "pgscan_kswapd"),
    percent("Direct efficiency %", "pgsteal_direct", &["pgscan_direct"], 100.0),
    velocity("Direct velocity", "pgscan_direct"),
    percent("Percentage direct scans", "pgscan_direct", &["pgscan_direct", "pgscan_kswapd"], 0.0),
    count("Page writes by reclaim", Pages, &[(1.0, "nr_vmscan_write")]),
    count("Page writes file", Pages, &[(1.0, "nr_vmscan_write"), (-1.0, "pswpout")]),
    count("Page writes anon", Pages, &[(1.0, "pswpout")]),
    count("Page reclaim immediate", Pages, &[(1.0, "nr_vmscan_immediate_reclaim")]),
    count("Sector Reads", Kibibytes, &[(1.0, "pgpgin")]),
    count("Sector Writes", Kibibytes, &[(1.0, "pgpgout")]),
    count("Page rescued immediate", Pages, &[(1.0, "pgrescued")]),
    count("Slabs scanned", Events, &[(1.0, "slabs_scanned")]),
    count("Direct inode steals", Events, &[(1.0, "pginodesteal")]),
    count("Kswapd inode steals", Events, &[(1.0, "kswapd_inodesteal")]),
    count("Kswapd skipped wait", Events, &[(1.0, "kswapd_skip_congestion_wait")]),
    count("THP fault alloc", Events, &[(1.0, "thp_fault_alloc")]),
    count("THP fault fallback", Events, &[(1.0, "thp_fault_fallback")]),
    count("THP collapse alloc", Events, &[(1.0, "thp_collapse_alloc")]),
    count("THP collapse fail", Events, &[(1.0, "thp_collapse_alloc_failed")]),
    count("THP split", Events, &[(1.0, "thp_split_page")]),
    count("THP split failed", Events, &[(1.0, "thp_split_page_failed")]),
    count("Compaction stalls", Events, &[(1.0, "compact_stall")]),
    count("Compaction success", Events, &[(1.0, "compact_success")]),
    count("Compaction failures", Events, &[(1.0, "compact_fail")]),
    percent("Compaction efficiency", "compact_success", &["compact_stall"], 0.0),
    count("Page migrate success", Pages, &[(1.0, "pgmigrate_success")]),
    count("Page migrate failure", Pages, &[(1.0, "pgmigrate_fail")]),
    count("Compaction pages isolated", Pages, &[(1.0, "compact_isolated")]),
    count("Compaction migrate scanned", Pages, &[(1.0, "compact_migrate_scanned")]),
    count("Compaction free scanned", Pages, &[(1.0, "compact_free_scanned")]),
    percent("Compact scan efficiency", "compact_migrate_scanned", &["compact_free_scanned"], 0.0),
    cost(
        "Compaction cost",
        &[
            (7.0, "compact_migrate_scanned"),
            (19.0, "compact_isolated"),
            (1038.0, "pgmigrate_success"),
            (14.0, "pgmigrate_fail"),
        ],
    ),
    count("Kcompactd wake", Events, &[(1.0, "compact_daemon_wake")]),
    count("Kcompactd migrate scanned", Pages, &[(1.0, "compact_daemon_migrate_scanned")]),
    count("Kcompactd free scanned", Pages, &[(1.0, "compact_daemon_free_scanned")]),
    count("NUMA alloc hit", Pages, &[(1.0, "numa_hit")]),
    count("NUMA alloc miss", Pages, &[(1.0, "numa_miss")]),
    count("NUMA interleave hit", Pages, &[(1.0, "numa_interleave")]),
    count("NUMA alloc local", Pages, &[(1.0, "numa_local")]),
    // The kernel counts a huge update as one for each of its base pages, too.
    count("NUMA base-page range updates", Pages, &[(1.0, "numa_pte_updates")]),
    count("NUMA PTE updates", Events, &[(1.0, "numa_pte_updates"), (-512.0, "numa_huge_pte_updates")]),
    count("NUMA PMD updates", Events, &[(1.0, "numa_huge_pte_updates")]),
    count("NUMA hint faults", Events, &[(1.0, "numa_hint_faults")]),
    // A count in spite of its name.
    count("NUMA hint local faults %", Events, &[(1.0, "numa_hint_faults_local")]),
    percent("NUMA hint local percent", "numa_hint_faults_local", &["numa_hint_faults"], 100.0),
    count("NUMA pages migrated", Pages, &[(1.0, "numa_pages_migrated")]),
    cost("AutoNUMA cost", &[(7.0, "numa_pte_updates"), (5000.0, "numa_hint_faults"), (19.0, "numa_pages_migrated")]),
];

const fn ratio(name: &'static str, parts: &'static [&'static str], whole: &'static str) -> CounterRow {
    CounterRow { name, unit: Unit::Times, formula: Formula::Ratio(parts, whole) }
}

/// Rows about compaction of whole pageblocks, from the account that the lab keeps: the number of emptied blocks, with
/// the moves they took; the moves that the cheapest blocks would have taken each time a run began; and the reasons that
/// kept pages in place.
pub(super) const COMPACTION_ROWS: &[CounterRow] = &[
    count("Huge pages gained", Unit::HugePages, &[(1.0, "order9_compact_blocks_emptied")]),
    count("Pages moved", Pages, &[(1.0, "order9_compact_pages_moved")]),
    count("Least moves for as many", Pages, &[(1.0, "order9_compact_least_moves")]),
    ratio("Moved by least", &["order9_compact_pages_moved"], "order9_compact_least_moves"),
    ratio("Scanned by moved", SCANNED, "order9_compact_pages_moved"),
    ratio("Scanned by huge page", SCANNED, "order9_compact_blocks_emptied"),
    count("In the way: pinned", Pages, &[(1.0, "order9_migrate_pinned")]),
    count("In the way: writeback", Pages, &[(1.0, "order9_migrate_writeback")]),
    count("In the way: dirty", Pages, &[(1.0, "order9_migrate_dirty"), (1.0, "order9_migrate_private_data")]),
    count("In the way: locked", Pages, &[(1.0, "order9_migrate_locked")]),
    count("No frame to move to", Pages, &[(1.0, "order9_migrate_no_target")]),
];

/// Rows about reclaim for huge pages: pages freed, in all and for each huge page that a fault got, and the part that
/// compaction does not find as room.
pub(super) const RECLAIM_ROWS: &[CounterRow] = &[
    count("Pages reclaimed", Pages, &[(1.0, "order9_huge_reclaimed")]),
    count("Behind the free scanner", Pages, &[(1.0, "order9_huge_reclaimed_behind")]),
    ratio("Reclaimed by huge fault", &["order9_huge_reclaimed"], "thp_fault_alloc"),
    ratio("Behind by huge fault", &["order9_huge_reclaimed_behind"], "thp_fault_alloc"),
];

/// Rows about the time of daemons of all nodes together, and of waits for direct compaction: 100 is one CPU all the
/// time.
pub(super) const DAEMON_ROWS: &[CounterRow] = &[
    cpu("kswapd CPU %", "order9_kswapd_cpu_ns"),
    cpu("kcompactd CPU %", "order9_kcompactd_cpu_ns"),
    cpu("khugepaged CPU %", "order9_khugepaged_cpu_ns"),
    cpu("Flusher CPU %", "order9_flusher_cpu_ns"),
    cpu("Direct compaction %", "order9_compact_stall_ns"),
];

/// Memory of programs in huge pages, over the time of the test, and what it costs them in memory that they do not use.
pub(super) const HUGE_ROWS: &[CounterRow] = &[
    count("Anonymous memory, mean", Pages, &[(1.0, "order9_mean_anon_pages")]),
    percent("Huge part of it %", "order9_mean_anon_huge", &["order9_mean_anon_pages"], 0.0),
    count("Pages added by collapse", Pages, &[(1.0, "order9_collapse_filled")]),
];

const SCANNED: &[&str] = &["compact_migrate_scanned", "compact_free_scanned"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reclaimed_for_huge_pages_is_shared_out_over_those_that_came_of_it() {
        let values = |faults| {
            let counters =
                [("order9_huge_reclaimed", 3000), ("order9_huge_reclaimed_behind", 500), ("thp_fault_alloc", faults)];
            let counters = counters.into_iter().collect();
            RECLAIM_ROWS.iter().map(|row| row.value(&counters, None)).collect::<Vec<_>>()
        };
        assert_eq!(values(4), [Some(3000.0), Some(500.0), Some(750.0), Some(125.0)]);
        assert_eq!(values(0), [Some(3000.0), Some(500.0), None, None], "all of it in vain");
    }

    #[test]
    fn nothing_moved_is_no_ratio() {
        let row = COMPACTION_ROWS.iter().find(|row| row.name == "Moved by least").unwrap();
        let value = |moved, least| {
            let counters = [("order9_compact_pages_moved", moved), ("order9_compact_least_moves", least)];
            row.value(&counters.into_iter().collect(), None)
        };
        assert_eq!((value(396, 256), value(396, 0)), (Some(396.0 / 256.0), None));
    }

    fn value(name: &str, counters: &[(&str, u64)]) -> Option<f64> {
        let row = COUNTER_ROWS.iter().find(|row| row.name == name).expect("a row of this name");
        row.value(&counters.iter().copied().collect(), Some(10.0))
    }

    #[test]
    fn derived_rows_follow_their_formulas() {
        assert_eq!(value("Minor Faults", &[("pgfault", 10), ("pgmajfault", 3)]), Some(7.0));
        assert_eq!(value("Kswapd efficiency %", &[("pgsteal_kswapd", 1), ("pgscan_kswapd", 4)]), Some(25.0));
        assert_eq!(value("Kswapd velocity", &[("pgscan_kswapd", 45)]), Some(4.5));
        assert_eq!(value("Percentage direct scans", &[("pgscan_direct", 1), ("pgscan_kswapd", 3)]), Some(25.0));
        let kcompactd = DAEMON_ROWS.iter().find(|row| row.name == "kcompactd CPU %").unwrap();
        let second = [("order9_kcompactd_cpu_ns", 1_000_000_000)].into_iter().collect();
        assert_eq!(kcompactd.value(&second, Some(10.0)), Some(10.0));
        assert_eq!(value("Page writes file", &[("nr_vmscan_write", 5), ("pswpout", 7)]), Some(-2.0));
    }

    #[test]
    fn shares_of_nothing_have_a_fixed_value() {
        assert_eq!(value("Direct efficiency %", &[("pgsteal_direct", 0), ("pgscan_direct", 0)]), Some(100.0));
        assert_eq!(value("Percentage direct scans", &[("pgscan_direct", 0), ("pgscan_kswapd", 0)]), Some(0.0));
        assert_eq!(value("NUMA hint local percent", &[("numa_hint_faults", 0)]), Some(100.0));
    }

    #[test]
    fn what_a_kernel_does_not_count_is_missing() {
        assert_eq!(value("Page rescued immediate", &[("pgfault", 1)]), None);
        let velocity = COUNTER_ROWS.iter().find(|row| row.name == "Kswapd velocity").unwrap();
        assert_eq!(velocity.value(&[("pgscan_kswapd", 1)].into_iter().collect(), None), None);
    }

    #[test]
    fn every_row_has_a_name_of_its_own() {
        let mut names: Vec<_> = COUNTER_ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), COUNTER_ROWS.len());
    }
}
