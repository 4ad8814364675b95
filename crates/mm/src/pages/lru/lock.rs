//! Work under the LRU lock of a node, which guards its lists: counted where lists are changed, for the caller to price.
//!
//! A run takes the lock once for each chunk that it isolates and once to put pages back. Single pages go on, between and off
//! lists by way of a per-CPU batch (`folio_batch`, once `pagevec`) that takes the lock once for all it holds. Here such a page
//! changes at once, and batches of all CPUs are counted together: how often the lock is taken is the same.

use order9_frames::{Idx, ZoneId};
use order9_units::NodeId;

use crate::lru::LruState;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// The locks that were taken last, one of each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locked {
    /// Zone of the zone lock that was taken last.
    pub zone: ZoneId,
    /// Node of the LRU lock that was taken last.
    pub lru: NodeId,
}

/// Pages that wait in a per-CPU batch.
#[derive(Clone, Copy, Default)]
pub(crate) struct LruBatch(u8);

/// Pages in a batch; Linux' PAGEVEC_SIZE, 14 before 5.0 and 31 since 6.11.
const BATCH: u8 = 15;

impl LruState {
    /// Counts sections under the LRU lock of a node.
    pub(crate) fn lock_lru(&mut self, node: NodeId, sections: u64, phys: &mut PhysMem<impl Tracer>) {
        phys.work.lru_lock_sections += sections;
        self.locked = node;
    }

    /// Counts that a page goes on, between or off lists by way of a batch.
    #[inline]
    pub(crate) fn batch_lru(&mut self, idx: Idx, phys: &mut PhysMem<impl Tracer>) {
        self.batch.0 += 1;
        if self.batch.0 == BATCH {
            self.drain_lru_batch(idx, phys);
        }
    }

    #[cold]
    fn drain_lru_batch(&mut self, idx: Idx, phys: &mut PhysMem<impl Tracer>) {
        self.batch = LruBatch::default();
        phys.work.lru_batched += u64::from(BATCH);
        self.lock_lru(phys.frames.zones()[phys.frames.zone_around(idx).index()].node(), 1, phys);
    }
}
