//! `move_pages`, and how any call moves a page that a program has mapped.

use alloc::vec::Vec;
use core::cell::Cell;

use order9_units::{NodeId, Order, Pages, Pfn};

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::space::{Errno, PageView, Pte, Slot, SpaceId, VirtAddr, VmaKind, Vpn, VpnRange};

/// A page to move, and where to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageMove {
    /// An address in it.
    pub addr: VirtAddr,
    /// The node.
    pub to: NodeId,
}

/// A page that a program has mapped.
pub(crate) struct Found {
    pub(crate) pfn: Pfn,
    pub(crate) node: NodeId,
    pub(crate) mapcount: u32,
}

/// A page that a program has mapped on a node that it should not be on.
pub(crate) struct Misplaced {
    /// First place of the page.
    pub(crate) vpn: Vpn,
    /// By which kind of entry it is mapped.
    pub(crate) order: Order,
}

impl Misplaced {
    /// The first place behind it.
    pub(crate) fn end(&self) -> Vpn {
        if self.order == Order::ZERO { self.vpn + Pages::new(1) } else { self.vpn.slot().end }
    }
}

impl UsedPages {
    /// `move_pages` without nodes: on which node each page is. Errors as those of a page of [`crate::tasks::move_pages`].
    #[must_use]
    pub fn page_nodes(&self, space: SpaceId, pages: &[VirtAddr], phys: &PhysMem) -> Vec<Result<NodeId, Errno>> {
        pages.iter().map(|addr| self.node_at(space, addr.vpn(), phys)).collect()
    }

    fn node_at(&self, id: SpaceId, vpn: Vpn, phys: &PhysMem) -> Result<NodeId, Errno> {
        self.follow(id, vpn, phys).map(|found| found.node)
    }

    /// The page at `vpn` that could move.
    pub(crate) fn follow(&self, id: SpaceId, vpn: Vpn, phys: &PhysMem) -> Result<Found, Errno> {
        let space = self.spaces.get(id)?;
        let vma = space.vmas.find(vpn).ok_or(Errno::Efault)?;
        match self.spaces.page_at(id, vpn.addr(), phys) {
            _ if matches!(vma.kind, VmaKind::Hugetlb { .. }) => {
                let head = space.table.hugetlb(vpn).and_then(Pte::idx).ok_or(Errno::Enoent)?;
                let (pfn, mapcount) = (phys.frames.pfn(head), self.hugetlb.pool_page_mappings(head));
                Ok(Found { pfn, node: phys.node_of(head), mapcount })
            }
            PageView::Present { pfn, .. } => {
                Ok(Found { pfn, node: phys.node_of_pfn(pfn), mapcount: self.mapcount(pfn, phys) })
            }
            PageView::Zero => Err(Errno::Efault),
            PageView::None | PageView::Swapped => Err(Errno::Enoent),
        }
    }
}

impl Spaces {
    /// The first pages of a range that lie on a node that `is_wrong`, at most so many. Pages of zeros lie nowhere.
    pub(crate) fn misplaced(
        &self,
        id: SpaceId,
        range: VpnRange,
        is_wrong: impl Fn(NodeId) -> bool,
        most: usize,
        phys: &mut PhysMem,
    ) -> Vec<Misplaced> {
        let Ok(space) = self.get(id) else { return Vec::new() };
        let looked_at = Cell::new(0);
        let wrong = |idx| {
            looked_at.set(looked_at.get() + 1);
            is_wrong(phys.node_of(idx))
        };
        let (huge, base) = (Order::PAGEBLOCK, Order::ZERO);
        let mapped = space.table.used_slots(range).flat_map(|(slot, content)| {
            let part = slot.intersect(range);
            let (entries, order) = match content {
                Slot::Table(_) => (part, base),
                Slot::Huge(_) | Slot::Hugetlb(_) | Slot::Empty => (VpnRange::of(part.start, Pages::new(1)), huge),
            };
            entries
                .iter()
                .filter(|&vpn| space.table.get(vpn).idx().is_some_and(wrong))
                .map(move |vpn| Misplaced { vpn, order })
        });
        let mut found: Vec<Misplaced> = mapped.take(most).collect();
        let of_pools = space.table.hugetlb_slots(range).filter(|(_, pte)| pte.idx().is_some_and(wrong));
        found.extend(of_pools.map(|(slot, _)| Misplaced { vpn: slot.start, order: huge }).take(most));
        found.sort_unstable_by_key(|page| page.vpn);
        found.truncate(most);
        phys.work.scanned_unlocked += looked_at.get();
        found
    }
}
