//! One cell, run: from an experiment of one policy and one seed to figures.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use order9_lab::{Plan as Experiment, run_first};
use order9_record::{Digest, Outcome};
use order9_units::Nanos;
use rustix::time::{ClockId, clock_gettime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::axes::Axes;
use crate::cell::ENGINE;
use crate::measures::{Measure, measures};

/// Results of a cell. All but the times of the host are the same wherever it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Done {
    /// Name of the cell.
    pub cell: Digest,
    /// Labels of the cell.
    pub axes: Axes,
    /// Seed of the cell.
    pub seed: u64,
    /// Digest of the engine that ran it.
    pub engine: String,
    /// Digest of everything that the run measured, as in a run directory; none where it did not start.
    pub digest: Option<Digest>,
    /// End of the cell.
    pub end: End,
    /// Reason where it did not complete; empty where it did.
    pub message: String,
    /// Figures; none where it did not start.
    pub measures: Vec<Measure>,
    /// Time that it took on the host.
    pub host: HostTimes,
}

/// End of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The workload reached its end.
    Completed,
    /// Memory ran out for good.
    OutOfMemory,
    /// No task could run any more.
    Stalled,
    /// The workload gave up.
    Failed,
    /// The machine or the workload refused its parameters or settings.
    Refused,
    /// A fault of the program.
    Panicked,
}

/// Time that a cell took on the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostTimes {
    /// CPU time of its thread.
    pub cpu_ns: Nanos,
    /// Time from begin to end.
    pub elapsed_ns: Nanos,
}

impl End {
    /// The word in tables and files.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::OutOfMemory => "out-of-memory",
            Self::Stalled => "stalled",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Panicked => "panicked",
        }
    }

    const fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::OutOfMemory { .. } => Self::OutOfMemory,
            Outcome::Stalled { .. } => Self::Stalled,
            Outcome::Failed { .. } => Self::Failed,
        }
    }
}

impl Done {
    /// The figures whose operation is `operation`, with or without a number behind a dash, of this statistic.
    pub fn values(&self, operation: &str, statistic: Statistic) -> impl Iterator<Item = &Measure> {
        let is_meant = move |measure: &&Measure| {
            measure.statistic == statistic && order9_report::compare::is_operation(operation, &measure.operation)
        };
        self.measures.iter().filter(is_meant)
    }
}

use crate::measures::Statistic;

/// Runs the first cell of `experiment` in this thread. A fault of the program is an end like any other.
pub(crate) fn run(cell: Digest, axes: Axes, experiment: &Experiment) -> Done {
    let seed = experiment.seeds[0];
    let (begun, cpu) = (Instant::now(), thread_cpu());
    let ran = catch_unwind(AssertUnwindSafe(|| run_first(experiment)));
    let host = HostTimes {
        cpu_ns: thread_cpu() - cpu,
        elapsed_ns: Nanos::new(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX)),
    };
    let (digest, end, message, measures) = match ran {
        Ok(Ok((run, _))) => {
            let message = run.outcome.message().unwrap_or_default().to_owned();
            (Some(run.digest()), End::of(&run.outcome), message, measures(&run))
        }
        Ok(Err(refusal)) => (None, End::Refused, refusal.to_string(), Vec::new()),
        Err(fault) => (None, End::Panicked, sentence(fault.as_ref()), Vec::new()),
    };
    let message = order9_escape::line(&message).into_owned();
    Done { cell, axes, seed, engine: ENGINE.to_owned(), digest, end, message, measures, host }
}

/// CPU time that this thread has had.
fn thread_cpu() -> Nanos {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Nanos::new(time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned())
}

/// The sentence of a panic.
fn sentence(fault: &(dyn Any + Send)) -> String {
    let text = fault.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| fault.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a fault without a message".to_owned())
}
