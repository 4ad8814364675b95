//! The machine as its administrator sees it: its size and free memory, and requests to drop caches, to reclaim, to compact and to resize
//! pools.

use order9_mm::Errno;
use order9_mm::env::Env as _;
use order9_mm::tasks::{NodeReclaim, compact_memory, compact_node, drop_pagecache, drop_slab, reclaim_on_request};
use order9_units::{Bytes, NodeId, Pages};
use order9_workloads::{Administration, DropCaches, Facts, Memory, PoolFile, Stop};

use crate::faults::refused;
use crate::thread::Thread;

impl Administration for Thread {
    fn facts(&self) -> Facts {
        self.kernel.facts()
    }

    fn memory(&self) -> Memory {
        let reserve = self.kernel.reserve.get();
        self.kernel.look(|mm| Memory {
            free: mm.phys().free_pages().bytes(),
            available: mm.available().bytes().saturating_sub(reserve),
        })
    }

    async fn drop_caches(&self, what: DropCaches) -> Result<(), Stop> {
        self.enter().await?;
        if what != DropCaches::Slab {
            drop_pagecache(self).await;
        }
        if what != DropCaches::Pages {
            drop_slab(self).await;
        }
        self.spend().await;
        self.alive()
    }

    async fn compact(&self, node: Option<NodeId>) -> Result<(), Stop> {
        self.enter().await?;
        match node {
            None => compact_memory(self).await,
            Some(node) if node.index() < self.facts().nodes.len() => {
                compact_node(self, node).await;
            }
            Some(_) => return Err(refused("open", Errno::Enoent)),
        }
        self.spend().await;
        self.alive()
    }

    async fn reclaim(&self, node: NodeId, amount: Bytes, swappiness: Option<u64>) -> Result<bool, Stop> {
        self.enter().await?;
        let goal = Pages::from_bytes_ceil(amount);
        let reclaimed = reclaim_on_request(self, &NodeReclaim { node, goal, swappiness }).await;
        self.spend().await;
        self.alive()?;
        match reclaimed {
            Ok(_) => Ok(true),
            Err(Errno::Eagain) => Ok(false),
            Err(errno) => Err(refused("write", errno)),
        }
    }

    fn nr_hugepages(&self) -> u64 {
        self.kernel.look(|mm| mm.pages().hugetlb().hugetlb_pool().total)
    }

    async fn set_nr_hugepages(&self, file: PoolFile, count: u64) -> Result<u64, Stop> {
        self.write_pools(file, count).await
    }
}
