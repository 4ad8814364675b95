//! Targets of runs by the index: free frames of pageblocks that can never become huge pages, then of the fullest.

use core::cell::Cell;

use order9_frames::{Class, Idx, Word};
use order9_units::{Migratetype, Order, Pfn, PfnRange};

use crate::compaction::run::control::CompactControl;
use crate::compaction::{BLOCK, CLUSTER};
use crate::phys::PhysMem;
use crate::trace::{CompactEvent, Event};

impl PhysMem {
    /// Holds free frames for the rest of the batch, as far as the zone can spare them.
    pub(in crate::compaction) fn hold_indexed_targets(&mut self, run: &mut CompactControl) {
        self.frames.lock_zone(run.zone);
        while !run.has_enough_targets() {
            let Some(block) = self.target_block(run) else { return };
            if !self.hold_from_block(run, block) {
                return;
            }
        }
    }

    /// Pageblock to take targets from. In the background, pages of a Movable pageblock go only to pageblocks that are at
    /// least as full as theirs was, so that moving ends; pages that leave another type never come back to it.
    fn target_block(&self, run: &CompactControl) -> Option<usize> {
        let index = self.frames.index()?;
        index.least_contaminated(run.zone).or_else(|| index.fullest(run.zone, most_free(run)))
    }

    /// Holds `order` frames of the smallest free block that fits, for a huge page of less than 2 MiB. The pageblock of the block has
    /// at most [`most_free`] free frames.
    pub(crate) fn hold_indexed_block(&mut self, run: &mut CompactControl, order: Order) {
        self.frames.lock_zone(run.zone);
        let largest = Order::PAGEBLOCK.down().expect("it is no single page");
        let visited = Cell::new(0);
        let fits = |pfn: &Pfn| {
            visited.set(visited.get() + 1);
            self.frames.blocks()[self.frames.at(*pfn).block()].free <= most_free(run)
        };
        let mut found = order.to(largest).filter_map(|of| {
            self.frames.free_list(run.zone, of, Migratetype::Movable).take(CLUSTER).find(|pfn| fits(pfn))
        });
        let found = found.next().map(|pfn| self.frames.at(pfn));
        self.frames.work_mut().locked.frames_scanned += visited.get();
        run.totals.free_scanned += visited.get();
        let Some(idx) = found else { return };
        if self.frames.can_spare(idx, order, !self.policy.compaction.isolate_ignores_boost) {
            self.counters.compact_isolated += self.hold_part(run, idx, order);
        }
    }

    /// Holds frames of one pageblock; returns whether the search goes on.
    fn hold_from_block(&mut self, run: &mut CompactControl, block: usize) -> bool {
        let (mut scanned, mut taken, mut goes_on) = (0, 0, true);
        let heads = self.frames.index().into_iter().flat_map(|index| index.heads(block)).take(CLUSTER);
        for idx in heads.collect::<alloc::vec::Vec<_>>() {
            if run.has_enough_targets() {
                break;
            }
            scanned += 1;
            let order = largest_within(run.targets_wanted()).min(self.frames.word(idx).order());
            goes_on = self.frames.can_spare(idx, order, !self.policy.compaction.isolate_ignores_boost);
            if !goes_on {
                break;
            }
            taken += self.hold_part(run, idx, order);
        }
        run.totals.free_scanned += scanned;
        self.counters.compact_isolated += taken;
        self.frames.work_mut().locked.frames_scanned += scanned;
        let start = self.frames.pfn(Idx((block as u32) << Order::PAGEBLOCK.get()));
        self.trace(|| {
            let range = PfnRange::new(start, start + BLOCK);
            Event::Compaction(CompactEvent::IsolateFreepages { range, scanned, taken })
        });
        goes_on && taken > 0
    }

    /// Holds the first `order` block of the free block at `idx` as single frames; returns their number.
    fn hold_part(&mut self, run: &mut CompactControl, idx: Idx, order: Order) -> u64 {
        let list = self.frames.word(idx).list();
        self.frames.take_block(run.zone, idx, order, list);
        self.frames.count_in(idx, order, Class::Isolated);
        for frame in (0..order.pages().get() as u32).rev() {
            self.frames.set(idx.plus(frame), Word::held(Order::ZERO));
            run.freepages.push(idx.plus(frame));
        }
        order.pages().get()
    }
}

/// Free frames that a pageblock of targets may have.
fn most_free(run: &CompactControl) -> u16 {
    let claim = run.claim.filter(|claim| !run.by.is_direct() && claim.was == Migratetype::Movable);
    claim.map_or(BLOCK.get() as u16, |claim| claim.free)
}

/// Largest order with at most `frames` frames; `frames` is at least one.
fn largest_within(frames: usize) -> Order {
    Order::new(frames.ilog2() as u8).unwrap_or(Order::MAX)
}
