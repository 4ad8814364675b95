//! Nodes of the machine: [`Nodes`], where pages lie and by which memory policy they are allocated.

use std::future::Future;

use order9_units::{NodeId, NodeMask};

use super::address_space::Area;
use super::stop::Stop;
use crate::mempolicy::{MbindFlags, Mempolicy};

/// System calls about nodes: memory policies, moves of pages, cpusets; and what the kernel tells of nodes.
pub trait Nodes {
    /// `cpulist` of a node below /sys/devices/system/node: the numbers of its CPUs.
    fn cpus_of(&self, node: NodeId) -> Vec<u32>;

    /// `getcpu`: the node of the CPU that runs this thread.
    fn node(&self) -> NodeId;

    /// `get_mempolicy` with `MPOL_F_NODE | MPOL_F_ADDR`: the node of the first page of `area`, which is brought in if it is
    /// not there.
    fn page_node(&self, area: Area) -> impl Future<Output = Result<NodeId, Stop>>;

    /// `move_pages` with `MPOL_MF_MOVE` of every base page of `area` to `node`: how many of them lie there then.
    fn move_pages(&self, area: Area, node: NodeId) -> impl Future<Output = Result<u64, Stop>>;

    /// `set_mempolicy`: where pages of this thread are allocated from now on. What it starts inherits it.
    fn set_mempolicy(&self, policy: Mempolicy) -> impl Future<Output = Result<(), Stop>>;

    /// `mbind`: the same for the pages of `area`. `EIO` where pages lie, or after all moves still lie, elsewhere.
    fn mbind(&self, area: Area, policy: Mempolicy, flags: MbindFlags) -> impl Future<Output = Result<(), Stop>>;

    /// `get_mempolicy` with `MPOL_F_ADDR`: the policy of the first page of `area`; without: that of the thread.
    fn get_mempolicy(&self, area: Option<Area>) -> impl Future<Output = Result<Mempolicy, Stop>>;

    /// `set_mempolicy_home_node`: the node to look on first, of the policy that `area` has. 5.17+.
    fn set_mempolicy_home_node(&self, area: Area, home: NodeId) -> impl Future<Output = Result<(), Stop>>;

    /// `migrate_pages` of this process: what lies on the nodes of `from` goes to those of `to`, by their place. How many pages
    /// could not.
    fn migrate_pages(&self, from: NodeMask, to: NodeMask) -> impl Future<Output = Result<u64, Stop>>;

    /// `get_mempolicy` with `MPOL_F_MEMS_ALLOWED`: the nodes that the cpuset of the process has.
    fn mems_allowed(&self) -> NodeMask;

    /// Writes `mems` to `cpuset.mems` of a cpuset that this process alone is in; with `migrates`, its pages follow
    /// (`cpuset.memory_migrate`).
    fn set_mems(&self, mems: NodeMask, migrates: bool) -> impl Future<Output = Result<(), Stop>>;

    /// Text of /proc/self/numa_maps.
    fn numa_maps(&self) -> String;

    /// `numastat` of every node.
    fn numastat(&self) -> Vec<Numastat>;
}

/// Allocations on a node: a file `numastat` of /sys/devices/system/node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Numastat {
    /// `numa_hit`.
    pub hit: u64,
    /// `numa_miss`.
    pub miss: u64,
    /// `interleave_hit`.
    pub interleave_hit: u64,
}
