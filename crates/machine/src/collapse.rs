//! Collapse: slot by slot, the base pages that are there become a huge page, on the thread that calls `MADV_COLLAPSE` or in
//! khugepaged.

use order9_mm::env::Env as _;
use order9_mm::space::{Access, VirtAddr};
use order9_mm::thp::{Collapse, CollapseFailure};
use order9_mm::{Errno, alloc_pages};
use order9_units::Bytes;
use order9_workloads::Stop;

use crate::faults::refused;
use crate::thread::Thread;
use crate::time::Mode;

impl Thread {
    /// Collapses all slots of a range. What fails for one slot does not stop the others of its mapping, but for want of
    /// memory; the call then ends with its mapping, and answers with the last failure.
    pub(crate) async fn collapse(&self, addr: VirtAddr, length: Bytes) -> Result<(), Stop> {
        let failed = |errno| refused("madvise", errno);
        let range = {
            let _lock = self.mmap_lock(Mode::Shared).await;
            self.kernel.with(|mm| mm.collapse_range(self.process.space, addr, length)).map_err(failed)?
        };
        for slots in range.mappings {
            self.collapse_slots(slots).await?.map_err(failed)?;
        }
        range.end.map_err(failed)
    }

    async fn collapse_slots(&self, slots: Vec<VirtAddr>) -> Result<Result<(), Errno>, Stop> {
        let mut end = Ok(());
        for slot in slots {
            let Err(failure) = self.collapse_slot(slot).await? else { continue };
            end = Err(failure.errno());
            if failure == CollapseFailure::AllocHugePage {
                self.alive()?;
                break;
            }
        }
        Ok(end)
    }

    async fn collapse_slot(&self, slot: VirtAddr) -> Result<Result<(), CollapseFailure>, Stop> {
        let space = self.process.space;
        let scanned = {
            let _lock = self.mmap_lock(Mode::Shared).await;
            let scanned = self.kernel.with(|mm| mm.collapse_scan(space, slot));
            self.spend().await;
            scanned
        };
        match scanned {
            Ok(Some(collapse)) => self.collapse_found(&collapse).await,
            Ok(None) => Ok(Ok(())),
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// Makes a slot huge that may be.
    pub(crate) async fn collapse_found(&self, collapse: &Collapse) -> Result<Result<(), CollapseFailure>, Stop> {
        let page = alloc_pages(self, &collapse.request(self.cpu())).await;
        self.kernel.with(|mm| mm.collapse_allocated(collapse, page.is_ok()));
        let Ok(page) = page else { return Ok(Err(CollapseFailure::AllocHugePage)) };
        let read_back = self.read_back(collapse).await;
        let _changing = self.change_mappings(collapse.slot()).await;
        let done = self.kernel.with(|mm| mm.collapse_finish(collapse, page, self.cpu()));
        self.spend().await;
        read_back?;
        Ok(done)
    }

    /// Reads what is in swap of the slot.
    async fn read_back(&self, collapse: &Collapse) -> Result<(), Stop> {
        while let Some(addr) = self.kernel.with(|mm| mm.collapse_swapped(collapse)) {
            self.fault(addr, Access::Read, None).await?;
        }
        Ok(())
    }
}
