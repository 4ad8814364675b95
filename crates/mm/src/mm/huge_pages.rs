//! Transparent huge pages and pools of hugetlb.

use order9_units::{NodeId, Pfn};

use crate::Mm;
use crate::hugetlb::{PoolResize, PoolSize, PoolStep};
use crate::space::{Errno, Fault, FaultStep, NO_CPU, SpaceId, VirtAddr};
use crate::thp::{Collapse, CollapseFailure, HugeSize, KhugepagedPause, KhugepagedStep, SizeStat};

impl Mm {
    /// Resizes pools as far as free memory goes, as the boot parameter `hugepages=` does. A program that writes to
    /// `nr_hugepages` does it with [`resize_pools`](crate::tasks::resize_pools), which reclaims and compacts as well.
    pub fn set_nr_hugepages(&mut self, size: PoolSize) {
        let mut resize = PoolResize::new(size, &self.pages, &self.phys);
        while let PoolStep::NeedPage(request) = resize.step(NO_CPU, &mut self.pages, &mut self.phys) {
            let page = self.alloc_fast(&request).ok();
            resize.give(page, &mut self.pages, &mut self.phys);
        }
    }

    /// Looks at the slot that starts at `addr`. `None`: it is huge already.
    ///
    /// # Errors
    /// Why it cannot be collapsed.
    pub fn collapse_scan(&mut self, id: SpaceId, addr: VirtAddr) -> Result<Option<Collapse>, CollapseFailure> {
        self.pages.collapse_scan(id, addr, &mut self.phys)
    }

    /// Moves the slot into the huge page that was allocated for it.
    ///
    /// # Errors
    /// Why it could not be moved; the huge page is free again, and nothing else has changed.
    ///
    /// # Panics
    /// If `page` was not allocated for this.
    pub fn collapse_finish(&mut self, collapse: &Collapse, page: Pfn, cpu: usize) -> Result<(), CollapseFailure> {
        self.pages.collapse_finish(collapse, page, cpu, &mut self.phys)
    }

    /// Says that a page could not be had which a fault had asked for and can do without: it makes its next attempt if it has
    /// one, else it goes on with base pages. Both are allocated straight from the fast path as far as that goes.
    pub fn fault_refused(&mut self, fault: &Fault, cpu: usize) -> FaultStep {
        self.pages.fault_refused(fault, cpu, &mut self.phys)
    }

    /// The space to visit next, of which its lock is to be tried: where it is busy, `UsedPages::khugepaged_pass_by`. `None` ends
    /// the pass: it has looked at enough, been through all spaces, or huge pages are off.
    pub fn khugepaged_next(&mut self) -> Option<SpaceId> {
        self.pages.huge.khugepaged_next(&mut self.phys)
    }

    /// Looks at the next slot of the space that is visited, under its lock.
    pub fn khugepaged_scan(&mut self) -> KhugepagedStep {
        self.pages.khugepaged_scan(&mut self.phys)
    }

    /// Takes note of what became of a slot that was to be collapsed. A pause is to be slept before the pass goes on: the
    /// first time that there is no huge page. The second time ends the pass.
    pub fn khugepaged_done(&mut self, end: Result<(), CollapseFailure>) -> KhugepagedPause {
        self.pages.huge.khugepaged_done(end, &self.phys)
    }

    /// `FOLL_SPLIT`: makes base pages of the huge page that `pfn` is part of, if it is.
    ///
    /// # Errors
    /// `EBUSY` where it cannot be split.
    pub fn follow_split(&mut self, pfn: Pfn, cpu: usize) -> Result<(), Errno> {
        self.pages.follow_split(pfn, cpu, &mut self.phys)
    }

    /// A statistic of huge pages.
    #[must_use]
    pub fn thp_size_stat(&self, size: HugeSize, stat: SizeStat) -> u64 {
        self.pages.thp_size_stat(size, stat, &self.phys)
    }

    /// Goes on with a fault that takes a page from the pool, for a program on `cpu` of `node`: what was promised to it, else
    /// one that is promised to nobody, else a surplus page.
    pub fn hugetlb_fault(&mut self, fault: &Fault, node: NodeId, cpu: usize) -> FaultStep {
        self.pages.hugetlb_fault(fault, node, cpu, &mut self.phys)
    }
}
