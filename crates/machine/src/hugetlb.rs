//! hugetlb pools as programs use them: writes to `nr_hugepages`, and pages that a mapping reserves beyond the pool.

use order9_mm::env::Env as _;
use order9_mm::hugetlb::{PoolResize, PoolStep};
use order9_mm::space::{MmapRequest, VirtAddr};
use order9_mm::{Errno, alloc_pages};
use order9_workloads::Stop;

use crate::kernel::Engine;
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

    /// `mmap` with `MAP_HUGETLB`: what the pools lack is allocated first, as far as it may be had.
    pub(crate) async fn map_from_pools(&self, request: &MmapRequest) -> Result<VirtAddr, Errno> {
        let lacking = |mm: &Engine| mm.hugetlb_shortfall(request.length, self.cpu_node(), self.cpu());
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
