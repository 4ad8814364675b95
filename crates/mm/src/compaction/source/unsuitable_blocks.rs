//! Pageblocks that skip hints, types or huge pages rule out as sources, found 64 at a time: in a zone of half a terabyte
//! a run can meet 262,144 of them before it finds one to scan.

use core::ops::Range;

use order9_units::{Migratetype, Pages, Pfn};

use crate::compaction::BLOCK;
use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::heard::block_bits::{first_set, last_set};
use crate::phys::PhysMem;

impl Compaction {
    /// Number of pageblocks from the one at `at` on, at most `limit`, that are no sources for the run.
    pub(super) fn unsuitable_blocks_from(
        &mut self,
        run: &CompactControl,
        at: Pfn,
        limit: usize,
        phys: &PhysMem,
    ) -> usize {
        let first = phys.frames.at(at).block();
        let left = (run.free_pfn.get() / BLOCK.get() - at.get() / BLOCK.get()) as usize;
        let blocks = first..first + left.min(limit);
        let early = phys.policy.compaction.skip_huge_block_early;
        let suitable = |word| {
            let huge = if early { phys.frames.watch().known_huge.word(word) } else { 0 };
            self.unmarked_blocks(run, word) & phys.blocks_of_suitable_types(run, word) & !huge
        };
        let next = first_set(blocks.clone(), suitable).unwrap_or(blocks.end);
        if early {
            self.cache_start_behind_unsuitable(run, at, first..next, phys);
        }
        next - first
    }

    /// Caches a start behind the last of these pageblocks that has no skip hint.
    fn cache_start_behind_unsuitable(&mut self, run: &CompactControl, at: Pfn, blocks: Range<usize>, phys: &PhysMem) {
        let mut range = blocks.clone();
        while let Some(last) = last_set(range.clone(), |word| self.unmarked_blocks(run, word)) {
            let start = at + Pages::new((last - blocks.start) as u64 * BLOCK.get());
            if phys.block_in_zone(run, start).is_some() {
                self.update_cached_migrate(run, start + BLOCK, phys);
                break;
            }
            range.end = last;
        }
    }

    /// Pageblocks without a skip hint among the 64 of `word`; all, if the run does not use hints.
    fn unmarked_blocks(&self, run: &CompactControl, word: usize) -> u64 {
        if run.uses_skip_hints() { !self.skip.word(word) } else { u64::MAX }
    }

    /// Reason for which the run skips a pageblock, if any.
    pub(super) fn reason_to_skip(
        &self,
        run: &CompactControl,
        block: usize,
        tests_hint: bool,
        phys: &PhysMem,
    ) -> Option<SkipReason> {
        let has = |word: u64| word >> (block % 64) & 1 != 0;
        if tests_hint && !has(self.unmarked_blocks(run, block / 64)) {
            Some(SkipReason::Hint)
        } else if !has(phys.blocks_of_suitable_types(run, block / 64)) {
            Some(SkipReason::Type)
        } else {
            None
        }
    }
}

impl PhysMem {
    /// Pageblocks among the 64 of `word` whose type suits the run. An asynchronous run of a task takes pages from
    /// pageblocks of its own type, so that types do not mix.
    fn blocks_of_suitable_types(&self, run: &CompactControl, word: usize) -> u64 {
        match run.migratetype {
            _ if !run.skips_on_failure() => u64::MAX,
            Migratetype::Movable => {
                self.frames.blocks_of_type(Migratetype::Movable, word)
                    | self.frames.blocks_of_type(Migratetype::Cma, word)
            }
            mt => self.frames.blocks_of_type(mt, word),
        }
    }
}

/// Reason for which a run skips a pageblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    Hint,
    Type,
}
