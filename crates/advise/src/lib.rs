//! Answers for a host, each tried in the lab on a copy of its memory before anything is done to the host.
//!
//! Key types: [`Trial`] (the copy, and the kernel and prices it is tried with), [`ask::Ask`] (will a program get huge pages
//! now?), [`what_if::WhatIf`] (these settings beside today's), [`guard::Simulation`] (a guard beside the kernel's own compaction). Each
//! makes a plan for the lab, runs it, and turns the runs into an answer with a text. Never touches the host, and estimates nothing that a run can tell.
#![forbid(unsafe_code)]

pub mod ask;
mod counted;
pub mod guard;
mod latencies;
mod trial;
pub mod what_if;

pub use latencies::Latencies;
pub use trial::{AdviseError, Trial};
