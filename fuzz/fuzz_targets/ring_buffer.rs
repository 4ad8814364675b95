//! Any bytes as a format file of a tracepoint and a piece of a ring buffer.
#![no_main]

#[path = "../src/ring_buffer.rs"]
mod ring_buffer;
#[path = "../src/sections.rs"]
mod sections;

libfuzzer_sys::fuzz_target!(|input: &[u8]| ring_buffer::run(input));
