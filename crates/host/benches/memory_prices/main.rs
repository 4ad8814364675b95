//! Measures on the real kernel of this host what the cost model of the lab asks for: faults, clearing, copying, unmapping,
//! the page allocator, flushes, switches. Runs as root (it raises its own priority), takes less than 2 GiB and a minute,
//! and changes no setting of the host.
//!
//! Usage: `memory_prices [--rounds N]`. Prints all measurements, checks of sums of prices against measured wholes, and the
//! prices as in machines/*.toml on stdout; everything else goes to stderr.

mod caches;
mod checks;
mod clock;
mod cpus;
mod direct;
mod pages;
mod prices;
mod report;
mod sys;
mod zone;

use std::error::Error;

use direct::Direct;

/// All is measured in every round, so that drifts hit everything alike.
const ROUNDS: usize = 9;

/// The highest priority, so that others on this host disturb little.
const NICE: i32 = -20;

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = wanted(std::env::args().skip(1))?;
    let cpus = clock::two_cpus()?;
    clock::pin(cpus[0])?;
    rustix::process::setpriority_process(None, NICE)?;
    let filler = zone::Filler::new()?;
    filler.fill_list()?;
    let mut memory = caches::Memory::new()?;
    let mut round = || -> std::io::Result<Direct> {
        let mut direct = Direct::default();
        zone::measure(&mut direct, &filler)?;
        pages::measure(&mut direct)?;
        memory.measure(&mut direct)?;
        cpus::measure(&mut direct, cpus)?;
        Ok(direct)
    };
    round()?; // The first touches memory that the hypervisor may not have backed yet.
    let rounds = (0..rounds).map(|_| round()).collect::<Result<Vec<_>, _>>()?;
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
