//! Answers for a host, each tried in the lab on a copy of its memory before anything is done to the host.
//!
//! Key types: [`Trial`] (the copy, and the kernel and prices it is tried with), [`ask::Ask`] (will a program get huge pages
//! now?), [`what_if::WhatIf`] (these settings beside today's), [`advice::Advise`] (what would help, in order of worth),
//! [`tune::Tune`] (which settings reach a goal within limits?), [`guard::Simulation`] (a guard beside the kernel's own compaction). Each
//! makes plans for the lab, runs them, and turns the runs into an answer with a text; [`Demand`] is the program that runs. Never
//! touches the host, and estimates nothing that a run can tell.
#![forbid(unsafe_code)]

pub mod advice;
pub mod ask;
mod demand;
pub mod guard;
mod latencies;
mod trial;
pub mod tune;
pub mod what_if;

pub use demand::Demand;
pub use latencies::Latencies;
pub use trial::{AdviseError, Trial};
