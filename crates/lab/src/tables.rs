//! Records as tables: run by run, or in the layout of mmtests, which pools iterations.

use std::collections::{BTreeMap, BTreeSet};

use order9_record::{Counter, Run};
use order9_report::compare::{
    self, Benchmark, Column, Counters, Durations, Pooled, Report, Results, Section, Style, Title,
};
use order9_report::compare::{compare_runs, is_operation};
use order9_report::stats::{Direction, Family, Generation, Samples};
use order9_units::{CounterKind, PAGEBLOCK_PAGES};
use order9_workloads::{self as workloads, Better, GENERAL_MEASURES, Measure, Workload};

use crate::quantities::main_quantities;

/// Compares columns of runs: a title each, and its runs. A run is an observation. All are of `workload`.
#[must_use]
pub fn report(workload: Workload, columns: &[(&str, Vec<&Run>)], generation: Generation) -> Report {
    let benchmark = benchmark(workload, columns);
    let columns: Vec<Column> = columns.iter().map(|(title, runs)| column(workload, title, runs)).collect();
    compare_runs(&benchmark, &columns, generation)
}

/// Compares columns of runs as published tables do: samples are pooled, counters and durations are sums, as if the runs
/// of a column were iterations of one test.
#[must_use]
pub fn pooled_report(workload: Workload, columns: &[(&str, Vec<&Run>)], style: Style) -> Report {
    let benchmark = benchmark(workload, columns);
    let pooled =
        |(title, runs): &(&str, Vec<&Run>)| Pooled { title: Title::new(title), results: results(workload, runs) };
    let columns: Vec<Pooled> = columns.iter().map(pooled).collect();
    compare::compare(&benchmark, &columns, style)
}

fn benchmark(workload: Workload, columns: &[(&str, Vec<&Run>)]) -> Benchmark {
    let section = |measure: &Measure| Section {
        heading: measure.heading.to_owned(),
        family: match measure.family {
            workloads::Family::Samples => Family::Samples,
            workloads::Family::Quantiles => Family::Quantiles,
            workloads::Family::Percentiles => Family::Percentiles,
            workloads::Family::Single(name) => Family::Single(name),
        },
        direction: direction(measure),
        unit: unit(measure),
        decimals: measure.decimals,
        operations: operations(measure, columns),
    };
    let general = GENERAL_MEASURES.iter().map(section);
    let runs = columns.iter().flat_map(|(_, runs)| runs.iter().copied());
    Benchmark {
        name: workload.name().to_owned(),
        sections: workload
            .spec()
            .measures
            .iter()
            .map(section)
            .chain(general.filter(|section| !section.operations.is_empty()))
            .collect(),
        main: main_quantities(workload, runs),
    }
}

/// Direction in which values of a table are better.
pub(crate) const fn direction(measure: &Measure) -> Direction {
    match measure.better {
        Better::Lower => Direction::LowerIsBetter,
        Better::Higher => Direction::HigherIsBetter,
    }
}

/// Unit in which a table shows its values.
pub(crate) const fn unit(measure: &Measure) -> compare::Unit {
    match measure.unit {
        workloads::Unit::Seconds => compare::Unit::Seconds,
        workloads::Unit::Milliseconds => compare::Unit::Milliseconds,
        workloads::Unit::Microseconds => compare::Unit::Microseconds,
        workloads::Unit::Nanoseconds => compare::Unit::Nanoseconds,
        workloads::Unit::FilesPerSecond => compare::Unit::FilesPerSecond,
        workloads::Unit::MebibytesPerSecond => compare::Unit::MebibytesPerSecond,
        workloads::Unit::Percent => compare::Unit::Percent,
        workloads::Unit::HugePages => compare::Unit::HugePages,
        workloads::Unit::Pages => compare::Unit::Pages,
        workloads::Unit::Gibibytes => compare::Unit::Gibibytes,
        workloads::Unit::Events => compare::Unit::Events,
        workloads::Unit::PerSecond => compare::Unit::PerSecond,
        workloads::Unit::MillionAccesses => compare::Unit::MillionAccesses,
    }
}

/// The operations of a table that any column has: by their first word as the table has it, then by number.
fn operations(measure: &Measure, columns: &[(&str, Vec<&Run>)]) -> Vec<String> {
    let names = columns.iter().flat_map(|(_, runs)| runs.iter()).flat_map(|run| &run.operations);
    let place = |name: &str| {
        let (word, number) = name.rsplit_once('-').unwrap_or((name, ""));
        let (word, number) = number.parse::<u64>().map_or((name, 0), |number| (word, number));
        let place = measure.operations.iter().position(|known| *known == word)?;
        Some((place, number, name.to_owned()))
    };
    let ordered: BTreeSet<_> = names.filter_map(|operation| place(&operation.name)).collect();
    ordered.into_iter().map(|(_, _, name)| name).collect()
}

/// Results of the runs of one policy, each by itself.
pub(crate) fn column(workload: Workload, title: &str, runs: &[&Run]) -> Column {
    Column::new(Title::new(title), runs.iter().map(|run| results(workload, &[run])))
}

/// Results of several runs together.
pub(crate) fn results(workload: Workload, runs: &[&Run]) -> Results {
    let mut pooled: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for run in runs {
        for operation in &run.operations {
            let measures = || workload.spec().measures.iter().chain(GENERAL_MEASURES);
            let divisor = measures().find(|measure| has(measure, &operation.name)).map_or(1.0, divisor);
            let values = run.values(&operation.name).map(|value| value / divisor);
            pooled.entry(operation.name.clone()).or_default().extend(values);
        }
    }
    let samples = pooled.into_iter().filter_map(|(name, values)| Some((name, Samples::new(values).ok()?)));
    Results { samples: samples.collect(), durations: durations(runs), counters: counters(runs) }
}

fn has(measure: &Measure, name: &str) -> bool {
    measure.operations.iter().any(|operation| is_operation(operation, name))
}

/// Number of units of the samples in one unit of the table. Samples count times in nanoseconds.
fn divisor(measure: &Measure) -> f64 {
    match measure.unit {
        workloads::Unit::Seconds => 1e9,
        workloads::Unit::Milliseconds => 1e6,
        workloads::Unit::Microseconds => 1e3,
        workloads::Unit::Gibibytes => (1_u64 << 30) as f64,
        workloads::Unit::Nanoseconds
        | workloads::Unit::FilesPerSecond
        | workloads::Unit::MebibytesPerSecond
        | workloads::Unit::Percent
        | workloads::Unit::HugePages
        | workloads::Unit::Events
        | workloads::Unit::PerSecond
        | workloads::Unit::MillionAccesses
        | workloads::Unit::Pages => 1.0,
    }
}

/// Of all iterations together, as of one long test.
fn durations(runs: &[&Run]) -> Option<Durations> {
    let of_run = |run: &&Run| Durations {
        user: run.durations.user,
        system: run.durations.system,
        elapsed: run.durations.elapsed,
    };
    runs.iter().map(of_run).reduce(|sum, run| Durations {
        user: sum.user + run.user,
        system: sum.system + run.system,
        elapsed: sum.elapsed + run.elapsed,
    })
}

/// Whether a counter counts events. Runs that were stored before they kept meanings have fields of /proc/vmstat by their names.
pub(crate) fn counts_events(counter: &Counter) -> bool {
    counter.meaning.map_or_else(|| Counters::is_counter(&counter.name), |meaning| meaning.kind == CounterKind::Event)
}

/// Counts of all iterations together. Levels are left out.
fn counters(runs: &[&Run]) -> Counters {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for run in runs {
        for counter in run.counters.columns.iter().filter(|counter| counts_events(counter)) {
            let growth = run.growth(&counter.name).and_then(|growth| u64::try_from(growth).ok());
            *sums.entry(&counter.name).or_default() += growth.unwrap_or(0);
        }
    }
    sums.extend(MEANS.map(|(name, level, pages)| (name, mean(runs, level, pages))));
    Counters::from_iter(sums)
}

/// Levels of which tables show the mean over time, in base pages: what they are called then, and how large one is.
const MEANS: [(&str, &str, u64); 2] = [
    ("order9_mean_anon_pages", "nr_anon_pages", 1),
    ("order9_mean_anon_huge", "nr_anon_transparent_hugepages", PAGEBLOCK_PAGES.get()),
];

/// Mean of a level, in base pages, over the time of all runs, each reading being that of the time up to the next.
fn mean(runs: &[&Run], level: &str, pages: u64) -> u64 {
    let mut sum = (0_u128, 0_u128);
    for run in runs {
        let Some(at) = run.counters.position(level) else { continue };
        let readings = run.counters.times.windows(2).zip(&run.counters.columns[at].values);
        for (times, &value) in readings {
            let time = u128::from((times[1] - times[0]).get());
            sum = (sum.0 + u128::from(value * pages) * time, sum.1 + time);
        }
    }
    sum.0.checked_div(sum.1).unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use order9_units::{CounterMeaning, CounterUnit, Nanos};

    use super::*;

    #[test]
    fn levels_are_weighted_by_the_time_they_lasted() {
        let mut run = Run::new("linux-5.1", 1);
        run.counters = order9_record::Counters::new([
            ("nr_anon_pages", CounterMeaning::level(CounterUnit::Pages)),
            ("nr_anon_transparent_hugepages", CounterMeaning::level(CounterUnit::Blocks)),
        ]);
        for (at, values) in [(0, [100, 0]), (10, [200, 3]), (40, [9, 9])] {
            run.counters.push(Nanos::new(at), &values);
        }
        let counters = counters(&[&run]);
        assert_eq!(counters.get("order9_mean_anon_pages"), Some((100 * 10 + 200 * 30) / 40));
        assert_eq!(counters.get("order9_mean_anon_huge"), Some(3 * 512 * 30 / 40));
    }
}
