//! Free memory: allocation, isolation, settings, levels.

use order9_frames::{AllocFlags, FreeError, Request};
use order9_units::{NodeId, Pages, Pfn};

use crate::Mm;
use crate::alloc_error::AllocError;
use crate::levels::NodeLevels;
use crate::lru_list::LruList;
use crate::migrate::DriverPageId;
use crate::outlook::{GigabyteOutlook, HugeOutlook};
use crate::page_view::BlockView;
use crate::tunables::Tunables;

impl Mm {
    /// Marks the allocation at `pfn` as off its LRU (`on`) or back on it. A page that nothing else keeps is freed then,
    /// straight to the buddy lists.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there.
    pub fn set_isolated(&mut self, pfn: Pfn, on: bool) -> Result<(), FreeError> {
        self.pages.set_isolated(pfn, on, &mut self.phys)
    }

    /// Pages that programs could get without swapping: `MemAvailable`. Half of the page cache, and of the slab that can be
    /// reclaimed, is taken for in use or fragmented, but never more than the low marks.
    #[must_use]
    pub fn available(&self) -> Pages {
        self.pages.available(&self.phys)
    }

    /// Pages that an mlocked mapping maps, each once: `nr_mlock` of the machine, or of a node. Takes a walk over all page tables
    /// of such mappings.
    #[must_use]
    pub fn mlocked(&self, node: Option<NodeId>) -> u64 {
        self.pages.mlocked(node, &self.phys)
    }

    /// Pages of a node by their use, for programs and files. Takes a walk over the frames of the node.
    #[must_use]
    pub fn node_levels(&self, node: NodeId) -> NodeLevels {
        self.pages.node_levels(node, &self.phys)
    }

    /// The outlook as it is now.
    #[must_use]
    pub fn huge_outlook(&self) -> HugeOutlook {
        self.pages.huge_outlook(&self.phys)
    }

    /// The outlook for pages of 1 GiB as it is now.
    #[must_use]
    pub fn gigabyte_outlook(&self) -> GigabyteOutlook {
        self.phys.gigabyte_outlook()
    }

    /// The fast path: one walk against the low watermark.
    ///
    /// # Errors
    /// [`AllocError`]; nothing but counters and boosts has changed then.
    pub fn alloc_fast(&mut self, request: &Request) -> Result<Pfn, AllocError> {
        self.pages.alloc_fast(request, &mut self.phys)
    }

    /// One walk with given rights, as the slow path takes several. `flags.cma` is meant for movable requests.
    ///
    /// # Errors
    /// [`AllocError`]; nothing but counters and boosts has changed then.
    pub fn alloc_with(&mut self, request: &Request, flags: AllocFlags) -> Result<Pfn, AllocError> {
        self.pages.alloc_with(request, flags, &mut self.phys)
    }

    /// Use of the block that starts at `pfn`; a hole outside the machine's memory.
    #[must_use]
    pub fn block_view(&self, pfn: Pfn) -> BlockView {
        self.pages.block_view(pfn, &self.phys)
    }

    /// Reorders every LRU list in the same way.
    pub fn reorder_lru_lists(&mut self, together: u32, below: impl FnMut(u64) -> u64) {
        self.pages.reorder_lru_lists(together, below, &mut self.phys);
    }

    /// The tunables in force.
    #[must_use]
    pub fn tunables(&self) -> Tunables {
        self.pages.tunables(&self.phys)
    }

    /// Changes tunables.
    ///
    /// # Panics
    /// If one is out of the range that Linux takes.
    pub fn tune(&mut self, change: impl FnOnce(&mut Tunables)) {
        self.pages.tune(change, &mut self.phys);
    }

    /// Registers the allocation at `pfn`, a single page that nobody owns, as a movable one of a driver, which from now on
    /// knows it by number. It ends with [`Mm::release_driver_page`].
    ///
    /// # Errors
    /// [`FreeError`] where no such allocation starts.
    pub fn register_driver_page(&mut self, pfn: Pfn) -> Result<DriverPageId, FreeError> {
        self.pages.register_driver_page(pfn, &mut self.phys)
    }

    /// Place of a driver's page, which compaction may have moved; `None` once it is released.
    #[must_use]
    pub fn driver_page(&self, id: DriverPageId) -> Option<Pfn> {
        self.pages.drivers.driver_page(id, &self.phys)
    }

    /// The driver no longer needs its page: it is freed on behalf of `cpu`, or when nobody isolates or pins it any more. Says
    /// whether it was there.
    pub fn release_driver_page(&mut self, id: DriverPageId, cpu: usize) -> bool {
        self.pages.release_driver_page(id, cpu, &mut self.phys)
    }

    /// Pages on a list of a node, those of its zones together: `nr_inactive_anon` and so on.
    #[must_use]
    pub fn lru_pages(&self, node: NodeId, list: LruList) -> u64 {
        self.pages.lru.lru_pages(node, list, &self.phys)
    }

    /// A program has read or written the page at `pfn` by a system call (`mark_page_accessed`): the first time it is
    /// remembered, the second time the page becomes active. Pages on no list, and unevictable ones, are only remembered.
    pub fn mark_accessed(&mut self, pfn: Pfn) {
        self.pages.lru.mark_accessed(pfn, &mut self.phys);
    }
}
