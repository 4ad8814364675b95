//! Contents of pages, as far as they are followed: tags of what was written last (`crate::tags`), and parts of huge pages
//! that were written at all (`crate::thp`).

use order9_frames::Idx;
use order9_units::Order;

use super::fault::Access;
use super::table::Slot;
use super::{Mapping, Owner, SpaceId, VmaKind};
use crate::addr::{Vpn, VpnRange};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::thp::HugeMemory;
use crate::thp::{Filled, subpages};

impl UsedPages {
    #[inline]
    pub(crate) fn clear_page(&mut self, idx: Idx, phys: &mut PhysMem) {
        phys.work.pages_cleared += 1;
        self.holds_zeros(idx, phys);
    }

    /// Clears a part of a huge page that is made as a whole.
    pub(crate) fn clear_huge_part(&mut self, idx: Idx, phys: &mut PhysMem) {
        phys.work.huge_parts_cleared += 1;
        self.holds_zeros(idx, phys);
    }

    #[inline]
    fn holds_zeros(&mut self, idx: Idx, phys: &PhysMem) {
        if let Some(tags) = &mut self.tags {
            tags.clear(idx);
        }
        self.huge.fill_part(idx, |_| false, phys);
    }

    /// Clears all of a huge page.
    pub(crate) fn clear_huge_page(&mut self, head: Idx, phys: &mut PhysMem) {
        phys.work.huge_parts_cleared += Order::PAGEBLOCK.pages().get();
        if let Some(tags) = &mut self.tags {
            subpages(head).for_each(|idx| tags.clear(idx));
        }
        if let Some(filled) = &mut self.huge.filled {
            filled.clear_page(head);
        }
    }

    pub(crate) fn copy_page(&mut self, from: Idx, to: Idx, phys: &mut PhysMem) {
        phys.work.pages_copied += 1;
        phys.touch(to, Order::ZERO);
        if let Some(tags) = &mut self.tags {
            tags.copy(from, to);
        }
        let is_part = phys.frames.word(from).is_compound();
        self.huge.fill_part(to, |filled| !is_part || filled.get(from), phys);
    }

    /// A program has written to pages of one slot, which are mapped.
    pub(super) fn wrote_range(&mut self, id: SpaceId, pages: VpnRange, phys: &PhysMem) {
        self.fill_written(id, pages, phys);
        if self.tags.is_some() {
            pages.iter().for_each(|vpn| self.tag_written(id, vpn));
        }
    }

    /// Notes that pages of one slot hold something, where they are parts of a huge one and that is followed.
    #[inline]
    fn fill_written(&mut self, id: SpaceId, pages: VpnRange, phys: &PhysMem) {
        let Some(mut filled) = self.huge.filled.take() else { return };
        match self.spaces.get(id).map(|space| space.table.slot(pages.start)) {
            Ok(Slot::Huge(huge)) => {
                if let Some(first) = huge.base(pages.start).idx() {
                    filled.fill(first, pages.len().get() as u32);
                }
            }
            Ok(Slot::Table(table)) => {
                let frames = pages.iter().filter_map(|vpn| table.get(vpn).idx());
                let parts = frames.filter(|&idx| phys.frames.word(idx).is_compound());
                parts.for_each(|idx| filled.set(idx, true));
            }
            _ => {}
        }
        self.huge.filled = Some(filled);
    }

    /// Notes that a program has just written to a page, as far as contents are followed.
    #[inline]
    pub(crate) fn wrote(&mut self, id: SpaceId, vpn: Vpn, access: Access, phys: &PhysMem) {
        if access == Access::Write {
            self.fill_written(id, VpnRange::new(vpn, Vpn::new(vpn.get() + 1)), phys);
            self.wrote_base(id, vpn);
        }
    }

    /// Notes a write to a page that is known to be no part of a huge one.
    #[inline]
    pub(super) fn wrote_base(&mut self, id: SpaceId, vpn: Vpn) {
        if self.tags.is_some() {
            self.tag_written(id, vpn);
        }
    }

    #[cold]
    fn tag_written(&mut self, id: SpaceId, vpn: Vpn) {
        let space = self.spaces.living(id);
        let idx = space.table.get(vpn).idx().expect("a written page is present");
        let vma = *space.vmas.find(vpn).expect("a written page is mapped");
        let behind = vma.kind.file().map(|file| (file, vma.index(vpn)));
        let owner = self.rmap.owner(idx);
        if let VmaKind::Hugetlb { shared: true, .. } = vma.kind {
            return; // Only what a space alone writes is followed.
        }
        let Some(tags) = &mut self.tags else { return };
        match owner {
            Owner::File { file, index } => tags.write_file(idx, file, index),
            _ => tags.write_private(idx, Mapping { space: id, vpn }, behind),
        }
    }
}

impl HugeMemory {
    /// Notes whether a part of a huge page holds something, where that is followed.
    #[inline]
    fn fill_part(&mut self, idx: Idx, holds: impl FnOnce(&Filled) -> bool, phys: &PhysMem) {
        if let Some(filled) = &mut self.filled
            && phys.frames.word(idx).is_compound()
        {
            let holds = holds(filled);
            filled.set(idx, holds);
        }
    }
}
