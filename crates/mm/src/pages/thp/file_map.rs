//! Mappings of huge pages of tmpfs, and of large folios of files on disk, which single entries alone map.
//!
//! Each of the base pages belongs to its own place of the file, which counts its single mappings; huge mappings are listed
//! with the page, as those of anonymous ones. No page table is kept for the split of a huge mapping: the split unmaps it, and
//! faults map again what is needed.

use order9_frames::Idx;

use super::NR;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Rmap;
use crate::space::{Access, Huge, Mapping, Owner, Prot, Pte, PteFlag, Rss, SpaceId, Vma, VpnRange};
use crate::thp::HugeMemory;

/// Pages that a huge mapping of shared memory adds to a space.
pub(super) const SHMEM_RSS: Rss = Rss { anon_pages: 0, shmem_pages: NR as u64, file_pages: 0 };

impl Rmap {
    /// The first frame of the huge page of tmpfs, or the large folio of a file on disk, that `idx` is part of.
    #[inline]
    pub(crate) fn file_folio_head(&self, idx: Idx, phys: &PhysMem) -> Option<Idx> {
        if !phys.frames.word(idx).is_compound() {
            return None;
        }
        let head = phys.head_of(idx);
        matches!(self.owner(head), Owner::File { .. }).then_some(head)
    }

    /// The first frame of the huge page or large folio that `idx` is part of, whoever owns it.
    pub(crate) fn folio_head(&self, idx: Idx, phys: &PhysMem) -> Option<Idx> {
        self.huge_head(idx, phys).or_else(|| self.file_folio_head(idx, phys))
    }

    /// Whether a huge mapping shows a page of a file.
    pub(crate) fn is_of_file(&self, huge: Huge, phys: &PhysMem) -> bool {
        huge.head().is_some_and(|head| self.file_folio_head(head, phys).is_some())
    }

    /// Mapped pages of files on the node of a page: the node's `nr_mapped`.
    #[inline]
    pub(crate) fn mapped_of(&mut self, idx: Idx, phys: &PhysMem) -> &mut u64 {
        let node = phys.node_of(idx);
        &mut self.mapped[node.index()]
    }
}

impl UsedPages {
    /// Huge mappings that show a page of a file.
    #[inline]
    pub(crate) fn file_pmds(&self, idx: Idx, phys: &PhysMem) -> u32 {
        self.rmap.file_folio_head(idx, phys).map_or(0, |head| self.huge.page(head).pmds.len() as u32)
    }

    /// A page of a file has a single mapping more, or one less.
    #[inline]
    pub(crate) fn count_file_mapping(&mut self, idx: Idx, change: fn(u32, u32) -> u32, phys: &PhysMem) {
        let Owner::File { file, index } = self.rmap.owner(idx) else { unreachable!("the page is of a file") };
        let now = self.cache.file_mut(file).count_mapping(index, change);
        // Of none there is one now, or of one there is none.
        let (comes, goes) = (now == change(0, 1), now == 0);
        if let Some(head) = self.rmap.file_folio_head(idx, phys) {
            let page = self.huge.page_mut(head);
            page.ptes = change(page.ptes, 1);
            page.mapped = if comes || goes { change(page.mapped, 1) } else { page.mapped };
            let shown = !page.pmds.is_empty();
            if page.ptes == 0 && !shown {
                self.huge.take_page(head);
            }
            if shown {
                return;
            }
        }
        if comes || goes {
            let mapped = self.rmap.mapped_of(idx, phys);
            *mapped = if comes { *mapped + 1 } else { *mapped - 1 };
        }
    }

    /// Maps the huge page of a tmpfs file at an empty slot that shows all of it.
    pub(crate) fn map_file_huge(
        &mut self,
        id: SpaceId,
        vma: &Vma,
        slot: VpnRange,
        head: Idx,
        access: Access,
        phys: &mut PhysMem,
    ) {
        let writable = vma.prot.has(Prot::WRITE) && !vma.kind.is_private();
        let pte = access.mark(Pte::present(head)).with(PteFlag::Write, writable);
        let space = self.spaces.living(id);
        space.table.install_huge(slot.start, Huge { pte, deposit: None });
        space.rss += SHMEM_RSS;
        let page = self.huge.page_mut(head);
        page.pmds.push(Mapping { space: id, vpn: slot.start });
        if page.pmds.len() == 1 {
            self.levels.shmem_pmdmapped += 1;
            let comes = u64::from(NR - page.mapped);
            *self.rmap.mapped_of(head, phys) += comes;
        }
        phys.counters.thp_file_mapped += 1;
        phys.work.ptes_set += 1;
        if vma.locked {
            self.mlock_page(head, phys);
        }
    }
}

impl HugeMemory {
    /// Whether anybody maps any of the huge page of a file that starts at `head`.
    pub(crate) fn is_huge_page_mapped(&self, head: Idx) -> bool {
        let page = self.page(head);
        !page.pmds.is_empty() || page.ptes > 0
    }

    /// Makes room for the mappings of a huge page that a file is about to have.
    pub(crate) fn adopt_huge_file_page(&mut self, head: Idx, phys: &PhysMem) {
        self.make_room_for_huge(phys);
        let page = self.page(head);
        debug_assert!(page.pmds.is_empty() && page.ptes == 0, "nobody maps a fresh huge page");
    }
}
