//! One run over one zone: its purpose, its progress, and the pages that it holds.
//!
//! [`Mm`](crate::Mm) owns runs, so that [`Mm::check`](crate::Mm::check) and snapshots see the pages that are isolated
//! between two steps.

use alloc::vec::Vec;

use order9_frames::{AllocFlags, Gfp, Idx, Mark, Word, ZoneId};
use order9_units::{Migratetype, Order, Pfn, ZoneKind};

use crate::compact_result::CompactPriority;
use crate::compaction::index::claim::Claim;
use crate::compaction::run::account::Account;
use crate::compaction::zone::deferral::Asker;
use crate::migrate_reason::MigrateMode;
use crate::runs::RunId;

/// Starter of a run; the starter decides how thorough the run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compactor {
    /// A task that needs a block: direct compaction.
    Direct(CompactPriority),
    /// kcompactd, for a request.
    Kcompactd,
    /// kswapd, in releases without kcompactd.
    Kswapd,
    /// kcompactd, to fill the reserve of huge pages for requests to come.
    Reserve,
    /// kcompactd, because of the fragmentation score.
    Proactive,
    /// The administrator, through `vm.compact_memory` or `nodeN/compact`.
    Request,
}

impl Compactor {
    pub(crate) const fn mode(self) -> MigrateMode {
        match self {
            Self::Direct(CompactPriority::Async) | Self::Kswapd => MigrateMode::Async,
            Self::Direct(_) | Self::Kcompactd | Self::Reserve | Self::Proactive => MigrateMode::SyncLight,
            Self::Request => MigrateMode::Sync,
        }
    }

    pub(crate) const fn is_direct(self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// Whether the run goes over the zone from end to end, without regard to skip hints and cached positions.
    const fn is_thorough(self) -> bool {
        matches!(self, Self::Direct(CompactPriority::SyncFull) | Self::Proactive | Self::Request)
    }

    /// Whether the run moves pages to pageblocks of every type.
    pub(in crate::compaction) const fn ignores_types(self) -> bool {
        matches!(self, Self::Direct(CompactPriority::SyncFull))
    }
}

/// Frames and entries of free lists that a run looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactTotals {
    /// Looked at by the migration scanner and the search for pageblocks to empty.
    pub migrate_scanned: u64,
    /// Looked at by the free scanner and the search for free blocks.
    pub free_scanned: u64,
}

/// Circumstances of the task that runs, read before each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StepContext {
    /// The task is due for rescheduling.
    pub(crate) resched: bool,
    /// The task is being killed.
    pub(crate) fatal: bool,
    /// Another task holds the lock of the node's LRU lists.
    pub(crate) lru_busy: bool,
    /// Another task holds the lock of the zone's free lists.
    pub(crate) zone_busy: bool,
    /// CPU that the task runs on.
    pub(crate) cpu: usize,
}

/// Number of a run; numbers are used again.
pub(crate) type CompactId = RunId<CompactControl>;

/// One compaction run over one zone; Linux' `compact_control`.
#[derive(Clone, Debug)]
pub(crate) struct CompactControl {
    // Whole run.
    pub(crate) by: Compactor,
    pub(crate) zone: ZoneId,
    /// Order of the block that is needed; `None` asks for as much as can be had.
    pub(crate) order: Option<Order>,
    pub(crate) mode: MigrateMode,
    pub(crate) gfp: Gfp,
    pub(crate) migratetype: Migratetype,
    /// Zone class and rights of the request.
    pub(in crate::compaction) class: ZoneKind,
    pub(crate) flags: AllocFlags,
    pub(crate) asker: Asker,
    /// The run began at the ends of the zone, so that meeting scanners mean that all of it was tried.
    pub(in crate::compaction) whole_zone: bool,
    /// While set, an asynchronous run also advances the cached start of synchronous runs. Cleared by the first isolated
    /// page.
    pub(in crate::compaction) update_cached: bool,
    /// Lowest free block that the search of free lists for sources has found.
    pub(in crate::compaction) fast_start: Option<Pfn>,
    pub(in crate::compaction) fast_search_fail: u32,
    /// Order at which the search of free lists for targets begins.
    pub(in crate::compaction) search_order: u8,
    pub(crate) totals: CompactTotals,
    // Until it ends or gives up.
    pub(in crate::compaction) contended: bool,
    pub(crate) context: StepContext,
    pub(crate) captured: Option<Idx>,
    pub(in crate::compaction) account: Account,
    // Until the next pageblock.
    pub(in crate::compaction) migrate_pfn: Pfn,
    pub(in crate::compaction) free_pfn: Pfn,
    pub(in crate::compaction) finishing_block: bool,
    /// The run is in its second batch from this pageblock and scans it to its end.
    pub(in crate::compaction) rescan: bool,
    /// The search of free lists has just chosen the pageblock and set its skip hint.
    pub(in crate::compaction) fast_found_block: bool,
    /// The last step ended among pageblocks to skip, or in a wait: the next one goes on with the same search.
    pub(in crate::compaction) continues_search: bool,
    /// Start of the range whose former pages may still lie in per-CPU lists as free frames.
    pub(in crate::compaction) last_migrated: Option<Pfn>,
    // Until its pageblock is empty, where it chooses by the index.
    pub(in crate::compaction) claim: Option<Claim>,
    /// Pageblocks inspected in vain, and claimed in vain.
    pub(in crate::compaction) failed_inspections: u32,
    pub(in crate::compaction) failed_claims: u32,
    /// The run has waited once because too many pages were isolated.
    pub(in crate::compaction) waited: bool,
    // Until the batch has moved.
    pub(crate) migratepages: Vec<Idx>,
    /// Base pages that were isolated for the batch.
    isolated_pages: usize,
    /// Base pages of the batch when all of it was isolated.
    nr_migratepages: usize,
    /// Free frames to move pages to, held one by one; the last is used first.
    pub(crate) freepages: Vec<Idx>,
}

impl CompactControl {
    /// Run by `by` over `zone`; a run for a request has its rights and type filled in by the caller.
    pub(crate) fn new(by: Compactor, zone: ZoneId, order: Option<Order>, class: ZoneKind) -> Self {
        Self {
            by,
            zone,
            order,
            mode: by.mode(),
            gfp: Gfp::GFP_KERNEL,
            migratetype: Migratetype::Unmovable,
            class,
            flags: AllocFlags::plain(Mark::Min),
            asker: Asker::Local,
            whole_zone: by.is_thorough(),
            update_cached: false,
            fast_start: None,
            fast_search_fail: 0,
            search_order: order.map_or(0, Order::get),
            totals: CompactTotals::default(),
            contended: false,
            context: StepContext::default(),
            captured: None,
            account: Account::default(),
            migrate_pfn: Pfn::new(0),
            free_pfn: Pfn::new(0),
            finishing_block: false,
            rescan: false,
            fast_found_block: false,
            continues_search: false,
            last_migrated: None,
            claim: None,
            failed_inspections: 0,
            failed_claims: 0,
            waited: false,
            migratepages: Vec::new(),
            isolated_pages: 0,
            nr_migratepages: 0,
            freepages: Vec::new(),
        }
    }

    /// Whether the scanners skip pageblocks with a skip hint.
    pub(in crate::compaction) const fn uses_skip_hints(&self) -> bool {
        !self.by.is_thorough()
    }

    /// Whether the run gives up a range of the wanted order as soon as one page in it cannot move.
    pub(in crate::compaction) const fn skips_on_failure(&self) -> bool {
        self.by.is_direct() && matches!(self.mode, MigrateMode::Async)
    }

    /// The batch is isolated, and needs as many targets; returns how many.
    pub(in crate::compaction) const fn begin_batch(&mut self) -> usize {
        self.nr_migratepages = self.isolated_pages;
        self.nr_migratepages
    }

    /// Adds an isolated page, or huge page, to the batch.
    pub(in crate::compaction) fn add_source(&mut self, idx: Idx, word: Word) {
        self.migratepages.push(idx);
        self.isolated_pages += word.frames() as usize;
    }

    /// Base pages that were isolated for the batch.
    pub(in crate::compaction) const fn isolated_pages(&self) -> usize {
        self.isolated_pages
    }

    /// The batch has moved or is put back, and needs no targets.
    pub(in crate::compaction) const fn end_batch(&mut self) {
        (self.isolated_pages, self.nr_migratepages) = (0, 0);
    }

    /// Free frames that the batch needs and the run does not have.
    pub(in crate::compaction) const fn targets_wanted(&self) -> usize {
        self.nr_migratepages.saturating_sub(self.freepages.len())
    }

    /// Takes held frames that make up a block of `order`, the last such; its first frame.
    pub(crate) fn take_target_block(&mut self, order: Order) -> Option<Idx> {
        let frames = order.pages().get() as usize;
        let first_of = |run: &[Idx]| {
            let (one, other) = (run[0].min(run[frames - 1]), run[0].max(run[frames - 1]));
            let fits = one.at().is_multiple_of(frames) && other.at() - one.at() == frames - 1;
            // Frames of a block were held in a row, upward or downward.
            let in_a_row = || run.windows(2).all(|pair| pair[0].0.abs_diff(pair[1].0) == 1);
            (fits && in_a_row()).then_some(one)
        };
        let windows = self.freepages.windows(frames).enumerate().rev();
        let (at, first) = windows.filter_map(|(at, run)| Some((at, first_of(run)?))).next()?;
        self.freepages.drain(at..at + frames);
        Some(first)
    }

    /// Whether the free frames suffice for the batch.
    pub(in crate::compaction) const fn has_enough_targets(&self) -> bool {
        self.targets_wanted() == 0
    }

    /// Whether the rest of the pageblock that the scanner stands in can still be scanned at once.
    pub(super) fn may_finish_block(&self) -> bool {
        let obeys_hints = self.uses_skip_hints() && self.mode != MigrateMode::Sync;
        obeys_hints && !self.rescan && !self.migrate_pfn.is_aligned(Order::PAGEBLOCK)
    }

    /// Has the next round scan the rest of the pageblock, whatever the free lists say meanwhile. Draining would not make a
    /// huge page of a pageblock that a page stays in.
    pub(super) fn finish_block(&mut self) {
        self.rescan = true;
        self.continues_search = true;
        if self.order == Some(Order::PAGEBLOCK) {
            self.last_migrated = None;
        }
    }

    /// Whether the scanners have met.
    pub(super) fn scanners_met(&self) -> bool {
        self.free_pfn.align_down(Order::PAGEBLOCK) <= self.migrate_pfn.align_down(Order::PAGEBLOCK)
    }

    /// Start of the range of the wanted order around `pfn`.
    pub(super) fn range_start(&self, pfn: Pfn) -> Pfn {
        pfn.align_down(self.order.unwrap_or(Order::ZERO))
    }

    /// End of the range of the wanted order around `pfn`.
    pub(in crate::compaction) fn range_end(&self, pfn: Pfn) -> Pfn {
        let order = self.order.unwrap_or(Order::ZERO);
        pfn.align_down(order) + order.pages()
    }
}
