//! What tests of the engine share: machines of a few pageblocks up to 16 GiB, and the switch sets of Linux releases.
//!
//! Never used by the product: it depends on the engine, and nothing but tests and benchmarks depends on it.
#![forbid(unsafe_code)]

pub mod machines;
pub mod profiles;
