//! Quantities by which policies are judged: what of a workload decides, and what memory management did for it.

use std::collections::BTreeSet;

use order9_record::Run;
use order9_report::compare::{Quantity, Source, Unit, is_operation};
use order9_report::stats::{Direction, Percent, Statistic};
use order9_workloads::{Family, Figure, Measure, Workload};

use crate::tables::{direction, unit};

const MOVED: (&str, &str, Source) = ("moved", "pages moved, by compaction or not", Source::Count("pgmigrate_success"));

/// Quantities that judge compaction under any workload.
const COMPACTION: [(&str, &str, Source); 4] = [
    ("migrate", "frames the migration scanner looked at", Source::Count("compact_migrate_scanned")),
    ("free", "frames the free scanner looked at", Source::Count("compact_free_scanned")),
    MOVED,
    ("success", "compact_success in compact_stall", Source::Share { part: "compact_success", whole: "compact_stall" }),
];

/// Quantities that decide between policies: the main quantities of the workload, under the names that `runs` have for
/// them, and moves.
pub(crate) fn main_quantities<'a>(workload: Workload, runs: impl Iterator<Item = &'a Run>) -> Vec<Quantity> {
    workload_quantities(workload, runs).into_iter().chain([counted(MOVED)]).collect()
}

/// The main quantities of the workload, under the names that `runs` have for them.
pub(crate) fn workload_quantities<'a>(workload: Workload, runs: impl Iterator<Item = &'a Run>) -> Vec<Quantity> {
    let names: BTreeSet<&str> = runs.flat_map(|run| &run.operations).map(|operation| operation.name.as_str()).collect();
    of_workload(workload, |operation| numbered(operation, &names)).collect()
}

/// Quantities that are measured of every policy of an ablation: those of compaction, and those that decide between
/// policies. A quantity that is better when higher is called "gained": that word becomes the head of a column, and most
/// names are longer.
pub(crate) fn ablation_quantities(workload: Workload) -> Vec<Quantity> {
    let short = |quantity: Quantity| match quantity.direction {
        Direction::HigherIsBetter => Quantity { name: "gained".to_owned(), ..quantity },
        Direction::LowerIsBetter => quantity,
    };
    COMPACTION.into_iter().map(counted).chain(of_workload(workload, str::to_owned).map(short)).collect()
}

fn of_workload(workload: Workload, name: impl Fn(&str) -> String) -> impl Iterator<Item = Quantity> {
    let mains =
        workload.spec().measures.iter().flat_map(|measure| measure.main.iter().map(move |main| (measure, main)));
    mains.map(move |(measure, &(operation, figure))| sampled(measure, operation, figure, &name(operation)))
}

fn sampled(measure: &Measure, operation: &'static str, figure: Figure, name: &str) -> Quantity {
    let percentile = |percent| Statistic::Percentile(Percent::new(percent));
    let (suffix, of, statistic) = match figure {
        Figure::Mean if matches!(measure.family, Family::Single(_)) => ("", "", Statistic::PlainMean),
        Figure::Mean => ("", "mean of ", Statistic::PlainMean),
        Figure::Median => (" p50", "median of ", percentile(50)),
        Figure::P95 => (" p95", "95th percentile of ", percentile(95)),
    };
    Quantity {
        name: format!("{name}{suffix}"),
        meaning: format!("{of}{operation}"),
        unit: unit(measure),
        decimals: measure.decimals,
        direction: direction(measure),
        source: Source::Samples { operation, statistic },
    }
}

fn counted((name, meaning, source): (&str, &str, Source)) -> Quantity {
    let (unit, decimals, direction) = match source {
        Source::Share { .. } => (Unit::Percent, 1, Direction::HigherIsBetter),
        Source::Count(_) | Source::Samples { .. } => (Unit::Pages, 0, Direction::LowerIsBetter),
    };
    Quantity { name: name.to_owned(), meaning: meaning.to_owned(), unit, decimals, direction, source }
}

/// An operation with the number that it has in all runs, `huge-4`, or the least and the largest of several, `huge-1..12`.
fn numbered(operation: &str, names: &BTreeSet<&str>) -> String {
    let number = |name: &&str| name.strip_prefix(operation)?.strip_prefix('-')?.parse::<u64>().ok();
    let mut numbers: Vec<_> = names.iter().filter(|name| is_operation(operation, name)).filter_map(number).collect();
    numbers.sort_unstable();
    match numbers[..] {
        [] => operation.to_owned(),
        [number] => format!("{operation}-{number}"),
        [least, .., largest] => format!("{operation}-{least}..{largest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use order9_record::Unit as Recorded;

    fn names(quantities: &[Quantity]) -> Vec<&str> {
        quantities.iter().map(|quantity| quantity.name.as_str()).collect()
    }

    #[test]
    fn an_ablation_measures_compaction_and_what_decides() {
        let of = |workload| ablation_quantities(workload);
        assert_eq!(
            names(&of(Workload::HugeAlloc)),
            ["migrate", "free", "moved", "success", "alloc p50", "alloc p95", "gained"]
        );
        assert_eq!(names(&of(Workload::ThpScale))[4..], ["fault-huge p50", "fault-huge p95", "fault-both", "gained"]);
        assert_eq!(names(&of(Workload::Idle)).len(), COMPACTION.len());
    }

    #[test]
    fn main_quantities_are_named_as_the_runs_have_them() {
        let mut run = Run::new("a", 1);
        for name in ["fault-huge-1", "fault-huge-12", "fault-both-x", "huge-4"] {
            run.operation(name, Recorded::Nanos);
        }
        let found = main_quantities(Workload::ThpScale, [&run].into_iter());
        let expected = ["fault-huge-1..12 p50", "fault-huge-1..12 p95", "fault-both", "huge-4", "moved"];
        assert_eq!(names(&found), expected);
    }

    /// Every workload that measures anything has quantities that decide, and each is a row of the table that names it.
    #[test]
    fn every_workload_says_what_decides() {
        for workload in Workload::ALL {
            for measure in workload.spec().measures {
                let known = |(operation, _): &(&str, Figure)| measure.operations.contains(operation);
                assert!(measure.main.iter().all(known), "{} {}", workload.name(), measure.heading);
            }
            let decides = workload.spec().measures.iter().any(|measure| !measure.main.is_empty());
            assert!(decides || workload.spec().measures.is_empty(), "{}", workload.name());
        }
    }
}
