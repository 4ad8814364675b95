//! Mapping and nodes of the memory of a program: the cost of its accesses depends on them.
//!
//! Key types: [`Residence`] (pages that are mapped on one node), [`Touched`] (pages that were accessed without a fault).

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::{NodeId, Order, Pages, Pfn};

use super::pte::PteFlag;
use super::table::{Huge, Slot, Table};
use super::{Access, SpaceId};
use crate::addr::{Vpn, VpnRange};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;

/// Pages of a range that are mapped on one node. Pages of zeros are left out: one page, or one huge page, serves them all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Residence {
    /// Base pages that have entries of their own.
    pub base: u64,
    /// Huge entries, those included of which the range has a part only.
    pub huge: u64,
}

/// Pages that were accessed without a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Number of pages, all in one slot.
    pub pages: Pages,
    /// The pages are mapped by one huge entry.
    pub huge: bool,
    /// The frame of the first one; `None` for a page of zeros.
    pub first: Option<Pfn>,
}

impl Spaces {
    /// Pages that are mapped in `range`, by node.
    #[must_use]
    pub(crate) fn residence(&self, id: SpaceId, range: VpnRange, phys: &PhysMem) -> Vec<Residence> {
        let mut nodes = vec![Residence::default(); phys.frames.nodes().len()];
        let Ok(space) = self.get(id) else { return nodes };
        for (slot, content) in space.table.used_slots(range) {
            match content {
                Slot::Empty => {}
                Slot::Table(table) => phys.count_entries(table, slot.intersect(range), &mut nodes),
                Slot::Huge(Huge { pte, .. }) | Slot::Hugetlb(pte) => {
                    if let Some(head) = pte.idx() {
                        nodes[phys.node_of(head).index()].huge += 1;
                    }
                }
            }
        }
        nodes
    }

    /// Pages of `range` whose next access will tell who uses them, upward; a huge page is named once, by its first place in the
    /// range.
    #[must_use]
    pub fn hinting_pages(&self, id: SpaceId, range: VpnRange) -> Vec<(Vpn, Order)> {
        let Ok(space) = self.get(id) else { return Vec::new() };
        let mut found = Vec::new();
        for (slot, content) in space.table.used_slots(range) {
            let part = slot.intersect(range);
            match content {
                Slot::Table(table) => {
                    let asked = part.iter().filter(|&vpn| table.get(vpn).has(PteFlag::Hinting));
                    found.extend(asked.map(|vpn| (vpn, Order::ZERO)));
                }
                Slot::Huge(huge) if huge.pte.has(PteFlag::Hinting) => found.push((part.start, Order::PAGEBLOCK)),
                Slot::Empty | Slot::Huge(_) | Slot::Hugetlb(_) => {}
            }
        }
        found
    }
}

impl UsedPages {
    /// Accesses the pages at the front of `range` that need no fault, within one slot, and takes them off it.
    pub(crate) fn touch_mapped(
        &mut self,
        id: SpaceId,
        range: &mut VpnRange,
        access: Access,
        phys: &PhysMem,
    ) -> Touched {
        let first = range.start;
        let (mut huge, mut frame) = (false, None);
        if let Ok(space) = self.spaces.get_mut(id) {
            let within = first.slot().intersect(*range);
            match space.table.slot_mut(first) {
                Some(Slot::Table(table)) => {
                    frame = table.get(first).idx();
                    range.start = touch_entries(table, within, access);
                }
                Some(Slot::Huge(Huge { pte, .. }) | Slot::Hugetlb(pte)) if access.allowed_by_entry(*pte) => {
                    *pte = access.mark(*pte);
                    (huge, frame) = (true, pte.idx());
                    range.start = within.end;
                }
                _ => {}
            }
        }
        if access == Access::Write {
            self.wrote_range(id, VpnRange::new(first, range.start), phys);
        }
        Touched { pages: range.start - first, huge, first: frame.map(|idx: Idx| phys.frames.pfn(idx)) }
    }
}

impl PhysMem {
    fn count_entries(&self, table: &Table, range: VpnRange, nodes: &mut [Residence]) {
        let frames = range.iter().filter_map(|vpn| table.get(vpn).idx());
        match nodes {
            [only] => only.base += frames.count() as u64,
            nodes => frames.for_each(|idx| nodes[self.node_of(idx).index()].base += 1),
        }
    }

    /// The node of the frame `pfn`, which must be one of the machine's.
    ///
    /// # Panics
    /// If it is not.
    #[must_use]
    pub fn node_of_frame(&self, pfn: Pfn) -> NodeId {
        self.node_of(self.frames.idx(pfn).expect("a frame of the machine"))
    }
}

/// Accesses base pages until one would fault: which.
#[inline]
fn touch_entries(table: &mut Table, within: VpnRange, access: Access) -> Vpn {
    for vpn in within.iter() {
        let pte = table.get(vpn);
        if !access.allowed_by_entry(pte) {
            return vpn;
        }
        let marked = access.mark(pte);
        if marked != pte {
            table.set(vpn, marked);
        }
    }
    within.end
}
