//! `order9 calibrate`: prices of a machine, each with how it was measured.

use std::fmt::Display;

use order9_calibrate::{Base, Calibration, Direct, Places, measure};
use order9_host::{Options, Root, capture};
use order9_referee::guest::Accel;
use order9_snapshot::Snapshot;
use order9_units::Bytes;

use crate::args::CalibrateArgs;
use crate::bench::guest::{Booted, machine_of, specs};
use crate::failure::Failure;
use crate::output::{json, print, say};
use crate::target::Target;
use crate::waiting::Waiting;

fn usage(error: impl Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Measures this host, or a guest, prints tables, and writes a machine file where one was asked for.
pub(crate) fn run(args: &CalibrateArgs) -> Result<(), Failure> {
    // A base that nobody knows is refused before anything is measured.
    order9_lab::machines::load(&args.base).map_err(usage)?;
    let target = args.output.as_deref().map(|path| Target::new(path, true)).transpose()?;
    let measured = if args.kernels.kernels.is_empty() { here(args)? } else { in_guest(args)? };
    let Measured { calibration, summary, memory, hypervisor_fault } = measured;
    let tables = calibration.tables();
    let text = || if args.json { json(&tables) } else { Ok(tables.to_string()) };
    let Some(target) = target else { return print(&text()?) };
    let base = Base { machine: &args.base, summary: &summary, nodes: nodes(&memory), hypervisor_fault };
    let file = calibration.machine_file(&base);
    target.write(|out| out.write_all(file.as_bytes()))?;
    if target.is_output() { say(&text()?) } else { print(&text()?) }
}

/// Measurements, and the machine that they are of.
struct Measured {
    calibration: Calibration,
    summary: String,
    memory: Snapshot,
    /// As [`Base::hypervisor_fault`].
    hypervisor_fault: Option<(u64, String)>,
}

fn here(args: &CalibrateArgs) -> Result<Measured, Failure> {
    let memory = capture(&Root::live(), Options::default()).map_err(usage)?;
    // Without events of the kernel, the price that needs them is not measured.
    let tracefs = order9_live::tracefs().ok();
    let places = Places { files: args.files.as_deref(), tracefs: tracefs.as_deref() };
    let waiting = Waiting::of(args.rounds.into(), "measuring, rounds");
    let rounds = measure(args.rounds.into(), places, |round| waiting.done(round)).map_err(usage)?;
    drop(waiting);
    let host = format!("Linux {}, {}", memory.machine.kernel_release, cpu());
    Ok(Measured::of(host.clone(), host, rounds, memory, below_this_host()))
}

fn in_guest(args: &CalibrateArgs) -> Result<Measured, Failure> {
    let machine = machine_of(&args.kernels, None)?;
    let specs = specs(&args.kernels, machine.as_ref())?;
    let [spec] = specs.as_slice() else {
        return Err(usage("--kernel: expected one kernel, whose prices are measured"));
    };
    let Booted { mut guest, .. } = Booted::new(spec, args.kernels.deterministic)?;
    let memory = guest.map().map_err(usage)?;
    let waiting = Waiting::new("measuring in the guest");
    let rounds = guest.calibrate(args.rounds.into()).map_err(usage)?;
    drop(waiting);
    let by = match guest.accel() {
        Accel::Kvm => format!("a guest by KVM on {}", cpu()),
        Accel::Tcg => format!("a guest by translation on {}", cpu()),
        Accel::Counted => "a guest whose time is counted instructions, one for a nanosecond".to_owned(),
    };
    let kernel = guest.kernel().to_owned();
    let below = (0, "All memory of the guest was touched beforehand, and QEMU takes none back.".to_owned());
    guest.off();
    Ok(Measured::of(format!("Linux {kernel}, {by}"), format!("Linux {kernel}: {by}"), rounds, memory, Some(below)))
}

/// Price of memory that the hypervisor of this host has taken back, if any.
fn below_this_host() -> Option<(u64, String)> {
    if !order9_host::hypervisor_takes_free_pages() {
        return Some((0, "No balloon of this host reports free pages.".to_owned()));
    }
    let price = order9_host::hypervisor_fault()?;
    let how = order9_snapshot::Calibration::HYPERVISOR_FAULT_METHOD;
    Some((price.ps / 1000, format!("{how}. Median of {}, {price}.", price.rounds)))
}

impl Measured {
    fn of(
        host: String,
        summary: String,
        rounds: Vec<Direct>,
        memory: Snapshot,
        hypervisor_fault: Option<(u64, String)>,
    ) -> Self {
        Self { calibration: Calibration { host, rounds }, summary, memory, hypervisor_fault }
    }
}

/// Memory is counted in whole sections.
const SECTION: u64 = 128 << 20;

/// Nodes of a machine: memory in MiB, CPUs, and distances.
fn nodes(memory: &Snapshot) -> Vec<(u64, u32, Vec<u32>)> {
    let node = |node: &order9_snapshot::NodeInfo| {
        let zones = memory.zones.iter().filter(|zone| zone.node == node.id);
        let present: u64 = zones.map(|zone| zone.present.bytes().get()).sum();
        (Bytes::new(present.next_multiple_of(SECTION)).get() >> 20, node.cpus.len() as u32, node.distances.clone())
    };
    memory.nodes.iter().map(node).collect()
}

/// The CPU as the kernel names it.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| Some(line.strip_prefix("model name")?.split_once(':')?.1.trim().to_owned()));
    model.unwrap_or_else(|| "unknown CPU".to_owned())
}

#[cfg(test)]
mod tests {
    /// The first price of the cost model that was measured by hand: prices of files and kernel objects, a few of which are measured.
    const BY_HAND: &str = "file_open";

    #[test]
    fn every_price_of_memory_is_measured_in_the_order_of_the_cost_model() {
        let measured: Vec<&str> = order9_calibrate::keys().collect();
        let all = || order9_machine::cost::PRICES.iter().map(|price| price.key);
        let by_hand = all().position(|key| key == BY_HAND).expect("it is a price");
        let known: Vec<&str> =
            all().enumerate().filter(|(at, key)| *at < by_hand || measured.contains(key)).map(|(_, key)| key).collect();
        assert_eq!(measured, known);
    }
}
