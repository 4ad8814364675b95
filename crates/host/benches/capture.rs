//! What a capture of this host costs beside a plain read of /proc/kpageflags and /proc/kpagecount. Needs root.
//!
//! Budget: 1.2 times the plain read. Rounds alternate, so that both see the same memory; the medians are compared.

use order9_host::{CaptureError, Options, Root, capture, plain_read};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Root::live();
    let mut plain_ns = Vec::new();
    let mut capture_ns = Vec::new();
    println!("{:>14} {:>14} {:>12} {:>12}", "plain, ns", "capture, ns", "frames", "inconsistent");
    for _ in 0..ROUNDS {
        let plain = plain_read(&root)?;
        let cost = capture(&root, Options::default()).map_err(|error: CaptureError| error.to_string())?.cost;
        let frames = cost.frames.get();
        println!("{:>14} {:>14} {frames:>12} {:>12}", plain.wall.get(), cost.wall.get(), cost.inconsistent.get());
        plain_ns.push(plain.wall.get());
        capture_ns.push(cost.wall.get());
    }
    let (plain, capture) = (median(plain_ns), median(capture_ns));
    println!("capture / plain read = {:.3} (medians of {ROUNDS}; budget 1.2)", capture as f64 / plain as f64);
    Ok(())
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}
