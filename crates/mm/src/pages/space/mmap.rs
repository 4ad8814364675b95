//! Making, removing and protecting mappings: `mmap`, `munmap`, `mprotect`.

use alloc::vec::Vec;

use order9_units::{Bytes, Order, Pages};

use super::page::Zap;
use super::pte::PteFlag;
use super::{Errno, HugeAdvice, Prot, SpaceId, Vma, VmaKind};
use crate::addr::{MMAP_BASE, MMAP_MIN, TASK_END, VirtAddr, Vpn, VpnRange, range_of_call};
use crate::hugetlb::whole_huge_pages;
use crate::page_cache::FileId;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::MmapAlign;
use crate::space::Spaces;

/// Place of a new mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The highest gap that is large enough.
    Anywhere,
    /// Here if nothing is mapped there, else anywhere.
    Hint(VirtAddr),
    /// Here, in place of what is mapped there: `MAP_FIXED`.
    Fixed(VirtAddr),
    /// Here or not at all: `MAP_FIXED_NOREPLACE`.
    FixedNoReplace(VirtAddr),
}

/// Source of the pages of a new mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// `MAP_PRIVATE | MAP_ANONYMOUS`.
    AnonPrivate,
    /// `MAP_SHARED | MAP_ANONYMOUS`: a file of its own without a name.
    AnonShared,
    /// `MAP_HUGETLB | MAP_ANONYMOUS`: pages of the hugetlb pools. The length is rounded up to whole huge pages.
    Hugetlb {
        /// `MAP_SHARED`, else `MAP_PRIVATE`.
        shared: bool,
        /// Not `MAP_NORESERVE`: the pool promises all pages of the mapping to it.
        reserves: bool,
    },
    /// A file on disk, a tmpfs file or a memfd.
    File {
        /// The file.
        file: FileId,
        /// Place in it of the first page.
        offset: Pages,
        /// `MAP_SHARED`, else `MAP_PRIVATE`.
        shared: bool,
    },
}

/// Arguments of `mmap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MmapRequest {
    /// Place of the mapping.
    pub place: Place,
    /// Length of the mapping; rounded up to whole pages.
    pub length: Bytes,
    /// Rights of the program there.
    pub prot: Prot,
    /// Source of the pages.
    pub backing: Backing,
    /// `MAP_LOCKED`; the caller then populates the mapping.
    pub locked: bool,
}

impl MmapRequest {
    /// Readable and writable private memory, anywhere.
    #[must_use]
    pub const fn anon(length: Bytes) -> Self {
        let (place, backing) = (Place::Anywhere, Backing::AnonPrivate);
        Self { place, length, prot: Prot::RW, backing, locked: false }
    }
}

impl UsedPages {
    /// `mmap`: returns where the mapping starts.
    pub(crate) fn mmap(
        &mut self,
        id: SpaceId,
        request: &MmapRequest,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<VirtAddr, Errno> {
        let mappings = self.spaces.get(id)?.vmas.len();
        let (pages, align) = match request.backing {
            Backing::Hugetlb { .. } => (whole_huge_pages(request.length), Order::PAGEBLOCK.pages()),
            _ => (Pages::from_bytes_ceil(request.length), Pages::new(1)),
        };
        if pages == Pages::ZERO {
            return Err(Errno::Einval);
        }
        if mappings > self.spaces.map_limit.now {
            return Err(Errno::Enomem);
        }
        if let Backing::File { file, .. } = request.backing {
            self.require_open(file)?;
        }
        let range = match (request.backing, request.place) {
            (Backing::AnonPrivate, place) => self.spaces.place_anon(id, place, pages, phys)?,
            (backing @ (Backing::AnonShared | Backing::File { .. }), Place::Anywhere) => {
                self.place_anywhere(id, backing, pages, phys)?
            }
            (_, place) => self.spaces.place(id, place, pages, align)?,
        };
        if let Place::Fixed(_) = request.place {
            self.unmap_range(id, range, cpu, phys)?;
        }
        let (kind, offset) = match request.backing {
            Backing::AnonPrivate => (VmaKind::Anon, range.start.get()),
            Backing::AnonShared => (VmaKind::File { file: self.create_file(pages, phys)?, shared: true }, 0),
            Backing::File { file, offset, shared } => (VmaKind::File { file, shared }, offset.get()),
            Backing::Hugetlb { shared, reserves } => {
                (VmaKind::Hugetlb { map: self.hugetlb.make_hugetlb(id, pages, shared, reserves)?, shared }, 0)
            }
        };
        if let Some(file) = kind.file() {
            self.open_by_mappings(file);
        }
        let (prot, locked) = (request.prot, request.locked);
        let (advice, local, touched, policy) = (HugeAdvice::None, false, false, None);
        let vma = Vma { range, prot, kind, offset, advice, local, locked, touched, policy };
        self.insert_vma(id, vma);
        self.merge_at(id, range.start);
        self.merge_at(id, range.end);
        let grew = self.spaces.living(id).vmas.find(range.start).is_some_and(|vma| vma.range != range);
        if grew || kind.file().is_some() {
            self.khugepaged_register_at(id, range.start, phys); // It may have huge pages, which no fault may notice.
        }
        if let (Backing::AnonShared, Some(file)) = (request.backing, kind.file()) {
            self.close_file(file, cpu, phys)?; // From now on the mapping alone keeps it.
        }
        Ok(range.start.addr())
    }

    /// `munmap`: everything mapped in the range goes.
    pub(crate) fn munmap(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.spaces.get(id)?;
        let range = range_of_call(addr, length, Errno::Einval)?;
        if range.is_empty() {
            return Err(Errno::Einval);
        }
        self.unmap_range(id, range, cpu, phys)
    }

    /// Unmaps the pages of the next 2 MiB of `range` that have any, and takes them off its front; says whether there were any.
    /// With this, whoever ends a large mapping lets others run before [`Mm::munmap`] or [`Mm::exit`] does the rest. Until
    /// then the pages read as if they were never written, so the mapping must be locked against faults.
    pub(crate) fn unmap_step(
        &mut self,
        id: SpaceId,
        range: &mut VpnRange,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<bool, Errno> {
        let space = self.spaces.get(id)?;
        let next = space.table.used_slots(*range).next().map(|(slot, _)| slot.intersect(*range));
        range.start = next.map_or(range.end, |piece| piece.end);
        if let Some(piece) = next {
            self.discard(id, piece, cpu, phys);
        }
        Ok(next.is_some())
    }

    /// Unmaps the pages of `range` and forgets what private ones held.
    pub(super) fn discard(&mut self, id: SpaceId, range: VpnRange, cpu: usize, phys: &mut PhysMem) {
        self.zap(id, range, Zap::All, cpu, phys);
        if let Some(tags) = &mut self.tags {
            tags.discard(id, range);
        }
    }

    pub(super) fn unmap_range(
        &mut self,
        id: SpaceId,
        range: VpnRange,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        phys.work.vma_lookups += 1;
        let vmas = &self.spaces.get(id)?.vmas;
        let leaves_both_ends = |vma: &Vma| vma.range.start < range.start && range.end < vma.range.end;
        if vmas.len() >= self.spaces.map_limit.now && vmas.find(range.start).is_some_and(leaves_both_ends) {
            return Err(Errno::Enomem);
        }
        if [range.start, range.end].iter().any(|&edge| vmas.find(edge).is_some_and(|vma| Self::cuts_hugetlb(vma, edge)))
        {
            return Err(Errno::Einval);
        }
        for edge in [range.start, range.end] {
            self.split_pmd_at_edge(id, edge, phys);
            self.split_at(id, edge);
        }
        if self.spaces.living(id).vmas.first_within(range).is_none() {
            return Ok(());
        }
        self.discard(id, range, cpu, phys);
        let mut rest = range;
        while let Some(vma) = self.spaces.living(id).vmas.next_within(&mut rest) {
            self.remove_vma(id, vma.range.start);
            if let Some(file) = vma.kind.file() {
                self.drop_if_unused(file, cpu, phys);
            }
            self.hugetlb_closed(id, &vma, cpu, phys);
        }
        self.free_tables(id, range, cpu, phys);
        Ok(())
    }

    /// `mprotect`. Where pages are missing, those below the first gap are protected nevertheless.
    pub(crate) fn mprotect(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        prot: Prot,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        let vmas = &self.spaces.get(id)?.vmas;
        phys.work.vma_lookups += 1;
        let range = range_of_call(addr, length, Errno::Enomem)?;
        let mapped = vmas.mapped_part(range);
        // A list, since mappings that become alike merge, and then nobody knows which had other rights.
        let changed: Vec<Vma> = vmas.within(mapped).filter(|vma| vma.prot != prot).copied().collect();
        self.modify(id, mapped, |vma| vma.prot = prot, phys)?;
        for vma in changed {
            self.protect_pages(id, vma.range.intersect(mapped), prot, vma.kind, phys);
        }
        if mapped == range { Ok(()) } else { Err(Errno::Enomem) }
    }

    /// Takes rights off the entries of `range`, which lies in one mapping, and gives them where that needs no fault.
    fn protect_pages(&mut self, id: SpaceId, range: VpnRange, prot: Prot, kind: VmaKind, phys: &mut PhysMem) {
        let writable = prot.has(Prot::WRITE) && !kind.is_private();
        // A write to a file on disk has to be noticed unless the page is known to be dirty.
        let notes_writes = kind.file().is_some_and(|file| self.cache.files.is_on_disk(file));
        let mut changed = 0;
        let mut rest = range;
        while let Some(huge) = self.spaces.living(id).table.next_huge_mut(&mut rest) {
            let pte = huge.pte.answered();
            huge.pte = pte.with(PteFlag::Access, prot != Prot::NONE).with(PteFlag::Write, false);
            changed += 1;
        }
        if let VmaKind::Hugetlb { shared, .. } = kind {
            self.spaces.protect_hugetlb(id, range, prot, shared, phys);
        }
        let mut rest = range;
        while let Some((slot, table)) = self.spaces.living(id).table.next_table_mut(&mut rest) {
            for vpn in slot.intersect(range).iter() {
                let pte = table.get(vpn).answered();
                if pte.is_mapped() {
                    let writable = writable && (!notes_writes || pte.has(PteFlag::Write));
                    table.set(vpn, pte.with(PteFlag::Access, prot != Prot::NONE).with(PteFlag::Write, writable));
                    changed += 1;
                }
            }
        }
        phys.work.ptes_set += changed;
        phys.work.tlb_flushes += u64::from(changed > 0);
    }
}

impl Spaces {
    /// The pages that a mapping of anonymous memory would take: whole slots where the policy cares and there is room.
    fn place_anon(&self, id: SpaceId, place: Place, pages: Pages, phys: &PhysMem) -> Result<VpnRange, Errno> {
        let slot = Order::PAGEBLOCK.pages();
        let aligns = match phys.policy.thp.mmap_align {
            MmapAlign::None => false,
            MmapAlign::Large => pages >= slot,
            MmapAlign::Multiple => pages.get().is_multiple_of(slot.get()),
        };
        let range = self.place(id, place, pages, Pages::new(1))?;
        let chosen = matches!(place, Place::Fixed(_) | Place::FixedNoReplace(_))
            || matches!(place, Place::Hint(addr) if addr.vpn() == range.start);
        if !aligns || chosen {
            return Ok(range);
        }
        // As the kernel looks for it: in a gap with a slot to spare.
        let gap = self.get(id)?.vmas.highest_gap(pages + slot, Pages::new(1), MMAP_MIN, MMAP_BASE);
        let start = gap.map(|gap| Vpn::new((gap.start.get() + 1).next_multiple_of(slot.get())));
        Ok(start.map_or(range, |start| VpnRange::of(start, pages)))
    }

    /// The pages a mapping would take that starts at a multiple of `align`.
    pub(crate) fn place(&self, id: SpaceId, place: Place, pages: Pages, align: Pages) -> Result<VpnRange, Errno> {
        let vmas = &self.get(id)?.vmas;
        let is_free = |range| vmas.first_within(range).is_none();
        let fixed = |addr: VirtAddr| {
            let range = range_of_call(addr, pages.bytes(), Errno::Enomem)?;
            match range.start {
                start if start < MMAP_MIN => Err(Errno::Eperm),
                start if !start.get().is_multiple_of(align.get()) => Err(Errno::Einval),
                _ => Ok(range),
            }
        };
        match place {
            Place::Fixed(addr) => return fixed(addr),
            Place::FixedNoReplace(addr) => {
                let range = fixed(addr)?;
                return if is_free(range) { Ok(range) } else { Err(Errno::Eexist) };
            }
            Place::Hint(addr) => {
                let start = addr.vpn().max(MMAP_MIN);
                let start = Vpn::new(start.get().next_multiple_of(align.get()));
                if start <= TASK_END && pages <= TASK_END - start && is_free(VpnRange::of(start, pages)) {
                    return Ok(VpnRange::of(start, pages));
                }
            }
            Place::Anywhere => {}
        }
        vmas.highest_gap(pages, align, MMAP_MIN, MMAP_BASE).ok_or(Errno::Enomem)
    }
}
