//! Scan of a pageblock for pages to move: frame by frame, until a batch is isolated or the pageblock ends.

use order9_frames::{Idx, Word};
use order9_units::{Order, Pages, Pfn, PfnRange};

use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::compaction::source::isolable::Found;
use crate::compaction::{BLOCK, CLUSTER};
use crate::migrate_reason::MigrateMode;
use crate::page_flags::PageWord;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::DrainMark;
use crate::trace::{CompactEvent, Event};

/// End of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// The scan has come to this frame.
    Upto(Pfn),
    /// Another task held a lock, and the run gives up.
    Aborted,
}

/// State of a scan.
struct Scan {
    start: Pfn,
    at: Pfn,
    /// End of the range of the wanted order, in runs that give up a range at the first failure.
    range_end: Option<Pfn>,
    scanned: u64,
    /// Frames among them that the scan has jumped over: they are counted, and nobody has looked at them.
    jumped: u64,
    /// The scan has taken the lock of the LRU lists.
    locked: bool,
    /// The scan has seen the first frame of the pageblock.
    saw_first: bool,
}

impl Scan {
    /// Jumps over the other `frames` of a block, which some releases count.
    fn jump(&mut self, frames: u64, phys: &PhysMem) {
        if phys.policy.compaction.scan_counts_jumps {
            self.scanned += frames;
            self.jumped += frames;
        }
    }
}

impl Compaction {
    /// Isolates pages between `start` and the end of its pageblock (`isolate_migratepages_block`).
    pub(super) fn isolate_migratepages_block(
        &mut self,
        run: &mut CompactControl,
        start: Pfn,
        end: Pfn,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
    ) -> Scanned {
        let range_end = run.skips_on_failure().then(|| run.range_end(start));
        let mut scan = Scan { start, at: start, range_end, scanned: 0, jumped: 0, locked: false, saw_first: false };
        let gives_up = self.scan_frames(run, &mut scan, end, phys, pages);
        scan.at = scan.at.min(end);
        if scan.at == end {
            self.mark_scanned_source(run, &scan, end, phys);
        }
        let taken = run.begin_batch() as u64;
        run.totals.migrate_scanned += scan.scanned;
        phys.counters.compact_isolated += taken;
        phys.work.scanned_unlocked += scan.scanned - scan.jumped;
        phys.trace(|| {
            let range = PfnRange::new(start, scan.at);
            Event::Compaction(CompactEvent::IsolateMigratepages { range, scanned: scan.scanned, taken })
        });
        if gives_up { Scanned::Aborted } else { Scanned::Upto(scan.at) }
    }

    /// Scans the frames; returns whether the run gives up.
    fn scan_frames(
        &mut self,
        run: &mut CompactControl,
        scan: &mut Scan,
        end: Pfn,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
    ) -> bool {
        let first = phys.frames.at(scan.start);
        while scan.at < end {
            if let Some(range_end) = scan.range_end.filter(|&range_end| scan.at >= range_end) {
                if !run.migratepages.is_empty() {
                    break;
                }
                scan.range_end = Some(run.range_end(scan.at.max(range_end)));
            }
            let idx = first.plus((scan.at - scan.start).get() as u32);
            let word = phys.frames.word(idx);
            if word == Word::HOLE {
                pages.scan_failed(run, scan, 1, phys);
                continue;
            }
            scan.scanned += 1;
            if self.belongs_to_another(run, scan, idx, phys) {
                scan.at = end;
                return false;
            }
            if scan.range_end.is_none() && word.is_used_alone() {
                // Most scans in vain see long sequences of these.
                let used = phys.frames.table().leading(idx, end - scan.at, |word| word.is_used_alone());
                scan.scanned += used.get() - 1;
                scan.at += used;
                continue;
            }
            match pages.classify(run, idx, word, phys) {
                Found::Free(frames) => {
                    scan.jump(frames - 1, phys);
                    scan.at += Pages::new(frames);
                }
                Found::Failure(frames) => {
                    scan.jump(frames - 1, phys);
                    pages.scan_failed(run, scan, frames, phys);
                }
                Found::Movable => {
                    if pages.take_source(run, scan, idx, word, phys) {
                        return false;
                    }
                }
                Found::Lru(word) => {
                    if !scan.locked && !self.lock_for_sources(run, scan, idx, phys, pages) {
                        return true;
                    }
                    if !pages.may_isolate_lru(run, idx, word, phys) {
                        scan.scanned += word.frames() - 1; // Its tails are looked at one by one.
                        pages.scan_failed(run, scan, word.frames(), phys);
                    } else if pages.take_source(run, scan, idx, word, phys) {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// Whether another run works on this pageblock, tested at its first frame.
    fn belongs_to_another(&self, run: &CompactControl, scan: &mut Scan, idx: Idx, phys: &PhysMem) -> bool {
        if scan.saw_first || !scan.at.is_aligned(Order::PAGEBLOCK) {
            return false;
        }
        scan.saw_first = true;
        let policy = &phys.policy.compaction;
        // The search that chose the pageblock has set its hint, which some releases take for the hint of another run.
        let own_mark = run.fast_found_block && !policy.fast_source_wasted;
        policy.source_private && !own_mark && !self.isolation_suitable(run, idx)
    }

    /// Takes the lock of the LRU lists for the first time; returns whether the scan goes on.
    fn lock_for_sources(
        &mut self,
        run: &mut CompactControl,
        scan: &mut Scan,
        idx: Idx,
        phys: &mut PhysMem,
        pages: &mut UsedPages,
    ) -> bool {
        let policy = &phys.policy.compaction;
        if run.context.lru_busy && run.mode == MigrateMode::Async {
            run.contended = true;
            if !policy.contention_finish_block {
                return false;
            }
        }
        scan.locked = true;
        let node = phys.frames.zone(run.zone).node();
        pages.lru.lock.take(node, 1);
        let policy = &phys.policy.compaction;
        let marks = if policy.private_aligned_only { scan.at.is_aligned(Order::PAGEBLOCK) } else { scan.saw_first };
        if policy.source_private && marks && run.uses_skip_hints() {
            self.skip.set(idx.block(), true);
        }
        true
    }

    /// Sets the skip hint of a pageblock scanned to its end, if it needs no other scan, and advances the cached position.
    fn mark_scanned_source(&mut self, run: &CompactControl, scan: &Scan, end: Pfn, phys: &PhysMem) {
        if !run.migratepages.is_empty() && !run.rescan {
            return;
        }
        let block = phys.frames.at(end - BLOCK).block();
        if phys.policy.compaction.source_private {
            if scan.saw_first && !scan.locked {
                self.skip.set(block, true);
            }
            self.update_cached_migrate(run, end, phys);
        } else {
            self.skip.set(block, true);
            self.zones[run.zone.index()].advance_migrate(run.mode, scan.start);
        }
    }
}

impl UsedPages {
    /// Isolates the page at `idx`; returns whether the batch is full.
    fn take_source(
        &mut self,
        run: &mut CompactControl,
        scan: &mut Scan,
        idx: Idx,
        word: Word,
        phys: &mut PhysMem,
    ) -> bool {
        self.lru.isolate_lru(idx, phys);
        self.lru.lock.count_isolated(1);
        run.add_source(idx, word);
        scan.scanned += word.frames() - 1;
        if phys.policy.compaction.drain_mark == DrainMark::LowestIsolated && run.last_migrated.is_none() {
            run.last_migrated = Some(scan.at);
        }
        scan.at += Pages::new(word.frames());
        run.isolated_pages() >= CLUSTER && !run.rescan && !run.contended
    }

    /// Steps over frames that cannot move. A run that gives up ranges puts the pages of this range back and goes on
    /// behind it.
    fn scan_failed(&mut self, run: &mut CompactControl, scan: &mut Scan, frames: u64, phys: &mut PhysMem) {
        scan.at += Pages::new(frames);
        let Some(range_end) = scan.range_end else { return };
        if !run.migratepages.is_empty() {
            self.putback_movable_pages(run, phys);
            if phys.policy.compaction.drain_mark == DrainMark::LowestIsolated {
                run.last_migrated = None;
            }
        }
        scan.at = scan.at.max(range_end);
    }
}
