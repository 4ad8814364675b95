//! Free pages on per-CPU lists. The kernel says how many there are for each CPU, but no flag says which frames they are.
//!
//! From 6.7 on the lists hold up to an eighth of a zone, and even a machine that has just booted keeps thousands of pages there. As
//! memory in use they would be missing for ever, and requests would fall back to other types early. So as many unmarked frames are
//! put on lists as there are pages. Which ones is a guess: first those of blocks that nothing else holds, then others in blocks of movable
//! memory, where the kernel seldom has memory of its own, then the rest; by address each. Where all frames of a pageblock are among them, it is
//! a huge page: lists take these from 5.13 on, and so many pages that were freed one by one would have merged.

use order9_snapshot::PcpInfo;
use order9_snapshot::census::ZoneCensus;
use order9_snapshot::classify::FrameClass;
use order9_units::{Migratetype, PAGEBLOCK_PAGES};

/// Pages of the per-CPU lists of a zone that have no frames yet.
pub(crate) struct CpuLists {
    /// Pages among the unmarked frames of each pageblock.
    of_block: Vec<u64>,
    /// Pageblock of the last frame, and pages for which pageblocks before it had no frame: parts of larger blocks are on no such list.
    last: usize,
    spare: u64,
    /// CPUs and the pages that their lists still lack; the CPU to be served next is the last.
    of_cpu: Vec<(usize, u64)>,
    has_huge: bool,
}

impl CpuLists {
    /// The lists of a zone; `has_huge` where they may hold huge pages.
    pub(crate) fn of(zone: &ZoneCensus, lists: &[PcpInfo], has_huge: bool) -> Self {
        let count = |block: usize, class| u64::from(zone.blocks[block].count(class));
        let mut of_block: Vec<_> = (0..zone.blocks.len()).map(|block| count(block, FrameClass::Pcp)).collect();
        let mut left = zone.on_cpu_lists.get().saturating_sub(of_block.iter().sum());
        let mut others: Vec<_> = (0..of_block.len()).filter(|&block| count(block, FrameClass::Unknown) > 0).collect();
        others.sort_by_key(|&block| zone.types[block] != Migratetype::Movable);
        for block in others {
            let pages = count(block, FrameClass::Unknown).min(left);
            of_block[block] += pages;
            left -= pages;
        }
        let of_cpu = lists.iter().rev().map(|list| (list.cpu as usize, list.count.get()));
        Self { of_block, last: 0, spare: 0, of_cpu: of_cpu.filter(|&(_, pages)| pages > 0).collect(), has_huge }
    }

    /// The CPU on whose list a pageblock of this class is as a huge page, if all of it is on one.
    pub(crate) fn take_pageblock(&mut self, class: FrameClass, block: usize) -> Option<usize> {
        let size = PAGEBLOCK_PAGES.get();
        if !self.has_huge || class != FrameClass::Unknown || self.of_block[block] < size {
            return None;
        }
        let at = self.of_cpu.iter().rposition(|&(_, pages)| pages >= size)?;
        self.of_block[block] -= size;
        let (cpu, pages) = &mut self.of_cpu[at];
        let cpu = *cpu;
        *pages -= size;
        if *pages == 0 {
            self.of_cpu.remove(at);
        }
        Some(cpu)
    }

    /// The CPU on whose list the next frame of this class in a pageblock is, if it is on one.
    pub(crate) fn take(&mut self, class: FrameClass, block: usize) -> Option<usize> {
        if block != self.last {
            self.spare += std::mem::take(&mut self.of_block[self.last]);
            self.last = block;
        }
        if class != FrameClass::Unknown {
            return None;
        }
        let left = if self.of_block[block] > 0 { &mut self.of_block[block] } else { &mut self.spare };
        *left = left.checked_sub(1)?;
        let (cpu, pages) = self.of_cpu.last_mut()?;
        let cpu = *cpu;
        *pages -= 1;
        if *pages == 0 {
            self.of_cpu.pop();
        }
        Some(cpu)
    }
}

#[cfg(test)]
mod tests {
    use order9_snapshot::census::{BlockSummary, Census};
    use order9_snapshot::synth::{SynthSpec, synth};
    use order9_units::{Bytes, Pages};

    use super::*;

    #[test]
    fn lists_take_frames_of_movable_blocks_first_and_serve_cpus_in_turn() {
        let spec = SynthSpec { size: Bytes::new(1 << 28), ..SynthSpec::default() };
        let mut census = Census::of(&synth(&spec).expect("it is made").0).expect("it has a map");
        let zone = census.zones.last_mut().expect("it has a zone");
        let unmarked = |zone: &ZoneCensus, block: usize| u64::from(zone.blocks[block].count(FrameClass::Unknown));
        let holders: Vec<_> = (0..zone.blocks.len()).filter(|&block| unmarked(zone, block) > 2).collect();
        let [first, second, ..] = holders[..] else { panic!("kernel memory lies in several blocks") };
        zone.types.fill(Migratetype::Unmovable);
        zone.types[second] = Migratetype::Movable;
        let in_second = unmarked(zone, second);
        zone.on_cpu_lists = Pages::new(in_second + 2);
        let list = |cpu, count| PcpInfo { cpu, count: Pages::new(count), high: Pages::ZERO, batch: Pages::ZERO };
        let mut lists = CpuLists::of(zone, &[list(0, in_second), list(1, 0), list(2, 2)], false);
        assert_eq!(lists.take(FrameClass::Slab, first), None, "a frame with a flag is in use");
        assert_eq!(lists.take(FrameClass::Unknown, first), Some(0));
        assert_eq!(lists.take(FrameClass::Slab, second), None, "of the first block one page is left");
        (0..in_second).for_each(|n| {
            let cpu = if n + 1 < in_second { 0 } else { 2 };
            assert_eq!(lists.take(FrameClass::Unknown, second), Some(cpu));
        });
        assert_eq!(lists.take(FrameClass::Unknown, second), Some(2), "the page of the first block");
        assert_eq!(lists.take(FrameClass::Unknown, second), None);
    }

    #[test]
    fn pageblocks_all_of_whose_frames_are_on_lists_are_huge_pages_there() {
        let block = |unmarked| {
            let mut contents = [0; FrameClass::COUNT];
            (contents[FrameClass::Unknown.index()], contents[FrameClass::Free.index()]) = (unmarked, 512 - unmarked);
            BlockSummary::new(contents)
        };
        let spec = SynthSpec { size: Bytes::new(1 << 28), ..SynthSpec::default() };
        let mut census = Census::of(&synth(&spec).expect("it is made").0).expect("it has a map");
        let zone = census.zones.last_mut().expect("it has a zone");
        zone.blocks = [3, 512, 512, 512].map(block).to_vec();
        zone.types = vec![Migratetype::Movable; 4];
        zone.on_cpu_lists = Pages::new(3 + 2 * 512 + 1);
        let list = |cpu, count| PcpInfo { cpu, count: Pages::new(count), high: Pages::ZERO, batch: Pages::ZERO };
        let lists = |has_huge| CpuLists::of(zone, &[list(0, 4 + 512), list(1, 512)], has_huge);

        let mut huge = lists(true);
        assert_eq!(huge.take(FrameClass::Unknown, 0), Some(0));
        assert_eq!(huge.take_pageblock(FrameClass::Slab, 1), None, "a frame with a flag is in use");
        assert_eq!(huge.take_pageblock(FrameClass::Unknown, 1), Some(0));
        assert_eq!(huge.take_pageblock(FrameClass::Unknown, 2), Some(1));
        assert_eq!(huge.take_pageblock(FrameClass::Unknown, 3), None, "one of its frames is on a list");
        assert_eq!(huge.take(FrameClass::Unknown, 3), Some(0));

        let mut single = lists(false);
        assert_eq!(single.take_pageblock(FrameClass::Unknown, 1), None, "the lists of this kernel hold no huge pages");
        assert_eq!(single.take(FrameClass::Unknown, 1), Some(0));
    }
}
