//! Counts what was painted: for the snapshot's counters, and as the truth that an analysis has to find.

use order9_units::{NodeId, Order, Pages, Pfn, ZoneKind};

use super::content::Content;
use super::layout::ZoneLayout;
use super::plan::BLOCK;
use crate::buddy::count_free_words;

/// Known facts about a synthetic machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Truth {
    /// Populated zones, in the order of the snapshot.
    pub zones: Vec<ZoneTruth>,
}

/// Known facts about one zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneTruth {
    /// Node of the zone.
    pub node: NodeId,
    /// Kind of the zone.
    pub kind: ZoneKind,
    /// Supply of the zone as it is.
    pub now: Supply,
    /// Supply with clean page cache and reclaimable slab dropped.
    pub after_drop: Supply,
}

/// Free frames and blocks with which compaction of a zone can work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    /// Number of free frames.
    pub free: Pages,
    /// For every pageblock that has no immovable, reserved or absent frame: the number of frames that have to move to
    /// empty it, 0 to 512, ascending. Huge pages count as immovable.
    pub costs: Vec<u16>,
}

/// Counts of the contents painted in one zone.
#[derive(Default)]
pub(super) struct ZoneTally {
    /// Number of frames by content.
    pub(super) frames: [u64; Content::COUNT],
    /// Free blocks by order.
    pub(super) free_blocks: [u64; Order::COUNT],
    now: Supply,
    after_drop: Supply,
}

impl ZoneTally {
    /// Adds the cells of one chunk, which start at `first`, a multiple of 64, and end with a pageblock.
    pub(super) fn add(&mut self, first: Pfn, cells: &[u8]) {
        let free =
            |word: &[u8]| word.iter().rev().fold(0, |mask, &cell| mask << 1 | u64::from(cell == Content::Free as u8));
        count_free_words(first, cells.chunks_exact(64).map(free), &mut self.free_blocks);
        let cut = (first.get().next_multiple_of(BLOCK) - first.get()) as usize;
        let (part, blocks) = cells.split_at(cut.min(cells.len()));
        self.add_frames(part);
        for block in blocks.chunks_exact(BLOCK as usize) {
            let counts = self.add_frames(block);
            let sum = |which: fn(Content) -> bool| {
                Content::ALL.iter().filter(|&&content| which(content)).map(|&content| counts[content as usize]).sum()
            };
            let free: u64 = sum(|content| content == Content::Free);
            let movable = sum(Content::is_movable);
            let dropped = sum(Content::is_dropped);
            let kept: u64 = sum(|content| content.is_movable() && !content.is_dropped());
            self.now.add_block(free, movable);
            self.after_drop.add_block(free + dropped, kept);
        }
    }

    /// Counts frames; returns those of `cells` by content.
    fn add_frames(&mut self, cells: &[u8]) -> [u64; Content::COUNT] {
        let mut counts = [0; Content::COUNT];
        cells.iter().for_each(|&cell| counts[usize::from(cell)] += 1);
        self.frames.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        counts
    }

    /// Frames of one content.
    pub(super) fn count(&self, content: Content) -> Pages {
        Pages::new(self.frames[content as usize])
    }

    /// Known facts about the zone.
    pub(super) fn into_truth(mut self, zone: &ZoneLayout) -> ZoneTruth {
        let free = self.count(Content::Free);
        self.now.free = free;
        self.after_drop.free = free + self.count(Content::CleanCache) + self.count(Content::SlabReclaimable);
        self.now.costs.sort_unstable();
        self.after_drop.costs.sort_unstable();
        ZoneTruth { node: zone.node, kind: zone.kind, now: self.now, after_drop: self.after_drop }
    }
}

impl Supply {
    fn add_block(&mut self, free: u64, movable: u64) {
        if free + movable == BLOCK {
            self.costs.push(movable as u16);
        }
    }
}
