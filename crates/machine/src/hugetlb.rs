//! hugetlb pools as programs use them: writes to `nr_hugepages`, and pages that a mapping reserves beyond the pool.
//!
//! Key type: [`PoolResized`], the account of one such write.

use order9_mm::env::Env as _;
use order9_mm::hugetlb::{PoolResize, PoolSize, PoolStep};
use order9_mm::space::{MmapRequest, VirtAddr};
use order9_mm::{AllocError, Errno, HugeOutlook, alloc_pages};
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
            PoolFile::NrHugepages => PoolResize::new(mm, asked),
            PoolFile::NrHugepagesMempolicy => PoolResize::by_policy(mm, pages, self.task, self.cpu_node()),
        });
        self.take_steps(resize, asked).await
    }

    /// Resizes hugetlb pools as far as reclaim and compaction get it; returns how many pages they hold then.
    pub(crate) async fn resize_pools(&self, asked: PoolSize) -> Result<u64, Stop> {
        self.enter().await?;
        self.take_steps(self.kernel.look(|mm| PoolResize::new(mm, asked)), asked).await
    }

    async fn take_steps(&self, mut resize: PoolResize, asked: PoolSize) -> Result<u64, Stop> {
        let start = self.kernel.handle.now();
        let pages = |mm: &Engine| {
            asked.node.map_or_else(|| mm.pages().hugetlb_pool(), |node| mm.pages().hugetlb_pool_of(node)).total
        };
        let (had, mut failed, mut error) = (self.kernel.look(pages), 0, None);
        while let PoolStep::NeedPage(request) = self.kernel.with(|mm| resize.step(mm, self.cpu())) {
            let page = alloc_pages(self, &request).await;
            if let Err(why) = page {
                failed += 1;
                error = Some(why);
            }
            self.kernel.with(|mm| resize.give(mm, page.ok()));
            self.spend().await;
            self.alive()?;
        }
        self.spend().await;
        let (has, left) = self.kernel.look(|mm| (pages(mm), mm.huge_outlook()));
        let took = self.kernel.handle.now() - start;
        self.kernel.record.borrow_mut().pools.push(PoolResized { asked, had, has, took, failed, error, left });
        Ok(has)
    }

    /// `mmap` with `MAP_HUGETLB`: what the pools lack is allocated first, as far as it may be had.
    pub(crate) async fn map_from_pools(&self, request: &MmapRequest) -> Result<VirtAddr, Errno> {
        let lacking = |mm: &Engine| mm.pages().hugetlb_shortfall(request.length, self.cpu_node(), self.cpu());
        while let Some(surplus) = self.kernel.look(lacking) {
            let page = alloc_pages(self, &surplus).await.ok();
            self.kernel.with(|mm| mm.hugetlb_give_surplus(page));
            if page.is_none() {
                break;
            }
        }
        self.kernel.with(|mm| {
            let start = mm.mmap(self.process.space, request, self.cpu());
            mm.hugetlb_trim(self.cpu());
            start
        })
    }
}
