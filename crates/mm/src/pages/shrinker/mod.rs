//! Shrinkers: what reclaim asks to give up kernel objects, how many, and when.
//!
//! Key types: [`ShrinkSlab`] (one call of all shrinkers for a node, at most a batch per step), [`ShrinkPlan`] (the published
//! rules), [`DropSlab`] (`vm.drop_caches` with 2). Objects are freed one by one and pages only with whole slabs, so that
//! both are counted, and so is page cache that goes with inodes. A shrinker keeps per node what it was asked for and did
//! not do. Never prices its work or waits. Behaviour and sources: docs/slab.md.

mod drop_slab;
mod formula;
mod run;
#[cfg(test)]
mod tests;

use alloc::vec::Vec;

use order9_units::NodeId;

use crate::pages::UsedPages;
use crate::phys::PhysMem;

pub use crate::fs_cache::Shrunk;
pub use crate::reclaimer::ShrinkerKind;
pub use drop_slab::DropSlab;
pub use formula::{LruScan, ShrinkPlan, ShrinkerCost};
pub use run::{ShrinkControl, ShrinkSlab, ShrinkStep};

/// Objects per batch of a shrinker that does not say otherwise; Linux' SHRINK_BATCH.
const SHRINK_BATCH: u64 = 128;

/// Subsystem that can give up kernel objects.
#[derive(Clone)]
pub(crate) struct Shrinker {
    kind: ShrinkerKind,
    cost: ShrinkerCost,
    /// Work asked for and put off, in objects, by node.
    deferred: Vec<u64>,
}

impl UsedPages {
    /// Registers the shrinker of the filesystem that was just mounted; its batches are of 1024 objects.
    pub(crate) fn register_superblock_shrinker(&mut self, phys: &PhysMem) {
        self.register_shrinker(ShrinkerKind::Superblock, 1024, phys);
    }

    /// Registers the shrinker of the filesystem's buffers.
    pub(crate) fn register_buffer_shrinker(&mut self, phys: &PhysMem) {
        self.register_shrinker(ShrinkerKind::Buffers, SHRINK_BATCH, phys);
    }

    /// Registers the shrinkers of huge pages, which every machine has.
    pub(crate) fn register_thp_shrinkers(&mut self, phys: &PhysMem) {
        self.register_shrinker(ShrinkerKind::HugeZeroPage, SHRINK_BATCH, phys);
        self.register_shrinker(ShrinkerKind::DeferredSplit, SHRINK_BATCH, phys);
        if phys.policy.thp.shmem {
            self.register_shrinker(ShrinkerKind::Shmem, 1024, phys);
        }
    }

    fn register_shrinker(&mut self, kind: ShrinkerKind, batch: u64, phys: &PhysMem) {
        let cost = ShrinkerCost { seeks: 2, batch };
        let deferred = alloc::vec![0; phys.frames.nodes().len()];
        self.shrinkers.push(Shrinker { kind, cost, deferred });
    }

    /// Work that shrinkers were asked for on `node` and put off, in objects, in the order of their registration.
    pub fn deferred_shrinking(&self, node: NodeId) -> impl Iterator<Item = (ShrinkerKind, u64)> {
        self.shrinkers.iter().map(move |shrinker| {
            let deferred = shrinker.deferred.get(node.index()).copied().unwrap_or(0);
            (shrinker.kind, deferred)
        })
    }

    /// Objects that the filesystem would give up on `node`: those unused, by `vm.vfs_cache_pressure`.
    #[must_use]
    pub fn fs_freeable(&self, node: NodeId, phys: &PhysMem) -> u64 {
        let unused =
            self.fs.as_ref().filter(|_| node.index() < phys.frames.nodes().len()).map_or((0, 0), |fs| fs.unused(node));
        (u128::from(unused.0 + unused.1) * u128::from(phys.settings.vfs_cache_pressure) / 100) as u64
    }
}
