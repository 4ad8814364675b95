//! Speed and memory of making up a machine: seconds, frames per microsecond and peak resident memory, one core.
//!
//! `cargo bench -p order9-snapshot --bench synth [-- GIB]`; 64 GiB by default, 1024 for the 1 TiB of the budget.

use std::time::Instant;

use order9_snapshot::format;
use order9_snapshot::synth::{Pattern, SynthSpec, synth};
use order9_units::Bytes;

fn main() {
    let gib = std::env::args().filter_map(|arg| arg.parse().ok()).next_back().unwrap_or(64);
    println!("{gib} GiB, 2 nodes, fill 0.7");
    println!(
        "{:<13} {:>8} {:>10} {:>14} {:>10} {:>10}",
        "pattern", "s", "frames/us", "file bytes", "write s", "read s"
    );
    for pattern in Pattern::ALL {
        let spec = SynthSpec { size: Bytes::from_gib(gib), nodes: 2, pattern, ..SynthSpec::default() };
        let (seconds, snapshot) = timed(|| synth(&spec).expect("a possible machine").0);
        let frames = snapshot.frames.as_ref().map_or(0, |map| map.len().get());
        let mut file = Vec::new();
        let (write, ()) = timed(|| format::write(&snapshot, &mut file).expect("a sound snapshot is written"));
        drop(snapshot);
        let (read, _) = timed(|| format::read(file.as_slice()).expect("what was written is read"));
        let speed = frames as f64 * 1e-6 / seconds;
        println!("{pattern:<13} {seconds:>8.2} {speed:>10.1} {:>14} {write:>10.2} {read:>10.2}", file.len());
    }
    if let Some(peak) = peak_memory() {
        println!("peak resident memory: {peak}");
    }
}

fn timed<T>(run: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let result = run();
    (start.elapsed().as_secs_f64(), result)
}

/// What Linux says this process took at most.
fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
