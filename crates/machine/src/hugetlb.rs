//! hugetlb pools as programs use them: writes to `nr_hugepages`, and pages that a mapping reserves beyond the pool.
//!
//! Key type: [`PoolResized`], the account of one such write.

use order9_mm::hugetlb::{PoolResize, PoolSize};
use order9_mm::tasks::{PoolFailures, resize_pools};
use order9_mm::{AllocError, HugeOutlook};
use order9_units::Nanos;
use order9_workloads::{PoolFile, Stop};

use crate::kernel::Engine;
use crate::thread::Thread;

/// Account of a write to `nr_hugepages`. Linux lets such a write succeed whatever came of it; a reader of results wants more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolResized {
    /// The size that was written.
    pub asked: PoolSize,
    /// Huge pages of the pools that were meant, before the write.
    pub had: u64,
    /// Huge pages of these pools after the write.
    pub has: u64,
    /// Time that the write took.
    pub took: Nanos,
    /// Requests for a page that failed.
    pub failed: u64,
    /// Error of the last request that failed.
    pub error: Option<AllocError>,
    /// State of all pageblocks after the write.
    pub left: HugeOutlook,
}

impl PoolResized {
    /// Whether the pools stayed smaller than was asked for.
    #[must_use]
    pub const fn fell_short(&self) -> bool {
        self.has < self.asked.pages
    }
}

impl Thread {
    /// Writes to a file with the size of the pools; returns how many pages they hold then.
    pub(crate) async fn write_pools(&self, file: PoolFile, pages: u64) -> Result<u64, Stop> {
        self.enter().await?;
        let asked = PoolSize::all(pages);
        let resize = self.kernel.look(|mm| match file {
            PoolFile::NrHugepages => PoolResize::new(asked, mm.pages(), mm.phys()),
            PoolFile::NrHugepagesMempolicy => {
                PoolResize::by_policy(pages, self.task, self.cpu_node(), mm.pages(), mm.phys())
            }
        });
        self.take_steps(resize, asked).await
    }

    /// Resizes hugetlb pools as far as reclaim and compaction get it; returns how many pages they hold then.
    pub(crate) async fn resize_pools(&self, asked: PoolSize) -> Result<u64, Stop> {
        self.enter().await?;
        self.take_steps(self.kernel.look(|mm| PoolResize::new(asked, mm.pages(), mm.phys())), asked).await
    }

    async fn take_steps(&self, resize: PoolResize, asked: PoolSize) -> Result<u64, Stop> {
        let start = self.kernel.handle.now();
        let pages = |mm: &Engine| {
            asked
                .node
                .map_or_else(|| mm.pages().hugetlb().hugetlb_pool(), |node| mm.pages().hugetlb().hugetlb_pool_of(node))
                .total
        };
        let had = self.kernel.look(pages);
        let PoolFailures { requests: failed, last: error } =
            resize_pools(self, resize).await.map_err(|why| self.stopped("write", why))?;
        let (has, left) = self.kernel.look(|mm| (pages(mm), mm.huge_outlook()));
        let took = self.kernel.handle.now() - start;
        self.kernel.record.borrow_mut().pools.push(PoolResized { asked, had, has, took, failed, error, left });
        Ok(has)
    }
}
