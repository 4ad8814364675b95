//! Reclaim runs: what each was asked for, how far it is, and which pages it holds.
//!
//! Key types: [`ReclaimControl`] (one run), [`ReclaimId`] (its number), [`Reclaim`] (all runs and what they share).
//! [`Mm`] owns runs, so that [`Mm::check`] and snapshots see the pages that are isolated between two steps.

use alloc::format;
use alloc::vec::Vec;

use order9_frames::{Flag, Gfp, Verdict, require};
use order9_units::{Order, ZoneKind};

use crate::page_cache::FileWrite;
use crate::phys::PhysMem;
use crate::reclaim::chunk::Chunk;
use crate::reclaim::pass::Pass;
use crate::reclaim::stats::ReclaimFlags;
use crate::reclaimer::PassStats;
use crate::reclaimer::Reclaimer;
use crate::runs::{RunId, Runs};
use crate::swap::SwapWrite;

/// Priority of a run at its start: a list of n pages is scanned n >> 12 pages deep.
pub const DEF_PRIORITY: u8 = 12;

/// A page that reclaim gives to be written; the caller does it and says when it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageWrite {
    /// To swap; [`crate::Mm::swap_written`] ends it.
    Swap(SwapWrite),
    /// To a file on disk; [`crate::Mm::file_written`] ends it.
    File(FileWrite),
}

/// One reclaim run; Linux' `scan_control`.
#[derive(Clone, Debug)]
pub struct ReclaimControl {
    // Whole run.
    /// Starter of the run.
    pub by: Reclaimer,
    /// The block that is needed.
    pub order: Order,
    /// Pages to reclaim before a pass takes it easier.
    pub nr_to_reclaim: u64,
    /// Highest zone whose pages help.
    pub reclaim_idx: ZoneKind,
    /// Pages of programs may be unmapped.
    pub may_unmap: bool,
    /// Anonymous pages may be given slots in swap.
    pub may_swap: bool,
    /// Dirty pages may be written.
    pub may_writepage: bool,
    /// Swappiness of the run, 0 to 200; `vm.swappiness` if `None`.
    pub swappiness: Option<u64>,
    /// Flags of the request that needs memory: they say whether I/O may be started and filesystems be entered.
    pub gfp: Gfp,
    /// Pages looked at.
    pub nr_scanned: u64,
    /// Pages freed.
    pub nr_reclaimed: u64,
    /// Writes that the caller has to make; it takes them out of here.
    pub writes: Vec<PageWrite>,
    /// Active pages are aged even where inactive ones are many, since there was nothing else.
    pub force_deactivate: bool,
    /// Active pages were left alone, inactive ones being many.
    pub skipped_deactivate: bool,
    /// A chunk was all dirty and nobody writes: the caller wakes the flushers and takes this back.
    pub wake_flushers: bool,
    /// Sets of lists that the run has passed over.
    pub(super) sets: Vec<usize>,
    // Until the caller tries harder.
    /// [`DEF_PRIORITY`] down to 0.
    pub priority: u8,
    // Until the lists are through.
    pub(super) pass: Option<Pass>,
    /// Counts of the present pass.
    pub stats: PassStats,
    // Until the chunk is reclaimed.
    pub(super) chunk: Chunk,
}

impl ReclaimControl {
    /// A run that may take everything from zones up to `class`.
    #[must_use]
    pub const fn new(by: Reclaimer, order: Order, nr_to_reclaim: u64, class: ZoneKind) -> Self {
        Self {
            by,
            order,
            nr_to_reclaim,
            reclaim_idx: class,
            may_unmap: true,
            may_swap: true,
            may_writepage: true,
            swappiness: None,
            gfp: Gfp::GFP_KERNEL,
            nr_scanned: 0,
            nr_reclaimed: 0,
            writes: Vec::new(),
            force_deactivate: false,
            skipped_deactivate: false,
            wake_flushers: false,
            sets: Vec::new(),
            priority: DEF_PRIORITY,
            pass: None,
            stats: PassStats::NONE,
            chunk: Chunk::NONE,
        }
    }
}

/// A run; numbers are used again.
pub type ReclaimId = RunId<ReclaimControl>;

/// State that reclaim runs share and leave for each other.
#[derive(Clone, Default)]
pub struct Reclaim {
    /// Conclusions of kswapd, by set of LRU lists.
    pub(super) flags: Vec<ReclaimFlags>,
    /// The disks of file pages have all they can take.
    pub(super) congested: bool,
}

impl Reclaim {
    /// For `sets` of LRU lists.
    pub(crate) fn new(sets: usize) -> Self {
        Self { flags: alloc::vec![ReclaimFlags::default(); sets], ..Self::default() }
    }
}

impl Runs<ReclaimControl> {
    /// Checks that the pages that runs hold are isolated.
    pub(crate) fn check_isolated(&self, phys: &PhysMem) -> Verdict {
        self.iter().flat_map(|run| &run.chunk.isolated).try_for_each(|&idx| {
            let isolated = phys.frames.word(idx).has(Flag::Isolated);
            require(isolated, "pages that a reclaim run holds are isolated", || format!("{:?}", phys.frames.pfn(idx)))
        })
    }
}
