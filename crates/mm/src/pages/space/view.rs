//! Spaces as an observer sees them: the entry of a page, the mappings of a frame, the content of a page.

use alloc::vec::Vec;
use core::ops::Range;

use order9_frames::Idx;
use order9_units::{Pages, Pfn};

use super::pte::{Pte, PteFlag, PteKind};
use super::table::Slot;
use super::{Mapping, Mappings, Owner, Space, SpaceId};
use crate::addr::{VirtAddr, VpnRange};
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::swap::SlotId;
use crate::swap::SwapArea;
use crate::tags::{Tag, Tags};

/// Entry that maps a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageView {
    /// Nothing: the next access faults.
    None,
    /// The shared page of zeros.
    Zero,
    /// The content is in swap: the next access faults.
    Swapped,
    /// A frame.
    Present {
        /// The frame.
        pfn: Pfn,
        /// The program may write it without a fault.
        writable: bool,
        /// Accessed lately.
        young: bool,
        /// Written by way of this entry.
        dirty: bool,
    },
}

impl Space {
    /// The entries of `range` that are not none, upward; a huge mapping has one for every base page. Pages of hugetlb pools
    /// are left out, as they are wherever resident pages are counted.
    pub(crate) fn entries(&self, range: VpnRange) -> impl Iterator<Item = Pte> {
        let used = self.table.used_slots(range);
        let entries = used.flat_map(move |(slot, content)| {
            slot.intersect(range).iter().map(|vpn| match content {
                Slot::Empty | Slot::Hugetlb(_) => Pte::NONE,
                Slot::Table(table) => table.get(vpn),
                Slot::Huge(huge) => huge.base(vpn),
            })
        });
        entries.filter(|pte| !pte.is_none())
    }
}

impl Spaces {
    /// Page or other entry that is mapped at `addr`.
    #[must_use]
    pub(crate) fn page_at(&self, id: SpaceId, addr: VirtAddr, phys: &PhysMem) -> PageView {
        let pte = self.get(id).map_or(Pte::NONE, |space| space.table.get(addr.vpn()));
        match (pte.kind(), pte.idx()) {
            (PteKind::Present, Some(idx)) => PageView::Present {
                pfn: phys.frames.pfn(idx),
                writable: pte.has(PteFlag::Write),
                young: pte.has(PteFlag::Young),
                dirty: pte.has(PteFlag::Dirty),
            },
            (PteKind::Zero, _) => PageView::Zero,
            (PteKind::Swap, _) => PageView::Swapped,
            _ => PageView::None,
        }
    }

    /// Place where the mapping that starts at `start` and shows `places` of its file shows page `index`, if that is `idx`.
    fn file_mapping(&self, start: Mapping, places: &Range<u64>, index: u64, idx: Idx) -> Option<Mapping> {
        if !places.contains(&index) {
            return None;
        }
        let vpn = start.vpn + Pages::new(index - places.start);
        let maps = self.get(start.space).ok()?.table.get(vpn).idx() == Some(idx);
        maps.then_some(Mapping { vpn, ..start })
    }
}

impl UsedPages {
    /// Number of page table entries that map the page at `pfn`, huge ones included where it is part of a huge page.
    #[must_use]
    pub fn mapcount(&self, pfn: Pfn, phys: &PhysMem) -> u32 {
        if let Some(idx) = phys.frames.idx(pfn).filter(|&idx| self.rmap.huge_head(idx, phys).is_some()) {
            return self.subpage_mapcount(idx, phys);
        }
        let Some(idx) = phys.frames.idx(pfn) else { return 0 };
        self.cache.mapcount_of(self.rmap.owner(idx)) + self.file_pmds(idx, phys)
    }

    /// Every place where the page that starts at `pfn` is mapped: the walk that migration and reclaim do.
    #[must_use]
    pub fn mappings(&self, pfn: Pfn, phys: &PhysMem) -> Vec<(SpaceId, VirtAddr)> {
        let Some(idx) = phys.frames.idx(pfn) else { return Vec::new() };
        self.mappings_of(idx, phys).iter().map(|mapping| (mapping.space, mapping.vpn.addr())).collect()
    }

    #[inline]
    pub(crate) fn mappings_of(&self, idx: Idx, phys: &PhysMem) -> Mappings {
        match self.rmap.owner(idx) {
            Owner::Anon(mapping) if !phys.frames.word(idx).is_compound() => Mappings::One(mapping),
            owner => self.other_mappings_of(idx, owner, phys),
        }
    }

    /// Mappings of a page that may be part of a larger one, or have none or several.
    #[inline(never)]
    fn other_mappings_of(&self, idx: Idx, owner: Owner, phys: &PhysMem) -> Mappings {
        if self.rmap.huge_head(idx, phys).is_some() {
            return Mappings::Several(self.subpage_mappings(idx, phys));
        }
        match owner {
            Owner::Anon(mapping) => Mappings::One(mapping),
            Owner::Shared { first, .. } => Mappings::Several(self.rmap.chain(first).collect()),
            Owner::File { file, index } => self.mappings_of_file_page(idx, file, index, phys),
            _ => Mappings::None,
        }
    }

    /// Mappings of a page of a file: as many as are counted, among those of the file.
    fn mappings_of_file_page(&self, idx: Idx, file: FileId, index: u64, phys: &PhysMem) -> Mappings {
        let Ok(file) = self.cache.file(file) else { return Mappings::None };
        let shown = |(&start, places): (&Mapping, &Range<u64>)| self.spaces.file_mapping(start, places, index, idx);
        let mut shown = file.mapped_by.iter().filter_map(shown);
        match file.mappings(index) + self.file_pmds(idx, phys) {
            0 => Mappings::None,
            1 => shown.next().map_or(Mappings::None, Mappings::One),
            several => Mappings::Several(shown.take(several as usize).collect()),
        }
    }

    /// Content that a program reads at `addr`, by its page table and files; `None` where nothing is mapped, or contents
    /// are not tracked.
    #[must_use]
    pub fn read_tag(&self, id: SpaceId, addr: VirtAddr, phys: &PhysMem) -> Option<Tag> {
        let space = self.spaces.get(id).ok()?;
        let vma = space.vmas.find(addr.vpn())?;
        let tags = self.tags.as_ref()?;
        let pte = space.table.get(addr.vpn());
        if let Some(slot) = pte.slot() {
            return Some(self.swap.slot_tag(tags, slot));
        }
        let behind = vma.kind.file().filter(|_| pte.kind() != PteKind::Zero);
        Some(match (pte.idx(), behind) {
            (Some(idx), _) => tags.frame(idx),
            (None, Some(file)) => self.file_tag(tags, file, vma.index(addr.vpn()), phys),
            (None, None) => Tag::ZERO,
        })
    }

    /// Content of a page of a file: in memory if it is there, else in swap or on disk.
    pub(super) fn file_tag(&self, tags: &Tags, file: FileId, index: u64, phys: &PhysMem) -> Tag {
        let page = self.cache.file(file).ok().and_then(|file| file.page(index));
        let page = page.filter(|&idx| !phys.page_word(idx).has(PageFlag::Locked));
        match (page, self.cache.swapped_at(file, index)) {
            (Some(idx), _) => tags.frame(idx),
            (None, Some(slot)) => self.swap.slot_tag(tags, slot),
            (None, None) => tags.on_disk(file, index),
        }
    }
}

impl PageCache {
    /// Number of mappings of a single page, by its owner.
    #[inline]
    pub(crate) fn mapcount_of(&self, owner: Owner) -> u32 {
        match owner {
            Owner::Anon(_) => 1,
            Owner::Shared { mappings, .. } => mappings,
            Owner::File { file, index } => self.file(file).map_or(0, |file| file.mappings(index)),
            Owner::Nobody | Owner::PageTable(_) | Owner::Slab { .. } | Owner::Kept | Owner::SwapCache => 0,
            // They are mapped by slots, which are counted elsewhere.
            Owner::Huge | Owner::HugeZero | Owner::Hugetlb => 0,
        }
    }
}

impl SwapArea {
    /// Content that a slot of swap stands for.
    fn slot_tag(&self, tags: &Tags, slot: SlotId) -> Tag {
        self.page(slot).map_or(self.tag(slot), |idx| tags.frame(idx))
    }
}
