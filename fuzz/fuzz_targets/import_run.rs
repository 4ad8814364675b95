//! Any bytes as a memory map and what happens in it after its import.
#![no_main]

#[path = "../src/import_run.rs"]
mod import_run;

libfuzzer_sys::fuzz_target!(|input: &[u8]| import_run::run(input));
