//! Skip hints: a bit for each pageblock in which a scanner found nothing lately, and the resets that clear them.

use order9_frames::{Idx, ZoneId};
use order9_units::{NodeId, Order, Pfn};

use crate::compaction::BLOCK;
use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::phys::PhysMem;
use crate::policy::SkipReset;

impl Compaction {
    /// Whether the pageblock of `pfn` has a skip hint: a scanner found nothing in it lately. `false` outside memory.
    #[must_use]
    pub fn pageblock_skip(&self, pfn: Pfn, phys: &PhysMem) -> bool {
        phys.frames.idx(pfn).is_some_and(|idx| self.skip.get(idx.block()))
    }

    /// Whether skip hints let the run look at the pageblock of `idx`.
    pub(in crate::compaction) fn isolation_suitable(&self, run: &CompactControl, idx: Idx) -> bool {
        !run.uses_skip_hints() || !self.skip.get(idx.block())
    }

    /// Resets the skip hints of a zone: where the longest deferral ends, and where kswapd goes to sleep.
    pub(crate) fn reset_isolation_suitable(&mut self, zone: ZoneId, phys: &mut PhysMem) {
        match phys.policy.compaction.skip_reset {
            SkipReset::Full => self.reset_fully(zone, phys),
            SkipReset::Selective => self.reset_selectively(zone, phys),
        }
    }

    /// Resets the skip hints of those zones of a node in which scanners have met since the last reset.
    pub(crate) fn reset_isolation_suitable_of(&mut self, node: NodeId, phys: &mut PhysMem) {
        for at in 0..phys.frames.zones().len() {
            let zone = &phys.frames.zones()[at];
            if zone.node() == node && self.zones[at].blockskip_flush {
                self.reset_isolation_suitable(zone.id(), phys);
            }
        }
    }

    pub(in crate::compaction) fn reset_fully(&mut self, zone: ZoneId, phys: &mut PhysMem) {
        let span = phys.frames.zone(zone).span();
        let (first, last) =
            (phys.frames.at(span.start).block(), phys.frames.at(crate::compaction::zone::last_pageblock(span)).block());
        for block in first..=last {
            if !phys.is_huge_block(Idx((block as u32) << Order::PAGEBLOCK.get())) {
                self.skip.set(block, false);
            }
        }
        // The first frame of each tells its zone.
        phys.work.scanned_unlocked += (last - first + 1) as u64;
        phys.forget_skipped_entries(zone);
        let compaction = &mut self.zones[zone.index()];
        compaction.blockskip_flush = false;
        compaction.reset_cached(span);
    }
}

impl PhysMem {
    /// Whether the pageblock of `idx` begins inside a block in use of at least its size, which no scanner takes apart.
    pub(in crate::compaction) fn is_huge_block(&self, idx: Idx) -> bool {
        let word = self.frames.word(self.block_start(idx));
        word.is_allocated() && word.order() >= Order::PAGEBLOCK
    }

    /// Remembers whether the pageblock of `idx` begins inside a huge block: a terabyte full of huge pages is skipped
    /// again and again.
    pub(in crate::compaction) fn note_huge_block(&mut self, idx: Idx) -> bool {
        let is_huge = self.is_huge_block(idx);
        if is_huge {
            self.frames.watch_mut().known_huge.set(idx.block(), true);
        }
        is_huge
    }

    pub(super) fn block_start(&self, idx: Idx) -> Idx {
        Idx(idx.0 & !(BLOCK.get() as u32 - 1))
    }
}
