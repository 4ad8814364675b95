//! The lab's side: the same experiment from the same memory.

use std::num::NonZeroUsize;
use std::path::Path;

use order9_host::available_memory;
use order9_lab::scenario::{LivePlan, Named, Scenario};
use order9_lab::{Nobody, Plan};
use order9_record::Experiment;
use order9_workloads::{Parameters, Value};

use super::part::Part;
use super::usage;
use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::run::command;

/// Plan of the same experiment for the lab: those of its runs that are of `part`, with the parameters of the real machine. With `alike` all
/// of them start from the very same lists.
pub(super) fn plan(
    args: &ValidateArgs,
    plan: &LivePlan,
    parameters: &Parameters,
    part: Part,
    start: &Path,
    alike: bool,
) -> Result<Plan, Failure> {
    let mut named = Named::One(Box::new(Scenario::of(plan.workload)));
    let start = start.to_str().ok_or_else(|| usage("the directory has a name that is no text"))?;
    let mut options = vec![("--machine", start.to_owned()), ("--policy", args.policy.clone())];
    options.extend(args.prices.iter().map(|prices| ("--prices", prices.clone())));
    options.extend(parameters.iter().map(|(key, value)| ("--param", format!("{key}={}", text_of(value)))));
    options.extend(plan.settings.iter().map(|(name, value)| ("--set", format!("{name}={value}"))));
    for (option, text) in &options {
        named.argument(option, text).map_err(usage)?;
    }
    let Named::One(scenario) = named else { unreachable!("a workload is one experiment") };
    let plan = scenario.within(available_memory()).plan(command()).map_err(usage)?;
    Ok(Plan { same_lists: alike, seeds: part.of(args.lab_runs()), ..plan })
}

/// A value as an argument has it.
fn text_of(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => bytes.get().to_string(),
        Value::Counts(counts) => counts.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
        Value::Time(time) => format!("{}ns", time.get()),
        Value::Count(count) => count.to_string(),
        Value::Word(word) => (*word).to_owned(),
        Value::Mempolicy(policy) => policy.to_string(),
        Value::Cpus(cpus) => cpus.to_string(),
        Value::Recording(recording) => recording.to_string(),
    }
}

/// All runs of the plan.
pub(super) fn run(plan: &Plan) -> Result<Experiment, Failure> {
    let jobs = plan.jobs(available_memory()).map_err(|shortage| usage(format!("a run of this machine {shortage}")))?;
    let jobs = jobs.min(std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN));
    order9_lab::run(plan, jobs, &Nobody).map_err(usage)
}
