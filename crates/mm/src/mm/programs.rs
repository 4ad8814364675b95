//! Address spaces of programs: mappings, faults, advice, pins.

use alloc::vec::Vec;

use order9_frames::FreeError;
use order9_units::{Bytes, Pfn};

use crate::Mm;
use crate::mempolicy::SpaceTask;
use crate::space::{
    Access, Errno, Fault, FaultStep, Fork, ForkCopy, Madvise, MappingUse, MmapRequest, Move, Mremap, MremapRequest,
    NumaUse, PageView, Prot, Residence, Space, SpaceId, TableStep, Touched, VirtAddr, Vma, Vpn, VpnRange,
};

impl Mm {
    /// The space `id`, or `None` once it is gone.
    #[must_use]
    pub fn space(&self, id: SpaceId) -> Option<&Space> {
        self.pages.spaces.get(id).ok()
    }

    /// Every living space, oldest first.
    pub fn spaces(&self) -> impl Iterator<Item = (SpaceId, &Space)> {
        self.pages.spaces.iter()
    }

    /// Pins the allocation that starts at `pfn`, or the huge page that it is part of; once more if that is pinned already.
    ///
    /// # Errors
    /// [`FreeError`] where no allocation starts there.
    pub fn pin(&mut self, pfn: Pfn) -> Result<(), FreeError> {
        self.pages.pin(pfn, &mut self.phys)
    }

    /// Takes one pin off the allocation that starts at `pfn`; says whether it was the last. A page that nothing else keeps is
    /// freed then, straight to the buddy lists.
    ///
    /// # Errors
    /// [`FreeError`] where no pinned allocation starts there.
    pub fn unpin(&mut self, pfn: Pfn) -> Result<bool, FreeError> {
        self.pages.unpin(pfn, &mut self.phys)
    }

    /// Starts a fork by `parent`, or the first task of it: the child has all mappings, none locked, and no page yet.
    /// [`Mm::fork_step`] does the rest; if it
    /// cannot be finished, [`Mm::exit`] ends the child.
    ///
    /// # Errors
    /// `ESRCH` without a parent, `EAGAIN` as [`Mm::create_space`].
    pub fn fork(&mut self, parent: impl Into<SpaceTask>) -> Result<Fork, Errno> {
        self.pages.fork(parent, &mut self.phys)
    }

    /// Shares the pages of the next slot. Mappings whose pages can be had from their file again are left to later faults.
    ///
    /// # Errors
    /// `EAGAIN` if the parent's mappings have changed since the start, `ESRCH` if one of the two is gone.
    pub fn fork_step(&mut self, fork: &mut Fork) -> Result<TableStep, Errno> {
        self.pages.fork_step(fork, &mut self.phys)
    }

    /// Gives the child of a fork a copy of its own, on behalf of `cpu`; frees the page where none is needed (any more).
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn give_copy(&mut self, copy: &ForkCopy, page: Pfn, cpu: usize) {
        self.pages.give_copy(copy, page, cpu, &mut self.phys);
    }

    /// `madvise`. Where pages are missing, the others are advised nevertheless.
    ///
    /// # Errors
    /// `EINVAL` for an unaligned address, memory of hugetlb pools, for `DontNeed`, `Free` and `Remove` at the first locked
    /// mapping, for `Free` also at the first that is not private anonymous memory, and where the kernel does not have it, for
    /// `Remove` at the first without file, for `Local` and `HugePageForceLocal` where the placement of huge pages does
    /// not know them;
    /// `EPERM` for the latter without `CAP_SYS_NICE`, unless `thp/madv_hugepage_force_local` lets everybody; `EACCES`
    /// for `Remove` at the first that is not shared and writable; `ENOMEM` where
    /// something in the range is not mapped.
    pub fn madvise(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        advice: Madvise,
        cpu: usize,
    ) -> Result<(), Errno> {
        self.pages.madvise(id, addr, length, advice, cpu, &mut self.phys)
    }

    /// `mlock` without its second half: the caller then touches what `UsedPages::next_to_populate` names.
    ///
    /// # Errors
    /// `ENOMEM` where something in the range is not mapped (what lies below is locked) or splitting would make too many
    /// mappings.
    pub fn mlock(&mut self, id: SpaceId, addr: VirtAddr, length: Bytes) -> Result<(), Errno> {
        self.pages.mlock(id, addr, length, &mut self.phys)
    }

    /// `munlock`.
    ///
    /// # Errors
    /// As [`Mm::mlock`].
    pub fn munlock(&mut self, id: SpaceId, addr: VirtAddr, length: Bytes) -> Result<(), Errno> {
        self.pages.munlock(id, addr, length, &mut self.phys)
    }

    /// `mmap`: returns where the mapping starts.
    ///
    /// # Errors
    /// `EINVAL` for no length or an unaligned fixed address, `ENOMEM` without room or with too many mappings, `EPERM` below
    /// `vm.mmap_min_addr`, `ENOMEM` where hugetlb pools have too few pages, `EEXIST` where `FixedNoReplace` finds a
    /// mapping, `EBADF` for a file that is not open.
    pub fn mmap(&mut self, id: SpaceId, request: &MmapRequest, cpu: usize) -> Result<VirtAddr, Errno> {
        self.pages.mmap(id, request, cpu, &mut self.phys)
    }

    /// `munmap`: everything mapped in the range goes.
    ///
    /// # Errors
    /// `EINVAL` for no length, an unaligned address, a range beyond the address space or one that cuts a page of a hugetlb
    /// pool, `ENOMEM` where a hole in a mapping
    /// would make too many of it.
    pub fn munmap(&mut self, id: SpaceId, addr: VirtAddr, length: Bytes, cpu: usize) -> Result<(), Errno> {
        self.pages.munmap(id, addr, length, cpu, &mut self.phys)
    }

    /// Unmaps the pages of the next 2 MiB of `range` that have any, and takes them off its front; says whether there were any.
    /// With this, whoever ends a large mapping lets others run before [`Mm::munmap`] or [`Mm::exit`] does the rest. Until
    /// then the pages read as if they were never written, so the mapping must be locked against faults.
    ///
    /// # Errors
    /// `ESRCH` if the space is gone.
    pub fn unmap_step(&mut self, id: SpaceId, range: &mut VpnRange, cpu: usize) -> Result<bool, Errno> {
        self.pages.unmap_step(id, range, cpu, &mut self.phys)
    }

    /// `mprotect`. Where pages are missing, those below the first gap are protected nevertheless.
    ///
    /// # Errors
    /// `EINVAL` for an unaligned address, `ENOMEM` where something in the range is not mapped or splitting would make too
    /// many mappings.
    pub fn mprotect(&mut self, id: SpaceId, addr: VirtAddr, length: Bytes, prot: Prot) -> Result<(), Errno> {
        self.pages.mprotect(id, addr, length, prot, &mut self.phys)
    }

    /// An address space without mappings.
    ///
    /// # Errors
    /// `EAGAIN` after 2^26 spaces.
    pub fn create_space(&mut self) -> Result<SpaceId, Errno> {
        self.pages.create_space(&self.phys)
    }

    /// Space of the process with this number that the machine starts with, and where its pages lie that are not locked; `None` where
    /// the machine starts without.
    #[must_use]
    pub fn inherited(&self, holder: usize) -> Option<(SpaceId, VpnRange)> {
        self.pages.inherited.get(holder).copied()
    }

    /// Ends a space: everything is unmapped, on behalf of `cpu`.
    ///
    /// # Errors
    /// `ESRCH` if it is gone.
    pub fn exit(&mut self, id: SpaceId, cpu: usize) -> Result<(), Errno> {
        self.pages.exit(id, cpu, &mut self.phys)
    }

    /// `mremap`. An old length of 0, which duplicates a shared mapping, is not taken.
    ///
    /// # Errors
    /// `EINVAL` for no length, unaligned or overlapping addresses, and memory of hugetlb pools, which stays where it
    /// is; `EFAULT` where the old range is not one mapping;
    /// `ENOMEM` where it cannot grow or there are too many mappings; `EPERM` below `vm.mmap_min_addr`.
    pub fn mremap(&mut self, id: SpaceId, request: &MremapRequest, cpu: usize) -> Result<Mremap, Errno> {
        self.pages.mremap(id, request, cpu, &mut self.phys)
    }

    /// Moves the pages of the next slot; after the last, unmaps the old place.
    ///
    /// # Errors
    /// `EAGAIN` if the space's mappings have changed since the start, `ESRCH` if it is gone. What has moved stays moved.
    pub fn move_step(&mut self, run: &mut Move, cpu: usize) -> Result<TableStep, Errno> {
        self.pages.move_step(run, cpu, &mut self.phys)
    }

    /// Pages that a mapping of `space` shows, by node.
    #[must_use]
    pub fn numa_use(&self, space: &Space, vma: &Vma) -> NumaUse {
        self.pages.numa_use(space, vma, &self.phys)
    }

    /// Pages that a program has mapped, by node: the sums of its numa_maps, huge pages of pools as so many base pages.
    #[must_use]
    pub fn pages_by_node(&self, space: &Space) -> Vec<u64> {
        self.pages.pages_by_node(space, &self.phys)
    }

    /// Pages that are mapped in `range`, by node.
    #[must_use]
    pub fn residence(&self, id: SpaceId, range: VpnRange) -> Vec<Residence> {
        self.pages.spaces.residence(id, range, &self.phys)
    }

    /// Accesses the pages at the front of `range` that need no fault, within one slot, and takes them off it.
    pub fn touch_mapped(&mut self, id: SpaceId, range: &mut VpnRange, access: Access) -> Touched {
        self.pages.touch_mapped(id, range, access, &self.phys)
    }

    /// An access by `task` on `cpu`: through the page table where it allows it, else a fault up to where it needs memory.
    pub fn fault_begin(&mut self, task: impl Into<SpaceTask>, addr: VirtAddr, access: Access, cpu: usize) -> FaultStep {
        self.pages.fault_begin(task, addr, access, cpu, &mut self.phys)
    }

    /// Hands in the page that a fault needed, on behalf of `cpu`.
    ///
    /// # Panics
    /// If `page` is not a page of the order that was asked for, or was not just allocated.
    pub fn fault_finish(&mut self, fault: &Fault, page: Pfn, cpu: usize) -> FaultStep {
        self.pages.fault_finish(fault, page, cpu, &mut self.phys)
    }

    /// Gives the slot of `vpn` the page table just allocated; frees the page where none is needed (any more).
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn give_table(&mut self, id: SpaceId, vpn: Vpn, page: Pfn, cpu: usize) {
        self.pages.give_table(id, vpn, page, cpu, &mut self.phys);
    }

    /// Accesses a page with allocations straight from the fast path. Where one fails, that is what the fault needs: the
    /// slow path's turn.
    #[inline]
    pub fn touch(&mut self, task: impl Into<SpaceTask>, addr: VirtAddr, access: Access, cpu: usize) -> FaultStep {
        self.pages.touch(task, addr, access, cpu, &mut self.phys)
    }

    /// Goes on with a fault that needed `page`, with further allocations straight from the fast path.
    pub fn fault_go_on(&mut self, fault: &Fault, page: Pfn, cpu: usize) -> FaultStep {
        self.pages.fault_go_on(fault, page, cpu, &mut self.phys)
    }

    /// Pages of some mappings of `space`, by what they are. Takes a walk over the page tables of the mappings.
    #[must_use]
    pub fn mapping_use<'a>(&self, space: &Space, vmas: impl IntoIterator<Item = &'a Vma>) -> MappingUse {
        self.pages.mapping_use(space, vmas, &self.phys)
    }

    /// Whether a mapping of `space` may have a huge page somewhere: `THPeligible`.
    #[must_use]
    pub fn has_room_for_huge_page(&self, space: &Space, vma: &Vma) -> bool {
        self.pages.cache.has_room_for_huge_page(space, vma, &self.phys)
    }

    /// Page or other entry that is mapped at `addr`.
    #[must_use]
    pub fn page_at(&self, id: SpaceId, addr: VirtAddr) -> PageView {
        self.pages.spaces.page_at(id, addr, &self.phys)
    }
}
