//! The lab's front desk: turns names and files into experiments.
//!
//! [`machines`]: what a machine is made of and what work costs on it, with a source for every figure. Never runs anything.
#![forbid(unsafe_code)]

pub mod machines;
mod plan;

pub use plan::{Cell, Memory, Plan};
