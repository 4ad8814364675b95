//! Bytes as what many tasks do, in which order: programs, files that are written, truncated, removed and evicted, compaction,
//! reclaim, collapse and daemons, each in steps. Every law holds after each, no content is lost, and nothing is left.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    order9_testkit::crowd::run_input(input, |name| order9_policy::load(name).expect("it is a preset").policy);
});
