//! Sweeps: every combination of policies, machines, memories, parameters, settings and seeds of a plan, as cells that any engine can
//! schedule, keep and check.
//!
//! Key types: [`Plan`] (a file that people write, taken apart into [`Point`]s: combinations of everything but the seed), [`Cell`]
//! (everything that decides one run, as a value that can be sent elsewhere, with its name: the digest of all that), [`Done`] (results of
//! a cell), [`Folder`] (keeps them by name, each whole or not at all). [`sweep`] runs what is missing on this host, [`write_results`]
//! makes Parquet of what is there, [`merge`] puts folders together. Another engine takes cells from a [`Course`], gives each to
//! [`Cell::run`] wherever it likes, and keeps the answers in a folder. Never prints, and reads no clock but for times that stand apart.
//! The format of plans and folders: docs/sweep.md.
#![forbid(unsafe_code)]

mod axes;
mod cell;
mod course;
pub mod emit;
mod error;
mod exclude;
mod folder;
mod keys;
mod making;
mod measures;
mod merge;
mod named;
mod outlook;
mod plan;
mod point;
mod results;
mod run;
mod shard;
mod space;
mod summary;
mod text;
mod until;
mod verify;

pub use axes::Axes;
pub use cell::{Cell, ENGINE, PointInputs};
pub use course::Course;
pub use error::{PlanFileError, Problem, SweepError};
pub use folder::{Folder, Kept};
pub use keys::{KEYS, Key};
pub use making::{Ended, Making, Progress, Swept, follow, sweep};
pub use measures::{Measure, Statistic};
pub use merge::merge;
pub use outlook::{Estimate, Outlook, Probe, outlook};
pub use plan::Plan;
pub use point::Point;
pub use results::write_results;
pub use run::{Done, End, HostTimes};
pub use shard::Shard;
pub use summary::Summary;
pub use until::{Seeds, Until};
pub use verify::{Differs, Share, sample, verify};
