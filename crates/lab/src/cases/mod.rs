//! One table of several experiments under the same policies: what getting memory and using it comes to in each case.
//!
//! Key types: [`CaseTable`] (a column for each policy, a row for each case and machine), [`CaseCell`] (what a policy came to),
//! [`Answer`] (what the table says, in sentences). Never runs anything.

mod answer;
mod text;

use order9_record::{Experiment, Outcome, Run};
use order9_report::compare::is_operation;
use order9_units::{Bytes, Pages};
use order9_workloads::Workload;
use schemars::JsonSchema;
use serde::Serialize;

pub use answer::Answer;

/// Numbers of accesses, in millions, after which costs are reported; 0 is touching alone.
pub const MILLIONS: [u64; 4] = [0, 1, 10, 100];
/// Start of the operation that a workload must measure to be a case.
const TOTAL: &str = "total";

/// Results of every policy in every case.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct CaseTable {
    /// Titles of the columns.
    pub policies: Vec<String>,
    /// Rows in the order of the file. A case on several machines has a row for each.
    pub rows: Vec<CaseRow>,
}

/// A case on a machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CaseRow {
    /// Name of the case.
    pub case: String,
    /// Name of the machine.
    pub machine: String,
    /// One for each policy.
    pub cells: Vec<CaseCell>,
}

/// Result of a policy in a case: means over its seeds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CaseCell {
    /// Seconds to touch the memory, and then so many [`MILLIONS`] of accesses; empty where a run did not come to its end.
    pub seconds: Vec<f64>,
    /// Slots that are huge pages of the own node, in percent.
    pub huge_local: f64,
    /// Slots that are huge pages of another node, in percent.
    pub huge_remote: f64,
    /// Memory of all processes that was swapped out, in bytes.
    pub swapped: f64,
    /// End of the first run that did not come to its end.
    pub failed: Option<String>,
}

impl CaseTable {
    /// Whether a workload measures what the table shows.
    #[must_use]
    pub fn takes(workload: Workload) -> bool {
        workload.spec().measures.iter().any(|measure| measure.operations.contains(&TOTAL))
    }

    /// A table under these policies, without a row.
    #[must_use]
    pub fn new(policies: Vec<String>) -> Self {
        Self { policies, rows: Vec::new() }
    }

    /// Adds what came of a case.
    pub fn push(&mut self, case: &str, machine: &str, experiment: &Experiment) {
        let cell = |policy: &String| {
            let runs: Vec<_> = experiment.runs.iter().filter(|run| run.policy == *policy).collect();
            CaseCell::of(&runs)
        };
        let cells = self.policies.iter().map(cell).collect();
        self.rows.push(CaseRow { case: case.to_owned(), machine: machine.to_owned(), cells });
    }
}

impl CaseCell {
    fn of(runs: &[&Run]) -> Self {
        let mean = |of: &dyn Fn(&Run) -> Option<f64>| {
            let values: Option<Vec<f64>> = runs.iter().map(|run| of(run)).collect();
            values.filter(|values| !values.is_empty()).map(|values| values.iter().sum::<f64>() / values.len() as f64)
        };
        let measured = |name: &str| mean(&|run: &Run| run.values(name).next());
        let seconds: Option<Vec<f64>> =
            MILLIONS.iter().map(|millions| Some(measured(&format!("{TOTAL}-{millions}"))? / 1e9)).collect();
        let swapped = |run: &Run| {
            let pages = u64::try_from(run.growth("pswpout")?).ok()?;
            Some(Pages::new(pages).bytes().get() as f64)
        };
        let failed = runs.iter().find(|run| run.outcome != Outcome::Completed);
        Self {
            seconds: seconds.filter(|_| failed.is_none()).unwrap_or_default(),
            huge_local: mean(&|run| share(run, "huge-local")).unwrap_or(0.0),
            huge_remote: mean(&|run| share(run, "huge-remote")).unwrap_or(0.0),
            swapped: mean(&swapped).unwrap_or(0.0),
            failed: failed.and_then(|run| run.outcome.message()).map(str::to_owned),
        }
    }

    /// Seconds after the `nth` of [`MILLIONS`]; `None` where the case did not come to its end.
    fn after(&self, nth: usize) -> Option<f64> {
        self.seconds.get(nth).copied()
    }
}

/// A share of slots, which may be named with the number of threads.
fn share(run: &Run, of: &str) -> Option<f64> {
    let operation = run.operations.iter().find(|operation| is_operation(of, &operation.name))?;
    run.values(&operation.name).next()
}

impl CaseRow {
    /// The least of what policies took after the `nth` of [`MILLIONS`].
    fn least(&self, nth: usize) -> Option<f64> {
        self.cells.iter().filter_map(|cell| cell.after(nth)).reduce(f64::min)
    }

    /// Cost of the policy as a multiple of the least; endless where the policy did not come to its end.
    fn ratio(&self, policy: usize, nth: usize) -> f64 {
        match (self.cells[policy].after(nth), self.least(nth)) {
            (Some(own), Some(least)) if own > least => own / least,
            (Some(_), _) => 1.0,
            (None, _) => f64::INFINITY,
        }
    }

    /// Bytes that the policy swapped out beyond the policy that swapped out least.
    fn swapped_in_vain(&self, policy: usize) -> Bytes {
        let least = self.cells.iter().map(|cell| cell.swapped).fold(f64::INFINITY, f64::min);
        Bytes::new((self.cells[policy].swapped - least) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use order9_record::{Sample, Unit};
    use order9_units::Nanos;

    #[test]
    fn shares_of_several_threads_are_found_by_their_name() {
        let mut run = Run::new("a", 1);
        for (name, value) in [("huge-5", 1.0), ("huge-local-5", 2.0), ("huge-remote-5", 3.0)] {
            let operation = run.operation(name, Unit::Percent);
            run.samples.push(Sample { operation, at: Nanos::ZERO, value });
        }
        let cell = CaseCell::of(&[&run]);
        assert_eq!((cell.huge_local, cell.huge_remote), (2.0, 3.0));
    }
}
