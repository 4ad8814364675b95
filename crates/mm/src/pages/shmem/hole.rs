//! Holes of tmpfs files that system calls write into.

use order9_frames::{Gfp, Request};
use order9_units::{NodeId, Order, Pages, Pfn};

use crate::mempolicy::{PageOf, SpaceTask};
use crate::page_cache::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Errno;
use crate::thp::placement::HugeSearch;

/// A hole in a tmpfs file, and the page to allocate for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShmemHole {
    file: FileId,
    index: u64,
    /// Node of the CPU that asks.
    local: NodeId,
    /// The attempt at a huge page that was come to; `None`: a base page.
    search: Option<HugeSearch>,
}

impl ShmemHole {
    /// The file.
    pub(crate) const fn file(&self) -> FileId {
        self.file
    }

    /// The allocation to make for a program that runs on `cpu` now, where no memory policy is in force.
    #[must_use]
    pub const fn request(&self, cpu: usize) -> Request {
        match self.search {
            Some(search) => search.request(cpu),
            None => Request { node: self.local, cpu, ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE) },
        }
    }

    /// Whether a smaller page will do: [`Mm::shmem_refused`](crate::Mm::shmem_refused) then says what to ask for next.
    #[must_use]
    pub const fn may_be_refused(&self) -> bool {
        self.search.is_some()
    }

    /// The first place in the file that the page is for, and how many there are.
    #[must_use]
    pub const fn pages(&self) -> (u64, Pages) {
        let pages = self.order().pages();
        (self.index & !(pages.get() - 1), pages)
    }

    const fn order(&self) -> Order {
        if self.search.is_some() { Order::PAGEBLOCK } else { Order::ZERO }
    }
}

impl UsedPages {
    /// Need of a write by a system call, or of `fallocate`, for the hole at `index` of a tmpfs file, which
    /// [`Mm::shmem_page`] has found there, by `task` on `cpu`. No mapping advises it.
    pub(crate) fn shmem_hole(
        &mut self,
        task: impl Into<SpaceTask>,
        file: FileId,
        index: u64,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<ShmemHole, Errno> {
        let hole = ShmemHole { file, index, local: phys.node_of_cpu(cpu), search: None };
        if self.cache.wants_huge_page(file, index, None, phys) {
            let search = self.begin_shmem_search(task.into(), PageOf::File(file, index), hole.local, phys);
            phys.counters.thp_file_fallback += u64::from(search.is_none());
            return Ok(ShmemHole { search, ..hole });
        }
        if self.has_room(file, cpu, phys) { Ok(hole) } else { Err(Errno::Enospc) }
    }

    /// Says that no huge page could be had for a hole; what to ask for instead.
    pub(crate) fn shmem_refused(&self, hole: &ShmemHole, phys: &mut PhysMem) -> ShmemHole {
        let search = hole.search.and_then(|search| self.go_on_searching(&search, phys));
        phys.counters.thp_file_fallback += u64::from(search.is_none());
        ShmemHole { search, ..*hole }
    }

    /// Fills a hole with the page just allocated for it, zeroed; frees that where there is no such hole any more, or no
    /// room for it: the caller looks again.
    pub(crate) fn fill_shmem_hole(
        &mut self,
        hole: &ShmemHole,
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.cache.files.get_mut(hole.file).filter(|file| file.open).ok_or(Errno::Ebadf)?;
        if self.cache.files.size(hole.file).is_none_or(|size| hole.index >= size.get()) {
            return Err(Errno::Efbig);
        }
        let idx = phys.fresh_block(page, hole.order());
        match hole.order() {
            Order::ZERO => self.fill_hole(hole.file, hole.index, idx, cpu, phys),
            _ => self.fill_huge_hole(hole.file, hole.index, idx, cpu, phys),
        }
        Ok(())
    }
}
