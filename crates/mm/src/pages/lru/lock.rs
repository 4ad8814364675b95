//! Work under the LRU lock of a node, which guards its lists: counted where lists are changed, for the caller to price.
//!
//! A run takes the lock once for each chunk that it isolates and once to put pages back. Single pages go on, between and off
//! lists by way of a per-CPU batch (`folio_batch`, once `pagevec`) that takes the lock once for all it holds. Here such a page
//! changes at once, and batches of all CPUs are counted together: how often the lock is taken is the same.

use order9_frames::Idx;
use order9_units::NodeId;

use crate::lru::LruState;
use crate::phys::PhysMem;
use crate::work::{EarlierLocks, LruLockWork};

/// LRU locks: the one that was taken last, and the work under them.
#[derive(Clone)]
pub(crate) struct LruLock {
    /// Pages that wait for the lock together.
    batch: LruBatch,
    /// The node whose lock was taken last.
    node: NodeId,
    /// Work under this lock since work was last taken.
    work: LruLockWork,
    /// Work under locks taken before it.
    earlier: EarlierLocks<NodeId, LruLockWork>,
}

/// Pages that wait in a per-CPU batch.
#[derive(Clone, Copy, Default)]
struct LruBatch(u8);

/// Pages in a batch; Linux' PAGEVEC_SIZE, 14 before 5.0 and 31 since 6.11.
const BATCH: u8 = 15;

impl Default for LruLock {
    fn default() -> Self {
        Self { batch: LruBatch::default(), node: NodeId(0), work: LruLockWork::NONE, earlier: EarlierLocks::default() }
    }
}

impl LruLock {
    /// The node whose lock was taken last, the work under it, and that under locks taken before it.
    #[inline]
    pub(crate) fn done(&self) -> (NodeId, &LruLockWork, &[(NodeId, LruLockWork)]) {
        (self.node, &self.work, self.earlier.all())
    }

    /// Forgets the work under all locks.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.work = LruLockWork::NONE;
        self.earlier.clear();
    }

    /// Counts sections under the lock of `node`. Work under the lock is counted from here on.
    #[inline]
    pub(crate) fn take(&mut self, node: NodeId, sections: u64) {
        if node != self.node {
            if self.work != LruLockWork::NONE {
                self.earlier.take(self.node, &mut self.work);
            }
            self.node = node;
        }
        self.work.sections += sections;
    }

    /// Counts entries of lists looked at under the lock.
    #[inline]
    pub(crate) fn count_scanned(&mut self, entries: u64) {
        self.work.scanned += entries;
    }

    /// Counts pages taken off lists under the lock.
    #[inline]
    pub(crate) fn count_isolated(&mut self, pages: u64) {
        self.work.isolated += pages;
    }
}

impl LruState {
    /// Counts that the page at `idx` was taken off its list alone.
    pub(crate) fn count_isolation(&mut self, idx: Idx, phys: &PhysMem) {
        self.lock.take(phys.node_of(idx), 0);
        self.lock.count_isolated(1);
    }

    /// Counts that a page goes on, between or off lists by way of a batch.
    #[inline]
    pub(crate) fn batch_lru(&mut self, idx: Idx, phys: &PhysMem) {
        self.lock.batch.0 += 1;
        if self.lock.batch.0 == BATCH {
            self.drain_lru_batch(idx, phys);
        }
    }

    #[cold]
    fn drain_lru_batch(&mut self, idx: Idx, phys: &PhysMem) {
        self.lock.batch = LruBatch::default();
        self.lock.take(phys.node_of(idx), 1);
        self.lock.work.batched += u64::from(BATCH);
    }
}
