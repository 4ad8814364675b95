//! Settings tried on a sample of a fleet's hosts, as `order9 what-if` tries them on one, and what follows for the fleet.
//!
//! Key types: [`Question`] (the settings and the demand), [`Tried`] (one host's answer, kept in a file under the digest of its
//! snapshot, so that nothing is tried twice) and [`Projection`] (the fleet's).

mod project;
mod run;
mod text;

use order9_advise::Demand;
use order9_advise::what_if::{Comparison, Unit, Verdict};
use order9_record::Digest;
use order9_report::stats::Direction;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use project::{Changed, OfGroup, Outcomes, Projection};
pub use run::{Answers, run};

/// Settings to try beside those of each host.
#[derive(Clone, Debug)]
pub struct Question {
    /// Settings `NAME=VALUE` that are written together.
    pub settings: Vec<String>,
    /// Program that runs on each copy.
    pub demand: Demand,
    /// Policy of the kernel; `None` is that of each host.
    pub policy: Option<String>,
    /// Machine whose prices the copies have; `None` leaves it to the lab.
    pub prices: Option<String>,
    /// Number of runs on each host, with and without the settings.
    pub seeds: u64,
    /// Command line that asked.
    pub command: Vec<String>,
}

impl Question {
    /// Name under which answers are kept: equal for equal questions of one version of order9.
    #[must_use]
    pub fn key(&self) -> String {
        let Self { settings, demand, policy, prices, seeds, command: _ } = self;
        let asked = format!("{settings:?} {demand} {policy:?} {prices:?} {seeds} {}", env!("CARGO_PKG_VERSION"));
        Digest::of_bytes(asked.as_bytes()).to_string()
    }
}

/// Answer of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// Policy of the kernel that ran.
    pub policy: String,
    /// Measures with and without the settings.
    pub measures: Vec<Measured>,
}

/// A measure of one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measured {
    /// Name of the measure.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Direction in which values are better.
    pub direction: Direction,
    /// Mean over runs with the settings of the host.
    pub now: f64,
    /// Mean over runs with the settings that were tried.
    pub then: f64,
    /// Judgement on the difference.
    pub verdict: Verdict,
}

impl Tried {
    /// The answer that a comparison with one case is.
    fn of(comparison: &Comparison) -> Self {
        let measured = comparison.rows.iter().filter_map(|row| {
            let [case] = row.cases.as_slice() else { return None };
            Some(Measured {
                name: row.name.to_owned(),
                unit: row.unit,
                direction: row.direction,
                now: row.now.as_ref()?.mean(),
                then: case.value.as_ref()?.mean(),
                verdict: case.verdict,
            })
        });
        Self { policy: comparison.policy.clone(), measures: measured.collect() }
    }

    /// Whether a measure got better, and whether one got worse.
    fn changes(&self) -> (bool, bool) {
        let has = |verdict| self.measures.iter().any(|measured| measured.verdict == verdict);
        (has(Verdict::Better), has(Verdict::Worse))
    }
}
