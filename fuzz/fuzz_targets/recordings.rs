//! Any text as a recording.
#![no_main]

#[path = "../src/recordings.rs"]
mod recordings;

libfuzzer_sys::fuzz_target!(|text: &str| recordings::run(text));
