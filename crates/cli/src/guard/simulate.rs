//! `order9 guard --simulate`: the guard in the lab.

use std::fs;
use std::path::Path;

use order9_advise::guard::Simulation;
use order9_guard::Config;
use order9_lab::{Memory, Plan};
use order9_record::{Digest, Existing, Target};

use crate::args::{GuardArgs, Layout, TrialArgs};
use crate::failure::{Failure, io_sentence};
use crate::output::{print, print_json};
use crate::results::Results;
use crate::trial::{demand_of, jobs, refused, trial};

/// Program that stands for a demand where nobody names one.
const DEMAND: &str = "map-and-write";
/// Parameters that it has then. Daemons get time before it starts and after.
const PARAMETERS: [&str; 3] = ["madvise=yes", "pause=60s", "hold=30s"];
/// Number of runs.
const SEEDS: u64 = 3;

/// Names the file that the copy is from, so that the runs can be repeated from it.
fn keep_digest(plan: &mut Plan, file: Option<&Path>) -> Result<(), Failure> {
    if let (Some(path), Memory::Snapshot { digest, .. }) = (file, &mut plan.memory) {
        let bytes = fs::read(path).map_err(|error| Failure::file(path, io_sentence(&error)))?;
        *digest = Digest::of_bytes(&bytes);
    }
    Ok(())
}

/// Tries the guard on a copy of the host, and prints the comparison.
pub(super) fn run(args: &GuardArgs, config: Config) -> Result<(), Failure> {
    let demand = demand_of(args.demand.as_deref().unwrap_or(DEMAND), args.parameters.clone())?;
    let simulation = Simulation { config, demand: demand.with_defaults(&PARAMETERS) };
    let target = args.output.as_deref().map(|directory| Target::new(directory, Existing::Keep)).transpose();
    let target = target.map_err(refused)?;
    let tried =
        TrialArgs { policy: args.policy.clone(), prices: args.prices.clone(), seeds: args.seeds.unwrap_or(SEEDS) };
    let trial = trial(&tried, args.snapshot.as_deref())?;
    let mut plan = simulation.plan(&trial).map_err(refused)?;
    keep_digest(&mut plan, args.snapshot.as_deref().filter(|path| path.as_os_str() != "-"))?;
    let jobs = jobs(&plan)?;
    let (beside, experiment) = simulation.compare(&trial, &mut plan, jobs).map_err(refused)?;
    if let Some(target) = target {
        let results = Results::of(&plan, &experiment, Layout::default());
        target.write(&experiment, &results.files()).map_err(refused)?;
    }
    if args.json { print_json(&beside) } else { print(&beside.to_text()) }
}
