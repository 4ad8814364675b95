//! Measurements of a cell as a list of figures: statistics of samples, durations, counts of events, and measures of the whole run.

use order9_measures::{Unit as WholeUnit, named};
use order9_record::{Run, Unit};
use order9_report::stats::{Convention, Direction, Generation, Percent, Samples, Statistic as Row};
use order9_units::CounterKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A figure of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Operation of the workload, `user`, `system` or `elapsed`, the name of a counter, or a word of `order9 tune --goal`.
    pub operation: String,
    /// Statistic over the samples of the cell; a counter has its growth.
    pub statistic: Statistic,
    /// The value in `unit`.
    pub value: f64,
    /// `nanos`, `seconds`, `percent`, `count` or `per-second`; of a counter, what it counts.
    pub unit: String,
}

/// Statistic over the samples that a cell took of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Number of samples.
    Count,
    /// Arithmetic mean; of one sample, its value.
    Mean,
    /// Median, by nearest rank as the other percentiles.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// Largest sample.
    Max,
    /// Duration of the whole run.
    Total,
    /// Growth of a counter of events over the whole run.
    Growth,
    /// A measure of the whole run that goals and limits of a search name.
    Run,
}

impl Statistic {
    /// All of them.
    pub const ALL: [Self; 9] =
        [Self::Count, Self::Mean, Self::P50, Self::P95, Self::P99, Self::Max, Self::Total, Self::Growth, Self::Run];
    /// Statistics of samples, which tell something of an operation.
    pub const OF_SAMPLES: [Self; 5] = [Self::Mean, Self::P50, Self::P95, Self::P99, Self::Max];

    /// The word in plans and tables.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Mean => "mean",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::Max => "max",
            Self::Total => "total",
            Self::Growth => "growth",
            Self::Run => "run",
        }
    }
}

/// All figures of a run, in order of operations as the run has them, then durations, then counters, then measures of the whole run;
/// these only where it came to its end.
pub(crate) fn measures(run: &Run) -> Vec<Measure> {
    let mut measures = Vec::new();
    for operation in &run.operations {
        let Ok(samples) = Samples::new(run.values(&operation.name)) else { continue };
        let mut push = |statistic, value| {
            measures.push(Measure {
                operation: operation.name.clone(),
                statistic,
                value,
                unit: operation.unit.name().to_owned(),
            });
        };
        push(Statistic::Mean, of_samples(Row::PlainMean, &samples));
        if samples.count() > 1 {
            for (statistic, percent) in [(Statistic::P50, 50), (Statistic::P95, 95), (Statistic::P99, 99)] {
                push(statistic, of_samples(Row::Percentile(Percent::new(percent)), &samples));
            }
            push(Statistic::Max, samples.max());
        }
        measures.push(Measure {
            operation: operation.name.clone(),
            statistic: Statistic::Count,
            value: samples.count() as f64,
            unit: Unit::Count.name().to_owned(),
        });
    }
    let durations =
        [("user", run.durations.user), ("system", run.durations.system), ("elapsed", run.durations.elapsed)];
    measures.extend(durations.map(|(name, time)| Measure {
        operation: name.to_owned(),
        statistic: Statistic::Total,
        value: time.get() as f64,
        unit: Unit::Nanos.name().to_owned(),
    }));
    measures.extend(counters(run));
    if run.outcome.message().is_none() {
        measures.extend(whole(run));
    }
    measures
}

/// Percentiles by nearest rank and plain means are read the same way whatever is better.
fn of_samples(row: Row, samples: &Samples) -> f64 {
    let convention = Convention { direction: Direction::LowerIsBetter, generation: Generation::default() };
    convention.value(row, samples).expect("means and percentiles of samples are defined")
}

/// Growth of all counters of events.
fn counters(run: &Run) -> impl Iterator<Item = Measure> {
    run.counters.columns.iter().filter_map(|counter| {
        let meaning = counter.meaning.filter(|meaning| meaning.kind == CounterKind::Event)?.to_string();
        Some(Measure {
            operation: counter.name.clone(),
            statistic: Statistic::Growth,
            value: run.growth(&counter.name)? as f64,
            unit: meaning.strip_prefix("event of ").unwrap_or(&meaning).to_owned(),
        })
    })
}

/// Measures that goals and limits name.
fn whole(run: &Run) -> impl Iterator<Item = Measure> {
    named().filter_map(|measure| {
        let unit = match measure.unit {
            WholeUnit::Percent => Unit::Percent.name(),
            WholeUnit::Nanoseconds => Unit::Nanos.name(),
            WholeUnit::Events => Unit::Count.name(),
            WholeUnit::Pages => "pages",
            WholeUnit::HugePages => "huge pages",
        };
        Some(Measure {
            operation: measure.word.to_owned(),
            statistic: Statistic::Run,
            value: (measure.read)(run)?,
            unit: unit.to_owned(),
        })
    })
}
