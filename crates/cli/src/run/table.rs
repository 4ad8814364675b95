//! A scenario file with cases: all of them are run, one after the other, and become one table.

use std::sync::Arc;

use order9_host::available_memory;
use order9_lab::Plan;
use order9_lab::cases::{Answer, CaseTable};
use order9_lab::scenario::Cases;
use order9_record::{Digest, Experiment, Run};
use schemars::JsonSchema;
use serde::Serialize;

use super::progress::Progress;
use super::{Watch, command, jobs};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// All of it for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    digest: Digest,
    #[serde(flatten)]
    table: &'a CaseTable,
    #[serde(flatten)]
    answer: &'a Answer,
}

/// Runs every case and prints the table.
pub(super) fn run(args: &RunArgs, cases: Cases) -> Result<(), Failure> {
    for (given, option) in [
        (args.output.is_some(), "--output"),
        (args.proc_dir.is_some(), "--proc-dir"),
        (args.shown.layout.is_some(), "--layout"),
        (args.ablate.is_some(), "--ablate"),
    ] {
        if given {
            let why = "a table of cases is printed as a whole; --case NAME makes one of them an experiment of its own";
            return Err(Failure::Usage(format!("{option}: {why}")));
        }
    }
    let rows = cases.plan(available_memory(), &command()).map_err(|error| Failure::Usage(error.to_string()))?;
    let policies = rows.first().map(|(_, plan)| plan.policies.iter().map(|policy| policy.name.clone()).collect());
    let mut table = CaseTable::new(policies.unwrap_or_default());
    let mut experiments = Vec::new();
    for (case, plan) in &rows {
        let experiment = of_case(args, plan)?;
        table.push(case, &plan.machine.name, &experiment);
        experiments.push((case, experiment));
    }
    let digests: String = experiments.iter().map(|(_, experiment)| format!("{}\n", experiment.digest())).collect();
    let digest = Digest::of_bytes(digests.as_bytes());
    let answer = Answer::of(&table);
    if args.json {
        print_json(&Json { digest, table: &table, answer: &answer })?;
    } else {
        print(&format!("{}\n{}\ndigest {digest}\n", table.to_text(), answer.to_text()))?;
    }
    ended(&experiments)
}

fn of_case(args: &RunArgs, plan: &Plan) -> Result<Experiment, Failure> {
    let jobs = jobs(args.jobs.as_deref(), plan)?;
    let progress = Arc::new(Progress::new(None, plan.cells().count(), Vec::new()));
    let watch = Watch { plan, progress, proc_dir: None, snapshots: None, keeping: None };
    let experiment = order9_lab::run(plan, jobs, &watch);
    watch.progress.clear();
    experiment.map_err(|error| Failure::Usage(error.to_string()))
}

/// The first run that did not come to its end.
fn ended(experiments: &[(&String, Experiment)]) -> Result<(), Failure> {
    let runs = experiments.iter().flat_map(|(case, experiment)| experiment.runs.iter().map(move |run| (case, run)));
    let failed = |(case, run): (&&String, &Run)| {
        let message = run.outcome.message()?;
        Some(format!("{case} under {}, seed {}: {message}", run.policy, run.seed))
    };
    runs.into_iter().find_map(failed).map_or(Ok(()), |message| Err(Failure::Usage(message)))
}
