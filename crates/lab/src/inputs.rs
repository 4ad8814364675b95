//! Inputs of an experiment, written so that the manifest alone can repeat it.

use std::num::NonZeroU64;

use order9_guard::GuardFile;
use order9_policy::Show;
use order9_record::{self as record, Inputs};
use order9_snapshot::synth::SynthSpec;
use order9_units::Bytes;
use order9_workloads::{Parameters, Value};

use crate::machines;
use crate::plan::{MadeUp, Memory, Plan};
use crate::scenario::LivePlan;

/// The inputs of an experiment as far as they are known before any machine is made: parameters that have their defaults
/// on it are missing. Two plans of equal ones have equal results.
#[must_use]
pub fn asked(plan: &Plan) -> Inputs {
    inputs(plan, plan.chosen.iter().map(|(&key, value)| (key, value)))
}

/// The inputs of an experiment on a real kernel: `machine` says which one it was, and each of `titles` is a column of runs.
#[must_use]
pub fn live_inputs(plan: &LivePlan, parameters: &Parameters, machine: record::Machine, titles: &[&str]) -> Inputs {
    let policy = |title: &&str| record::Policy {
        title: (*title).to_owned(),
        text: "# A real kernel: what it does is not made of switches.\n".to_owned(),
        settings: Vec::new(),
        guard: String::new(),
        needs: Vec::new(),
    };
    Inputs {
        order9: env!("CARGO_PKG_VERSION").to_owned(),
        command: plan.command.clone(),
        seeds: plan.seeds.clone(),
        threads: threads(parameters.iter()),
        workload: workload(plan.workload, parameters.iter()),
        machine,
        memory: record::Memory::Live,
        cmdline: String::new(),
        settings: plan.settings.clone(),
        // What is left alone is part of the machine, whose available memory is without it.
        reserve: Bytes::ZERO,
        recorded: record::Recorded {
            every: plan.sample_every,
            finely: false,
            events: Vec::new(),
            maps: None,
            check_every: 0,
        },
        policies: titles.iter().map(policy).collect(),
    }
}

/// The inputs of an experiment with these parameters.
pub(crate) fn inputs<'a>(plan: &Plan, parameters: impl Iterator<Item = (&'static str, &'a Value)> + Clone) -> Inputs {
    let policy = |policy: &order9_policy::Loaded| record::Policy {
        title: policy.name.clone(),
        text: Show::new(policy).to_string(),
        settings: plan.own_settings.get(&policy.name).cloned().unwrap_or_default(),
        guard: plan.guards.get(&policy.name).map_or_else(String::new, guard),
        needs: policy.needs.iter().map(|need| format!("{} = {}", need.switch.key, need.value)).collect(),
    };
    Inputs {
        order9: env!("CARGO_PKG_VERSION").to_owned(),
        command: plan.command.clone(),
        seeds: plan.seeds.clone(),
        threads: threads(parameters.clone()),
        workload: workload(plan.workload, parameters),
        machine: record::Machine {
            name: plan.machine.name.clone(),
            text: machines::Show::new(&plan.machine).to_string(),
        },
        memory: memory(&plan.memory),
        cmdline: plan.cmdline.text().to_owned(),
        settings: plan.settings.clone(),
        reserve: plan.reserve,
        recorded: record::Recorded {
            every: plan.sample_every,
            finely: plan.sample_finely,
            events: plan.trace.chosen().map(str::to_owned).collect(),
            maps: plan.maps_every,
            check_every: plan.check_every.map_or(0, NonZeroU64::get),
        },
        policies: plan.policies.iter().map(policy).collect(),
    }
}

fn workload<'a>(
    workload: order9_workloads::Workload,
    parameters: impl Iterator<Item = (&'static str, &'a Value)>,
) -> record::Workload {
    record::Workload { name: workload.name().to_owned(), parameters: table(parameters), better: None }
}

/// A guard as its file.
fn guard(config: &order9_guard::Config) -> String {
    GuardFile { config: config.clone(), ..GuardFile::default() }.show()
}

fn threads<'a>(mut parameters: impl Iterator<Item = (&'static str, &'a Value)>) -> Vec<u32> {
    let ladder = parameters.find_map(|(key, value)| match value {
        Value::Counts(counts) if key == "threads" => Some(counts),
        _ => None,
    });
    ladder.into_iter().flatten().map(|&threads| threads as u32).collect()
}

/// Parameters as a scenario file has them.
fn table<'a>(parameters: impl Iterator<Item = (&'static str, &'a Value)>) -> toml::Table {
    let written = |value: &Value| match value {
        Value::Bytes(bytes) => toml::Value::String(bytes.get().to_string()),
        Value::Count(count) => toml::Value::Integer(*count as i64),
        Value::Counts(counts) => {
            counts.iter().map(|&count| toml::Value::Integer(count as i64)).collect::<Vec<_>>().into()
        }
        Value::Time(time) => toml::Value::String(format!("{}ns", time.get())),
        Value::Word(word) => toml::Value::String((*word).to_owned()),
        Value::Mempolicy(policy) => toml::Value::String(policy.to_string()),
        Value::Cpus(cpus) => toml::Value::String(cpus.to_string()),
        Value::Recording(recording) => toml::Value::String(recording.to_string()),
    };
    parameters.map(|(key, value)| (key.to_owned(), written(value))).collect()
}

fn memory(memory: &Memory) -> record::Memory {
    match memory {
        Memory::Empty => record::Memory::Empty,
        Memory::Synthetic(made_up) => record::Memory::Synthetic { arguments: arguments(made_up) },
        Memory::Snapshot { path, digest, .. } => record::Memory::Snapshot { path: path.clone(), digest: *digest },
    }
}

/// Arguments of `order9 snapshot synth`, but for size and nodes, which are the machine's, and a seed that is the run's.
fn arguments(made_up: &MadeUp) -> String {
    let SynthSpec { fill, unmovable, reclaimable, pinned, huge, clean_cache, pattern, degree, contamination, .. } =
        &made_up.spec;
    let seed = made_up.seed.map_or_else(String::new, |seed| format!(" --seed {seed}"));
    format!(
        "--fill {fill} --unmovable {unmovable} --reclaimable {reclaimable} --pinned {pinned} --huge {huge} \
         --clean-cache {clean_cache} --pattern {} --degree {degree} --contamination {contamination}{seed}",
        pattern.name()
    )
}
