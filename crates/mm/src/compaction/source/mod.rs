//! The migration scanner: walks up a zone from pageblock to pageblock and isolates pages from the first suitable one.
//!
//! [`free_lists`] may choose the pageblock; otherwise the scanner goes on where it stands.

pub(crate) mod block_scan;
pub(crate) mod free_lists;
pub(crate) mod isolable;
pub(crate) mod skipped_entries;
pub(crate) mod unsuitable_blocks;

use order9_frames::Idx;
use order9_units::{Order, Pages, Pfn};

use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::compaction::source::block_scan::Scanned;
use crate::compaction::source::free_lists::fast_find_migrateblock;
use crate::compaction::source::unsuitable_blocks::SkipReason;
use crate::compaction::{BLOCK, BLOCKS_AT_ONCE};
use crate::lru_list::LruType;
use crate::migrate_reason::MigrateMode;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::SourceSearch;

/// Pageblock chosen as a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) struct Source {
    start: Pfn,
    /// The search has just set the skip hint of the pageblock, so that the hint says nothing about it.
    fast_found: bool,
}

/// Result of a search for pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::compaction) enum Isolate {
    /// The run has pages to move.
    Success,
    /// The run has no pages: the pageblock had none, or the scanners have met.
    None,
    /// The step has skipped its share of pageblocks; the next one goes on with the same search.
    Unfinished,
    /// Too many pages are isolated: the run waits, and tries again.
    TooMany,
    /// The run ends.
    Abort,
}

impl Compaction {
    /// Isolates pages of the next suitable pageblock, or scans one in vain (`isolate_migratepages`).
    pub(in crate::compaction) fn isolate_migratepages(
        &mut self,
        run: &mut CompactControl,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
    ) -> Isolate {
        let choice = if run.continues_search { None } else { self.choose_source(run, phys) };
        run.continues_search = false;
        if let Some(source) = choice {
            (run.migrate_pfn, run.fast_found_block) = (source.start, source.fast_found);
        }
        let mut at = run.migrate_pfn;
        let mut passed = 0;
        let mut found = Isolate::None;
        while at.align_down(Order::PAGEBLOCK) + BLOCK <= run.free_pfn {
            if passed >= BLOCKS_AT_ONCE {
                found = Isolate::Unfinished;
                break;
            }
            if at.is_aligned(Order::PAGEBLOCK) && !run.fast_found_block {
                let blocks = self.unsuitable_blocks_from(run, at, BLOCKS_AT_ONCE - passed, phys);
                if blocks > 0 {
                    (at, passed) = (at + Pages::new(blocks as u64 * BLOCK.get()), passed + blocks);
                    continue;
                }
            }
            let end = at.align_down(Order::PAGEBLOCK) + BLOCK;
            if !self.suitable_migration_source(run, at, end, phys) {
                (at, run.fast_found_block, passed) = (end, false, passed + 1);
                continue;
            }
            found = if phys.must_abort(run) {
                Isolate::Abort
            } else if pages.too_many_isolated(run, phys) {
                if run.mode == MigrateMode::Async { Isolate::Abort } else { Isolate::TooMany }
            } else {
                self.isolate_from(run, &mut at, end, phys, pages)
            };
            break;
        }
        phys.work.blocks_passed += passed as u64;
        run.migrate_pfn = at;
        run.continues_search = matches!(found, Isolate::Unfinished | Isolate::TooMany);
        run.fast_found_block &= run.continues_search;
        found
    }

    fn isolate_from(
        &mut self,
        run: &mut CompactControl,
        at: &mut Pfn,
        end: Pfn,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
    ) -> Isolate {
        match self.isolate_migratepages_block(run, *at, end, phys, pages) {
            Scanned::Aborted => Isolate::Abort,
            Scanned::Upto(pfn) => {
                *at = pfn;
                if run.migratepages.is_empty() { Isolate::None } else { Isolate::Success }
            }
        }
    }

    fn choose_source(&mut self, run: &mut CompactControl, phys: &mut PhysMem) -> Option<Source> {
        match phys.policy.compaction.source_search {
            SourceSearch::Linear => None,
            SourceSearch::FreeLists | SourceSearch::Index => fast_find_migrateblock(phys, self, run),
        }
    }

    /// Whether the pageblock from `at` to `end` is worth a scan (`suitable_migration_source`).
    fn suitable_migration_source(&mut self, run: &mut CompactControl, at: Pfn, end: Pfn, phys: &mut PhysMem) -> bool {
        let Some(idx) = phys.block_in_zone(run, end - BLOCK) else { return false };
        // A pageblock is scanned in several parts: the run that marks it at the first goes on with the others.
        let policy = &phys.policy.compaction;
        let marks = policy.source_private || policy.source_search != SourceSearch::Linear;
        let tests_hint = !run.fast_found_block && (at.is_aligned(Order::PAGEBLOCK) || !marks);
        let early = phys.policy.compaction.skip_huge_block_early;
        let suits = match self.reason_to_skip(run, idx.block(), tests_hint, phys) {
            Some(SkipReason::Hint) => return false,
            Some(SkipReason::Type) => false,
            None => !(early && phys.note_huge_block(idx)),
        };
        if early && !suits {
            self.update_cached_migrate(run, end, phys);
        }
        suits
    }

    /// Advances the cached position past the pageblock that ends at `end`; by an oversight of some releases, past the
    /// next one, too.
    fn update_cached_migrate(&mut self, run: &CompactControl, end: Pfn, phys: &PhysMem) {
        let to = if phys.policy.compaction.cached_migrate_overshoot { end + BLOCK } else { end };
        self.zones[run.zone.index()].advance_migrate(run.mode, to);
    }
}

impl PhysMem {
    /// First frame of the pageblock at `start`, if the whole pageblock lies in the zone and it has memory.
    pub(in crate::compaction) fn block_in_zone(&self, run: &CompactControl, start: Pfn) -> Option<Idx> {
        let span = self.frames.zone(run.zone).span();
        if start < span.start || start + BLOCK > span.end {
            return None;
        }
        let idx = self.frames.at(start);
        (u64::from(self.frames.blocks()[idx.block()].absent) < BLOCK.get()).then_some(idx)
    }

    /// Whether the run gives up now because its task is killed or due for rescheduling.
    fn must_abort(&self, run: &mut CompactControl) -> bool {
        let hurried =
            run.context.resched && run.mode == MigrateMode::Async && self.policy.compaction.resched_aborts_async;
        let stops = hurried || run.context.fatal;
        run.contended |= stops;
        stops
    }
}

impl UsedPages {
    /// Whether the isolated pages of the node are more than half of those on its LRU lists (`too_many_isolated`).
    pub(in crate::compaction) fn too_many_isolated(&self, run: &CompactControl, phys: &PhysMem) -> bool {
        let node = phys.frames.zone(run.zone).node();
        let zones = phys.frames.zones().iter().filter(|zone| zone.node() == node);
        let (isolated, listed) = zones.fold((0, 0), |(isolated, listed), zone| {
            let of = |of: LruType| {
                self.lru.zone_lru(zone.id()).pages(of.active()) + self.lru.zone_lru(zone.id()).pages(of.inactive())
            };
            let taken = self.lru.zone_lru(zone.id()).isolated(LruType::Anon)
                + self.lru.zone_lru(zone.id()).isolated(LruType::File);
            (isolated + taken, listed + of(LruType::Anon) + of(LruType::File))
        });
        isolated > listed / 2
    }

    /// Puts isolated pages that did not move back on their LRU lists (`putback_movable_pages`).
    pub(crate) fn putback_movable_pages(&mut self, run: &mut CompactControl, phys: &mut PhysMem) {
        if !run.migratepages.is_empty() {
            let node = phys.frames.zone(run.zone).node();
            self.lru.lock.take(node, 1);
        }
        for idx in run.migratepages.drain(..) {
            self.putback_movable(idx, run.context.cpu, phys);
        }
        run.end_batch();
    }
}
