//! The copy that `order9 ask`, `order9 what-if` and `order9 advise` try things on: a capture, or this host's memory as it is now.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use order9_advise::{Demand, Trial};
use order9_lab::Plan;
use order9_lab::scenario::workload;
use order9_snapshot::flags::is_reported;
use order9_snapshot::{FrameMap, Snapshot};
use order9_workloads::Workload;

use crate::args::{DemandArgs, TrialArgs};
use crate::failure::Failure;
use crate::run::{command, cores, fitting};
use crate::source::{self, When, Wish};

/// The copy, with the kernel and the prices that were asked for.
pub(crate) fn trial(args: &TrialArgs, capture: Option<&Path>) -> Result<Trial, Failure> {
    trial_of(args, capture, Wish { full_release: true, prices: When::Before, owners: false })
}

/// As [`trial`], with more of this host's state.
pub(crate) fn trial_of(args: &TrialArgs, capture: Option<&Path>, wish: Wish) -> Result<Trial, Failure> {
    let (name, snapshot) = match capture {
        Some(file) => (order9_escape::path(file), source::read(file)?.0),
        None => ("this host".to_owned(), this_host(wish)?),
    };
    Ok(Trial {
        name,
        notes: notes(&snapshot),
        snapshot: Arc::new(snapshot),
        policy: args.policy.clone(),
        prices: args.prices.clone(),
        seeds: args.seeds,
        command: command(),
    })
}

/// The program that stands for the demand: a workload, or the usual one beside what a recording holds.
pub(crate) fn demand(args: &DemandArgs) -> Result<Demand, Failure> {
    demand_of(&args.demand, args.parameters.clone())
}

/// The program of this name, or the usual one beside the replay of a recording in this directory.
pub(crate) fn demand_of(program: &str, mut parameters: Vec<String>) -> Result<Demand, Failure> {
    if program.contains('/') || Path::new(program).is_dir() {
        parameters.push(format!("beside={program}"));
        return Ok(Demand { program: Workload::MapAndWrite, parameters });
    }
    let program = workload(program).map_err(|problem| refused(format!("--demand: {problem}")))?;
    Ok(Demand { program, parameters })
}

/// This host's memory now, its map included.
fn this_host(wish: Wish) -> Result<Snapshot, Failure> {
    let snapshot = source::capture(None, wish)?;
    if snapshot.frames.is_some() {
        return Ok(snapshot);
    }
    let missing = snapshot.missing.iter().find(|missing| missing.path == "/proc/kpageflags");
    let why = missing.map_or_else(String::new, |missing| format!(" (/proc/kpageflags: {})", missing.reason));
    Err(Failure::Usage(format!(
        "this host: the memory map could not be read{why}, expected root on the host itself, or a snapshot file of \
         `order9 capture`"
    )))
}

/// Notes on the host that a reader of answers needs.
fn notes(snapshot: &Snapshot) -> Vec<String> {
    let unpriced = "the hypervisor has some of this host's free huge pages, and no wait for it could be measured, since the kernel gives out \
                    others first: faults that come to those are slower";
    let mut chunks = snapshot.frames.iter().flat_map(FrameMap::chunks);
    let has_some = chunks.any(|(_, chunk)| chunk.palette().iter().any(|state| is_reported(state.flags)));
    let lacks_price = snapshot.calibration.is_some_and(|prices| prices.hypervisor_fault.is_none());
    (has_some && lacks_price).then(|| unpriced.to_owned()).into_iter().collect()
}

/// Number of runs at the same time.
pub(crate) fn jobs(plan: &Plan) -> Result<NonZeroUsize, Failure> {
    fitting(plan).map(|fit| fit.min(cores()))
}

/// A refusal in words.
pub(crate) fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}
