//! Any text as the kernel's command line.
#![no_main]

#[path = "../src/boot.rs"]
mod boot;

libfuzzer_sys::fuzz_target!(|text: &str| boot::run(text));
