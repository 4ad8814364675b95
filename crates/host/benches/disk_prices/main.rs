//! Measures the disk of this host's temporary folder as the lab's model of disks asks for: latency and bandwidth of reads
//! and writes, and how many requests are served at once. Takes 256 MiB of that disk, and less than a minute.
//!
//! Reads and writes one file of its own, past the page cache (`O_DIRECT`). The file has no name, so that nothing is left
//! behind however this ends. Another folder: `TMPDIR=/data`.
//!
//! Usage: `disk_prices [--rounds N]`. Prints the figures as in machines/*.toml on stdout; everything else goes to stderr.

mod disk;
mod report;

use std::error::Error;

/// All is measured in every round, so that drifts hit everything alike.
const ROUNDS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = wanted(std::env::args().skip(1))?;
    let mut disk = disk::Disk::new(&std::env::temp_dir())?;
    disk.round()?; // The first one gives the file its blocks.
    let rounds = (0..rounds).map(|_| disk.round()).collect::<Result<Vec<_>, _>>()?;
    report::print(&rounds);
    Ok(())
}

/// How many rounds. `cargo bench` itself passes `--bench`.
fn wanted(arguments: impl Iterator<Item = String>) -> Result<usize, Box<dyn Error>> {
    const USAGE: &str = "expected `--rounds N`, where N is at least 1";
    let mut arguments = arguments.filter(|argument| argument != "--bench");
    match (arguments.next().as_deref(), arguments.next(), arguments.next()) {
        (None, _, _) => Ok(ROUNDS),
        (Some("--rounds"), Some(n), None) => n.parse().ok().filter(|&n| n > 0).ok_or_else(|| USAGE.into()),
        _ => Err(USAGE.into()),
    }
}
