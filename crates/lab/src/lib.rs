//! The lab's front desk: turns names and files into experiments, runs them, and turns what came of them into tables.
//!
//! Key types: [`Plan`] (everything that decides an experiment), [`run`] (runs it on the cores of the host), [`report`]
//! (compares what came of it), [`plot`] (draws what it measured over time). [`machines`]: what a machine is made of and what work costs on it, with a source for every
//! figure; [`scenario`]: what a person asks for, in files and arguments; [`reproduce`]: published experiments, and verdicts on what was
//! claimed of them. Never knows where its tables go: that is the
//! command line's.
#![forbid(unsafe_code)]

mod ablation;
mod captured;
pub mod cases;
mod cell;
mod claims;
mod days;
mod error;
mod events;
mod export;
mod fidelity;
mod inputs;
mod limits;
pub mod machines;
mod maps;
mod meanings;
mod monitors;
mod notes;
mod own_workload;
mod owners;
mod plan;
mod plot;
mod pools;
mod proc_files;
mod quantities;
pub mod reproduce;
mod run;
pub mod scenario;
mod start;
mod tables;

pub use ablation::{Ablated, Ablation, ablation_notes, ablation_report};
pub use claims::judge_claim;
pub use days::{Day, days, days_text};
pub use error::PlanError;
pub use export::{MAP_RELEASE, export, write_map};
pub use fidelity::{Causes, CausesError, Fidelity, GapList, Gaps, Goal, Judged, Sides, Verdict, fidelity};
pub use inputs::{asked, live_inputs};
pub use meanings::{counter_meaning, counter_names};
pub use notes::notes;
pub use own_workload::{own_workload, stored_workload};
pub use plan::{Cell, MadeUp, Memory, Plan, Settings};
pub use plot::{
    Changed, Growth, Level, PlotChoice, PlotError, Plotted, Sampled, changed, distributions, plot, plot_time, subtitle,
    worth,
};
pub use proc_files::{machine_files, node_files, process_files, setting_files};
pub use run::{Finished, Keeper, Nobody, Observer, Program, resume, run, run_first, run_own};
pub use tables::{pooled_report, report};
