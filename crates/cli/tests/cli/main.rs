//! The built command, end to end: what it prints, what it leaves behind, how it says no.

mod ablate;
mod bad_input;
mod capture;
mod compare;
mod golden;
mod machines;
mod map;
mod memory;
mod plot;
mod policies;
mod repeat;
mod run;
mod run_refusals;
mod support;
