//! Pages of a mapping by their use: the figures of /proc/PID/smaps.

use core::ops::AddAssign;

use order9_frames::Idx;
use order9_units::{Bytes, Order, PAGE_SIZE, Pages};

use super::{Pte, PteFlag, Space, Vma};
use crate::page_cache::PageCache;
use crate::page_flags::PageFlag;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Owner;

/// Fraction bits of a proportional share while it is added up: each page rounds down by less than 1/4096 byte.
const SHARE_SHIFT: u32 = 12;

/// Pages of a mapping by their use, or, added up, those of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MappingUse {
    /// Mapped pages, whoever else maps them.
    pub rss: Bytes,
    /// Mapped pages that another space maps, too, and nobody has written since they were read.
    pub shared_clean: Bytes,
    /// Mapped pages that another space maps, too, and that were written.
    pub shared_dirty: Bytes,
    /// Pages that nobody else maps and nobody has written.
    pub private_clean: Bytes,
    /// Mapped pages that nobody else maps, and that were written.
    pub private_dirty: Bytes,
    /// Pages that were accessed lately.
    pub referenced: Bytes,
    /// Pages that are of no file.
    pub anonymous: Bytes,
    /// Private pages that reclaim may free (`MADV_FREE`), as nobody has written them since.
    pub lazy_free: Bytes,
    /// Pages in swap.
    pub swap: Bytes,
    /// The share of these.
    pub swap_pss: Share,
    /// Anonymous memory mapped as huge pages.
    pub anon_huge: Bytes,
    /// Pages of hugetlb pools that nobody else maps; they are not in `rss`.
    pub private_hugetlb: Bytes,
    /// Pages of hugetlb pools that somebody else maps, too.
    pub shared_hugetlb: Bytes,
    /// Shared memory mapped as huge pages.
    pub shmem_huge: Bytes,
    /// The share of pages that were written.
    pub pss_dirty: Share,
    /// The share of anonymous pages.
    pub pss_anon: Share,
    /// The share of pages of tmpfs and shared memory.
    pub pss_shmem: Share,
    /// The share of pages of files on disk.
    pub pss_file: Share,
    /// The share of pages in mlocked mappings.
    pub pss_locked: Share,
}

/// A proportional share: the bytes of pages, each divided by the number of its mappings. Sums round once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share(u64);

impl Share {
    const fn of_page(mapcount: u32) -> Self {
        Self((PAGE_SIZE.get() << SHARE_SHIFT) / mapcount as u64)
    }

    /// The share in bytes, rounded down.
    #[must_use]
    pub const fn bytes(self) -> Bytes {
        Bytes::new(self.0 >> SHARE_SHIFT)
    }
}

impl AddAssign for Share {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl MappingUse {
    /// The share of all pages: `Pss`.
    #[must_use]
    pub fn pss(&self) -> Share {
        let mut sum = self.pss_anon;
        sum += self.pss_shmem;
        sum += self.pss_file;
        sum
    }
}

impl UsedPages {
    /// Pages of some mappings of `space`, by their use. Takes a walk over the page tables of the mappings.
    #[must_use]
    pub(crate) fn mapping_use<'a>(
        &self,
        space: &Space,
        vmas: impl IntoIterator<Item = &'a Vma>,
        phys: &PhysMem,
    ) -> MappingUse {
        let mut usage = MappingUse::default();
        vmas.into_iter().for_each(|vma| self.add_usage(&mut usage, space, vma, phys));
        usage
    }

    fn add_usage(&self, usage: &mut MappingUse, space: &Space, vma: &Vma, phys: &PhysMem) {
        for (_, huge) in space.table.huge_slots(vma.range).filter(|(_, huge)| huge.head().is_some()) {
            let mapped = if self.rmap.is_of_file(huge, phys) { &mut usage.shmem_huge } else { &mut usage.anon_huge };
            *mapped += Order::PAGEBLOCK.pages().bytes();
        }
        let [private, shared] = self.hugetlb.hugetlb_usage(space, vma);
        usage.private_hugetlb += private;
        usage.shared_hugetlb += shared;
        for pte in space.entries(vma.range) {
            if let Some(idx) = pte.idx() {
                self.add_page(usage, pte, idx, vma.locked, phys);
            }
            if let Some(slot) = pte.slot() {
                usage.swap += PAGE_SIZE;
                usage.swap_pss += Share::of_page(self.swap.entries(slot));
            }
        }
        // What is in swap of a tmpfs file counts for every mapping of it, but for nobody's share.
        usage.swap += self.cache.swapped_behind(space, vma).bytes();
    }

    fn add_page(&self, usage: &mut MappingUse, pte: Pte, idx: Idx, locked: bool, phys: &PhysMem) {
        let mapcount = self.mapcount(phys.frames.pfn(idx), phys);
        let share = Share::of_page(mapcount);
        let dirty = pte.has(PteFlag::Dirty) || phys.page_word(idx).has(PageFlag::Dirty);
        usage.rss += PAGE_SIZE;
        *match (mapcount > 1, dirty) {
            (false, false) => &mut usage.private_clean,
            (false, true) => &mut usage.private_dirty,
            (true, false) => &mut usage.shared_clean,
            (true, true) => &mut usage.shared_dirty,
        } += PAGE_SIZE;
        if pte.has(PteFlag::Young) {
            usage.referenced += PAGE_SIZE;
        }
        match self.rmap.owner(idx) {
            Owner::File { file, .. } if self.cache.files.is_on_disk(file) => usage.pss_file += share,
            Owner::File { .. } => usage.pss_shmem += share,
            _ => {
                usage.anonymous += PAGE_SIZE;
                if self.rmap.is_lazily_freeable(idx, phys) && !dirty {
                    usage.lazy_free += PAGE_SIZE;
                }
                usage.pss_anon += share;
            }
        }
        if dirty {
            usage.pss_dirty += share;
        }
        if locked {
            usage.pss_locked += share;
        }
    }
}

impl PageCache {
    /// Whether a mapping of `space` may have a huge page somewhere: `THPeligible`.
    #[must_use]
    pub(crate) fn has_room_for_huge_page(&self, space: &Space, vma: &Vma, phys: &PhysMem) -> bool {
        let slot = vma.range.start.slot();
        let first = if slot.start == vma.range.start { slot.start } else { slot.end };
        self.may_have_huge_pages(&space.seen_by_thp(vma), phys) && first.slot().end <= vma.range.end
    }

    /// Pages of a tmpfs file in swap that a mapping would show.
    fn swapped_behind(&self, space: &Space, vma: &Vma) -> Pages {
        let Some(file) = vma.kind.file().filter(|&file| !self.files.is_on_disk(file)) else { return Pages::ZERO };
        let swapped = |vpn| self.swapped_at(file, vma.index(vpn)).is_some() && space.table.get(vpn).is_none();
        Pages::new(vma.range.iter().filter(|&vpn| swapped(vpn)).count() as u64)
    }
}
