//! Collapse: the base pages of a slot become one huge page.
//!
//! Key types: [`Collapse`] (a slot that may be collapsed, and where the huge page should lie), [`CollapseFailure`] (why one
//! was not). The caller allocates, reads back what is in swap, and hands the huge page in; everything is then looked at
//! again, and either all of the slot is in the huge page or nothing has changed. `MADV_COLLAPSE` is the caller; Linux'
//! Documentation/admin-guide/mm/transhuge.rst and madvise(2).

use alloc::vec::Vec;

use order9_units::{Bytes, NodeId, Order, Pfn};

use super::NR;
use super::map::HUGE_RSS;
use crate::Mm;
use crate::frame::{Flag, Idx};
use crate::gfp::Gfp;
use crate::page_alloc::Request;
use crate::space::{
    Errno, Huge, HugeAdvice, Mapping, Prot, Pte, PteFlag, SpaceId, VirtAddr, Vma, VmaKind, Vpn, VpnRange, Zap,
};
use crate::trace::Tracer;

/// A slot that may be collapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collapse {
    space: SpaceId,
    slot: Vpn,
    node: NodeId,
}

impl Collapse {
    /// The huge page to allocate, on behalf of `cpu`: on the node that holds most of the slot, with all effort.
    #[must_use]
    pub const fn request(&self, cpu: usize) -> Request {
        let gfp = Gfp::GFP_TRANSHUGE.with(Gfp::THISNODE);
        Request { node: self.node, cpu, ..Request::new(Order::PAGEBLOCK, gfp) }
    }
}

/// Why a slot is not collapsed; Linux' names in the trace event `mm_collapse_huge_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollapseFailure {
    /// `pmd_null`: nothing of it was ever touched.
    PmdNull,
    /// `vma_check`: no mapping that may have huge pages fills it any more.
    VmaCheck,
    /// `pte_non_present`: a page of it is in swap.
    PteNonPresent,
    /// `page_ro`: none of its pages may be written.
    PageRo,
    /// `page_count`: a page of it is pinned.
    PageCount,
    /// `page_lock`: a page of it is being read.
    PageLock,
    /// `page_lru`: a page of it has been taken off its list.
    PageLru,
    /// `alloc_huge_page_failed`: there is no huge page.
    AllocHugePage,
}

impl CollapseFailure {
    /// What `MADV_COLLAPSE` answers.
    #[must_use]
    pub const fn errno(self) -> Errno {
        match self {
            Self::AllocHugePage => Errno::Enomem,
            Self::PageLock | Self::PageLru => Errno::Eagain,
            Self::PmdNull | Self::VmaCheck | Self::PteNonPresent | Self::PageRo | Self::PageCount => Errno::Einval,
        }
    }
}

/// What `MADV_COLLAPSE` of a range has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollapseRange {
    /// First pages of the slots to collapse.
    pub slots: Vec<VirtAddr>,
    /// How the call ends if all of them are collapsed.
    pub end: Result<(), Errno>,
}

impl<T: Tracer> Mm<T> {
    /// The slots that `MADV_COLLAPSE` of a range is about: all that lie in it and in a mapping, up to the first mapping that
    /// may not have huge pages. `transparent_hugepage/enabled` does not matter.
    ///
    /// # Errors
    /// `EINVAL` for an unaligned address, and where the kernel does not have `MADV_COLLAPSE`.
    pub fn collapse_range(&mut self, id: SpaceId, addr: VirtAddr, length: Bytes) -> Result<CollapseRange, Errno> {
        let space = self.user.space(id)?;
        if !self.policy.thp.madvise_collapse {
            return Err(Errno::Einval);
        }
        self.work.vma_lookups += 1;
        let range = VpnRange::of_call(addr, length, Errno::Enomem)?;
        let mut found = CollapseRange { slots: Vec::new(), end: Ok(()) };
        let mut from = range.start;
        for vma in space.vmas.within(range) {
            if !may_collapse(vma) {
                found.end = Err(Errno::Einval);
                return Ok(found);
            }
            let part = vma.range.intersect(range);
            found.end = if part.start == from { found.end } else { Err(Errno::Enomem) };
            found.slots.extend(whole_slots(part).map(Vpn::addr));
            from = part.end;
        }
        if from < range.end {
            found.end = Err(Errno::Enomem);
        }
        Ok(found)
    }

    /// Looks at the slot that starts at `addr`. `None`: it is huge already.
    ///
    /// # Errors
    /// Why it cannot be collapsed.
    pub fn collapse_scan(&mut self, id: SpaceId, addr: VirtAddr) -> Result<Option<Collapse>, CollapseFailure> {
        let space = self.user.space(id).map_err(|_| CollapseFailure::VmaCheck)?;
        let slot = addr.vpn().slot();
        fills(space.vmas.find(slot.start), slot)?;
        if space.table.huge(slot.start).is_some() {
            return Ok(None);
        }
        let (_, entries) = self.collapse_entries(id, slot)?;
        Ok(Some(Collapse { space: id, slot: slot.start, node: self.fullest_node(&entries) }))
    }

    /// Counts the allocation for a collapse.
    pub fn collapse_allocated(&mut self, had: bool) {
        self.counters.thp_collapse_alloc += u64::from(had);
        self.counters.thp_collapse_alloc_failed += u64::from(!had);
    }

    /// The first page of a slot that has to be read back from swap, by a read access.
    #[must_use]
    pub fn collapse_swapped(&self, collapse: &Collapse) -> Option<VirtAddr> {
        let table = self.user.space(collapse.space).ok()?.table.table(collapse.slot)?;
        let mut pages = collapse.slot.slot().iter();
        pages.find(|&vpn| table.get(vpn).slot().is_some()).map(Vpn::addr)
    }

    /// Moves the slot into the huge page that was allocated for it.
    ///
    /// # Errors
    /// Why it could not be moved; the huge page is free again, and nothing else has changed.
    ///
    /// # Panics
    /// If `page` was not allocated for this.
    pub fn collapse_finish(&mut self, collapse: &Collapse, page: Pfn, cpu: usize) -> Result<(), CollapseFailure> {
        let (head, slot) = (self.fresh_block(page, Order::PAGEBLOCK), collapse.slot.slot());
        let swapped = self.collapse_swapped(collapse).map(|_| CollapseFailure::PteNonPresent);
        let sound = swapped.map_or_else(|| self.collapse_entries(collapse.space, slot), Err);
        let (vma, entries) = sound.inspect_err(|_| self.free_fresh(head, cpu))?;
        for (offset, entry) in (0..NR).zip(entries) {
            match entry.idx() {
                Some(source) => {
                    self.work.pages_isolated += 1;
                    self.copy_page(source, head.plus(offset));
                }
                None => self.clear_page(head.plus(offset)),
            }
        }
        let id = collapse.space;
        self.zap(id, slot, Zap::All, cpu);
        let at = Mapping { space: id, vpn: slot.start };
        let pte = Pte::present(head).with(PteFlag::Dirty, true).with(PteFlag::Write, vma.prot.has(Prot::WRITE));
        let space = self.user.living(id);
        let deposit = space.table.remove(slot.start).expect("the slot had a table");
        space.table.install_huge(slot.start, Huge { pte, deposit });
        space.rss += HUGE_RSS;
        self.adopt_huge(head, at, vma.locked);
        self.work.ptes_set += 1;
        Ok(())
    }

    /// The entries of a slot, if every page of it may be moved away.
    fn collapse_entries(&self, id: SpaceId, slot: VpnRange) -> Result<(Vma, Vec<Pte>), CollapseFailure> {
        let space = self.user.space(id).map_err(|_| CollapseFailure::VmaCheck)?;
        let vma = fills(space.vmas.find(slot.start), slot)?;
        let table = space.table.table(slot.start).ok_or(CollapseFailure::PmdNull)?;
        let entries: Vec<Pte> = slot.iter().map(|vpn| table.get(vpn)).collect();
        for entry in &entries {
            entry.idx().map_or(Ok(()), |idx| self.may_leave(idx))?;
        }
        let writable = entries.iter().any(|entry| entry.has(PteFlag::Write));
        if writable { Ok((*vma, entries)) } else { Err(CollapseFailure::PageRo) }
    }

    /// Whether a page may be moved away: nobody but its mappings and the swap cache refers to it.
    fn may_leave(&self, idx: Idx) -> Result<(), CollapseFailure> {
        let word = self.frames.word(self.huge_head(idx).unwrap_or(idx));
        let stays = [
            (Flag::Locked, CollapseFailure::PageLock),
            (Flag::Isolated, CollapseFailure::PageLru),
            (Flag::Pinned, CollapseFailure::PageCount),
        ];
        stays.into_iter().find(|&(flag, _)| word.has(flag)).map_or(Ok(()), |(_, failure)| Err(failure))
    }

    /// The node that holds most of the pages, the first of several.
    fn fullest_node(&self, entries: &[Pte]) -> NodeId {
        let mut loads = alloc::vec![0_u32; self.nodes.len()];
        for idx in entries.iter().filter_map(|entry| entry.idx()) {
            loads[self.node_of(idx).index()] += 1;
        }
        let nodes = self.nodes.iter().map(crate::Node::id);
        nodes.rev().max_by_key(|node| loads[node.index()]).expect("a machine has a node")
    }
}

fn may_collapse(vma: &Vma) -> bool {
    vma.kind == VmaKind::Anon && vma.advice != HugeAdvice::NoHuge
}

/// The mapping, if it fills the slot and may have huge pages.
fn fills(vma: Option<&Vma>, slot: VpnRange) -> Result<&Vma, CollapseFailure> {
    vma.filter(|vma| may_collapse(vma) && slot.intersect(vma.range) == slot).ok_or(CollapseFailure::VmaCheck)
}

/// First pages of the slots that lie in `range`.
fn whole_slots(range: VpnRange) -> impl Iterator<Item = Vpn> {
    let first = range.start.slot().start;
    let slots = core::iter::successors(Some(first), |vpn| Some(vpn.slot().end)).take_while(move |&vpn| vpn < range.end);
    slots.filter(move |vpn| vpn.slot().intersect(range) == vpn.slot())
}
