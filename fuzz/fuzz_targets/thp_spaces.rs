//! Bytes as a sequence of steps of programs, daemons and the administrator around huge pages. Every law holds after each,
//! every page reads as what was last written to it, and nothing is left at the end.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| order9_testkit::huge::run_input(input));
