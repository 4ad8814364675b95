//! The built command, end to end: what it prints, what it leaves behind, how it says no.
#![allow(clippy::disallowed_methods)]

mod ablate;
mod bad_input;
mod bench;
mod browser;
mod capture;
mod cases;
mod compare;
mod cpus;
mod doc;
mod escapes;
mod export;
mod forge;
mod golden;
mod guests;
mod install;
mod kills;
mod machines;
mod map;
mod memory;
mod numa_balancing;
mod places;
mod plot;
mod policies;
mod record;
mod repeat;
mod replay;
mod report;
mod resume;
mod run;
mod run_refusals;
mod schemas;
mod shells;
mod support;
mod watch;
mod weights;
