//! The machine as its administrator sees it: [`Administration`], what files below /proc and /sys tell and take.

use std::future::Future;

use order9_units::{Bytes, NodeId};

use super::stop::Stop;

/// The size of the machine, its free memory, and requests to its kernel.
pub trait Administration {
    /// Memory, CPUs and nodes of the machine.
    fn facts(&self) -> Facts;

    /// `MemFree` and `MemAvailable` of /proc/meminfo.
    fn memory(&self) -> Memory;

    /// Writes to /proc/sys/vm/drop_caches.
    fn drop_caches(&self, what: DropCaches) -> impl Future<Output = Result<(), Stop>>;

    /// Writes 1 to /proc/sys/vm/compact_memory, or to /sys/devices/system/node/nodeN/compact: all that can be moved there is
    /// packed, however long that takes.
    fn compact(&self, node: Option<NodeId>) -> impl Future<Output = Result<(), Stop>>;

    /// Writes to /sys/devices/system/node/nodeN/reclaim: so much of the node's memory is reclaimed, at a swappiness of 0 to 200, or
    /// at vm.swappiness; says whether as much could be reclaimed.
    fn reclaim(&self, node: NodeId, amount: Bytes, swappiness: Option<u64>)
    -> impl Future<Output = Result<bool, Stop>>;

    /// Reads /proc/sys/vm/nr_hugepages: how many pages the hugetlb pools hold.
    fn nr_hugepages(&self) -> u64;

    /// Writes to a file with the size of the hugetlb pools, and reads back how many pages the hugetlb pools hold then: fewer, where memory
    /// does not yield as many.
    fn set_nr_hugepages(&self, file: PoolFile, count: u64) -> impl Future<Output = Result<u64, Stop>>;
}

/// Memory, CPUs and nodes of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `MemTotal`: memory that the allocator manages.
    pub memory: Bytes,
    /// Logical CPUs.
    pub cpus: u32,
    /// Memory of each node.
    pub nodes: Vec<Bytes>,
    /// Size of the disk that holds files; `None` where they live in memory, as on tmpfs.
    pub disk: Option<Bytes>,
    /// `MemAvailable` at the start, where memory was in use before; `None` where nothing was.
    pub available: Option<Bytes>,
}

impl Facts {
    /// Memory of which sizes are shares by default: all memory, or the available memory where some was in use at the
    /// start.
    #[must_use]
    pub fn room(&self) -> Bytes {
        self.available.unwrap_or(self.memory)
    }

    /// Whether memory was in use before the start, so that it need not be filled to be like that of a host.
    #[must_use]
    pub const fn starts_in_use(&self) -> bool {
        self.available.is_some()
    }
}

/// Free and available memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Memory that nobody uses.
    pub free: Bytes,
    /// Memory that programs could still get without swapping, by the kernel's estimate.
    pub available: Bytes,
}

/// Caches that are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCaches {
    /// 1: clean pages of files.
    Pages,
    /// 2: slab objects that shrinkers can free, such as dentries and inodes.
    Slab,
    /// 3: the page cache and reclaimable slab.
    All,
}

/// A file of /proc/sys/vm with the size of the hugetlb pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolFile {
    /// `nr_hugepages`: all nodes take turns.
    NrHugepages,
    /// `nr_hugepages_mempolicy`: the nodes of the writer's memory policy do.
    NrHugepagesMempolicy,
}
