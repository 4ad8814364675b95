//! Nodes of the machine.

use std::fs;

use order9_units::{NodeId, NodeMask};
use order9_workloads::{Area, MbindFlags, MemoryMode, Mempolicy, NodeFlags, Nodes, Numastat, Stop};
use rustix::thread::sched_getcpu;

use super::Thread;
use crate::errno::refused;
use crate::raw::{self, Region};

/// Modes of <linux/mempolicy.h> by number.
const MODES: [MemoryMode; 7] = [
    MemoryMode::Default,
    MemoryMode::Preferred,
    MemoryMode::Bind,
    MemoryMode::Interleave,
    MemoryMode::Local,
    MemoryMode::PreferredMany,
    MemoryMode::WeightedInterleave,
];
const MPOL_F_STATIC_NODES: i32 = 1 << 15;
const MPOL_F_RELATIVE_NODES: i32 = 1 << 14;
const FLAGS: [(NodeFlags, i32); 3] =
    [(NodeFlags::None, 0), (NodeFlags::Static, MPOL_F_STATIC_NODES), (NodeFlags::Relative, MPOL_F_RELATIVE_NODES)];

/// Mode with its flags, and nodes where the mode takes some.
fn numbers(call: &'static str, policy: Mempolicy) -> Result<(i32, Option<u64>), Stop> {
    let mode = MODES.iter().position(|&mode| mode == policy.mode);
    // One mode was proposed and never merged: no kernel has a number for it.
    let mode = mode.ok_or(Stop::Refused { call, errno: "EINVAL" })?;
    let flags = FLAGS.iter().find(|(flags, _)| *flags == policy.flags).map_or(0, |&(_, number)| number);
    Ok((mode as i32 | flags, policy.mode.takes_nodes().then(|| policy.nodes.bits())))
}

fn policy_of(number: i32, nodes: u64) -> Result<Mempolicy, Stop> {
    let flags = FLAGS.iter().rfind(|(_, flag)| number & flag == *flag).map_or(NodeFlags::None, |&(flags, _)| flags);
    let mode = number & !(MPOL_F_STATIC_NODES | MPOL_F_RELATIVE_NODES);
    let mode = usize::try_from(mode).ok().and_then(|mode| MODES.get(mode)).copied();
    let mode = mode.ok_or(Stop::Refused { call: "get_mempolicy", errno: "a mode that order9 does not know" })?;
    Ok(Mempolicy { mode, flags, nodes: NodeMask::from_bits(nodes) })
}

/// Numbers of a list of the kernel: `0-3,8`.
fn list(text: &str) -> Vec<u32> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

impl Nodes for Thread {
    fn cpus_of(&self, node: NodeId) -> Vec<u32> {
        match fs::read_to_string(format!("/sys/devices/system/node/node{}/cpulist", node.0)) {
            Ok(text) => list(&text),
            Err(_) => (0..self.process.run.facts.cpus).collect(),
        }
    }

    fn node(&self) -> NodeId {
        let cpu = sched_getcpu() as u32;
        let nodes = (0..self.process.run.facts.nodes.len() as u16).map(NodeId);
        nodes.into_iter().find(|&node| self.cpus_of(node).contains(&cpu)).unwrap_or_default()
    }

    async fn page_node(&self, area: Area) -> Result<NodeId, Stop> {
        raw::node_of(Region::of(area)?).map(NodeId).map_err(|error| refused("get_mempolicy", error))
    }

    async fn move_pages(&self, area: Area, node: NodeId) -> Result<u64, Stop> {
        raw::move_pages(Region::of(area)?, node.0).map_err(|error| refused("move_pages", error))
    }

    async fn set_mempolicy(&self, policy: Mempolicy) -> Result<(), Stop> {
        let (mode, nodes) = numbers("set_mempolicy", policy)?;
        raw::set_mempolicy(mode, nodes).map_err(|error| refused("set_mempolicy", error))
    }

    async fn mbind(&self, area: Area, policy: Mempolicy, flags: MbindFlags) -> Result<(), Stop> {
        let (mode, nodes) = numbers("mbind", policy)?;
        let MbindFlags { strict, moves, moves_all } = flags;
        let flags = u32::from(strict) | u32::from(moves) << 1 | u32::from(moves_all) << 2;
        raw::mbind(Region::of(area)?, mode, nodes, flags).map_err(|error| refused("mbind", error))
    }

    async fn get_mempolicy(&self, area: Option<Area>) -> Result<Mempolicy, Stop> {
        let region = area.map(Region::of).transpose()?;
        let (mode, nodes) = raw::mempolicy(region).map_err(|error| refused("get_mempolicy", error))?;
        policy_of(mode, nodes)
    }

    async fn set_mempolicy_home_node(&self, area: Area, home: NodeId) -> Result<(), Stop> {
        raw::home_node(Region::of(area)?, home.0).map_err(|error| refused("set_mempolicy_home_node", error))
    }

    async fn migrate_pages(&self, from: NodeMask, to: NodeMask) -> Result<u64, Stop> {
        raw::migrate_pages(from.bits(), to.bits()).map_err(|error| refused("migrate_pages", error))
    }

    fn mems_allowed(&self) -> NodeMask {
        NodeMask::from_bits(raw::mems_allowed().unwrap_or(1))
    }

    /// A cpuset is a group of the host, which is not ours to make.
    async fn set_mems(&self, _: NodeMask, _: bool) -> Result<(), Stop> {
        Err(Stop::Refused { call: "a cpuset of its own", errno: "EPERM" })
    }

    fn numa_maps(&self) -> String {
        fs::read_to_string("/proc/self/numa_maps").unwrap_or_default()
    }

    fn numastat(&self) -> Vec<Numastat> {
        let of = |node: usize| {
            let text = fs::read_to_string(format!("/sys/devices/system/node/node{node}/numastat")).unwrap_or_default();
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
                line.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
            };
            Numastat { hit: field("numa_hit"), miss: field("numa_miss"), interleave_hit: field("interleave_hit") }
        };
        (0..self.process.run.facts.nodes.len()).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_have_the_numbers_of_linux_and_come_back() {
        for (text, mode, nodes) in [
            ("default", 0, None),
            ("preferred:1", 1, Some(2)),
            ("bind:0-1", 2, Some(3)),
            ("interleave=static:0", 3 | MPOL_F_STATIC_NODES, Some(1)),
            ("interleave=relative:1", 3 | MPOL_F_RELATIVE_NODES, Some(2)),
            ("local", 4, None),
            ("preferred-many:0-2", 5, Some(7)),
            ("weighted-interleave:0", 6, Some(1)),
        ] {
            let policy = Mempolicy::parse(text).expect("words of numactl");
            assert_eq!(numbers("mbind", policy), Ok((mode, nodes)), "{text}");
            assert_eq!(policy_of(mode, nodes.unwrap_or(0)).map(|policy| policy.to_string()).as_deref(), Ok(text));
        }
        assert!(numbers("mbind", Mempolicy::parse("proximity").expect("a proposed mode")).is_err());
        assert_eq!(list("0-2,5\n"), [0, 1, 2, 5]);
    }
}
