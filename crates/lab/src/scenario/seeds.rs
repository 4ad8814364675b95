//! Default number of runs of a policy: enough to tell a difference from chance, unless a run is long.
//!
//! How long a run is goes by three things: the memory of the machine, which most workloads use whole; whether the workload is
//! one of the long ones; and what the parameters ask for, against the defaults.

use std::collections::BTreeMap;

use order9_units::{Bytes, Pages};
use order9_workloads::{Facts, Parameters, Value, Workload};

use crate::machines::MachineSpec;
use crate::plan::{Memory, Plan};

/// Runs of a short experiment: the fewest whose spread says something.
const REPEATED: u64 = 3;
/// Memory of the largest machine on which usual runs are taken to be short.
const MEMORY_MAX: Bytes = Bytes::from_gib(32);
/// Factor by which long workloads are taken to be longer than others: a guess, on the safe side.
const LONG: f64 = 16.0;

/// The seeds of an experiment that names none and, where that is one alone, a sentence that says why.
pub(super) fn by_default(
    workload: Workload,
    chosen: &BTreeMap<&'static str, Value>,
    machine: &MachineSpec,
    memory: &Memory,
) -> (Vec<u64>, Option<String>) {
    let facts = facts(machine, memory);
    let asked = share_of_defaults(workload, chosen, &facts);
    let of_memory = facts.memory.get() as f64 / MEMORY_MAX.get() as f64;
    let usual = if workload.spec().is_long { of_memory * LONG } else { of_memory };
    if usual * asked <= 1.0 {
        return ((1..=REPEATED).collect(), None);
    }
    let why = match () {
        () if usual <= 1.0 => format!("the parameters ask for {asked:.0} times the work of the defaults"),
        () if workload.spec().is_long => format!("{} is a long workload", workload.name()),
        () => format!("a run on {} GiB is long", facts.memory.get() >> 30),
    };
    (vec![1], Some(format!("one run of each policy, since {why}: --seeds says how often each is to run")))
}

impl Plan {
    /// Accesses that a run makes, by which its time on the host goes, as far as the machine is known before it starts; `None` where
    /// the parameters do not fit the machine.
    #[must_use]
    pub fn steps(&self) -> Option<u64> {
        let facts = facts(&self.machine, &self.memory);
        let parameters = Parameters::new(self.workload, &self.chosen, &facts).ok()?;
        Some(self.workload.demand(&parameters, &facts).steps)
    }
}

/// Facts of the machine, as far as they are known before it starts.
fn facts(machine: &MachineSpec, memory: &Memory) -> Facts {
    let disk = machine.file_disk().map(|disk| (disk.spec.size - disk.swap).bytes());
    let nodes: Vec<Bytes> = machine.nodes.iter().map(|node| node.memory).collect();
    let of_machine =
        Facts { memory: machine.memory(), cpus: machine.cpus().len() as u32, nodes, disk, available: None };
    match memory {
        Memory::Snapshot { snapshot, .. } => Facts {
            memory: snapshot.zones.iter().map(|zone| zone.present).sum::<Pages>().bytes(),
            cpus: snapshot.machine.cpus,
            available: snapshot.meminfo.get("MemAvailable").map(|&kib| Bytes::new(kib.saturating_mul(1024))),
            ..of_machine
        },
        Memory::Empty | Memory::Synthetic(_) => of_machine,
    }
}

/// The chosen parameters as a multiple of the defaults: of accesses or of time, the larger of the two. 1 where the
/// parameters are refused later.
fn share_of_defaults(workload: Workload, chosen: &BTreeMap<&'static str, Value>, facts: &Facts) -> f64 {
    let demand =
        |chosen| Parameters::new(workload, chosen, facts).map(|parameters| workload.demand(&parameters, facts));
    let (Ok(asked), Ok(usual)) = (demand(chosen), demand(&BTreeMap::new())) else { return 1.0 };
    let shares = [(asked.steps, usual.steps), (asked.time.get(), usual.time.get())];
    let share = |(asked, usual): (u64, u64)| (usual > 0).then(|| asked as f64 / usual as f64);
    shares.into_iter().filter_map(share).reduce(f64::max).unwrap_or(1.0)
}
