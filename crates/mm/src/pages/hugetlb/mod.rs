//! hugetlb: pools of huge pages that the administrator sets aside, and mappings that are served from them alone.
//!
//! Key types: `Hugetlb` (the pools of all nodes, and what is reserved of them), [`HugetlbPool`] (what one holds),
//! [`PoolResize`] (a change of their size, page by page), `HugetlbMap` (what one `mmap` with `MAP_HUGETLB` has reserved).
//! A page of a pool is one allocation of order 9 that is never split or reclaimed, and moves for memory policies alone. A mapping reserves its pages when
//! it is made, so that faults find them. Never allocates: whoever resizes or maps is told what to ask for. Linux'
//! Documentation/admin-guide/mm/hugetlbpage.rst; behaviour: docs/hugetlb.md.

mod check;
mod fault;
mod map;
mod migrate;
mod pool;
#[cfg(test)]
mod tests;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use order9_frames::{Gfp, Idx};
use order9_units::{NodeId, Order};

use crate::phys::PhysMem;

pub use map::HugetlbId;
use map::HugetlbMap;
pub(crate) use map::whole_huge_pages;
pub(crate) use migrate::PoolMove;
pub use pool::{PoolResize, PoolSize, PoolStep};

/// Base pages of a page of a pool.
const NR: u32 = Order::PAGEBLOCK.pages().get() as u32;

/// Flags with which a page for a pool is asked for: with all effort, unless that has been in vain.
const POOL_GFP: Gfp = Gfp::GFP_HIGHUSER_MOVABLE.with(Gfp::COMP).with(Gfp::NOWARN).with(Gfp::RETRY_MAYFAIL);

/// Huge pages of a pool, of one node or all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HugetlbPool {
    /// `nr_hugepages`: all, surplus ones included.
    pub total: u64,
    /// `free_hugepages`: those that no mapping uses.
    pub free: u64,
    /// `resv_hugepages`: free ones that are promised to mappings; kept for all nodes together, 0 for one.
    pub reserved: u64,
    /// `surplus_hugepages`: pages beyond the size that was set, which leave the pool when they become free.
    pub surplus: u64,
}

impl HugetlbPool {
    /// Pages that stay in the pool: what was asked for, as far as they could be had.
    #[must_use]
    pub const fn persistent(self) -> u64 {
        self.total - self.surplus
    }

    /// Free pages that are promised to nobody.
    #[must_use]
    pub const fn available(self) -> u64 {
        self.free - self.reserved
    }
}

/// The pool of one node.
#[derive(Clone, Default)]
pub(crate) struct NodePool {
    pub(crate) total: u64,
    surplus: u64,
    /// First frames; the last one freed is taken first.
    pub(crate) free: Vec<Idx>,
}

/// A page that mappings use.
#[derive(Clone, Copy, Default)]
pub(crate) struct UsedPage {
    pub(crate) mappings: u32,
    /// The page is part of a shared mapping, which keeps it.
    pub(crate) shared: bool,
}

/// All pools.
#[derive(Clone, Default)]
pub struct Hugetlb {
    /// By node.
    nodes: Vec<NodePool>,
    /// Free pages that mappings have reserved.
    reserved: u64,
    /// `nr_overcommit_hugepages`.
    pub(crate) overcommit: u64,
    /// The node that gets the next page, and the one that loses the next.
    next_alloc: usize,
    next_free: usize,
    /// By first frame.
    pub(crate) used: BTreeMap<u32, UsedPage>,
    maps: BTreeMap<u32, HugetlbMap>,
    maps_made: u32,
}

impl Hugetlb {
    pub(crate) fn node(&mut self, node: NodeId) -> &mut NodePool {
        if self.nodes.len() <= node.index() {
            self.nodes.resize_with(node.index() + 1, NodePool::default);
        }
        &mut self.nodes[node.index()]
    }

    fn pool(&self) -> HugetlbPool {
        let sum = |of: fn(&NodePool) -> u64| self.nodes.iter().map(of).sum();
        HugetlbPool {
            total: sum(|node| node.total),
            free: sum(|node| node.free.len() as u64),
            reserved: self.reserved,
            surplus: sum(|node| node.surplus),
        }
    }
}

impl Hugetlb {
    /// The pools of all nodes.
    #[must_use]
    pub fn hugetlb_pool(&self) -> HugetlbPool {
        self.pool()
    }

    /// The pool of one node: /sys/devices/system/node/nodeN/hugepages.
    #[must_use]
    pub fn hugetlb_pool_of(&self, node: NodeId) -> HugetlbPool {
        self.nodes.get(node.index()).map_or_else(HugetlbPool::default, |node| HugetlbPool {
            total: node.total,
            free: node.free.len() as u64,
            reserved: 0,
            surplus: node.surplus,
        })
    }
}

impl PhysMem {
    /// Nodes that can have a pool: those with memory, lowest first.
    fn pool_nodes(&self) -> Vec<NodeId> {
        let has_memory =
            |node: NodeId| self.frames.zones().iter().any(|zone| zone.node() == node && zone.managed() > 0);
        self.frames.nodes().filter(|&node| has_memory(node)).collect()
    }
}
