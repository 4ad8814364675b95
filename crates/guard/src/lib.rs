//! Keeps huge pages ready: decides when which node is compacted, within budgets of CPU and stall time.
//!
//! Key types: [`Controller`] (hears [`Observation`]s, answers with a [`Decision`], breaks off what has done enough by [`Watch`], learns from
//! what an action [`Took`]),
//! [`Config`] (goals and budgets), [`GuardFile`] (the TOML file that people write). The controller reads no clock and no file, so
//! that a live host and the lab run the same one. Behaviour and reasons: docs/guard.md.
#![forbid(unsafe_code)]

mod backoff;
mod budget;
mod config;
mod controller;
mod decision;
mod file;
mod forecast;
mod node;
mod observation;
mod step;
mod values;
mod words;

pub use budget::Balance;
pub use config::{Config, Goal, Share};
pub use controller::{Controller, NodeStatus, Totals};
pub use decision::{Action, Decision, Lesson, Stop, Took, Verdict, Watch};
pub use file::{GuardFile, KEYS, Key, Listen};
pub use observation::{NodeSeen, Observation, Stalled};
