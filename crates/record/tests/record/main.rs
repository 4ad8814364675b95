//! Run directories as a whole: written, listed, read back, damaged.

mod damage;
mod fuzzed;
mod golden;
mod partial;
mod place;
mod round_trip;
#[path = "../../../../fuzz/src/run_directory.rs"]
mod run_directory;
mod sample;
#[path = "../../../../fuzz/src/sections.rs"]
mod sections;
mod tables;
