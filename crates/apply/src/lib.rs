//! Settings of a running kernel, changed as a whole or not at all, kept beyond a restart where that is wanted, and taken back.
//!
//! Key types: [`Wish`] (a setting that is to have a value), [`Plan`] (wishes that this kernel would take, with what is there
//! before), [`Ledger`] (what was applied and not taken back), [`Record`] (one change in it), [`Kind`] (a way in which systems
//! keep settings), [`Judge`] (of a change that is watched), [`Root`] (the host, or a directory with copies of its files).
//!
//! A change begins with its record on disk, so that at every instant either nothing has been changed or [`Ledger::undo`] takes
//! all of it back, whatever ends the program. Behaviour: docs/apply.md. Never judges whether a value is a good one.
#![forbid(unsafe_code)]

mod check;
mod error;
mod ledger;
mod limits;
mod persist;
mod plan;
mod record;
mod releases;
mod root;
mod target;
mod transaction;
mod undo;
mod wish;

pub use error::{ApplyError, Refusal};
pub use ledger::Ledger;
pub use limits::{Judge, Limit, Price, Share};
pub use persist::{Form, Kind};
pub use plan::{Plan, plan};
pub use record::{Change, Record, Who, Written};
pub use root::Root;
pub use undo::{Restored, UndoneRecord};
pub use wish::{Wish, argument, joined, settings_file};
