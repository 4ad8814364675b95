//! Speed and size of the file format: MB/s of kpageflags (8 bytes per frame), one core, best of several runs.
//!
//! `cargo bench -p order9-snapshot --bench format [-- FRAMES]`; 2^24 frames (64 GiB) by default.

use std::hint::black_box;
use std::time::Instant;

use order9_snapshot::format::{read, write};
use order9_snapshot::{FrameMapBuilder, FrameState, Machine, Snapshot};
use order9_units::{PAGE_SIZE, Pages};

fn main() {
    let frames = std::env::args().filter_map(|arg| arg.parse().ok()).next_back().unwrap_or(1 << 24);
    println!("{frames} frames, {} GiB", Pages::new(frames).bytes().get() >> 30);
    println!("{:<12} {:>12} {:>12} {:>12} {:>14}", "map", "write MB/s", "read MB/s", "bytes", "bits per frame");
    for (name, states, run) in [("uniform", 1, 1), ("runs of 64", 40, 64), ("runs of 8", 40, 8), ("random", 40, 1)] {
        measure(name, &snapshot(frames, states, run));
    }
}

/// A map of `states` states in runs of random length, `run` on average.
fn snapshot(frames: u64, states: u64, run: u64) -> Snapshot {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 32) % below
    };
    let mut map = FrameMapBuilder::new();
    let mut left = frames;
    while left > 0 {
        let len = (1 + next(2 * run - 1)).min(left);
        map.push_run(FrameState { flags: next(states), count: 0 }, Pages::new(len));
        left -= len;
    }
    let machine = Machine { page_size: PAGE_SIZE, pageblock_order: 9, ..Machine::default() };
    Snapshot { machine, frames: Some(map.finish()), ..Snapshot::default() }
}

fn measure(name: &str, snapshot: &Snapshot) {
    let frames = snapshot.frames.as_ref().map_or(0, |map| map.len().get());
    let mut file = Vec::new();
    let written = best(|| {
        file.clear();
        write(snapshot, &mut file).expect("a sound snapshot is written");
    });
    let read = best(|| drop(black_box(read(file.as_slice()).expect("what was written is read"))));
    let megabytes = frames as f64 * 8e-6;
    println!(
        "{name:<12} {:>12.0} {:>12.0} {:>12} {:>14.3}",
        megabytes / written,
        megabytes / read,
        file.len(),
        file.len() as f64 * 8.0 / frames as f64
    );
}

/// Seconds of the fastest of five runs.
fn best(mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
