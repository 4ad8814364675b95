//! Stored runs as plots: which counters changed, and the chart of those that were asked for.

use std::path::Path;

use order9_record::{Inputs, Loaded, Run, Unit as SampleUnit};
use order9_report::plot::{Chart, EvaluateError, Line, Mark, Metric, Panel, Quantity, Reading, Readings, Style, Unit};
use order9_units::{Bytes, Nanos};

use crate::scenario::{memory_of_machine, parse_time};

mod changed;
mod distributions;
mod worth;

pub use changed::{Changed, Growth, Level, Sampled, changed};
pub use distributions::distributions;
pub use worth::worth;

/// The part of a run directory that is to be drawn.
#[derive(Clone, Debug, Default)]
pub struct PlotChoice {
    /// A panel for each.
    pub metrics: Vec<Metric>,
    /// Operations whose samples have a panel, below those of metrics.
    pub operations: Vec<String>,
    /// Titles of policies; none is all.
    pub policies: Vec<String>,
    /// Seeds; none is all.
    pub seeds: Vec<u64>,
    /// Begin of the time axis, instead of the first instant of all runs.
    pub from: Option<Nanos>,
    /// End of the time axis, instead of the last instant.
    pub to: Option<Nanos>,
}

/// A plot that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// A metric that makes no sense for the runs.
    #[error(transparent)]
    Metric(#[from] EvaluateError),
    /// A word that names none of what there is.
    #[error("{option} {name}: the run has none; expected {expected}")]
    Unknown {
        /// The option that takes it.
        option: &'static str,
        /// The name as typed.
        name: String,
        /// The known names, in words.
        expected: String,
    },
    /// A time that is none.
    #[error("{option} {text}: expected a length of time such as 500ms or '1m 30s'")]
    Time {
        /// The option that takes it.
        option: &'static str,
        /// The text as typed.
        text: String,
    },
    /// The worth of switches was asked of other runs.
    #[error(
        "--worth: the run takes no policy apart; expected a directory of `order9 run --ablate P --against Q -o DIR`"
    )]
    NoAblation,
    /// The end of the time axis does not lie behind its begin.
    #[error("there is nothing from {from} to {to}: the runs take {end}")]
    Empty {
        /// Begin of the time axis.
        from: String,
        /// End of the time axis.
        to: String,
        /// End of the last run.
        end: String,
    },
}

/// A time after the start of a run, as people write it: `500ms`, `1m 30s`. `option` is who takes it.
///
/// # Errors
/// It is none.
pub fn plot_time(option: &'static str, text: &str) -> Result<Nanos, PlotError> {
    parse_time(text).ok_or_else(|| PlotError::Time { option, text: order9_toml::shown(text) })
}

/// A chart, and what a reader of it must know.
#[derive(Clone, Debug)]
pub struct Plotted<C = Chart> {
    /// The chart.
    pub chart: C,
    /// A sentence for whatever is left out.
    pub notes: Vec<String>,
}

/// The chart of a stored run: a group of lines for each policy, a line for each seed.
///
/// # Errors
/// A policy, seed, operation or counter that the runs do not have; metrics whose units do not fit; an empty time axis.
pub fn plot(loaded: &Loaded, choice: &PlotChoice) -> Result<Plotted, PlotError> {
    let (runs, mut notes) = chosen(loaded, choice)?;
    let policies: Vec<&str> = groups(&runs);
    let span = span(&runs, choice)?;
    let memory = memory_of_machine(&loaded.manifest.inputs.machine);
    let drawing = Drawing { runs: &runs, policies: &policies, span, memory };
    let metrics = choice.metrics.iter().map(|metric| drawing.metric(metric, &mut notes));
    let metrics = metrics.collect::<Result<Vec<_>, _>>()?;
    let samples = choice.operations.iter().map(|operation| drawing.samples(operation));
    let chart = Chart {
        title: loaded.manifest.inputs.workload.name.clone(),
        subtitle: subtitle(&loaded.manifest.inputs),
        span,
        groups: policies.iter().map(|policy| legend(policy, &runs)).collect(),
        marks: drawing.marks(),
        panels: metrics.into_iter().map(Ok).chain(samples).collect::<Result<_, _>>()?,
    };
    Ok(Plotted { chart, notes })
}

/// Runs to draw, and their time axis.
struct Drawing<'a> {
    runs: &'a [&'a Run],
    policies: &'a [&'a str],
    span: (Nanos, Nanos),
    memory: Option<Bytes>,
}

impl Drawing<'_> {
    fn group(&self, run: &Run) -> usize {
        self.policies.iter().position(|policy| *policy == run.policy).expect("policies are those of the runs")
    }

    /// Runs that do not have a counter have no line, as long as another has it; `notes` says of which policies they are.
    fn metric(&self, metric: &Metric, notes: &mut Vec<String>) -> Result<Panel, PlotError> {
        let mut lines = Vec::new();
        let (mut unit, mut refused) = (None, None);
        let mut without: Vec<&str> = Vec::new();
        for run in self.runs {
            match metric.evaluate(&readings(run, self.memory)) {
                Ok(series) => {
                    let points = run.counters.times.iter().copied().zip(series.values);
                    let line = Line { group: self.group(run), seed: run.seed, points: self.seen(points) };
                    unit = Some(series.unit);
                    lines.push(line);
                }
                Err(error @ EvaluateError::NoCounter { .. }) => {
                    refused = refused.or(Some(error));
                    without.push(&run.policy);
                }
                Err(error) => return Err(error.into()),
            }
        }
        without.dedup();
        if !without.is_empty() {
            notes.push(format!("{metric}: no line for {}, which does not count it", without.join(", ")));
        }
        match (unit, refused) {
            (Some(unit), _) => Ok(Panel { title: metric.to_string(), unit, style: Style::Joined, lines }),
            (None, Some(error)) => Err(error.into()),
            (None, None) => unreachable!("there is at least one run"),
        }
    }

    fn samples(&self, operation: &str) -> Result<Panel, PlotError> {
        let known = self.runs.iter().flat_map(|run| &run.operations);
        let unit = known.clone().find(|known| known.name == operation).map(|known| known.unit).ok_or_else(|| {
            let mut names: Vec<&str> = known.map(|known| known.name.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            unknown("--sample", operation, &names)
        })?;
        let scale = if unit == SampleUnit::Nanos { 1e-9 } else { 1.0 };
        let line = |run: &&Run| {
            let own = |sample: &&order9_record::Sample| run.operation_of(sample).is_some_and(|of| of.name == operation);
            let points = run.samples.iter().filter(own).map(|sample| (sample.at, sample.value * scale));
            Line { group: self.group(run), seed: run.seed, points: self.seen(points) }
        };
        let lines = self.runs.iter().map(line).collect();
        Ok(Panel { title: operation.to_owned(), unit: unit_of(unit), style: Style::Dots, lines })
    }

    /// Values on the time axis.
    fn seen(&self, points: impl Iterator<Item = (Nanos, f64)>) -> Vec<(Nanos, f64)> {
        points.filter(|(at, _)| (self.span.0..=self.span.1).contains(at)).collect()
    }

    /// Phases of the first run of each policy.
    fn marks(&self) -> Vec<Mark> {
        let first =
            |(group, policy): (usize, &&str)| Some((group, self.runs.iter().find(|run| run.policy == **policy)?));
        let marks = self.policies.iter().enumerate().filter_map(first).flat_map(|(group, run)| {
            run.phases.iter().map(move |phase| Mark { group, at: phase.begin, name: phase.name.clone() })
        });
        marks.collect()
    }
}

fn readings(run: &Run, memory: Option<Bytes>) -> Readings<'_> {
    let columns = run.counters.columns.iter();
    let counters =
        columns.map(|counter| Reading { name: &counter.name, meaning: counter.meaning, values: &counter.values });
    Readings { times: &run.counters.times, counters: counters.collect(), memory }
}

fn unit_of(unit: SampleUnit) -> Unit {
    match unit {
        SampleUnit::Nanos | SampleUnit::Seconds => Unit::of(Quantity::Seconds),
        SampleUnit::Percent => Unit::of(Quantity::Percent),
        SampleUnit::Count => Unit::of(Quantity::Count),
        SampleUnit::PerSecond => Unit { quantity: Quantity::Count, per_second: true },
    }
}

/// Policies in a picture where none is asked for: as many as have looks of their own.
const POLICIES_MAX: usize = 6;

/// The runs of the policies and seeds that were asked for: at least one; and which policies are left out unasked.
fn chosen<'a>(loaded: &'a Loaded, choice: &PlotChoice) -> Result<(Vec<&'a Run>, Vec<String>), PlotError> {
    let titles: Vec<&str> = groups(&loaded.runs.iter().collect::<Vec<_>>());
    if let Some(other) = choice.policies.iter().find(|policy| !titles.contains(&policy.as_str())) {
        return Err(unknown("--policy", other, &titles));
    }
    let seeds: Vec<String> = loaded.manifest.inputs.seeds.iter().map(u64::to_string).collect();
    let known = |seed: &u64| loaded.runs.iter().any(|run| run.seed == *seed);
    if let Some(other) = choice.seeds.iter().find(|seed| !known(seed)) {
        return Err(unknown("--seed", &other.to_string(), &seeds));
    }
    let usual = &titles[..titles.len().min(POLICIES_MAX)];
    let wanted = |run: &&Run| {
        let of_policy = match choice.policies.as_slice() {
            [] => usual.contains(&run.policy.as_str()),
            asked => asked.contains(&run.policy),
        };
        of_policy && (choice.seeds.is_empty() || choice.seeds.contains(&run.seed))
    };
    let runs: Vec<&Run> = loaded.runs.iter().filter(wanted).collect();
    if runs.is_empty() {
        return Err(unknown("--seed", "of the chosen policies", &seeds));
    }
    let left_out = if choice.policies.is_empty() { titles.len() - usual.len() } else { 0 };
    let note = format!("{left_out} more policies are not drawn: choose with --policy");
    Ok((runs, if left_out > 0 { vec![note] } else { Vec::new() }))
}

fn unknown<S: AsRef<str>>(option: &'static str, name: &str, there_are: &[S]) -> PlotError {
    let expected = there_are.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    let expected = if expected.is_empty() { "nothing".to_owned() } else { expected };
    PlotError::Unknown { option, name: order9_toml::shown(name), expected }
}

/// Policies of the runs, in order.
fn groups<'a>(runs: &[&'a Run]) -> Vec<&'a str> {
    let mut policies: Vec<&str> = runs.iter().map(|run| run.policy.as_str()).collect();
    policies.dedup();
    policies
}

fn legend(policy: &str, runs: &[&Run]) -> String {
    let seeds: Vec<u64> = runs.iter().filter(|run| run.policy == policy).map(|run| run.seed).collect();
    match seeds.as_slice() {
        [_] => policy.to_owned(),
        several => format!("{policy} ({} seeds)", several.len()),
    }
}

/// Begin and end of the time axis.
fn span(runs: &[&Run], choice: &PlotChoice) -> Result<(Nanos, Nanos), PlotError> {
    let last = |run: &&Run| run.counters.times.last().copied().into_iter().chain([run.span().1]).max();
    let end = runs.iter().filter_map(last).max().unwrap_or_default();
    let (from, to) = (choice.from.unwrap_or_default(), choice.to.unwrap_or(end));
    if from >= to || from >= end {
        let [from, to, end] = [from, to, end].map(order9_report::number::duration);
        return Err(PlotError::Empty { from, to, end });
    }
    Ok((from, to))
}

/// Machine and settings of the runs, in words.
#[must_use]
pub fn subtitle(inputs: &Inputs) -> String {
    let machine = Path::new(&inputs.machine.name).file_name().map(|name| name.to_string_lossy());
    let machine = format!("on {}", machine.unwrap_or_default());
    let settings = inputs.settings.iter().map(|(name, value)| format!("{name}={value}"));
    std::iter::once(machine).chain(settings).collect::<Vec<_>>().join(", ")
}
