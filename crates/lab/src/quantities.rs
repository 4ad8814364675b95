//! What is measured of every policy of an ablation: what compaction did, what the workload gained, how long it waited.

use order9_report::ablation::Quantity;
use order9_report::compare::{Column, Unit};
use order9_report::stats::{Convention, Generation, Percent, Samples, Statistic};
use order9_workloads::{Better, Family, Measure, Workload};

use crate::tables::{direction, is_operation, unit};

/// A quantity, and where its values come from.
pub(super) enum Measured {
    /// Growth of a counter in a run.
    Count { name: &'static str, meaning: &'static str, counter: &'static str },
    /// Growth of a counter in percent of that of another.
    Share { name: &'static str, meaning: &'static str, part: &'static str, whole: &'static str },
    /// A statistic of the samples of one operation of the workload.
    Samples { name: String, measure: &'static Measure, operation: &'static str, statistic: Statistic },
}

/// How compaction is judged, whatever runs.
const COMPACTION: [Measured; 4] = [
    Measured::Count {
        name: "migrate",
        meaning: "frames the migration scanner looked at",
        counter: "compact_migrate_scanned",
    },
    Measured::Count { name: "free", meaning: "frames the free scanner looked at", counter: "compact_free_scanned" },
    Measured::Count { name: "moved", meaning: "pages moved, by compaction or not", counter: "pgmigrate_success" },
    Measured::Share {
        name: "success",
        meaning: "compact_success in compact_stall",
        part: "compact_success",
        whole: "compact_stall",
    },
];

const MEDIAN: Statistic = Statistic::Percentile(Percent::new(50));

impl Measured {
    /// What is measured of `workload`: compaction, the first thing of which more is better, and the first times.
    pub(super) fn of(workload: Workload) -> Vec<Self> {
        let measures = workload.measures();
        let gained = measures.iter().find(|measure| measure.better == Better::Higher);
        let times = measures.iter().find(|measure| measure.better == Better::Lower && is_time(measure));
        let gained = gained.map(|measure| Self::Samples {
            name: "gained".to_owned(),
            measure,
            operation: measure.operations[0],
            statistic: Statistic::PlainMean,
        });
        COMPACTION.into_iter().chain(gained).chain(times.into_iter().flat_map(Self::of_times)).collect()
    }

    /// The mean of every operation; also the median, where whole distributions are shown.
    fn of_times(measure: &'static Measure) -> impl Iterator<Item = Self> {
        let statistics: &[_] = match measure.family {
            Family::Quantiles | Family::Percentiles => &[("median", MEDIAN), ("mean", Statistic::PlainMean)],
            Family::Samples | Family::Single(_) => &[("mean", Statistic::PlainMean)],
        };
        let several = measure.operations.len() > 1;
        measure.operations.iter().flat_map(move |&operation| {
            statistics.iter().map(move |&(name, statistic)| {
                let name = if several { format!("{operation} {name}") } else { name.to_owned() };
                Self::Samples { name, measure, operation, statistic }
            })
        })
    }

    /// How it is shown.
    pub(super) fn quantity(&self) -> Quantity {
        let quantity = |name: &str, meaning: &str, unit, decimals| Quantity {
            name: name.to_owned(),
            meaning: meaning.to_owned(),
            unit,
            decimals,
        };
        match self {
            Self::Count { name, meaning, .. } => quantity(name, meaning, Unit::Pages, 0),
            Self::Share { name, meaning, .. } => quantity(name, meaning, Unit::Percent, 1),
            Self::Samples { name, measure, operation, statistic } => {
                let of = if *statistic == MEDIAN { "median of" } else { "mean of" };
                let meaning = if name == "gained" { (*operation).to_owned() } else { format!("{of} {operation}") };
                quantity(name, &meaning, unit(measure), measure.decimals)
            }
        }
    }

    /// Its value in a column of `runs` runs, which holds the sums of their counters; `None` where nothing was measured.
    pub(super) fn value(&self, column: &Column, runs: usize) -> Option<f64> {
        let count = |counter| column.counters.get(counter).map(|count| count as f64);
        match self {
            Self::Count { counter, .. } => Some(count(counter)? / runs as f64),
            Self::Share { part, whole, .. } => {
                let whole = count(whole).filter(|&whole| whole > 0.0)?;
                Some(100.0 * count(part)? / whole)
            }
            Self::Samples { measure, operation, statistic, .. } => {
                let of_operation = column.samples.iter().filter(|(name, _)| is_operation(operation, name));
                let values = of_operation.flat_map(|(_, samples)| samples.ascending()).copied();
                let convention = Convention { direction: direction(measure), generation: Generation::default() };
                convention.value(*statistic, &Samples::new(values).ok()?)
            }
        }
    }
}

fn is_time(measure: &Measure) -> bool {
    matches!(unit(measure), Unit::Seconds | Unit::Milliseconds | Unit::Microseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(workload: Workload) -> Vec<String> {
        Measured::of(workload)[COMPACTION.len()..].iter().map(|measured| measured.quantity().name).collect()
    }

    #[test]
    fn a_workload_is_judged_by_what_it_gains_and_how_long_it_waits() {
        assert_eq!(names(Workload::HugeAlloc), ["gained", "median", "mean"]);
        assert_eq!(names(Workload::FragMix)[1..3], ["alloc median", "alloc mean"]);
        assert_eq!(names(Workload::ThpScale)[1..], ["fault-base mean", "fault-huge mean", "fault-both mean"]);
        assert_eq!(names(Workload::FsMark), ["gained"]);
        assert_eq!(names(Workload::Idle), [""; 0]);
    }

    #[test]
    fn counters_are_means_of_a_run_and_shares_of_nothing_are_none() {
        let counters = [("compact_migrate_scanned", 30), ("compact_success", 0), ("compact_stall", 0)];
        let samples = [("alloc", vec![1000.0, 3000.0, 8000.0])].into_iter();
        let column = Column {
            title: order9_report::compare::Title::new("a"),
            samples: samples.map(|(name, values)| (name.to_owned(), Samples::new(values).unwrap())).collect(),
            durations: None,
            counters: counters.into_iter().collect(),
        };
        let values: Vec<_> = Measured::of(Workload::HugeAlloc).iter().map(|it| it.value(&column, 2)).collect();
        assert_eq!(values, [Some(15.0), None, None, None, None, Some(3000.0), Some(4000.0)]);
    }
}
