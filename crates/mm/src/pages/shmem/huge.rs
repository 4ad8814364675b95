//! Huge pages of tmpfs: which places of files get them, how faults ask for them, and what becomes of them in their file.
//!
//! A huge page is 512 pages of its file, each at a place of its own; what maps them is in [`crate::thp`]. The first access to
//! an aligned 2 MiB of a file, by a fault or a system call, may make all of it huge. A fault in an empty slot that shows it
//! as a whole maps it as such. Who may do what for the page, and where, is as for anonymous memory or by the mapping of the
//! file (`thp.shmem_gfp`). LKML: "huge tmpfs: THP-enabled tmpfs" (2016). Behaviour: docs/thp.md.

use order9_frames::Idx;
use order9_units::NodeId;

use super::mount::{ShmemEnabled, ShmemHuge};
use crate::lru_list::LruList;
use crate::mempolicy::{PageOf, SpaceTask};
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::ShmemPunch;
use crate::space::{Access, Fault, FaultStep, HugeAdvice, Need, Owner, Vma, VmaKind, VpnRange};
use crate::thp::placement::{HugeAsk, HugeSearch};
use crate::thp::{NR, shmem_gfp, subpages};

/// Base pages of a huge page.
const HUGE: u64 = NR as u64;

/// The place in a file where the huge page that holds `index` starts.
pub(crate) const fn huge_index(index: u64) -> u64 {
    index & !(HUGE - 1)
}

impl PageCache {
    /// Whether a hole at `index` of a tmpfs file is to be filled with a huge page; `vma` is the mapping of a fault.
    pub(crate) fn wants_huge_page(&self, file: FileId, index: u64, vma: Option<&Vma>, phys: &PhysMem) -> bool {
        let advice = vma.map_or(HugeAdvice::None, |vma| vma.advice);
        let base = huge_index(index);
        advice != HugeAdvice::NoHuge
            && self.has_huge_pages(file, advice == HugeAdvice::Huge, |end_too| index + u64::from(end_too), phys)
            && self.is_empty_range(file, base, base + HUGE)
            && self.room_for(file) >= HUGE
    }

    /// Whether khugepaged may make huge pages of what a mapping shows.
    pub(crate) fn is_shmem_eligible(&self, vma: &Vma, phys: &PhysMem) -> bool {
        let VmaKind::File { file, .. } = vma.kind else { return false };
        vma.advice != HugeAdvice::NoHuge
            && vma.offset % HUGE == vma.range.start.get() % HUGE
            && self.has_huge_pages(file, vma.advice == HugeAdvice::Huge, |_| vma.offset, phys)
    }

    /// Whether a file may have huge pages, as far as the place does not matter, or with `huge=within_size` up to the end of
    /// the one that `place` is in; that is told whether the end of the page itself counts.
    fn has_huge_pages(&self, file: FileId, advised: bool, place: impl Fn(bool) -> u64, phys: &PhysMem) -> bool {
        let Some(mount) = self.files.mount_of(file).filter(|_| phys.policy.thp.shmem) else { return false };
        match self.mounts.rule_of(mount) {
            ShmemEnabled::Deny | ShmemEnabled::Mount(ShmemHuge::Never) => false,
            ShmemEnabled::Force | ShmemEnabled::Mount(ShmemHuge::Always) => true,
            ShmemEnabled::Mount(ShmemHuge::Advise) => advised,
            ShmemEnabled::Mount(ShmemHuge::WithinSize) => {
                let size = self.files.size(file).map_or(0, order9_units::Pages::get);
                let end = place(phys.policy.thp.within_size_end).next_multiple_of(HUGE);
                size >= HUGE && size >= end || advised
            }
        }
    }

    /// Whether nothing of a file is in memory or swap in `[from, end)`.
    fn is_empty_range(&self, file: FileId, from: u64, end: u64) -> bool {
        let file = self.file(file);
        file.is_ok_and(|file| file.first_page(from, end).is_none() && file.first_swapped(from, end).is_none())
    }
}

impl UsedPages {
    /// Whether the slot of a mapping can show a huge page of its file by one entry.
    fn can_map_huge(vma: &Vma, slot: VpnRange) -> bool {
        let lies_within = slot.intersect(vma.range) == slot;
        lies_within && vma.index(slot.start).is_multiple_of(HUGE) && vma.advice != HugeAdvice::NoHuge
    }

    /// A fault in an empty slot of a mapping of a tmpfs file: a huge page that is there, or comes to be there, is mapped as
    /// such where that fits; `fault` asks for a page table.
    pub(crate) fn resolve_shmem_slot(
        &mut self,
        fault: Fault,
        vma: &Vma,
        file: FileId,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let (slot, index) = (fault.vpn.slot(), vma.index(fault.vpn));
        if self.cache.files.size(file).is_none_or(|size| index >= size.get()) {
            return FaultStep::Bus;
        }
        let copies = fault.access == Access::Write && vma.kind.is_private();
        let head = self.shown_at(file, index, phys).and_then(|idx| self.rmap.file_folio_head(idx, phys));
        match head {
            Some(head) if !copies && Self::can_map_huge(vma, slot) => {
                self.map_file_huge(fault.space, vma, slot, head, fault.access, phys);
                self.wrote(fault.space, fault.vpn, fault.access, phys);
                FaultStep::Done
            }
            None if self.cache.wants_huge_page(file, index, Some(vma), phys) => {
                self.ask_huge_file_page(fault, vma, file, phys)
            }
            _ => FaultStep::NeedPage(fault),
        }
    }

    /// Asks for the huge page that is to fill a hole where the policy looks first.
    pub(crate) fn ask_huge_file_page(
        &mut self,
        fault: Fault,
        vma: &Vma,
        file: FileId,
        phys: &mut PhysMem,
    ) -> FaultStep {
        let rights = shmem_gfp(phys.settings.thp.defrag, vma.advice == HugeAdvice::Huge, &phys.policy.thp);
        let page = PageOf::File(file, vma.index(fault.vpn));
        let ask = self.ask_for(fault.task(), page, fault.local, rights, phys);
        let search = self.begin_search(HugeAsk { advised: vma.local, ..ask }, phys);
        let need = Need::HugeFilePage(file, vma.index(fault.vpn));
        self.attempt(&Fault { need, ..fault }, search, phys)
    }

    /// Begins to look for a huge page of shared memory that a system call of `task` on `local` wants.
    pub(super) fn begin_shmem_search(
        &self,
        task: SpaceTask,
        page: PageOf<'_>,
        local: NodeId,
        phys: &PhysMem,
    ) -> Option<HugeSearch> {
        let rights = shmem_gfp(phys.settings.thp.defrag, false, &phys.policy.thp);
        self.begin_search(self.ask_for(task, page, local, rights, phys), phys)
    }

    /// Puts a fresh huge page into the aligned hole around `index` of a tmpfs file; frees it where there is none any more, or
    /// no room for it.
    pub(crate) fn fill_huge_hole(&mut self, id: FileId, index: u64, head: Idx, cpu: usize, phys: &mut PhysMem) {
        let base = huge_index(index);
        let is_beyond = self.cache.files.size(id).is_none_or(|size| index >= size.get());
        if is_beyond || !self.cache.is_empty_range(id, base, base + HUGE) || self.cache.room_for(id) < HUGE {
            return phys.free_fresh(head, cpu);
        }
        self.clear_huge_page(head, phys);
        self.insert_huge_file_page(id, base, head, phys);
        phys.counters.thp_file_alloc += 1;
    }

    /// Makes a huge page with content that of an empty range of a file.
    pub(crate) fn insert_huge_file_page(&mut self, id: FileId, base: u64, head: Idx, phys: &mut PhysMem) {
        for (index, idx) in (base..).zip(subpages(head)) {
            self.cache.file_mut(id).insert(index, idx);
            self.rmap.set(idx, Owner::File { file: id, index });
        }
        self.huge.adopt_huge_file_page(head, phys);
        self.adopt_page(head, Owner::File { file: id, index: base }, LruList::InactiveAnon, phys);
        self.levels.shmem += HUGE;
        self.cache.charge(id, HUGE);
        self.levels.shmem_thps += 1;
        if self.cache.files.size(id).is_some_and(|size| size.get() < base + HUGE) {
            self.cache.queue_for_shrink(id);
        }
    }

    /// Takes the huge page at `base`, which nobody maps, out of its file and frees it.
    pub(crate) fn evict_huge_file_page(&mut self, id: FileId, base: u64, head: Idx, cpu: usize, phys: &mut PhysMem) {
        for (index, idx) in (base..).zip(subpages(head)) {
            self.take_from_file(id, index, None, phys);
            if idx != head {
                self.rmap.set(idx, Owner::Nobody);
            }
        }
        self.levels.shmem_thps -= 1;
        self.disown(head, cpu, phys);
    }

    /// Punches the places `[from, end)` out of the huge page at `base`, or truncates them, where nobody
    /// maps it any more: says whether its base pages are to be freed one by one.
    pub(crate) fn punch_huge_page(
        &mut self,
        base: u64,
        head: Idx,
        from: u64,
        end: u64,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> bool {
        if phys.policy.thp.shmem_punch == ShmemPunch::Split
            && self.split_huge_page(phys.frames.pfn(head), cpu, phys).is_ok()
        {
            return true;
        }
        for (index, idx) in (base..).zip(subpages(head)) {
            if (from..end).contains(&index) {
                self.clear_huge_part(idx, phys);
            }
        }
        false
    }
}

impl PhysMem {
    /// There is no huge page for a hole: counts that, and asks for a base page.
    pub(crate) fn refuse_huge_file_page(&mut self, fault: &Fault, file: FileId, index: u64) -> FaultStep {
        self.counters.thp_file_fallback += 1;
        let need = Need::FilePage(file, index);
        FaultStep::NeedPage(Fault { need, gfp: need.gfp(), search: None, ..*fault })
    }
}
