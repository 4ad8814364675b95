//! The selective reset of skip hints: a hint is cleared only if a sample of the pageblock's frames shows a page to move
//! or a free frame.
//!
//! The search for a source goes up and the search for a target goes down, in turns, until they meet.

use order9_frames::{Idx, ZoneId};
use order9_units::{Order, Pages, Pfn};

use crate::compaction::BLOCK;
use crate::compaction::Compaction;
use crate::compaction::zone::last_pageblock;
use crate::heard::block_bits::{first_set, last_set};
use crate::page_flags::PageFlag;
use crate::phys::PhysMem;

/// Distance of the sampled frames: `1 << PAGE_ALLOC_COSTLY_ORDER`.
const SAMPLE: u32 = 8;
/// Sampled frames of a pageblock.
const SAMPLES: u64 = BLOCK.get() / SAMPLE as u64;

/// Turns of the walk that are looked ahead at once. More would be looked at in vain where one side has a pageblock that matters.
const STEPS_MAX: usize = 256;

/// Uses that a pageblock is sampled for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted {
    source: bool,
    target: bool,
}

impl Compaction {
    /// Clears the hints of pageblocks worth a scan, and caches the outermost of them as start positions.
    pub(in crate::compaction) fn reset_selectively(&mut self, zone: ZoneId, phys: &mut PhysMem) {
        let of = &phys.frames.zone(zone);
        let span = of.span();
        if !self.zones[zone.index()].blockskip_flush {
            return;
        }
        let (mut source, mut target) = (None, None);
        let mut migrate = span.start;
        // The walk from above begins with the last frame of the zone, and some releases let the scanner begin with it, too.
        let into_block = Pfn::new(span.end.get() - 1) - last_pageblock(span);
        let mut free = last_pageblock(span);
        while migrate < free + into_block {
            let wanted = [source, target].map(|found| found.is_some());
            let steps = self.steps_in_vain(migrate, free, wanted, phys);
            phys.work.scanned_unlocked += 2 * steps;
            migrate += Pages::new(steps * BLOCK.get());
            free = Pfn::new(free.get() - steps * BLOCK.get());
            if self.reset_block(migrate, Wanted { source: true, target: source.is_some() }, phys) && source.is_none() {
                source = Some(migrate);
            }
            if self.reset_block(free, Wanted { source: target.is_some(), target: true }, phys) && target.is_none() {
                target = Some(free);
            }
            migrate = migrate.align_down(Order::PAGEBLOCK) + BLOCK;
            free = Pfn::new(free.get().saturating_sub(BLOCK.get()));
            if source.is_some() && target.is_some() && migrate <= free {
                self.reset_between(migrate, free, phys);
                break;
            }
        }
        phys.forget_skipped_entries(zone);
        let shift = if phys.policy.compaction.reset_free_last_frame { into_block } else { Pages::ZERO };
        let compaction = &mut self.zones[zone.index()];
        compaction.blockskip_flush = false;
        match (source, target) {
            (Some(source), Some(target)) if source < target => {
                compaction.cached_migrate = [source; 2];
                compaction.init_migrate = source;
                compaction.cached_free = target + shift;
                compaction.init_free = target + shift;
            }
            _ => {
                compaction.cached_migrate = [migrate; 2];
                compaction.cached_free = free;
            }
        }
    }

    /// Number of turns that change nothing, from `migrate` up and from `free` down, at most half of what is between: of pageblocks that are
    /// known to be huge, and, on a side that has `found` its start position, of those without a hint. A terabyte full of huge pages is
    /// walked again and again.
    fn steps_in_vain(&self, migrate: Pfn, free: Pfn, found: [bool; 2], phys: &PhysMem) -> u64 {
        if !migrate.is_aligned(Order::PAGEBLOCK) || migrate >= free {
            return 0;
        }
        let known_huge = &phys.frames.watch().known_huge;
        let matters =
            |found: bool| move |word| !known_huge.word(word) & if found { self.skip.word(word) } else { u64::MAX };
        let [first, last] = [migrate, free].map(|pfn| phys.frames.at(pfn).block());
        let steps = ((last - first) / 2).min(STEPS_MAX);
        let up = first..first + steps;
        let steps = first_set(up.clone(), matters(found[0])).unwrap_or(up.end) - first;
        let down = last + 1 - steps..last + 1;
        let steps = last_set(down, matters(found[1])).map_or(steps, |block| last - block);
        steps as u64
    }

    /// Ends a walk that has found both start positions: of the pageblocks between, only those with a hint are sampled.
    fn reset_between(&mut self, first: Pfn, last: Pfn, phys: &mut PhysMem) {
        let (from, to) = (phys.frames.at(first).block(), phys.frames.at(last).block() + 1);
        let mut passed = to - from;
        let mut at = from;
        loop {
            let known_huge = &phys.frames.watch().known_huge;
            let marked = |word: usize| self.skip.word(word) & !known_huge.word(word);
            let Some(block) = first_set(at..to, marked) else { break };
            let start = first + Pages::new((block - from) as u64 * BLOCK.get());
            self.reset_block(start, Wanted { source: true, target: true }, phys);
            passed -= 1;
            at = block + 1;
        }
        phys.work.scanned_unlocked += passed as u64;
    }

    /// Looks at the pageblock at `start`, whose first frame tells its zone, and clears its hint if the sample shows a wanted frame. Returns
    /// whether the pageblock is worth a scan.
    fn reset_block(&mut self, start: Pfn, wanted: Wanted, phys: &mut PhysMem) -> bool {
        let first = phys.block_start(phys.frames.at(start));
        let block = first.block();
        phys.work.scanned_unlocked += 1;
        if wanted.source && wanted.target && !self.skip.get(block) {
            // Either is known already: there is nothing to do, and nobody asks.
            return true;
        }
        let is_huge = phys.frames.watch().known_huge.get(block) || phys.note_huge_block(first);
        if is_huge || u64::from(phys.frames.blocks()[block].absent) >= BLOCK.get() {
            return false;
        }
        let is_movable = phys.frames.blocks()[block].migratetype == order9_units::Migratetype::Movable;
        if wanted.target && !wanted.source && !is_movable {
            return false;
        }
        let shown = phys.first_wanted(first, wanted);
        phys.work.scanned_unlocked += shown.map_or(SAMPLES, |at| at + 1);
        if shown.is_some() {
            self.skip.set(block, false);
        }
        shown.is_some()
    }
}

impl PhysMem {
    /// Position of the first sample of the pageblock at `first` that is wanted.
    fn first_wanted(&self, first: Idx, wanted: Wanted) -> Option<u64> {
        if !wanted.source && self.frames.blocks()[first.block()].free == 0 {
            // Most pageblocks above the place where targets are left: a terabyte has a quarter of a million.
            return None;
        }
        (0..SAMPLES).find(|&at| self.is_wanted(first.plus(at as u32 * SAMPLE), wanted))
    }

    fn is_wanted(&self, idx: Idx, wanted: Wanted) -> bool {
        let word = self.frames.word(idx);
        wanted.source && word.is_allocated() && word.has(PageFlag::Lru) || wanted.target && word.is_free()
    }
}
