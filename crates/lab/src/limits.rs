//! Refusals before a run starts, since it could not end: the run needs more than the machine, or this host, can hold.

use order9_report::number::{count_of, grouped, size};
use order9_units::{Bytes, Nanos};
use order9_workloads::{Demand, Facts, Parameters, Workload};

use crate::error::PlanError;

/// Largest address space of a process: half of 48 bits of address.
const ADDRESS_SPACE: Bytes = Bytes::new(1 << 47);
/// Accesses of a run: about a week of one core, at a million and a half a second.
const STEPS_MAX: u64 = 1 << 40;
const STEPS_PER_DAY: u64 = 1_500_000 * 24 * 3600;
/// Memory of the host that the counters of a run may take.
const HOST_MEMORY: u64 = 10 << 30;
/// Memory of the host for the counters of one reading: about 250 of 8 bytes.
const READING: u64 = 2000;

/// Refuses what the machine or this host cannot hold.
pub(crate) fn check(workload: Workload, every: Nanos, parameters: &Parameters, facts: &Facts) -> Result<(), PlanError> {
    if let Some(policy) = parameters.mempolicy()
        && let Some(node) = policy.missing_node(facts.nodes.len())
    {
        let (workload, key, value) = (workload.name(), "mempolicy", policy.to_string());
        let last = facts.nodes.len().saturating_sub(1);
        let expected = format!("nodes from 0 to {last}, which the machine has; {node} is none of them");
        return Err(PlanError::Parameter { workload, key, value, expected });
    }
    if let Some(cpus) = parameters.cpus()
        && let Some(expected) = cpus.missing(facts.cpus, facts.nodes.len())
    {
        let (workload, key, value) = (workload.name(), "cpus", cpus.to_string());
        return Err(PlanError::Parameter { workload, key, value, expected });
    }
    let demand = workload.demand(parameters, facts);
    match excess(&demand, facts, every) {
        Some(why) => Err(PlanError::TooMuch { workload: workload.name(), why }),
        None => Ok(()),
    }
}

/// Why a run of this demand cannot end.
fn excess(demand: &Demand, facts: &Facts, every: Nanos) -> Option<String> {
    // Without a disk files fill memory, which ends a run soon enough.
    let too_large = |disk: &Bytes| demand.files > *disk;
    let readings = demand.time.get() / every.get().max(1);
    let host = Bytes::new(readings.saturating_mul(READING));
    if demand.mapped > ADDRESS_SPACE {
        Some(format!("a process would map {}, and can map {}", size(demand.mapped), size(ADDRESS_SPACE)))
    } else if let Some(disk) = facts.disk.filter(too_large) {
        Some(format!("files would hold {} together, and the machine's disk has {}", size(demand.files), size(disk)))
    } else if host.get() > HOST_MEMORY {
        Some(format!(
            "{} of counters would take about {} of this host's memory, and may take {}: read them less often with --every",
            count_of(readings, "reading"),
            size(host),
            size(Bytes::new(HOST_MEMORY))
        ))
    } else if demand.steps > STEPS_MAX {
        Some(format!(
            "at least {} accesses to pages and files would take about {} of one of this host's cores",
            grouped(demand.steps),
            count_of(demand.steps / STEPS_PER_DAY, "day")
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Nanos = Nanos::new(1_000_000_000);

    fn why(demand: Demand, disk: Option<u64>) -> Option<String> {
        let memory = Bytes::from_gib(16);
        let disk = disk.map(Bytes::from_gib);
        excess(&demand, &Facts { memory, cpus: 8, nodes: vec![memory], disk, available: None }, SECOND)
    }

    #[test]
    fn what_fits_is_not_refused_and_what_does_not_is_said() {
        let files = |gib| Demand { files: Bytes::from_gib(gib), ..Demand::default() };
        assert_eq!((why(files(256), Some(256)), why(files(257), None)), (None, None));
        let says = |demand, disk, part: &str| {
            let why = why(demand, disk).expect("it is too much");
            assert!(why.contains(part), "{why}");
        };
        says(files(257), Some(256), "257 GiB together, and the machine's disk has 256 GiB");
        says(
            Demand { mapped: Bytes::new(1 << 48), ..Demand::default() },
            None,
            "would map 256 TiB, and can map 128 TiB",
        );
        says(
            Demand { time: Nanos::new(u64::MAX / 2), ..Demand::default() },
            None,
            "of this host's memory, and may take 10 GiB",
        );
        says(Demand { steps: u64::MAX, ..Demand::default() }, None, "days of one of this host's cores");
    }
}
