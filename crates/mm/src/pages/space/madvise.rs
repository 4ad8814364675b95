//! Advice and locks: `madvise`, `mlock`, `munlock`.

use order9_units::{Bytes, Pages};

use super::fault::Access;
use super::pte::PteFlag;
use super::{Errno, HugeAdvice, Prot, SpaceId, Vma, VmaKind};
use crate::addr::{TASK_END, VirtAddr, VpnRange, range_of_call};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::LazyFree;
use crate::space::Spaces;

/// Advice of `madvise` about a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Madvise {
    /// `MADV_DONTNEED`: the pages are discarded. Page tables stay, or go by policy where all of a slot is discarded.
    DontNeed,
    /// `MADV_FREE`: the pages may be taken until they are written again. 4.5+.
    Free,
    /// `MADV_REMOVE`: what the mapping shows of its file is punched out of that.
    Remove,
    /// `MADV_HUGEPAGE`.
    HugePage,
    /// `MADV_NOHUGEPAGE`.
    NoHugePage,
    /// `MADV_LOCAL`: huge pages lie where the program runs, as far as that hurts nobody else. Proposed in 2018.
    Local,
    /// `MADV_HUGEPAGE_FORCE_LOCAL`: as `HugePage`, and they lie where the program runs, whoever pays for it. Proposed in 2018.
    HugePageForceLocal,
}

impl UsedPages {
    /// `madvise`. Where pages are missing, the others are advised nevertheless.
    pub(crate) fn madvise(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        advice: Madvise,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.spaces.get(id)?;
        self.spaces.may_advise_placement(id, advice, phys)?;
        phys.work.vma_lookups += 1;
        let range = range_of_call(addr, length, Errno::Enomem)?;
        let (mut from, mut mapped) = (range.start, Pages::ZERO);
        while let Some(vma) = self.spaces.living(id).vmas.first_within(VpnRange::new(from, range.end)) {
            let part = vma.range.intersect(VpnRange::new(from, range.end));
            from = part.end;
            mapped += part.len();
            match advice {
                _ if matches!(vma.kind, VmaKind::Hugetlb { .. }) => return Err(Errno::Einval),
                Madvise::DontNeed | Madvise::Free | Madvise::Remove if vma.locked => return Err(Errno::Einval),
                Madvise::Free if vma.kind != VmaKind::Anon || phys.policy.reclaim.lazy_free == LazyFree::None => {
                    return Err(Errno::Einval);
                }
                Madvise::Free => self.free_lazily(id, part, cpu, phys),
                Madvise::DontNeed => {
                    self.discard(id, part, cpu, phys);
                    if phys.policy.thp.free_empty_tables {
                        self.free_empty_tables(id, part, cpu, phys);
                    }
                }
                Madvise::Remove => {
                    let file = vma.kind.file().ok_or(Errno::Einval)?;
                    if vma.kind.is_private() || !vma.prot.has(Prot::WRITE) {
                        return Err(Errno::Eacces);
                    }
                    let index = vma.index(part.start);
                    self.punch_range(file, index, part.len(), cpu, phys);
                }
                Madvise::HugePage => {
                    self.modify(id, part, |vma| vma.advice = HugeAdvice::Huge, phys)?;
                    self.khugepaged_register_at(id, part.start, phys);
                }
                Madvise::NoHugePage => self.modify(id, part, |vma| vma.advice = HugeAdvice::NoHuge, phys)?,
                Madvise::Local => self.modify(id, part, |vma| vma.local = true, phys)?,
                Madvise::HugePageForceLocal => {
                    self.modify(id, part, |vma| (vma.advice, vma.local) = (HugeAdvice::Huge, true), phys)?;
                    self.khugepaged_register_at(id, part.start, phys);
                }
            }
        }
        if mapped == range.len() { Ok(()) } else { Err(Errno::Enomem) }
    }

    /// `mlock` without its second half: the caller then touches what [`Mm::next_to_populate`] names.
    pub(crate) fn mlock(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.set_locked(id, addr, length, true, phys)
    }

    /// `munlock`.
    pub(crate) fn munlock(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.set_locked(id, addr, length, false, phys)
    }

    fn set_locked(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        locked: bool,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        let vmas = &self.spaces.get(id)?.vmas;
        phys.work.vma_lookups += 1;
        let bytes = length.get().checked_add(addr.get() - addr.vpn().addr().get()).ok_or(Errno::Einval)?;
        let range = range_of_call(addr.vpn().addr(), Bytes::new(bytes), Errno::Enomem)?;
        let mapped = vmas.mapped_part(range);
        // Pages of hugetlb pools stay in memory anyway.
        let can_lock = |vma: &Vma| !matches!(vma.kind, VmaKind::Hugetlb { .. });
        self.modify(id, mapped, |vma| vma.locked = locked && can_lock(vma), phys)?;
        let mut rest = mapped;
        while let Some(slot) = self.spaces.living(id).table.next_used(&mut rest) {
            for vpn in slot.intersect(mapped).iter() {
                match self.spaces.living(id).table.get(vpn).idx() {
                    Some(idx) if locked => self.mlock_page(idx, phys),
                    Some(idx) => self.munlock_page(idx, phys),
                    None => {}
                }
            }
        }
        if mapped == range { Ok(()) } else { Err(Errno::Enomem) }
    }
}

impl Spaces {
    /// The first page from `from` on, below `end`, that `mlock` and `MAP_POPULATE` would still touch, and how: private
    /// writable memory is written, so that no copy or fill is left for later. Inaccessible mappings are passed over.
    #[must_use]
    pub fn next_to_populate(&self, id: SpaceId, from: VirtAddr, end: VirtAddr) -> Option<(VirtAddr, Access)> {
        let space = self.get(id).ok()?;
        let range = VpnRange::new(from.vpn(), end.vpn().min(TASK_END));
        space.vmas.within(range).filter(|vma| vma.prot != Prot::NONE).find_map(|vma| {
            let write = vma.prot.has(Prot::WRITE) && vma.kind.is_private();
            let missing = |&vpn: &_| {
                let pte = space.table.get(vpn);
                !pte.is_mapped() || write && !pte.has(PteFlag::Write)
            };
            let vpn = vma.range.intersect(range).iter().find(missing)?;
            Some((vpn.addr(), if write { Access::Write } else { Access::Read }))
        })
    }
}
