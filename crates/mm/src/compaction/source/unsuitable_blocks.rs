//! Passing over pageblocks that hints, types or huge pages rule out as sources, 64 at a time: in a zone of half a terabyte a run
//! can meet 262,144 of them before it finds one to look at.

use core::ops::Range;

use order9_units::{Migratetype, Pages, Pfn};

use crate::compaction::BLOCK;
use crate::compaction::Compaction;
use crate::compaction::run::control::CompactControl;
use crate::phys::PhysMem;
use crate::trace::Tracer;

impl Compaction {
    /// How many pageblocks from the one at `at` on, `limit` at most, the run need not look at.
    pub(super) fn unsuitable_blocks_from(
        &mut self,
        run: &CompactControl,
        at: Pfn,
        limit: usize,
        phys: &PhysMem<impl Tracer>,
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

    /// Lets later runs start behind the last of these pageblocks that no hint has ruled out.
    fn cache_start_behind_unsuitable(
        &mut self,
        run: &CompactControl,
        at: Pfn,
        blocks: Range<usize>,
        phys: &PhysMem<impl Tracer>,
    ) {
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

    /// Of 64 pageblocks, those that are not marked, or all where marks do not count.
    fn unmarked_blocks(&self, run: &CompactControl, word: usize) -> u64 {
        if run.uses_skip_hints() { !self.skip.word(word) } else { u64::MAX }
    }

    /// What has_unmovable the run from looking at a pageblock, if anything does.
    pub(super) fn reason_to_skip(
        &self,
        run: &CompactControl,
        block: usize,
        tests_hint: bool,
        phys: &PhysMem<impl Tracer>,
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

impl<T: Tracer> PhysMem<T> {
    /// Of 64 pageblocks, those of types that the run may take pages from: a task that waits for a block takes it from
    /// pageblocks of its own type, where moving pages does not mix types.
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

/// Why a run does not look at a pageblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SkipReason {
    Hint,
    Type,
}

/// The first of `bits` that is set, 64 of which `word` gives for each multiple of 64.
pub(in crate::compaction) fn first_set(bits: Range<usize>, word: impl Fn(usize) -> u64) -> Option<usize> {
    let mut mask = u64::MAX << (bits.start % 64);
    for at in bits.start / 64..bits.end.div_ceil(64) {
        let set = word(at) & mask;
        if set != 0 {
            return Some(at * 64 + set.trailing_zeros() as usize).filter(|&bit| bit < bits.end);
        }
        mask = u64::MAX;
    }
    None
}

/// The last of `bits` that is set.
fn last_set(bits: Range<usize>, word: impl Fn(usize) -> u64) -> Option<usize> {
    let last = bits.end.checked_sub(1)?;
    let mut mask = u64::MAX >> (63 - last % 64);
    for at in (bits.start / 64..=last / 64).rev() {
        let set = word(at) & mask;
        if set != 0 {
            return Some(at * 64 + 63 - set.leading_zeros() as usize).filter(|&bit| bit >= bits.start);
        }
        mask = u64::MAX;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_found_from_either_end() {
        let words = [0x8000_0000_0000_0010_u64, 0, 1];
        let naive = |bit: &usize| words[bit / 64] >> (bit % 64) & 1 != 0;
        for start in 0..140 {
            for end in start..=192 {
                assert_eq!(first_set(start..end, |word| words[word]), (start..end).find(naive), "{start}..{end}");
                assert_eq!(last_set(start..end, |word| words[word]), (start..end).rev().find(naive), "{start}..{end}");
            }
        }
        assert_eq!(last_set(0..0, |_| u64::MAX), None);
    }
}
