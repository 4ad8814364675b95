//! The lab held against a real kernel: one row for each quantity, with a verdict.
//!
//! Both sides ran the same program with the same parameters from the same memory. Real runs differ among each other by the timing
//! of their threads, so a quantity is first held against their range, and then against a goal around their median.
//!
//! Key types: [`Fidelity`] (an experiment under one kernel), [`Judged`] (one quantity of it), [`Gaps`] (what many experiments leave to be
//! explained, as a page). Never runs anything.

mod gaps;
mod judge;
mod quantities;
mod table;

use order9_record::Run;
use order9_report::compare::Results;
use order9_workloads::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tables::results;

pub use gaps::{Causes, CausesError, GapList, Gaps};

/// Distance from the real median at which the lab is still good enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Percentage points, for shares.
    Points(f64),
    /// Percent of the median.
    Percent(f64),
    /// At most so many times the median, or that part of it.
    Factor(f64),
}

/// Answer about one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "kebab-case")]
pub enum Verdict {
    /// No real run is below, or above, the lab.
    InsideRange,
    /// Within the goal around the real median.
    WithinGoal,
    /// Both sides have so little of it that a ratio says nothing.
    Negligible,
    /// Further from the real median than the goal.
    Outside {
        /// The lab's value over the real median, or their difference in points; `None` where the real median is 0.
        by: Option<f64>,
        /// Distance from the real median in goals: more than 1.
        severity: f64,
    },
    /// Time of the guest was not real.
    NotComparable,
    /// One side did not measure it.
    NotMeasured,
}

/// One quantity on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Name of the quantity with its unit.
    pub quantity: String,
    /// The lab's value: the median of its runs.
    pub lab: Option<f64>,
    /// Least and largest of the lab's runs.
    #[serde(default)]
    pub lab_range: Option<(f64, f64)>,
    /// Median of the real runs.
    pub real: Option<f64>,
    /// Least and largest of the real runs.
    pub range: Option<(f64, f64)>,
    /// Largest value of the lower and least value of the upper of two groups, where real runs fall into two that lie further apart than
    /// either is wide.
    pub groups: Option<(f64, f64)>,
    /// Distance that is good enough.
    pub goal: Goal,
    /// The answer.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// All quantities of an experiment under one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fidelity {
    /// Name of the experiment: that of its case, or else its workload.
    pub experiment: String,
    /// Title of the real column.
    pub kernel: String,
    /// Title of the lab's column.
    pub policy: String,
    /// Number of real runs.
    pub real_runs: usize,
    /// Number of runs of the lab.
    pub lab_runs: usize,
    /// The rows.
    pub rows: Vec<Judged>,
}

/// Sides of an experiment.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// Runs on a real kernel.
    pub real: &'a [Run],
    /// Runs of the lab.
    pub lab: &'a [Run],
    /// Whether times can be compared.
    pub time_is_real: bool,
}

/// Holds runs of the lab against real ones.
#[must_use]
pub fn fidelity(experiment: &str, workload: Workload, sides: Sides<'_>) -> Fidelity {
    let Sides { real, lab, time_is_real } = sides;
    let of_runs = |runs: &[Run]| runs.iter().map(|run| results(workload, &[run])).collect::<Vec<Results>>();
    let (real_results, lab_results) = (of_runs(real), of_runs(lab));
    let asked = quantities::quantities(workload, real.iter().chain(lab));
    let rows = asked.iter().map(|asked| judge::judge(asked, &real_results, &lab_results, time_is_real));
    // What neither side has is no row: most workloads never swap.
    let is_there =
        |row: &Judged| row.lab.is_some_and(|value| value != 0.0) || row.real.is_some_and(|value| value != 0.0);
    let title = |runs: &[Run]| runs.first().map(|run| run.policy.clone()).unwrap_or_default();
    Fidelity {
        experiment: experiment.to_owned(),
        kernel: title(real),
        policy: title(lab),
        real_runs: real.len(),
        lab_runs: lab.len(),
        rows: rows.filter(is_there).collect(),
    }
}

impl Fidelity {
    /// Rows that were judged, and how many of them are good enough.
    #[must_use]
    pub fn score(&self) -> (usize, usize) {
        let judged = |row: &&Judged| !matches!(row.verdict, Verdict::NotComparable | Verdict::NotMeasured);
        let good = |row: &&Judged| !matches!(row.verdict, Verdict::Outside { .. });
        let rows: Vec<&Judged> = self.rows.iter().filter(judged).collect();
        (rows.len(), rows.iter().copied().filter(good).count())
    }
}
