//! Page faults, in two steps with an allocation between them that may take any time.
//!
//! Key types: [`FaultStep`] (how an access goes on), [`Fault`] (an access that waits for a page). [`Mm::fault_begin`] does
//! what needs no memory; [`Mm::fault_finish`] takes the page, looks again at everything the first step saw, and frees the
//! page where that has changed. Where a huge page may serve, [`crate::thp`] decides.

use order9_units::{Nanos, NodeId, Order, Pages, Pfn};

use super::addr::{VirtAddr, Vpn};
use super::pte::{Pte, PteFlag, PteKind};
use super::table::{Huge, Slot};
use super::{Mapping, Owner, Prot, SpaceId, Vma, VmaKind};
use crate::Mm;
use crate::frame::Idx;
use crate::gfp::Gfp;
use crate::page_alloc::Request;
use crate::page_cache::FileId;
use crate::swap::SlotId;
use crate::trace::Tracer;

/// What a program does to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads or executes it.
    Read,
    /// Writes it.
    Write,
}

/// How an access goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultStep {
    /// The page table allowed it: there was no fault.
    Hit,
    /// The fault is handled.
    Done,
    /// A page is needed: allocate one with [`Fault::request`] and pass it to [`Mm::fault_finish`].
    NeedPage(Fault),
    /// A page of a hugetlb pool is needed: [`Mm::hugetlb_fault`] takes it, which is told for which node.
    NeedPool(Fault),
    /// The space changed while the page was allocated; it is freed, and the program repeats the access.
    Retry,
    /// The page of a file on disk is not in memory, or still being read ([`Mm::find_page`] tells which): once the caller has
    /// read it into the page cache, or the read has ended, the program repeats the access.
    NeedRead {
        /// The file.
        file: FileId,
        /// Place of the page in it.
        index: u64,
    },
    /// A clean page of a file on disk is about to be written through a shared mapping: [`Mm::page_mkwrite`] goes on, which is
    /// told the time.
    NeedMkwrite,
    /// `SIGSEGV`: nothing is mapped there, or not for this access.
    Segv,
    /// `SIGBUS`: the mapping reaches beyond the end of its file, or its hugetlb pool is empty.
    Bus,
}

/// What a fault needs a page for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The page table of the slot.
    PageTable,
    /// The page table that a huge mapping keeps for its split.
    Deposit,
    /// A huge page, zeroed. Where there is none, [`Mm::fault_refused`] goes on.
    HugePage,
    /// A huge copy of the huge page that starts here, which is shared. The same.
    HugeCopyOf(Pfn),
    /// The huge page of zeros, which the machine does not have yet. The same.
    HugeZero,
    /// A page for a hugetlb pool that is empty and may grow. Where there is none, [`Mm::fault_refused`] goes on.
    Surplus,
    /// Zeroed memory of the space alone.
    Zeroed,
    /// A copy of this page, which is shared.
    CopyOf(Pfn),
    /// A page for a hole in a file.
    FilePage(FileId, u64),
    /// A huge page for an aligned hole in a file, around this page. Where there is none, [`Mm::fault_refused`] goes on.
    HugeFilePage(FileId, u64),
    /// A page that this slot of swap has been read into: the caller allocates, then reads, then hands it in.
    SwapIn(SlotId),
}

/// An access that waits for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    pub(crate) space: SpaceId,
    pub(crate) vpn: Vpn,
    pub(crate) access: Access,
    pub(crate) need: Need,
    /// Flags of the allocation.
    pub(crate) gfp: Gfp,
    /// Flags of a second allocation, if the first fails: of a huge page that is looked for elsewhere.
    pub(crate) second_gfp: Option<Gfp>,
    /// The entry as the first step saw it.
    pub(crate) seen: Pte,
    /// The mappings as the first step saw them.
    pub(crate) generation: u64,
    /// The mapping is mlocked.
    pub(crate) locked: bool,
    /// All of the slot is copied, for an access to this page.
    pub(crate) whole_slot: Option<Vpn>,
}

impl Need {
    /// Size of the allocation.
    #[must_use]
    pub const fn order(self) -> Order {
        match self {
            Self::HugePage | Self::HugeCopyOf(_) | Self::HugeZero | Self::Surplus | Self::HugeFilePage(..) => {
                Order::PAGEBLOCK
            }
            _ => Order::ZERO,
        }
    }

    /// Whether the fault can go on without.
    #[must_use]
    pub const fn may_be_refused(self) -> bool {
        self.order().get() > 0
    }

    pub(crate) const fn gfp(self) -> Gfp {
        match self {
            Self::PageTable | Self::Deposit => Gfp::GFP_PGTABLE_USER,
            Self::Zeroed => Gfp::GFP_HIGHUSER_MOVABLE.with(Gfp::ZERO),
            _ => Gfp::GFP_HIGHUSER_MOVABLE,
        }
    }
}

impl Fault {
    /// What the page is for.
    #[must_use]
    pub const fn need(&self) -> Need {
        self.need
    }

    /// The page that was accessed.
    #[must_use]
    pub const fn addr(&self) -> VirtAddr {
        self.vpn.addr()
    }

    /// The allocation to make, for a program on `cpu` of `node`.
    #[must_use]
    pub fn request(&self, node: NodeId, cpu: usize) -> Request {
        Request { node, cpu, ..Request::new(self.need.order(), self.gfp) }
    }
}

impl Access {
    fn allowed_by(self, prot: Prot) -> bool {
        match self {
            Self::Read => prot != Prot::NONE,
            Self::Write => prot.has(Prot::WRITE),
        }
    }

    /// Whether the processor allows it without a fault.
    #[inline]
    pub(crate) fn allowed_by_entry(self, pte: Pte) -> bool {
        let right = if self == Self::Read { PteFlag::Access } else { PteFlag::Write };
        !pte.is_none() && pte.has(PteFlag::Access) && pte.has(right)
    }

    /// The entry after the access.
    #[inline]
    pub(crate) fn mark(self, pte: Pte) -> Pte {
        pte.with(PteFlag::Young, true).with(PteFlag::Dirty, self == Self::Write || pte.has(PteFlag::Dirty))
    }
}

impl<T: Tracer> Mm<T> {
    /// An access by a program: through the page table where it allows it, else a fault up to where it needs memory.
    pub fn fault_begin(&mut self, id: SpaceId, addr: VirtAddr, access: Access) -> FaultStep {
        let vpn = addr.vpn();
        let Ok(space) = self.user.space_mut(id) else { return FaultStep::Segv };
        let mut seen = None;
        match space.table.slot_mut(vpn) {
            Some(Slot::Table(table)) => {
                let pte = table.get(vpn);
                seen = Some(pte);
                if access.allowed_by_entry(pte) {
                    let marked = access.mark(pte);
                    if marked != pte {
                        table.set(vpn, marked);
                    }
                    self.wrote(id, vpn, access);
                    return FaultStep::Hit;
                }
            }
            Some(Slot::Huge(Huge { pte, .. }) | Slot::Hugetlb(pte)) if access.allowed_by_entry(*pte) => {
                *pte = access.mark(*pte);
                self.wrote(id, vpn, access);
                return FaultStep::Hit;
            }
            _ => {}
        }
        self.work.faults += 1;
        let step = self.resolve(id, vpn, access, seen, None);
        // An access that waits for a read is repeated, and counted then.
        self.counters.pgfault += u64::from(!matches!(step, FaultStep::Segv | FaultStep::NeedRead { .. }));
        step
    }

    /// Hands in the page that a fault needed, on behalf of `cpu`.
    ///
    /// # Panics
    /// If `page` is not a page of the order that was asked for, or was not just allocated.
    pub fn fault_finish(&mut self, fault: &Fault, page: Pfn, cpu: usize) -> FaultStep {
        let idx = self.fresh_block(page, fault.need.order());
        match fault.need {
            Need::Deposit | Need::HugePage | Need::HugeCopyOf(_) | Need::HugeZero => {
                return self.finish_huge(fault, idx, cpu);
            }
            Need::Surplus => return self.finish_surplus(fault, page, cpu),
            Need::PageTable => self.give_table(fault.space, fault.vpn, page, cpu),
            Need::FilePage(file, index) => self.fill_hole(file, index, idx, cpu),
            Need::HugeFilePage(file, index) => self.fill_huge_hole(file, index, idx, cpu),
            Need::SwapIn(slot) if !self.may_finish_swap_in(fault, slot) => {
                self.free_fresh(idx, cpu);
                return FaultStep::Retry;
            }
            Need::SwapIn(slot) => self.finish_swap_in(slot, idx),
            Need::Zeroed | Need::CopyOf(_) => return self.finish_private(fault, idx, cpu),
        }
        self.resolve_again(fault)
    }

    /// Looks again at a fault, the table of whose slot may have changed.
    pub(crate) fn resolve_again(&mut self, fault: &Fault) -> FaultStep {
        let table = self.user.space(fault.space).ok().and_then(|space| space.table.table(fault.vpn));
        let seen = table.map(|table| table.get(fault.vpn));
        let step = self.resolve(fault.space, fault.vpn, fault.access, seen, None);
        self.counters.pgfault -= u64::from(matches!(step, FaultStep::NeedRead { .. }));
        step
    }

    /// Gives the slot of `vpn` the page table just allocated; frees the page where none is needed (any more).
    ///
    /// # Panics
    /// If `page` is not a single page that was just allocated.
    pub fn give_table(&mut self, id: SpaceId, vpn: Vpn, page: Pfn, cpu: usize) {
        let idx = self.fresh(page);
        match self.user.space(id) {
            Ok(space) if matches!(space.table.slot(vpn), Slot::Empty) && space.vmas.find(vpn).is_some() => {
                self.install_table(id, vpn, idx);
            }
            _ => self.free_fresh(idx, cpu),
        }
    }

    /// Accesses a page with allocations straight from the fast path. Where one fails, that is what the fault needs: the
    /// slow path's turn.
    pub fn touch(&mut self, id: SpaceId, addr: VirtAddr, access: Access, cpu: usize) -> FaultStep {
        let step = self.fault_begin(id, addr, access);
        self.go_on_fast(step, cpu)
    }

    /// Goes on with a fault that needed `page`, with further allocations straight from the fast path.
    pub fn fault_go_on(&mut self, fault: &Fault, page: Pfn, cpu: usize) -> FaultStep {
        let step = self.fault_finish(fault, page, cpu);
        self.go_on_fast(step, cpu)
    }

    #[inline]
    pub(crate) fn go_on_fast(&mut self, mut step: FaultStep, cpu: usize) -> FaultStep {
        let node = self.cpus.get(cpu).copied().unwrap_or_default();
        if let FaultStep::NeedPool(fault) = step {
            step = self.hugetlb_fault(&fault, node, cpu);
        }
        while let FaultStep::NeedPage(fault) = step
            && !matches!(fault.need, Need::SwapIn(_))
        {
            let Ok(page) = self.alloc_fast(&fault.request(node, cpu)) else { break };
            step = self.fault_finish(&fault, page, cpu);
        }
        step
    }

    /// Handles a fault as far as it needs no page; `seen` is the entry, if the slot has a table, and `now` the time if it is
    /// known.
    #[inline(always)] // Returned in memory, a step costs as much as the rest of this.
    pub(super) fn resolve(
        &mut self,
        id: SpaceId,
        vpn: Vpn,
        access: Access,
        seen: Option<Pte>,
        now: Option<Nanos>,
    ) -> FaultStep {
        self.work.vma_lookups += 1;
        let Ok(space) = self.user.space_mut(id) else { return FaultStep::Segv };
        let generation = space.vmas.generation;
        let Some(vma) = space.vmas.find_for_fault(vpn).filter(|vma| access.allowed_by(vma.prot)) else {
            return FaultStep::Segv;
        };
        let locked = vma.locked;
        let fault = |need: Need, seen| {
            let gfp = need.gfp();
            Fault { space: id, vpn, access, need, gfp, second_gfp: None, seen, generation, locked, whole_slot: None }
        };
        let wait = |need, seen| FaultStep::NeedPage(fault(need, seen));
        let Some(pte) = seen else { return self.resolve_slot(fault(Need::PageTable, Pte::NONE), &vma) };
        let answer = match (pte.kind(), vma.kind) {
            _ if access.allowed_by_entry(pte) => Answer::Map(access.mark(pte)),
            (PteKind::None, VmaKind::Anon) if access == Access::Read => Answer::Map(Pte::ZERO),
            (PteKind::None, VmaKind::Anon) | (PteKind::Zero, _) => Answer::Need(Need::Zeroed),
            (PteKind::None, VmaKind::File { file, .. }) => self.answer_from_file(id, &vma, file, vpn, access, now),
            (PteKind::Present, _) => self.answer_write(&vma, pte, now),
            (PteKind::None, VmaKind::Hugetlb { .. }) => unreachable!("{vpn:?} of a hugetlb pool has a page table"),
            (PteKind::Swap, _) => self.answer_from_swap(&vma, Mapping { space: id, vpn }, pte, access),
        };
        match answer {
            Answer::Map(entry) => {
                self.user.living(id).table.table_mut(vpn).expect("the slot has a table").set(vpn, entry);
                self.work.ptes_set += 1;
                self.wrote(id, vpn, access);
                FaultStep::Done
            }
            Answer::Need(need) => {
                if !vma.touched && matches!(need, Need::Zeroed | Need::CopyOf(_)) {
                    self.user.living(id).vmas.set_touched(vpn);
                }
                wait(need, pte)
            }
            Answer::Hole(file) if self.wants_huge_page(file, vma.index(vpn), Some(&vma)) => {
                self.ask_huge_file_page(fault(Need::PageTable, pte), &vma, file)
            }
            Answer::Hole(file) => wait(Need::FilePage(file, vma.index(vpn)), pte),
            Answer::Read(file, index) => FaultStep::NeedRead { file, index },
            Answer::Mkwrite => FaultStep::NeedMkwrite,
            Answer::Beyond => FaultStep::Bus,
        }
    }

    /// A write to a mapped page that the entry does not allow, though the mapping does.
    fn answer_write(&mut self, vma: &Vma, pte: Pte, now: Option<Nanos>) -> Answer {
        let idx = pte.idx().expect("the entry is present");
        let own = match self.user.rmap.owner(idx) {
            Owner::Anon(_) | Owner::Huge => self.is_exclusive(idx, false),
            Owner::File { .. } if vma.kind.is_private() => false,
            Owner::File { .. } if !self.mkwrite(idx, now) => return Answer::Mkwrite,
            Owner::File { .. } => true,
            _ => false,
        };
        if own {
            self.wrote_swap_page(idx);
            Answer::Map(Access::Write.mark(pte).with(PteFlag::Write, true))
        } else {
            Answer::Need(Need::CopyOf(self.frames.pfn(idx)))
        }
    }

    /// Maps a fresh page of the space's own, unless something has changed since it was asked for.
    fn finish_private(&mut self, fault: &Fault, idx: Idx, cpu: usize) -> FaultStep {
        let entry = Access::Write.mark(Pte::present(idx)).with(PteFlag::Write, true);
        if !self.source_is_there(fault) || !self.exchange(fault, entry) {
            self.free_fresh(idx, cpu);
            return FaultStep::Retry;
        }
        match fault.need {
            Need::CopyOf(source) => self.copy_page(self.at(source), idx),
            _ => self.clear_page(idx),
        }
        let mapping = Mapping { space: fault.space, vpn: fault.vpn };
        self.adopt_anon(idx, Owner::Anon(mapping), fault.locked);
        self.user.levels.anon += 1;
        if !fault.seen.is_none() {
            self.replaced(mapping, fault.seen, cpu);
        }
        let Some(accessed) = fault.whole_slot else {
            self.wrote(fault.space, fault.vpn, Access::Write);
            return FaultStep::Done;
        };
        if accessed == fault.vpn {
            self.wrote(fault.space, fault.vpn, Access::Write);
        }
        self.copy_slot_from(fault, fault.vpn + Pages::new(1))
    }

    /// Sets the entry to that of an anonymous page, if it and the mappings are as the first step saw them.
    #[inline]
    fn exchange(&mut self, fault: &Fault, entry: Pte) -> bool {
        let Ok(space) = self.user.space_mut(fault.space) else { return false };
        let Some(table) = space.table.table_mut(fault.vpn) else { return false };
        if space.vmas.generation != fault.generation || table.get(fault.vpn) != fault.seen {
            return false;
        }
        table.set(fault.vpn, entry);
        space.rss.anon_pages += 1;
        self.work.ptes_set += 1;
        true
    }

    /// Accounts for the entry that a copy took the place of.
    fn replaced(&mut self, mapping: Mapping, old: Pte, cpu: usize) {
        self.work.ptes_cleared += 1;
        self.work.tlb_flushes += 1;
        if let Some(slot) = old.slot() {
            self.user.living(mapping.space).swap_pages -= 1;
            self.drop_swap_entry(slot, cpu);
        }
        if let Some(idx) = old.idx() {
            let gone = self.unmap_page(mapping, idx, cpu);
            self.user.living(mapping.space).rss -= gone;
            self.munlock_page(idx);
        }
    }

    /// Whether the page to copy, if it is in a file and not mapped, is still there.
    #[inline]
    fn source_is_there(&self, fault: &Fault) -> bool {
        match fault.need {
            Need::CopyOf(source) if fault.seen.is_none() => self.shown_by_file(fault) == Some(self.at(source)),
            Need::CopyOf(source) => {
                fault.seen.slot().is_none_or(|slot| self.is_still_cached(fault, slot, self.at(source)))
            }
            _ => true,
        }
    }

    #[inline]
    pub(crate) fn clear_page(&mut self, idx: Idx) {
        self.work.pages_cleared += 1;
        if let Some(tags) = &mut self.user.tags {
            tags.clear(idx);
        }
    }

    pub(crate) fn copy_page(&mut self, from: Idx, to: Idx) {
        self.work.pages_copied += 1;
        if let Some(tags) = &mut self.user.tags {
            tags.copy(from, to);
        }
    }

    /// Gives a page that a program has just written a new tag, where contents are tracked.
    #[inline]
    pub(crate) fn wrote(&mut self, id: SpaceId, vpn: Vpn, access: Access) {
        if access == Access::Write && self.user.tags.is_some() {
            self.tag_written(id, vpn);
        }
    }

    #[cold]
    fn tag_written(&mut self, id: SpaceId, vpn: Vpn) {
        let space = self.user.living(id);
        let idx = space.table.get(vpn).idx().expect("a written page is present");
        let vma = *space.vmas.find(vpn).expect("a written page is mapped");
        let behind = vma.kind.file().map(|file| (file, vma.index(vpn)));
        let owner = self.user.rmap.owner(idx);
        if let VmaKind::Hugetlb { shared: true, .. } = vma.kind {
            return; // Only what a space alone writes is followed.
        }
        let Some(tags) = &mut self.user.tags else { return };
        match owner {
            Owner::File { file, index } => tags.write_file(idx, file, index),
            _ => tags.write_private(idx, Mapping { space: id, vpn }, behind),
        }
    }
}

/// What a fault comes to.
pub(super) enum Answer {
    /// This entry settles it.
    Map(Pte),
    /// A page has to be allocated first.
    Need(Need),
    /// A hole of this file on tmpfs has to be filled first.
    Hole(FileId),
    /// This page of a file on disk has to be read first.
    Read(FileId, u64),
    /// The page becomes dirty first, for which the time has to be known.
    Mkwrite,
    /// The file ends before this page.
    Beyond,
}
