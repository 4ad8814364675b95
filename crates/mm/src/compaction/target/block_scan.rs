//! Scan of a part of a pageblock for free frames.

use order9_frames::{Idx, Word};
use order9_units::{Order, Pages, Pfn, PfnRange};

use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::migrate_reason::MigrateMode;
use crate::page_flags::PageWord;
use crate::phys::PhysMem;
use crate::trace::{CompactEvent, Event};

impl Compaction {
    /// Isolates free blocks between `start` and `end`, which lie in one pageblock, until the batch has enough
    /// (`isolate_freepages_block`). Returns the end of the scan.
    pub(super) fn isolate_freepages_block(
        &mut self,
        run: &mut CompactControl,
        start: Pfn,
        end: Pfn,
        stride: u64,
        phys: &mut PhysMem,
    ) -> Pfn {
        let (mut at, mut visited, mut isolated, mut locked) = (start, 0, 0, false);
        // Frames that count as scanned, beside one for each step.
        let mut beside = 0;
        while at < end {
            let idx = phys.frames.at(at);
            let word = phys.frames.word(idx);
            visited += 1;
            if stride == 1 && word.is_used_alone() {
                let used = phys.frames.table().leading(idx, end - at, |word| word.is_used_alone());
                visited += used.get() - 1;
                at += used;
                continue;
            }
            if !word.is_free() {
                let jumped = if word.is_allocated() { word.frames() - 1 } else { 0 };
                beside += if phys.policy.compaction.scan_counts_jumps { jumped } else { 0 };
                at += Pages::new(jumped + stride);
                continue;
            }
            if !locked {
                locked = true;
                if !phys.lock_for_targets(run) {
                    break;
                }
            }
            let Some(frames) = phys.hold_targets(run, idx, word) else { break };
            isolated += frames;
            beside += if phys.policy.compaction.scan_counts_taken { frames - 1 } else { 0 };
            if run.has_enough_targets() {
                at += Pages::new(frames);
                break;
            }
            at += Pages::new(frames - 1 + stride);
        }
        at = at.min(end);
        let scanned = visited + beside;
        run.totals.free_scanned += scanned;
        phys.counters.compact_isolated += isolated;
        if locked {
            phys.frames.work_mut().locked.frames_scanned += visited;
        } else {
            phys.work.scanned_unlocked += visited;
        }
        if at == end && isolated == 0 && !phys.policy.compaction.free_cursor_slow {
            self.skip.set(phys.frames.at(start).block(), true);
            self.zones[run.zone.index()].advance_free(start);
        }
        phys.trace(|| {
            let range = PfnRange::new(start, at);
            Event::Compaction(CompactEvent::IsolateFreepages { range, scanned, taken: isolated })
        });
        at
    }
}

impl PhysMem {
    /// Takes the lock of the free lists; returns whether the scan goes on.
    fn lock_for_targets(&mut self, run: &mut CompactControl) -> bool {
        if run.context.zone_busy && run.mode == MigrateMode::Async {
            run.contended = true;
            if !self.policy.compaction.contention_finish_block {
                return false;
            }
        }
        self.frames.lock_zone(run.zone);
        true
    }

    /// Takes the free block at `idx` as single frames for the run, if the zone can spare it. The caller holds the lock.
    pub(super) fn hold_targets(&mut self, run: &mut CompactControl, idx: Idx, word: Word) -> Option<u64> {
        let boosted = !self.policy.compaction.isolate_ignores_boost;
        if !self.frames.can_spare(idx, word.order(), boosted) {
            return None;
        }
        self.frames.hold_free_block(idx, word.order());
        for frame in 0..word.frames() as u32 {
            self.frames.set(idx.plus(frame), Word::held(Order::ZERO));
            run.freepages.push(idx.plus(frame));
        }
        Some(word.frames())
    }
}
