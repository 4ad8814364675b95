//! Any bytes as the files of a run directory.
#![no_main]

use std::sync::LazyLock;

use tempfile::TempDir;

#[path = "../src/run_directory.rs"]
mod run_directory;
#[path = "../src/sections.rs"]
mod sections;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary directory can be made"));

libfuzzer_sys::fuzz_target!(
    // Panics of the Parquet library are caught and become refusals; libFuzzer's hook would end the process first. Any other
    // panic still ends it: the one that leaves the target.
    init: std::panic::set_hook(Box::new(|_| {})),
    |input: &[u8]| run_directory::run(input, FOLDER.path())
);
