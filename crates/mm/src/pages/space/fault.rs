//! Faults: an access, its need, and its next step.
//!
//! Key types: [`FaultStep`] (next step of an access), [`Fault`] (an access that waits for a page), [`Need`] (use of the page).
//! The engine's answer to a fault is in `resolve`.

use alloc::boxed::Box;

use order9_frames::{Gfp, Request};
use order9_units::{HugeSize, NodeId, Order, Pfn};

use super::pte::{Pte, PteFlag};
use super::{Prot, SpaceId};
use crate::addr::{VirtAddr, Vpn};
use crate::mempolicy::SpaceTask;
use crate::page_cache::FileId;
use crate::swap::SlotId;
use crate::thp::placement::HugeSearch;

/// Access of a program to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads or executes it.
    Read,
    /// Writes it.
    Write,
}

/// Next step of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultStep {
    /// The page table allowed it: there was no fault.
    Hit,
    /// The fault is handled.
    Done,
    /// A page is needed: allocate one with [`crate::Mm::fault_request`] and pass it to [`crate::Mm::fault_finish`].
    NeedPage(Fault),
    /// A page of a hugetlb pool is needed: [`crate::Mm::hugetlb_fault`] takes it, which is told for which node.
    NeedPool(Fault),
    /// The space changed while the page was allocated; it is freed, and the program repeats the access.
    Retry,
    /// The page of a file on disk is not in memory, or still being read (`UsedPages::find_page` tells which): once
    /// the caller has read it into the page cache, or the read has ended, the program repeats the access.
    NeedRead {
        /// The file.
        file: FileId,
        /// Place of the page in it.
        index: u64,
    },
    /// A clean page of a file on disk is about to be written through a shared mapping: `UsedPages::page_mkwrite` goes
    /// on, which is told the time.
    NeedMkwrite,
    /// NUMA balancing has taken the access away: [`crate::Mm::numa_hint_fault`] goes on, which is told who it is, and the
    /// program repeats the access.
    NumaHint,
    /// `SIGSEGV`: nothing is mapped there, or not for this access.
    Segv,
    /// `SIGBUS`: the mapping reaches beyond the end of its file, its mount of tmpfs is full, or its hugetlb pool empty.
    Bus,
}

/// Use of the page that a fault needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The page table of the slot.
    PageTable,
    /// The page table that a huge mapping keeps for its split, asked for before the huge page of zeros, or a base page.
    Deposit,
    /// The page table that the mapping of the fresh huge page that starts here keeps for its split. Where there is none,
    /// [`crate::Mm::fault_refused`] gives the huge page back.
    DepositFor(Pfn),
    /// A huge page, zeroed. Where there is none, [`crate::Mm::fault_refused`] goes on.
    HugePage,
    /// A huge copy of the huge page that starts here, which is shared. The same.
    HugeCopyOf(Pfn),
    /// A zeroed base page in a slot that has none yet, before a huge page is looked for further away. The same.
    BaseFirst,
    /// The huge page of zeros, which the machine does not have yet. The same.
    HugeZero,
    /// A page for a hugetlb pool that is empty and may grow. Where there is none, [`crate::Mm::fault_refused`] goes on.
    Surplus,
    /// A huge page of less than 2 MiB, zeroed, around the page that was accessed. The same.
    SmallHuge(HugeSize),
    /// Zeroed memory of the space alone.
    Zeroed,
    /// A copy of this page, which is shared.
    CopyOf(Pfn),
    /// A page for a hole in a file.
    FilePage(FileId, u64),
    /// A huge page for an aligned hole in a file, around this page. Where there is none, [`crate::Mm::fault_refused`]
    /// goes on.
    HugeFilePage(FileId, u64),
    /// A page that this slot of swap has been read into: the caller allocates, then reads, then hands it in.
    SwapIn(SlotId),
}

/// An access that waits for a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub(crate) space: SpaceId,
    /// The task of the space that made the access.
    pub(crate) thread: u32,
    pub(crate) vpn: Vpn,
    pub(crate) access: Access,
    pub(crate) need: Need,
    /// Flags of the allocation.
    pub(crate) gfp: Gfp,
    /// Node of the CPU that faulted: where the page is wanted.
    pub(crate) local: NodeId,
    /// The attempt at a huge page that was come to, whose nodes and flags are those of the allocation. Boxed, since most
    /// faults have none, and every step of a fault moves it.
    pub(crate) search: Option<Box<HugeSearch>>,
    /// The entry as the first step saw it.
    pub(crate) seen: Pte,
    /// The mappings as the first step saw them.
    pub(crate) generation: u64,
    /// The mapping is mlocked.
    pub(crate) locked: bool,
    /// The fault is in `pgfault` already.
    pub(crate) counted: bool,
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
            Self::SmallHuge(size) => size.order(),
            _ => Order::ZERO,
        }
    }

    /// Whether the fault can go on without.
    #[must_use]
    pub const fn may_be_refused(self) -> bool {
        self.order().get() > 0 || matches!(self, Self::BaseFirst | Self::DepositFor(_))
    }

    pub(crate) const fn gfp(self) -> Gfp {
        match self {
            Self::PageTable | Self::Deposit | Self::DepositFor(_) => Gfp::GFP_PGTABLE_USER,
            Self::Zeroed => Gfp::GFP_HIGHUSER_MOVABLE.with(Gfp::ZERO),
            _ => Gfp::GFP_HIGHUSER_MOVABLE,
        }
    }
}

impl Fault {
    /// Task whose memory policy the page follows.
    pub(crate) const fn task(&self) -> SpaceTask {
        SpaceTask { space: self.space, thread: self.thread }
    }

    /// The step in which the fault needs a page table, as `need` says, and goes on without its search for a huge page.
    pub(crate) fn with_table_for(&self, need: Need) -> FaultStep {
        FaultStep::NeedPage(Self { need, gfp: need.gfp(), search: None, ..*self })
    }

    /// Use of the page.
    #[must_use]
    pub const fn need(&self) -> Need {
        self.need
    }

    /// The page that was accessed.
    #[must_use]
    pub const fn addr(&self) -> VirtAddr {
        self.vpn.addr()
    }

    /// The allocation to make for a program that runs on `cpu` now, where no memory policy is in force.
    #[must_use]
    pub fn request(&self, cpu: usize) -> Request {
        match &self.search {
            Some(search) => search.request(cpu),
            None => Request { node: self.local, cpu, ..Request::new(self.need.order(), self.gfp) },
        }
    }
}

impl Access {
    pub(super) fn allowed_by(self, prot: Prot) -> bool {
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

/// Answer to a fault.
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
