//! Frames of a guest, which may send anything: none panics, takes memory without end, or leads out of the folder of its map.

#![no_main]

use libfuzzer_sys::fuzz_target;
use order9_live::read_frame;
use order9_referee::Collector;
use order9_referee::guest::{GuestError, collect};

fuzz_target!(|bytes: &[u8]| {
    let mut from = bytes;
    let answer = || read_frame(&mut from).map_err(|error| GuestError::NotStarted(error.to_string()));
    if let Ok(measured) = collect(answer, Collector::new("live", 1), &|_| None) {
        assert!(measured.run.phases.iter().all(|phase| phase.begin <= phase.end));
        let _ = measured.files();
    }
});
