//! Any bytes as a snapshot file.
#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| order9_fuzz::check(file));
