//! A part of every crate of the copy that defects are planted in, and of no other: tells which one is on.

extern crate std;

use std::fs::OpenOptions;
use std::io::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stands for: no defect is on, and places are written down.
const RECORD: u32 = u32::MAX;

/// Whether the defect of this number is on.
pub(crate) fn is(mutant: u32) -> bool {
    static PLANTED: OnceLock<u32> = OnceLock::new();
    let planted = *PLANTED.get_or_init(planted);
    if planted == RECORD {
        reach(mutant);
    }
    planted == mutant
}

fn planted() -> u32 {
    match std::env::var_os("ORDER9_MUTANT_REACHED") {
        Some(_) => RECORD,
        None => std::env::var("ORDER9_MUTANT").ok().and_then(|number| number.parse().ok()).unwrap_or(0),
    }
}

/// Writes the number down the first time that the process comes by.
fn reach(mutant: u32) {
    static REACHED: [AtomicBool; 4096] = [const { AtomicBool::new(false) }; 4096];
    let reached = &REACHED[mutant as usize];
    if reached.load(Ordering::Relaxed) || reached.swap(true, Ordering::Relaxed) {
        return;
    }
    let path = std::env::var_os("ORDER9_MUTANT_REACHED").expect("it was there before");
    // A line at a time: other processes of the same test write to the same file.
    let line = std::format!("{mutant}\n");
    let file = OpenOptions::new().append(true).create(true).open(path);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.expect("places that are reached can be written down");
}
