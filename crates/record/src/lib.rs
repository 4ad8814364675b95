//! Runs: what a workload measured under one policy and one seed, the same for the lab and for a live kernel.
//!
//! Key types: [`Run`] (one cell: samples, phases, counters, events, outcome), [`Experiment`] (all cells of one
//! invocation and what is needed to repeat it), [`Manifest`] (that, as it stands in `manifest.toml`), [`Digest`]
//! (two runs that print the same one have the same results). [`Target`] writes a run directory whole or not at all,
//! [`read()`] loads one back. The directory is described for users in docs/runs.md.
//! Never reads a clock, computes a statistic or knows where a run took place: `report` judges, `machine` and `host` fill.
#![forbid(unsafe_code)]

mod check;
mod counters;
mod digest;
mod directory;
mod error;
mod files;
mod ftrace;
mod manifest;
mod mmtests;
mod monitors;
mod partial;
mod read;
mod run;
pub mod table;
mod tables;

pub use check::Problem;
pub use counters::{Counter, Counters, Phase};
pub use digest::{Digest, ParseDigestError};
pub use directory::{Existing, ExtraFile, Target};
pub use error::{ReadError, WriteError};
pub use files::check_title;
pub use manifest::{
    Cell, Experiment, FORMAT, FileEntry, Inputs, Machine, Manifest, Memory, PhaseEntry, Policy, Recorded, Workload,
};
pub use monitors::Monitors;
pub use partial::{Begin, Kept, Partial};
pub use read::{Loaded, read, read_events, read_file, read_manifest};
pub use run::{
    Durations, Event, Monitor, Operation, OperationId, Outcome, ProcFile, Reading, Run, Sample, Traces, Unit,
};
