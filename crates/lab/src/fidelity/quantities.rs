//! Quantities in which the lab is held against a kernel, and how near it is to come.

use order9_report::compare::{Quantity, Results, Unit};
use order9_workloads::Workload;

use super::Goal;
use crate::quantities::workload_quantities;

/// Reads a quantity from the results of a run; `None` where nothing was measured.
pub(super) type Read = Box<dyn Fn(&Results) -> Option<f64>>;

/// A quantity, how it is read from a run, and how near the lab is to come.
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) read: Read,
    pub(super) goal: Goal,
    /// Amount that both sides may have without anybody caring.
    pub(super) negligible: f64,
    pub(super) is_time: bool,
}

const PAGEBLOCK: f64 = 512.0;

fn count(results: &Results, name: &str) -> Option<f64> {
    results.counters.get(name).map(|count| count as f64)
}

/// Huge pages that programs got.
fn made(results: &Results) -> Option<f64> {
    Some(count(results, "thp_fault_alloc")? + count(results, "thp_collapse_alloc").unwrap_or(0.0))
}

/// A counter for each huge page made; of all, where none was.
fn per_huge(results: &Results, name: &str) -> Option<f64> {
    let huge = made(results).filter(|&huge| huge > 0.0).unwrap_or(1.0);
    Some(count(results, name)? / huge)
}

fn sum(results: &Results, names: &[&str]) -> Option<f64> {
    let known: Vec<f64> = names.iter().filter_map(|name| count(results, name)).collect();
    (!known.is_empty()).then(|| known.iter().sum())
}

/// Quantities of every workload.
fn counters() -> Vec<Asked> {
    let factor = |name: &str, negligible, read: Read| Asked {
        name: name.to_owned(),
        read,
        goal: Goal::Factor(1.5),
        negligible,
        is_time: false,
    };
    let daemon = |name: &str, counter: &'static str| Asked {
        name: format!("{name} CPU (ms)"),
        read: Box::new(move |results| count(results, counter).map(|ns| ns / 1e6)),
        goal: Goal::Percent(25.0),
        negligible: 20.0,
        is_time: true,
    };
    let huge_share = Asked {
        name: "faults that became huge (%)".to_owned(),
        read: Box::new(|results| {
            let (huge, base) = (count(results, "thp_fault_alloc")?, count(results, "thp_fault_fallback")?);
            (huge + base > 0.0).then(|| 100.0 * huge / (huge + base))
        }),
        goal: Goal::Points(3.0),
        negligible: 0.0,
        is_time: false,
    };
    vec![
        huge_share,
        factor("huge pages made", 8.0, Box::new(made)),
        factor("pages moved", PAGEBLOCK, Box::new(|results| count(results, "pgmigrate_success"))),
        factor(
            "scanned for sources, per huge page",
            PAGEBLOCK / 8.0,
            Box::new(|results| per_huge(results, "compact_migrate_scanned")),
        ),
        factor(
            "scanned for targets, per huge page",
            PAGEBLOCK / 8.0,
            Box::new(|results| per_huge(results, "compact_free_scanned")),
        ),
        factor("compaction stalls", 10.0, Box::new(|results| count(results, "compact_stall"))),
        factor("compaction failures", 10.0, Box::new(|results| count(results, "compact_fail"))),
        factor(
            "pages scanned by reclaim",
            PAGEBLOCK,
            Box::new(|results| sum(results, &["pgscan_kswapd", "pgscan_direct"])),
        ),
        factor("pages reclaimed", PAGEBLOCK, Box::new(|results| sum(results, &["pgsteal_kswapd", "pgsteal_direct"]))),
        factor("pages swapped out", PAGEBLOCK, Box::new(|results| count(results, "pswpout"))),
        factor("pages swapped in", PAGEBLOCK, Box::new(|results| count(results, "pswpin"))),
        daemon("kswapd", "order9_kswapd_cpu_ns"),
        daemon("kcompactd", "order9_kcompactd_cpu_ns"),
        daemon("khugepaged", "order9_khugepaged_cpu_ns"),
    ]
}

/// Quantity by which the workload itself is judged.
fn of_workload(quantity: Quantity) -> Asked {
    let unit = quantity.unit;
    let (goal, is_time) = match unit {
        Unit::Percent => (Goal::Points(3.0), false),
        Unit::HugePages | Unit::Pages | Unit::Gibibytes | Unit::Events | Unit::MillionAccesses => {
            (Goal::Percent(3.0), false)
        }
        _ => (Goal::Percent(25.0), true),
    };
    let read = Box::new(move |results: &Results| quantity.value(results));
    Asked { name: String::new(), read, goal, negligible: 0.0, is_time }
}

/// All quantities of a workload: its own, and those of every workload.
pub(super) fn quantities<'a>(workload: Workload, runs: impl Iterator<Item = &'a order9_record::Run>) -> Vec<Asked> {
    let own = workload_quantities(workload, runs).into_iter().map(|quantity| {
        let name = format!("{} ({})", quantity.name, quantity.unit);
        Asked { name, ..of_workload(quantity) }
    });
    own.chain(counters()).collect()
}
