//! Any bytes as the table of a fleet's facts.
#![no_main]

#[path = "../src/fleet_facts.rs"]
mod fleet_facts;

libfuzzer_sys::fuzz_target!(
    // Panics of the Parquet library are caught and become refusals; libFuzzer's hook would end the process first. Any other
    // panic still ends it: the one that leaves the target.
    init: std::panic::set_hook(Box::new(|_| {})),
    |input: &[u8]| fleet_facts::run(input)
);
