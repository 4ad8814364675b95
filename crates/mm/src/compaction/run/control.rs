//! One run over one zone: what it is for, how far it is, and which pages it holds.
//!
//! [`Mm`] owns runs, so that [`Mm::check`] and snapshots see the pages that are isolated between two steps.

use alloc::vec::Vec;

use order9_frames::{AllocFlags, Gfp, Idx, Mark, ZoneId};
use order9_units::{Migratetype, Order, Pfn, ZoneKind};

use crate::compaction::index::claim::Claim;
use crate::compaction::run::account::Account;
use crate::compaction::zone::ZoneCompaction;
use crate::compaction::zone::deferral::Asker;
use crate::compaction::zone::skip_hints::BlockBits;
use crate::env::CompactPriority;
use crate::migrate::MigrateMode;
use crate::runs::RunId;

/// Who compacts, which decides how thoroughly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compactor {
    /// A task that needs a block.
    Direct(CompactPriority),
    /// The daemon of a node.
    Kcompactd,
    /// The reclaiming daemon of a node, where there is no other.
    Kswapd,
    /// The daemon of a node, for requests to come.
    Reserve,
    /// The daemon of a node, of itself.
    Proactive,
    /// `vm.compact_memory` or `nodeN/compact`.
    Request,
}

impl Compactor {
    pub(in crate::compaction) const fn mode(self) -> MigrateMode {
        match self {
            Self::Direct(CompactPriority::Async) | Self::Kswapd => MigrateMode::Async,
            Self::Direct(_) | Self::Kcompactd | Self::Reserve | Self::Proactive => MigrateMode::SyncLight,
            Self::Request => MigrateMode::Sync,
        }
    }

    pub(in crate::compaction) const fn is_direct(self) -> bool {
        matches!(self, Self::Direct(_))
    }

    /// It goes over the zone from end to end, with no regard to what earlier runs found.
    const fn is_thorough(self) -> bool {
        matches!(self, Self::Direct(CompactPriority::SyncFull) | Self::Proactive | Self::Request)
    }

    /// It moves pages to pageblocks of every type.
    pub(in crate::compaction) const fn ignores_types(self) -> bool {
        matches!(self, Self::Direct(CompactPriority::SyncFull))
    }
}

/// What a run looked at, in frames and entries of free lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactTotals {
    /// In search of pages to move.
    pub migrate_scanned: u64,
    /// In search of free frames.
    pub free_scanned: u64,
}

/// What the task that runs has seen of the world before a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::compaction) struct StepContext {
    /// It should give up the CPU.
    pub(in crate::compaction) resched: bool,
    /// It is being killed.
    pub(in crate::compaction) fatal: bool,
    /// Somebody else has the lock of the node's LRU lists.
    pub(in crate::compaction) lru_busy: bool,
    /// Somebody else has the lock of the zone's free lists.
    pub(in crate::compaction) zone_busy: bool,
    /// Where it runs.
    pub(in crate::compaction) cpu: usize,
}

/// A run; numbers are used again.
pub(crate) type CompactId = RunId<CompactControl>;

/// One compaction run over one zone; Linux' `compact_control`.
#[derive(Clone, Debug)]
pub(crate) struct CompactControl {
    // Whole run.
    pub(in crate::compaction) by: Compactor,
    pub(in crate::compaction) zone: ZoneId,
    /// The block that is needed; `None` is as much as can be had.
    pub(in crate::compaction) order: Option<Order>,
    pub(in crate::compaction) mode: MigrateMode,
    pub(in crate::compaction) gfp: Gfp,
    pub(in crate::compaction) migratetype: Migratetype,
    /// Zone class and rights of the request.
    pub(in crate::compaction) class: ZoneKind,
    pub(in crate::compaction) flags: AllocFlags,
    pub(in crate::compaction) asker: Asker,
    /// It began at the end of the zone.
    pub(in crate::compaction) whole_zone: bool,
    /// Asynchronous runs bring the position of the others along until something is isolated.
    pub(in crate::compaction) update_cached: bool,
    /// A memory of the lowest free block that the search for sources has found.
    pub(in crate::compaction) fast_start: Option<Pfn>,
    pub(in crate::compaction) fast_search_fail: u32,
    /// Where the search for targets begins.
    pub(in crate::compaction) search_order: u8,
    pub(in crate::compaction) totals: CompactTotals,
    // Until it ends or gives up.
    pub(in crate::compaction) contended: bool,
    pub(in crate::compaction) context: StepContext,
    pub(in crate::compaction) captured: Option<Idx>,
    pub(in crate::compaction) account: Account,
    // Until the next pageblock.
    pub(in crate::compaction) migrate_pfn: Pfn,
    pub(in crate::compaction) free_pfn: Pfn,
    pub(in crate::compaction) finishing_block: bool,
    /// The pageblock is looked at again, to its end.
    pub(in crate::compaction) rescan: bool,
    /// The search for sources has chosen the pageblock, and marked it.
    pub(in crate::compaction) fast_found_block: bool,
    /// Pageblocks are passed over; what precedes a search was done.
    pub(in crate::compaction) continues_search: bool,
    /// From here on pages have moved away that may still be in per-CPU lists.
    pub(in crate::compaction) last_migrated: Option<Pfn>,
    // Until its pageblock is empty, where it chooses by the index.
    pub(in crate::compaction) claim: Option<Claim>,
    /// Pageblocks that it has looked at in vain, and claimed in vain.
    pub(in crate::compaction) failed_inspections: u32,
    pub(in crate::compaction) failed_claims: u32,
    /// The run has waited since others held too many pages.
    pub(in crate::compaction) waited: bool,
    // Until the batch has moved.
    pub(in crate::compaction) migratepages: Vec<Idx>,
    pub(in crate::compaction) nr_migratepages: usize,
    /// Targets, as single held frames; the last is used first.
    pub(in crate::compaction) freepages: Vec<Idx>,
}

impl CompactControl {
    /// A run over `zone` by `by`; for a request, [`Self::for_request`] adds what is known of it.
    pub(in crate::compaction) fn new(by: Compactor, zone: ZoneId, order: Option<Order>, class: ZoneKind) -> Self {
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
            nr_migratepages: 0,
            freepages: Vec::new(),
        }
    }

    /// Skip hints count for it.
    pub(in crate::compaction) const fn uses_skip_hints(&self) -> bool {
        !self.by.is_thorough()
    }

    /// It gives a range of the order asked for up as soon as one page in it cannot move.
    pub(in crate::compaction) const fn skips_on_failure(&self) -> bool {
        self.by.is_direct() && matches!(self.mode, MigrateMode::Async)
    }

    /// The targets suffice for the batch.
    pub(in crate::compaction) fn has_enough_targets(&self) -> bool {
        self.freepages.len() >= self.nr_migratepages
    }

    /// The scanners have met.
    pub(super) fn scanners_met(&self) -> bool {
        self.free_pfn.align_down(Order::PAGEBLOCK) <= self.migrate_pfn.align_down(Order::PAGEBLOCK)
    }

    /// Start of the range of the order asked for that holds `pfn`.
    pub(super) fn range_start(&self, pfn: Pfn) -> Pfn {
        pfn.align_down(self.order.unwrap_or(Order::ZERO))
    }

    /// End of that range.
    pub(in crate::compaction) fn range_end(&self, pfn: Pfn) -> Pfn {
        let order = self.order.unwrap_or(Order::ZERO);
        pfn.align_down(order) + order.pages()
    }
}

/// State that compaction runs share and leave for each other.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// What zones remember between runs, by their numbers.
    pub(crate) zones: Vec<ZoneCompaction>,
    /// Pageblocks that scanners pass over.
    pub(crate) skip: BlockBits,
}

impl Compaction {
    /// For so many zones and pageblocks, where nothing was compacted yet.
    pub(crate) fn new(zones: usize, blocks: usize) -> Self {
        Self { zones: alloc::vec![ZoneCompaction::default(); zones], skip: BlockBits::new(blocks) }
    }
}
