//! How often every policy runs where nobody says: often enough to tell a difference from chance, unless a run is long.

use order9_units::{Bytes, Pages};
use order9_workloads::Workload;

use crate::machines::MachineSpec;
use crate::plan::Memory;

/// Runs of a short experiment: the fewest whose spread says something.
const REPEATED: u64 = 3;
/// Memory of the largest machine on which runs are taken to be short: most workloads use all of it.
const MEMORY_MAX: Bytes = Bytes::from_gib(32);

/// The seeds of an experiment that names none and, where that is one alone, a sentence that says why.
pub(super) fn by_default(workload: Workload, machine: &MachineSpec, memory: &Memory) -> (Vec<u64>, Option<String>) {
    let memory = match memory {
        Memory::Snapshot { snapshot, .. } => snapshot.zones.iter().map(|zone| zone.present).sum::<Pages>().bytes(),
        Memory::Empty | Memory::Synthetic(_) => machine.memory(),
    };
    let why = match () {
        () if workload.is_long() => format!("{} is a long workload", workload.name()),
        () if memory > MEMORY_MAX => format!("a run on {} GiB is long", memory.get() >> 30),
        () => return ((1..=REPEATED).collect(), None),
    };
    (vec![1], Some(format!("one run of each policy, since {why}: --seeds says how often each is to run")))
}
