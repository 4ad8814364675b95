//! hugetlb pools as programs use them: writes to `nr_hugepages`, and pages that a mapping reserves beyond the pool.

use order9_mm::alloc_pages;
use order9_mm::env::Env as _;
use order9_mm::hugetlb::{PoolResize, PoolStep};
use order9_units::Bytes;
use order9_workloads::Stop;

use crate::thread::Thread;

impl Thread {
    /// Makes the pools `count` pages large, as far as reclaim and compaction get it; returns what they hold then.
    pub(crate) async fn resize_pools(&self, count: u64) -> Result<u64, Stop> {
        self.enter().await?;
        let mut resize = self.kernel.look(|mm| PoolResize::new(mm, count, None));
        while let PoolStep::NeedPage(request) = self.kernel.with(|mm| resize.step(mm, self.cpu())) {
            let page = alloc_pages(self, &request).await.ok();
            self.kernel.with(|mm| resize.give(mm, page));
            self.spend().await;
            self.alive()?;
        }
        self.spend().await;
        Ok(self.kernel.look(|mm| mm.hugetlb_pool().total))
    }

    /// Adds the pages to the pool that a mapping of `length` lacks, as far as they may be had.
    pub(crate) async fn grow_pool_for(&self, length: Bytes) {
        while let Some(request) = self.kernel.look(|mm| mm.hugetlb_shortfall(length, self.cpu_node(), self.cpu())) {
            let page = alloc_pages(self, &request).await.ok();
            self.kernel.with(|mm| mm.hugetlb_give_surplus(page));
            if page.is_none() {
                break;
            }
        }
    }
}
