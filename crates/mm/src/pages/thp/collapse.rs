//! Collapse: the base pages of a slot become one huge page.
//!
//! Key types: [`Collapse`] (a slot that may be collapsed, and where the huge page should lie), [`CollapseFailure`] (why one
//! was not). The caller allocates, reads back what is in swap, and hands the huge page in; everything is then looked at
//! again, and either all of the slot is in the huge page or nothing has changed. `MADV_COLLAPSE` and khugepaged are the
//! callers; what the latter leaves alone, beside what nobody may collapse, is in [`super::rules`]. Linux'
//! Documentation/admin-guide/mm/transhuge.rst and madvise(2).

use alloc::vec::Vec;

use order9_frames::{Gfp, Idx, Request};
use order9_units::{Bytes, NodeId, NodeMask, Order, Pages, Pfn};

use super::map::HUGE_RSS;
use super::rules::{Collapser, fails_with_huge_page};
use super::trace::status;
use super::{NR, khugepaged_gfp};
use crate::addr::range_of_call;
use crate::page_cache::FileId;
use crate::page_cache::PageCache;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{
    Errno, Huge, HugeAdvice, Mapping, Prot, Pte, PteFlag, Space, SpaceId, VirtAddr, Vma, VmaKind, Vpn, VpnRange, Zap,
};
use crate::thp::HugeMemory;

/// A slot that may be collapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collapse {
    pub(super) space: SpaceId,
    pub(super) slot: Vpn,
    node: NodeId,
    nodemask: Option<NodeMask>,
    gfp: Gfp,
    by: Collapser,
    /// Pages that were used lately; khugepaged alone counts them.
    used: u32,
    /// Pages in swap.
    pub(super) swapped: u32,
    /// The range of a file on tmpfs that the slot shows, which is collapsed then.
    pub(super) file: Option<(FileId, u64)>,
}

impl Collapse {
    /// The pages of the slot.
    #[must_use]
    pub fn slot(&self) -> VpnRange {
        VpnRange::new(self.slot, self.slot + Order::PAGEBLOCK.pages())
    }

    pub(super) const fn by(&self) -> Collapser {
        self.by
    }

    /// The huge page to allocate, on behalf of `cpu`: on the node that holds most of the slot; with all effort, unless
    /// `khugepaged/defrag` says otherwise.
    #[must_use]
    pub const fn request(&self, cpu: usize) -> Request {
        let Self { node, nodemask, gfp, .. } = *self;
        Request { node, nodemask, cpu, ..Request::new(Order::PAGEBLOCK, gfp) }
    }
}

/// Why a slot is not collapsed; Linux' names in the trace event `mm_collapse_huge_page`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollapseFailure {
    /// `failed`: the mount of the file has no room for what is not there of it.
    Fail,
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
    /// `exceed_none_pte`: more of it was never touched than `khugepaged/max_ptes_none`.
    ExceedNonePte,
    /// `exceed_swap_pte`: more of it is in swap than `khugepaged/max_ptes_swap`.
    ExceedSwapPte,
    /// `exceed_shared_pte`: others map more of it than `khugepaged/max_ptes_shared`.
    ExceedSharedPte,
    /// `page_compound`: a page of it is part of a huge page, which the release leaves alone.
    PageCompound,
    /// `lack_referenced_page`: too little of it was used lately.
    LackReferencedPage,
    /// `truncated`: nothing of the range of the file is there.
    Truncated,
    /// `scan_abort`: its pages lie on nodes far apart.
    ScanAbort,
}

impl CollapseFailure {
    /// Name of the failure in trace events.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fail => "failed",
            Self::PmdNull => "pmd_null",
            Self::VmaCheck => "vma_check_failed",
            Self::PteNonPresent => "pte_non_present",
            Self::PageRo => "no_writable_page",
            Self::PageCount => "not_suitable_page_count",
            Self::PageLock => "page_locked",
            Self::PageLru => "page_not_in_lru",
            Self::AllocHugePage => "alloc_huge_page_failed",
            Self::ExceedNonePte => "exceed_none_pte",
            Self::ExceedSwapPte => "exceed_swap_pte",
            Self::ExceedSharedPte => "exceed_shared_pte",
            Self::PageCompound => "page_compound",
            Self::LackReferencedPage => "lack_referenced_page",
            Self::Truncated => "truncated",
            Self::ScanAbort => "scan_aborted",
        }
    }

    /// Answer of `MADV_COLLAPSE`.
    #[must_use]
    pub const fn errno(self) -> Errno {
        match self {
            Self::AllocHugePage => Errno::Enomem,
            Self::PageLock | Self::PageLru => Errno::Eagain,
            _ => Errno::Einval,
        }
    }
}

/// Task of `MADV_COLLAPSE` for a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollapseRange {
    /// First pages of the slots to collapse, mapping by mapping: the call ends after a mapping of which one could not be.
    pub mappings: Vec<Vec<VirtAddr>>,
    /// End of the call if all slots are collapsed.
    pub end: Result<(), Errno>,
}

impl UsedPages {
    /// The slots that `MADV_COLLAPSE` of a range is about: all that lie in it and in a mapping, up to the first mapping that
    /// may not have huge pages. `transparent_hugepage/enabled` does not matter.
    ///
    /// # Errors
    /// `EINVAL` for an unaligned address, and where the kernel does not have `MADV_COLLAPSE`.
    pub fn collapse_range(
        &self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        phys: &mut PhysMem,
    ) -> Result<CollapseRange, Errno> {
        let space = self.spaces.get(id)?;
        if !phys.policy.thp.madvise_collapse {
            return Err(Errno::Einval);
        }
        phys.work.vma_lookups += 1;
        let range = range_of_call(addr, length, Errno::Enomem)?;
        let mut found = CollapseRange { mappings: Vec::new(), end: Ok(()) };
        let mut from = range.start;
        for vma in space.vmas.within(range) {
            if !self.cache.may_collapse(&space.seen_by_thp(vma), phys) {
                found.end = Err(Errno::Einval);
                return Ok(found);
            }
            let part = vma.range.intersect(range);
            found.end = if part.start == from { found.end } else { Err(Errno::Enomem) };
            found.mappings.push(whole_slots(part).map(Vpn::addr).collect());
            from = part.end;
        }
        if from < range.end {
            found.end = Err(Errno::Enomem);
        }
        Ok(found)
    }

    /// Looks at the slot that starts at `addr`. `None`: it is huge already.
    pub(crate) fn collapse_scan(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        phys: &mut PhysMem,
    ) -> Result<Option<Collapse>, CollapseFailure> {
        self.collapse_scan_by(id, addr.vpn(), Collapser::Madvise, phys)
    }

    pub(super) fn collapse_scan_by(
        &mut self,
        id: SpaceId,
        vpn: Vpn,
        by: Collapser,
        phys: &mut PhysMem,
    ) -> Result<Option<Collapse>, CollapseFailure> {
        let space = self.spaces.get(id).map_err(|_| CollapseFailure::VmaCheck)?;
        let slot = vpn.slot();
        let vma = self.cache.fills(space, slot, phys)?;
        if space.table.huge(slot.start).is_some() {
            return Ok(None);
        }
        let file = vma.kind.file().map(|file| (file, vma.index(slot.start)));
        if by == Collapser::Khugepaged && (file.is_some() || space.table.table(slot.start).is_some()) {
            phys.work.scanned_unlocked += u64::from(NR);
        }
        let (pages, used, swapped) = match file {
            Some((file, base)) if self.is_huge_in_file(id, slot, file, base, phys) => {
                self.trace_file_scan(id, (file, base), "pte_mapped_hugepage", phys);
                return Ok(None);
            }
            Some((file, base)) => {
                let plan = self.file_plan(file, base, by, phys);
                self.trace_file_scan(id, (file, base), status(plan.as_ref().err().copied()), phys);
                (plan.inspect_err(|&failure| phys.count_scan_failure(failure))?, 0, 0)
            }
            None => {
                let plan = self.collapse_plan(id, slot, by, phys);
                self.trace_scan(id, slot, plan.as_ref().err().copied(), phys);
                let Plan { entries, used, .. } = plan.inspect_err(|&failure| phys.count_scan_failure(failure))?;
                let swapped = entries.iter().filter(|entry| entry.slot().is_some()).count() as u32;
                (entries.into_iter().map(Pte::idx).collect(), used, swapped)
            }
        };
        let Request { node, nodemask, gfp, .. } = self.huge.where_to_collapse(&pages, by, phys);
        Ok(Some(Collapse { space: id, slot: slot.start, node, nodemask, gfp, by, used, swapped, file }))
    }

    /// The first page of a slot that has to be read back from swap, by a read access. `None` also where that is not worth
    /// it, which [`Mm::collapse_finish`](crate::Mm::collapse_finish) then says.
    #[must_use]
    pub fn collapse_swapped(&self, collapse: &Collapse, phys: &PhysMem) -> Option<VirtAddr> {
        if let Some((file, base)) = collapse.file {
            let (index, _) = self.cache.file(file).ok()?.first_swapped(base, base + u64::from(NR))?;
            return Some((collapse.slot + Pages::new(index - base)).addr());
        }
        if phys.lacks_use(collapse) {
            return None;
        }
        let table = self.spaces.get(collapse.space).ok()?.table.table(collapse.slot)?;
        let mut pages = collapse.slot.slot().iter();
        pages.find(|&vpn| table.get(vpn).slot().is_some()).map(Vpn::addr)
    }

    /// Moves the slot into the huge page that was allocated for it.
    pub(crate) fn collapse_finish(
        &mut self,
        collapse: &Collapse,
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), CollapseFailure> {
        let done = match collapse.file {
            Some(place) => self.collapse_file_finish(collapse, place, page, cpu, phys),
            None => self.collapse_into(collapse, page, cpu, phys),
        };
        phys.trace_collapse(collapse, Some(page), done);
        done
    }

    fn collapse_into(
        &mut self,
        collapse: &Collapse,
        page: Pfn,
        cpu: usize,
        phys: &mut PhysMem,
    ) -> Result<(), CollapseFailure> {
        let (head, slot) = (phys.fresh_block(page, Order::PAGEBLOCK), collapse.slot.slot());
        self.trace_swapin(collapse, phys);
        let plan = self.collapse_again(collapse, phys);
        self.trace_isolate(collapse, page, plan.as_ref().err().copied(), phys);
        let Plan { vma, entries, .. } = plan.inspect_err(|&failure| {
            phys.free_fresh(head, cpu);
            phys.count_scan_failure(failure);
        })?;
        phys.work.ranges_collapsed += 1;
        for (offset, entry) in (0..NR).zip(entries) {
            match entry.idx() {
                Some(source) => {
                    self.collapse_page(source, head.plus(offset), phys);
                }
                None => {
                    phys.counters.collapse_filled += 1;
                    self.clear_huge_part(head.plus(offset), phys);
                }
            }
        }
        let id = collapse.space;
        self.zap(id, slot, Zap::All, cpu, phys);
        let at = Mapping { space: id, vpn: slot.start };
        let pte = Pte::present(head).with(PteFlag::Dirty, true).with(PteFlag::Write, vma.prot.has(Prot::WRITE));
        let space = self.spaces.living(id);
        let deposit = space.table.remove(slot.start).expect("the slot had a table");
        space.table.install_huge(slot.start, Huge { pte, deposit: Some(deposit) });
        space.rss += HUGE_RSS;
        self.adopt_huge(head, at, vma.locked, phys);
        phys.work.ptes_set += 1;
        Ok(())
    }

    /// Takes the content of a page into the huge page of a collapse. The caller unmaps and frees the page.
    pub(super) fn collapse_page(&mut self, source: Idx, target: Idx, phys: &mut PhysMem) {
        match phys.frames.word(source).is_compound() {
            true => phys.work.parts_collapsed += 1,
            false => phys.work.pages_collapsed += 1,
        }
        self.lru.count_isolation(source, phys);
        self.copy_page(source, target, phys);
    }

    /// Looks at a slot again, with the huge page in hand.
    fn collapse_again(&self, collapse: &Collapse, phys: &PhysMem) -> Result<Plan, CollapseFailure> {
        if phys.lacks_use(collapse) {
            return Err(CollapseFailure::LackReferencedPage);
        }
        if self.collapse_swapped(collapse, phys).is_some() {
            return Err(CollapseFailure::PteNonPresent);
        }
        self.collapse_plan(collapse.space, collapse.slot.slot(), collapse.by, phys)
    }

    /// Content of a slot, if every page of it may be moved away.
    fn collapse_plan(
        &self,
        id: SpaceId,
        slot: VpnRange,
        by: Collapser,
        phys: &PhysMem,
    ) -> Result<Plan, CollapseFailure> {
        let space = self.spaces.get(id).map_err(|_| CollapseFailure::VmaCheck)?;
        let vma = self.cache.fills(space, slot, phys)?;
        let table = space.table.table(slot.start).ok_or(CollapseFailure::PmdNull)?;
        let entries: Vec<Pte> = slot.iter().map(|vpn| table.get(vpn)).collect();
        let writable = entries.iter().any(|entry| entry.has(PteFlag::Write));
        let used = match by {
            Collapser::Madvise => {
                entries.iter().filter_map(|entry| entry.idx()).try_for_each(|idx| self.rmap.can_isolate(idx, phys))?;
                writable.then_some(0).ok_or(CollapseFailure::PageRo)?
            }
            Collapser::Khugepaged => {
                if !phys.is_thp_eligible(&vma) {
                    return Err(CollapseFailure::VmaCheck);
                }
                let tally = self.khugepaged_tally(&entries, phys)?;
                phys.scan_abort(&entries)?;
                writable.then_some(()).ok_or(CollapseFailure::PageRo)?;
                phys.is_used_enough(&tally)?;
                tally.used
            }
        };
        Ok(Plan { vma, entries, used })
    }
}

impl HugeMemory {
    /// Request for a huge page, with the nodes to ask: one that holds most of the pages, or any of those that do.
    pub(super) fn where_to_collapse(&mut self, pages: &[Option<Idx>], by: Collapser, phys: &PhysMem) -> Request {
        let gfp = match by {
            Collapser::Madvise => Gfp::GFP_TRANSHUGE,
            Collapser::Khugepaged => khugepaged_gfp(phys.settings.thp.khugepaged.defrag, &phys.policy.thp),
        };
        let full = phys.fullest_nodes(pages);
        if phys.policy.thp.collapse_equal_nodes {
            let nodemask = full.iter().copied().collect();
            return Request { node: full[0], nodemask: Some(nodemask), ..Request::new(Order::PAGEBLOCK, gfp) };
        }
        let node = match by {
            Collapser::Madvise => full[0],
            Collapser::Khugepaged => {
                let last = &mut self.khugepaged.last_node;
                *last.insert(next_of(&full, *last))
            }
        };
        Request { node, ..Request::new(Order::PAGEBLOCK, gfp.with(Gfp::THISNODE)) }
    }
}

impl PageCache {
    fn may_collapse(&self, vma: &Vma, phys: &PhysMem) -> bool {
        vma.advice != HugeAdvice::NoHuge && (vma.kind == VmaKind::Anon || self.is_congruent_shmem(vma, phys))
    }

    /// The mapping, if it fills the slot and may have huge pages.
    fn fills(&self, space: &Space, slot: VpnRange, phys: &PhysMem) -> Result<Vma, CollapseFailure> {
        let vma = space.vmas.find(slot.start).map(|vma| space.seen_by_thp(vma));
        let fills = |vma: &Vma| self.may_collapse(vma, phys) && slot.intersect(vma.range) == slot;
        vma.filter(fills).ok_or(CollapseFailure::VmaCheck)
    }
}

impl PhysMem {
    /// Counts the allocation for a collapse, which is over where there was no huge page.
    pub fn collapse_allocated(&mut self, collapse: &Collapse, had: bool) {
        self.counters.thp_collapse_alloc += u64::from(had);
        self.counters.thp_collapse_alloc_failed += u64::from(!had);
        if !had {
            self.trace_collapse(collapse, None, Err(CollapseFailure::AllocHugePage));
        }
    }

    /// Counts slots that are left alone for a limit of khugepaged.
    pub(super) const fn count_scan_failure(&mut self, failure: CollapseFailure) {
        match failure {
            CollapseFailure::ExceedNonePte => self.counters.thp_scan_exceed_none_pte += 1,
            CollapseFailure::ExceedSwapPte => self.counters.thp_scan_exceed_swap_pte += 1,
            CollapseFailure::ExceedSharedPte => self.counters.thp_scan_exceed_share_pte += 1,
            _ => {}
        }
    }

    fn lacks_use(&self, collapse: &Collapse) -> bool {
        collapse.by == Collapser::Khugepaged && fails_with_huge_page(&self.policy.thp, collapse.used)
    }

    /// The nodes that hold most of the pages, equally many each, upward.
    pub(super) fn fullest_nodes(&self, pages: &[Option<Idx>]) -> Vec<NodeId> {
        let mut loads = alloc::vec![0_u32; self.frames.nodes().len()];
        for &idx in pages.iter().flatten() {
            loads[self.node_of(idx).index()] += 1;
        }
        let most = loads.iter().max().expect("a machine has a node");
        self.frames.nodes().filter(|node| loads[node.index()] == *most).collect()
    }
}

/// Content of a slot that may be collapsed.
struct Plan {
    vma: Vma,
    entries: Vec<Pte>,
    used: u32,
}

/// The next one of equally full nodes after `last`, else the first.
fn next_of(full: &[NodeId], last: Option<NodeId>) -> NodeId {
    let next = full.iter().find(|&&node| last.is_some_and(|last| node > last));
    *next.unwrap_or(&full[0])
}

/// First pages of the slots that lie in `range`.
pub(super) fn whole_slots(range: VpnRange) -> impl Iterator<Item = Vpn> {
    let first = range.start.slot().start;
    let slots = core::iter::successors(Some(first), |vpn| Some(vpn.slot().end)).take_while(move |&vpn| vpn < range.end);
    slots.filter(move |vpn| vpn.slot().intersect(range) == vpn.slot())
}
