//! `order9 reproduce --list`: claims, their experiments, and how long these take.

use std::time::Duration;

use order9_host::available_memory;
use order9_lab::reproduce::{Entry, Made, NotJudged, Size, Table, claims};
use order9_report::number::grouped;
use order9_report::table;
use order9_report::terminal::ColourDepth;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::ReproduceArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::run::{coarse, command};

/// A claim that runs can judge.
#[derive(Serialize, JsonSchema)]
struct Listed {
    claim: String,
    experiment: String,
    title: String,
    statements: usize,
    input: bool,
    kernels: [String; 2],
    machines: Vec<String>,
    runs: usize,
    /// CPU time of the experiment at full size.
    seconds: u64,
}

/// All of it for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json {
    claims: Vec<Listed>,
    not_judged: Vec<Unjudged>,
}

#[derive(Serialize, JsonSchema)]
struct Unjudged {
    claim: String,
    why: String,
}

/// Prints the claims of `chosen`, and those that no run can judge.
pub(super) fn run(table: &Table, chosen: &[Entry], args: &ReproduceArgs) -> Result<(), Failure> {
    let mut listed = Vec::new();
    for entry in chosen {
        listed.extend(of_entry(entry)?);
    }
    let not_judged = table.chosen_not_judged(&args.names);
    if args.json {
        let unjudged = |of: &&NotJudged| Unjudged { claim: of.claim.clone(), why: of.why.clone() };
        return print_json(&Json { claims: listed, not_judged: not_judged.iter().map(unjudged).collect() });
    }
    let mut text = String::new();
    if !listed.is_empty() {
        text += &drawn(&listed);
        let seconds: u64 = chosen.iter().map(|entry| entry.seconds).sum();
        let time = coarse(Duration::from_secs(seconds));
        text += &format!("\nCPU time at full size, all runs of an experiment together. All of these take {time}.\n");
    }
    for of in not_judged {
        text += &format!("- {} is not judged: {}\n", of.claim, of.why);
    }
    print(&text)
}

fn of_entry(entry: &Entry) -> Result<Vec<Listed>, Failure> {
    let plans = entry.plans(Size::Full, available_memory(), &command());
    let plans = plans.map_err(|error| Failure::Usage(error.to_string()))?;
    let all = claims();
    let listed = entry.claims.iter().map(|of| {
        let made = Made::of(entry, of, &plans);
        let statements = all.iter().find(|claim| claim.id == of.claim).map_or(0, |claim| claim.shape.len());
        Listed {
            claim: of.claim.clone(),
            experiment: entry.name.clone(),
            title: entry.title.clone(),
            statements,
            input: entry.input,
            kernels: made.kernels,
            machines: made.machines,
            runs: plans.iter().map(|plan| plan.cells().count()).sum(),
            seconds: entry.seconds,
        }
    });
    Ok(listed.collect())
}

fn drawn(listed: &[Listed]) -> String {
    let mut table =
        table::Table::new(["claim", "experiment", "machine", "runs", "CPU time", "statements"]).with_labels(3);
    for of in listed {
        table.row(vec![
            format!("{}{}", of.claim, if of.input { " (input)" } else { "" }),
            of.experiment.clone(),
            of.machines.join("; "),
            of.runs.to_string(),
            format!("{} s", grouped(of.seconds)),
            of.statements.to_string(),
        ]);
    }
    table.render(usize::MAX, ColourDepth::None)
}
