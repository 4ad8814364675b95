//! Inputs of an experiment, and `manifest.toml`: the inputs with the results and the checksums of all files.

use std::collections::BTreeMap;
use std::path::Path;

use order9_units::{Bytes, Nanos};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::{Digest, Durations, Operation, Outcome, ReadError, Run, WriteError};

/// Version of the run directory that this crate writes, and the newest that it reads.
pub const FORMAT: u32 = 1;

/// All cells of one invocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    /// The inputs of the experiment.
    pub inputs: Inputs,
    /// Every cell: by policy, then by seed, both in the order of `inputs`. Cells may be missing.
    pub runs: Vec<Run>,
}

impl Experiment {
    /// Puts `runs`, which may come in the order in which they happened to end, in theirs.
    #[must_use]
    pub fn new(inputs: Inputs, mut runs: Vec<Run>) -> Self {
        runs.sort_by_cached_key(|run| inputs.place(run));
        Self { inputs, runs }
    }

    /// Digest of the results of all cells, in order. What was given is not part of it.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_cells(self.runs.iter().map(|run| (run.policy.as_str(), run.seed, run.digest())))
    }
}

/// Everything that decides the results, complete enough to repeat them without any other file than a snapshot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Inputs {
    /// Version of order9, as in its Cargo.toml.
    pub order9: String,
    /// The command line, program included.
    pub command: Vec<String>,
    /// Seeds of the cells of each policy.
    pub seeds: Vec<u64>,
    /// Thread ladder; empty for workloads without one.
    pub threads: Vec<u32>,
    /// The workload that ran.
    pub workload: Workload,
    /// The machine that it ran on.
    pub machine: Machine,
    /// Contents of memory at the start.
    pub memory: Memory,
    /// The kernel's command line.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cmdline: String,
    /// Settings that were changed, by Linux path or name, in the order in which they were written.
    pub settings: Vec<(String, String)>,
    /// Memory that programs must leave alone, in bytes.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub reserve: Bytes,
    /// Files that were recorded beside the measurements. They are part of the results, so this choice is one of the
    /// inputs.
    pub recorded: Recorded,
    /// The policies compared, in the order of the columns.
    pub policies: Vec<Policy>,
}

impl Inputs {
    /// Digest of the inputs, the command line left out: two experiments of one digest have equal results, made by one program.
    ///
    /// # Errors
    ///
    /// Inputs that TOML cannot express.
    pub fn digest(&self) -> Result<Digest, WriteError> {
        let text = toml::to_string(&Self { command: Vec::new(), ..self.clone() })?;
        Ok(Digest::of_bytes(text.as_bytes()))
    }

    /// Names of the inputs that differ from `other`. The command line that asked for them is left out.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<&'static str> {
        // Names every field, so that a new one cannot be forgotten here.
        let Self {
            order9,
            command: _,
            seeds,
            threads,
            workload,
            machine,
            memory,
            cmdline,
            settings,
            reserve,
            recorded,
            policies,
        } = self;
        let parts = [
            (*order9 == other.order9, "version of order9"),
            (*workload == other.workload && *threads == other.threads, "workload or its parameters"),
            (*machine == other.machine, "machine"),
            (*memory == other.memory, "memory"),
            (*cmdline == other.cmdline, "kernel command line"),
            (*settings == other.settings, "settings"),
            (*reserve == other.reserve, "memory that programs must leave alone"),
            (*seeds == other.seeds, "seeds"),
            (*policies == other.policies, "policies"),
            (*recorded == other.recorded, "what is recorded"),
        ];
        parts.into_iter().filter(|(same, _)| !same).map(|(_, what)| what).collect()
    }

    /// Row and column of a run: where its policy and its seed stand here.
    pub(crate) fn place(&self, run: &Run) -> (Option<usize>, Option<usize>) {
        let policy = self.policies.iter().position(|policy| policy.title == run.policy);
        (policy, self.seeds.iter().position(|&seed| seed == run.seed))
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_nothing(bytes: &Bytes) -> bool {
    *bytes == Bytes::ZERO
}

/// A workload and what it was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Name of the workload in the table of workloads.
    pub name: String,
    /// Every parameter, defaults included.
    #[schemars(schema_with = "parameters")]
    pub parameters: toml::Table,
    /// Operations of a program from outside, which no table has, whose better direction its author has named, with `lower` or `higher`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<BTreeMap<String, String>>,
}

/// The form of parameters: names and values, whatever the workload has.
fn parameters(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}

/// A machine: one of the lab, or the live host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Name of the machine as given. Never the name of a host.
    pub name: String,
    /// All of it, as TOML: prices, or what a live run must say (kernel release, memory, CPUs, node sizes).
    pub text: String,
}

/// Files that were recorded beside the measurements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    /// Interval between two readings of the counters.
    #[serde(rename = "every_ns")]
    pub every: Nanos,
    /// Whether more often at first: see docs/runs.md.
    #[serde(default, skip_serializing_if = "is_false")]
    pub finely: bool,
    /// Tracepoints whose events were kept, by name.
    pub events: Vec<String>,
    /// Interval between two maps of memory, if there are any.
    #[serde(default, rename = "maps_every_ns", skip_serializing_if = "Option::is_none")]
    pub maps: Option<Nanos>,
    /// Number of steps after which all laws were checked; 0 is never.
    pub check_every: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Contents of memory at the start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "start", rename_all = "kebab-case")]
pub enum Memory {
    /// Memory is empty: the machine has just booted.
    Empty,
    /// Memory is filled from a synthetic map.
    Synthetic {
        /// Arguments of `order9 snapshot synth`, which give it again.
        arguments: String,
    },
    /// Memory is filled from a stored map.
    Snapshot {
        /// Path of the map as it was named.
        path: String,
        /// Of the bytes of the file: a repetition needs the same ones.
        digest: Digest,
    },
    /// Memory of a live host as it was.
    Live,
}

/// A policy, complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// Title of its column: [`Run::policy`].
    pub title: String,
    /// Every switch with its value, as a policy file without base.
    pub text: String,
    /// Settings written before the start under this policy alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<(String, String)>,
    /// Configuration of the guard that ran beside the workload under this policy alone; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub guard: String,
    /// Mechanisms that it needs and the engine does not have.
    pub needs: Vec<String>,
}

/// `manifest.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Manifest {
    /// Version of the directory, [`FORMAT`].
    pub format: u32,
    /// Of the results of all cells.
    pub digest: Digest,
    /// The inputs of the experiment.
    pub inputs: Inputs,
    /// Results of the runs, cell by cell.
    pub cells: Vec<Cell>,
    /// Every other file of the directory, in the order in which they were written.
    pub files: Vec<FileEntry>,
}

/// Entry of one [`Run`] in the manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// [`Run::policy`].
    pub policy: String,
    /// [`Run::seed`].
    pub seed: u64,
    /// [`Run::digest`].
    pub digest: Digest,
    /// [`Run::notes`].
    pub notes: Vec<String>,
    /// [`Run::outcome`].
    pub outcome: Outcome,
    /// [`Run::durations`].
    pub durations: Durations,
    /// [`Run::operations`].
    pub operations: Vec<Operation>,
    /// [`Run::phases`]; their counters stand in `counters.parquet`.
    pub phases: Vec<PhaseEntry>,
}

/// A phase without its counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseEntry {
    /// Name of the phase.
    pub name: String,
    /// First instant of the phase.
    #[serde(rename = "begin_ns")]
    pub begin: Nanos,
    /// The instant after its last one.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
}

/// A file of a run directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileEntry {
    /// Path from the run directory on, with `/`.
    pub path: String,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Digest of the bytes.
    pub digest: Digest,
}

impl Cell {
    pub(crate) fn of(run: &Run) -> Self {
        let phases = run.phases.iter();
        Self {
            policy: run.policy.clone(),
            seed: run.seed,
            digest: run.digest(),
            notes: run.notes.clone(),
            outcome: run.outcome.clone(),
            durations: run.durations,
            operations: run.operations.clone(),
            phases: phases
                .map(|phase| PhaseEntry { name: phase.name.clone(), begin: phase.begin, end: phase.end })
                .collect(),
        }
    }
}

/// The key that every version of a manifest has.
#[derive(Deserialize)]
struct Version {
    format: u32,
}

impl Manifest {
    /// The manifest of an experiment that no files were written of.
    #[must_use]
    pub fn of(experiment: &Experiment) -> Self {
        let cells: Vec<Cell> = experiment.runs.iter().map(Cell::of).collect();
        let digest = Digest::of_cells(cells.iter().map(|cell| (cell.policy.as_str(), cell.seed, cell.digest)));
        Self { format: FORMAT, digest, inputs: experiment.inputs.clone(), cells, files: Vec::new() }
    }

    /// Reads the text of a manifest; `file` is its name in errors.
    ///
    /// # Errors
    ///
    /// A text that is no manifest, one of another version, or one whose digest is not that of its cells.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ReadError> {
        let syntax = |error: toml::de::Error| ReadError::manifest(file, text, &error);
        let Version { format } = toml::from_str(text).map_err(syntax)?;
        if format != FORMAT {
            return Err(ReadError::Version { file: file.to_owned(), found: format });
        }
        let manifest: Self = toml::from_str(text).map_err(syntax)?;
        let cells = manifest.cells.iter().map(|cell| (cell.policy.as_str(), cell.seed, cell.digest));
        let computed = Digest::of_cells(cells);
        if computed != manifest.digest {
            return Err(ReadError::Digest { file: file.to_owned(), stated: manifest.digest, computed });
        }
        match manifest.odd_name() {
            Some(name) => Err(ReadError::Name { file: file.to_owned(), name }),
            None => Ok(manifest),
        }
    }

    /// The first name with characters that nobody sees or that do something to a terminal, written out.
    pub(crate) fn odd_name(&self) -> Option<String> {
        let odd = self.names().find(|name| !name.chars().all(order9_escape::is_plain))?;
        Some(order9_escape::line(odd).into_owned())
    }

    /// Names that stand in tables and pictures.
    fn names(&self) -> impl Iterator<Item = &str> {
        let Inputs { workload, policies, .. } = &self.inputs;
        let titles = policies.iter().map(|policy| policy.title.as_str());
        let owners = self.cells.iter().map(|cell| cell.policy.as_str());
        let operations = self.cells.iter().flat_map(|cell| &cell.operations).map(|operation| operation.name.as_str());
        let phases = self.cells.iter().flat_map(|cell| &cell.phases).map(|phase| phase.name.as_str());
        titles.chain([workload.name.as_str()]).chain(owners).chain(operations).chain(phases)
    }
}
