//! The plan of a run that took place, from its manifest alone and, where it began with one, its snapshot.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;

use order9_guard::GuardFile;
use order9_policy::Loaded;
use order9_record::{self as record, Digest, Inputs};
use order9_toml::FileError;
use order9_units::Bytes;
use tempfile::TempDir;

use super::error::{Problem, Said};
use super::memory::{self, MemoryWish};
use super::{Scenario, setting, value};
use crate::machines::{self, MachineSpec};
use crate::plan::{MadeUp, Memory, Plan, Settings};

/// Inputs that cannot be had again.
#[derive(Debug, thiserror::Error)]
pub enum RepeatError {
    /// The manifest has a value that this version does not take.
    #[error(transparent)]
    Problem(#[from] Problem),
    /// The machine or a policy of the manifest cannot be written to a file to be read again.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A guard that this version does not take.
    #[error(transparent)]
    Guard(#[from] FileError<order9_toml::Problem>),
    /// A snapshot that is not the one it was.
    #[error("{path}: its digest is {found}, the run began with {expected}")]
    OtherSnapshot {
        /// Path as it was named.
        path: String,
        /// Of the file now.
        found: Digest,
        /// Of the file then.
        expected: Digest,
    },
    /// The run took place on a live kernel.
    #[error("it took place on a live kernel, which the lab cannot repeat")]
    Live,
}

/// Name in messages of the guard of a manifest.
const GUARD: &str = "the guard of the manifest";

/// The plan that `inputs` describe; a snapshot may take up to `available` of the host's memory.
///
/// # Errors
/// The first input that this version does not take, or a snapshot that is gone or another one.
pub fn repetition(inputs: &Inputs, available: Bytes) -> Result<Plan, RepeatError> {
    repetition_on(inputs, memory_of(&inputs.memory, available)?)
}

/// The plan that `inputs` describe, on memory that [`memory_of`] has read.
///
/// # Errors
/// The first input that this version does not take.
pub fn repetition_on(inputs: &Inputs, memory: Memory) -> Result<Plan, RepeatError> {
    let mut scenario = Scenario::of(value::workload(&inputs.workload.name)?);
    for (key, value) in &inputs.workload.parameters {
        scenario.choose(key, &written(value))?;
    }
    for (name, value) in &inputs.settings {
        scenario.set(Said::Nowhere, name, value.clone())?;
    }
    scenario.boot(Said::Nowhere, &inputs.cmdline)?;
    let no_seeds = || Problem::value("seeds", &format!("{:?}", inputs.seeds), "different whole numbers");
    scenario.name_seeds(inputs.seeds.clone()).ok_or_else(no_seeds)?;
    inputs.recorded.events.iter().try_for_each(|name| scenario.keep_events(name))?;
    let folder = tempfile::tempdir()?;
    Ok(Plan {
        workload: scenario.workload,
        chosen: scenario.chosen,
        policies: inputs.policies.iter().map(|policy| reload(&folder, policy)).collect::<Result<_, _>>()?,
        own_settings: own_settings(inputs)?,
        guards: guards(inputs)?,
        ablation: None,
        machine: machine(&folder, &inputs.machine)?,
        memory,
        cmdline: scenario.cmdline.value,
        settings: inputs.settings.clone(),
        reserve: inputs.reserve,
        seeds: inputs.seeds.clone(),
        notes: Vec::new(),
        sample_every: every(inputs)?,
        same_lists: false,
        sample_finely: inputs.recorded.finely,
        maps_every: inputs.recorded.maps,
        check_every: NonZeroU64::new(inputs.recorded.check_every),
        trace: scenario.events,
        command: inputs.command.clone(),
    })
}

/// Settings of single policies, each of which must still exist.
fn own_settings(inputs: &Inputs) -> Result<BTreeMap<String, Settings>, Problem> {
    let own = inputs.policies.iter().filter(|policy| !policy.settings.is_empty());
    own.map(|policy| {
        policy.settings.iter().try_for_each(|(name, _)| setting::named(name).map(|_| ()))?;
        Ok((policy.title.clone(), policy.settings.clone()))
    })
    .collect()
}

/// Guards beside single policies.
fn guards(inputs: &Inputs) -> Result<BTreeMap<String, order9_guard::Config>, RepeatError> {
    let guarded = inputs.policies.iter().filter(|policy| !policy.guard.is_empty());
    let config = |policy: &record::Policy| Ok((policy.title.clone(), GuardFile::parse(GUARD, &policy.guard)?.config));
    guarded.map(config).collect()
}

/// A parameter as it would be written on the command line.
fn written(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(values) => values.iter().map(written).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

fn every(inputs: &Inputs) -> Result<order9_units::Nanos, Problem> {
    let every = inputs.recorded.every;
    let some = (every > order9_units::Nanos::ZERO).then_some(every);
    some.ok_or_else(|| Problem::value("every_ns", "0", "more than 0"))
}

/// The policy of a column. Its text needs no other file.
fn reload(folder: &TempDir, policy: &record::Policy) -> Result<Loaded, RepeatError> {
    let path = put(folder, &policy.text)?;
    let mut loaded = order9_policy::load(&path).map_err(Problem::from)?;
    loaded.name.clone_from(&policy.title);
    loaded.chain = vec![policy.title.clone()];
    Ok(loaded)
}

fn machine(folder: &TempDir, machine: &record::Machine) -> Result<MachineSpec, RepeatError> {
    let path = put(folder, &machine.text)?;
    let mut loaded = machines::load(&path).map_err(Problem::from)?;
    loaded.name.clone_from(&machine.name);
    loaded.chain = vec![machine.name.clone()];
    loaded.figures.iter_mut().for_each(|figure| figure.set_in.clone_from(&machine.name));
    Ok(loaded)
}

/// Memory of the machine of a run; nothing where that was no machine of the lab.
pub(crate) fn memory_of_machine(of: &record::Machine) -> Option<Bytes> {
    let folder = tempfile::tempdir().ok()?;
    machine(&folder, of).ok().map(|machine| machine.memory())
}

/// Puts `text` where files are loaded from.
fn put(folder: &TempDir, text: &str) -> io::Result<String> {
    let path = folder.path().join("manifest.toml");
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

/// The memory with which a run began; a snapshot may take up to `available` of the host's memory.
///
/// # Errors
/// A snapshot that is gone or another one, or memory of a live kernel.
pub fn memory_of(memory: &record::Memory, available: Bytes) -> Result<Memory, RepeatError> {
    match memory {
        record::Memory::Empty => Ok(Memory::Empty),
        record::Memory::Synthetic { arguments } => Ok(Memory::Synthetic(made_up(arguments)?)),
        record::Memory::Snapshot { path, digest } => same_snapshot(path, *digest, available),
        record::Memory::Live => Err(RepeatError::Live),
    }
}

/// Made-up memory by the arguments of `order9 snapshot synth`.
fn made_up(arguments: &str) -> Result<MadeUp, Problem> {
    let mut made_up = MadeUp::default();
    let words: Vec<&str> = arguments.split_whitespace().collect();
    for pair in words.chunks(2) {
        let key = pair[0].trim_start_matches('-').replace('-', "_");
        let value = pair.get(1).copied().unwrap_or_default();
        let taken = memory::set(&mut made_up, &key, value);
        taken.unwrap_or_else(|| Err(Problem::value("memory", pair[0], "arguments of `order9 snapshot synth`")))?;
    }
    Ok(made_up)
}

fn same_snapshot(path: &str, expected: Digest, available: Bytes) -> Result<Memory, RepeatError> {
    // A file that is another one need not even be a snapshot.
    if let Ok(bytes) = fs::read(Path::new(path)) {
        let found = Digest::of_bytes(&bytes);
        if found != expected {
            return Err(RepeatError::OtherSnapshot { path: path.to_owned(), found, expected });
        }
    }
    Ok(MemoryWish::Snapshot(path.to_owned()).memory(available)?)
}
