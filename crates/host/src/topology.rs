//! CPUs, NUMA nodes and memory sections, from /sys/devices/system.

use std::collections::{BTreeMap, BTreeSet};

use order9_snapshot::limits::NODES_MAX;
use order9_snapshot::{NodeInfo, ZoneInfo};
use order9_units::{Bytes, NodeId, Pages, Pfn, PfnRange};

use crate::CaptureError;
use crate::parse::{ParseError, cpulist};
use crate::settings;
use crate::source::{Files, LINE_MAX};

const NODES: &str = "/sys/devices/system/node";
const MEMORY: &str = "/sys/devices/system/memory";
const CPUS_ONLINE: &str = "/sys/devices/system/cpu/online";

/// Distance of a node to itself.
const LOCAL_DISTANCE: u32 = 10;

/// Number of online CPUs. Where the list is missing, number of CPUs that have per-CPU lists.
pub(crate) fn cpus_online(files: &mut Files<'_>, zones: &[ZoneInfo]) -> Result<u32, CaptureError> {
    let listed = files.parse(CPUS_ONLINE, LINE_MAX, cpulist::parse)?.map(|cpus| cpus.len());
    let cpus = listed.unwrap_or_else(|| zones.iter().map(|zone| zone.pcp.len()).max().unwrap_or(0));
    Ok(u32::try_from(cpus).unwrap_or(u32::MAX))
}

/// The nodes that have a directory or zones, by number, and their hugetlb pools as settings.
pub(crate) fn nodes(
    files: &mut Files<'_>,
    zones: &[ZoneInfo],
    counters: &BTreeMap<NodeId, BTreeMap<String, u64>>,
    settings: &mut BTreeMap<String, String>,
) -> Result<Vec<NodeInfo>, CaptureError> {
    let listed: BTreeSet<NodeId> = numbered(files, NODES, "node").filter(|&id| id < NODES_MAX).map(NodeId).collect();
    let all: BTreeSet<NodeId> = listed.iter().copied().chain(zones.iter().map(|zone| zone.node)).collect();
    let mut nodes = Vec::with_capacity(all.len());
    for &id in &all {
        let mut node = NodeInfo { id, ..NodeInfo::default() };
        if listed.contains(&id) {
            let directory = format!("{NODES}/node{id}");
            node.cpus = files.parse(&format!("{directory}/cpulist"), LINE_MAX, cpulist::parse)?.unwrap_or_default();
            node.distances = distances(files, &format!("{directory}/distance"), all.len())?;
            settings::read_pools(files, &format!("{directory}/hugepages"), settings);
        } else if all.len() == 1 {
            node.distances = vec![LOCAL_DISTANCE];
        }
        node.counters = counters.get(&id).cloned().unwrap_or_default();
        nodes.push(node);
    }
    Ok(nodes)
}

/// Distances of one node to all `nodes`; empty where the file says less or more.
fn distances(files: &mut Files<'_>, path: &str, nodes: usize) -> Result<Vec<u32>, CaptureError> {
    let parse = |text: &str| {
        let distances: Option<Vec<u32>> = text.split_whitespace().map(|word| word.parse().ok()).collect();
        distances
            .filter(|all| all.len() == nodes)
            .ok_or(ParseError::Malformed { line: 1, expected: "one distance per node" })
    };
    Ok(files.parse(path, LINE_MAX, parse)?.unwrap_or_default())
}

/// The frames of memory blocks that exist and are offline, ascending, neighbours joined.
pub(crate) fn offline_memory(files: &mut Files<'_>) -> Result<Vec<PfnRange>, CaptureError> {
    let Some(block) = files.parse(&format!("{MEMORY}/block_size_bytes"), LINE_MAX, block_size)? else {
        return Ok(Vec::new());
    };
    let numbers: BTreeSet<u32> = numbered(files, MEMORY, "memory").collect();
    let mut offline: Vec<PfnRange> = Vec::new();
    for number in numbers {
        let state = files.text(&format!("{MEMORY}/memory{number}/state"), LINE_MAX);
        if state.is_none_or(|state| state.trim() != "offline") {
            continue;
        }
        let range = PfnRange::of(Pfn::new(u64::from(number) * block.get()), block);
        match offline.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => offline.push(range),
        }
    }
    Ok(offline)
}

/// Reads the size of a memory block: a power of two in hexadecimal, 128 MiB to 2 GiB in practice.
fn block_size(text: &str) -> Result<Pages, ParseError> {
    const BYTES_MIN: u64 = 1 << 21;
    const BYTES_MAX: u64 = 1 << 40;
    u64::from_str_radix(text.trim(), 16)
        .ok()
        .filter(|bytes| bytes.is_power_of_two() && (BYTES_MIN..=BYTES_MAX).contains(bytes))
        .map(|bytes| Pages::from_bytes_floor(Bytes::new(bytes)))
        .ok_or(ParseError::Malformed {
            line: 1,
            expected: "the size of a memory block in hexadecimal, such as 8000000",
        })
}

/// The numbers N of the entries `NAMEn` of `directory`.
fn numbered<N: std::str::FromStr>(files: &mut Files<'_>, directory: &str, name: &str) -> impl Iterator<Item = N> {
    let numbers: Vec<N> =
        files.list(directory).iter().filter_map(|entry| entry.strip_prefix(name)?.parse().ok()).collect();
    numbers.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_are_hexadecimal_powers_of_two() {
        assert_eq!(block_size("8000000\n"), Ok(Pages::new(1 << 15)));
        assert_eq!(block_size("80000000"), Ok(Pages::new(1 << 19)));
        for text in ["", "0", "8000001", "1000", "ffffffffffffffff"] {
            assert!(block_size(text).is_err(), "{text}");
        }
    }
}
