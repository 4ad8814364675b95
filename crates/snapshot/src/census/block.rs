//! Counts of one pageblock.

use crate::classify::{FrameClass, Mobility};
use order9_units::PAGEBLOCK_PAGES;

const FRAMES: u16 = PAGEBLOCK_PAGES.get() as u16;

/// Counts of the frames of one pageblock that belong to one zone. All other frames of the block count as holes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockSummary {
    counts: [u16; FrameClass::COUNT],
}

const _: () = assert!(size_of::<BlockSummary>() <= 50, "a terabyte has half a million of them");

/// Result that compaction can have in a pageblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockState {
    /// Some of its frames do not exist, are offline or lie in another zone: never a huge page.
    Partial,
    /// The block has not been given to the allocator yet. It becomes free memory when the kernel needs it.
    Deferred,
    /// One free huge page.
    Free,
    /// One huge page in use, or part of a larger one.
    Huge(FrameClass),
    /// The block holds free and movable frames only. Moving its movable frames away makes a huge page.
    Evacuable,
    /// Held by reclaimable slab alone.
    Slab,
    /// Held by frames without a flag alone, so few that all of them may be free pages on per-CPU lists.
    Unmarked,
    /// Held by frames that stay.
    Lost,
}

impl BlockSummary {
    /// A block of which no frame exists.
    pub const ABSENT: Self = {
        let mut counts = [0; FrameClass::COUNT];
        counts[FrameClass::Hole.index()] = FRAMES;
        Self { counts }
    };

    /// A block with these counts by class, which sum to one pageblock.
    #[must_use]
    pub fn new(counts: [u16; FrameClass::COUNT]) -> Self {
        debug_assert_eq!(counts.iter().sum::<u16>(), FRAMES);
        Self { counts }
    }

    /// A block of one class.
    pub(crate) fn uniform(class: FrameClass) -> Self {
        let mut counts = [0; FrameClass::COUNT];
        counts[class.index()] = FRAMES;
        Self { counts }
    }

    /// Frames of one class.
    #[must_use]
    pub fn count(&self, class: FrameClass) -> u16 {
        self.counts[class.index()]
    }

    /// Frames by class; they sum to one pageblock.
    #[must_use]
    pub fn counts(&self) -> &[u16; FrameClass::COUNT] {
        &self.counts
    }

    /// Number of free frames.
    #[must_use]
    pub fn free(&self) -> u16 {
        self.count(FrameClass::Free)
    }

    /// Frames whose content compaction can move.
    #[must_use]
    pub fn movable(&self) -> u16 {
        self.sum(Mobility::Movable)
    }

    /// Number of frames that compaction cannot move.
    #[must_use]
    pub fn immovable(&self) -> u16 {
        self.sum(Mobility::Immovable)
    }

    /// Frames that do not exist, are offline or belong to another zone.
    #[must_use]
    pub fn absent(&self) -> u16 {
        self.sum(Mobility::Absent)
    }

    /// Result that compaction can have in the block.
    #[must_use]
    pub fn state(&self) -> BlockState {
        if self.absent() > 0 {
            return BlockState::Partial;
        }
        if self.free() == FRAMES {
            return BlockState::Free;
        }
        if self.count(FrameClass::Deferred) == FRAMES {
            return BlockState::Deferred;
        }
        if let Some(class) = FrameClass::ALL.into_iter().find(|&c| c.is_huge() && self.count(c) == FRAMES) {
            return BlockState::Huge(class);
        }
        match self.immovable() {
            0 => BlockState::Evacuable,
            held if held == self.count(FrameClass::SlabReclaimable) => BlockState::Slab,
            held if held == self.count(FrameClass::Pcp) => BlockState::Unmarked,
            _ => BlockState::Lost,
        }
    }

    /// The class that holds most of the block's immovable frames, and how many of them; of equals, the first by number.
    #[must_use]
    pub fn holder(&self) -> Option<(FrameClass, u16)> {
        let mut most = None;
        for class in FrameClass::ALL {
            let count = self.count(class);
            let holds = class.mobility() == Mobility::Immovable && count > 0;
            if holds && most.is_none_or(|(_, best)| count > best) {
                most = Some((class, count));
            }
        }
        most
    }

    /// Turns slab of unknown kind into reclaimable slab.
    pub(crate) fn mark_slab_reclaimable(&mut self) {
        let slab = std::mem::take(&mut self.counts[FrameClass::Slab.index()]);
        self.counts[FrameClass::SlabReclaimable.index()] += slab;
    }

    /// Turns frames of unknown use into pages on per-CPU lists.
    pub(super) fn mark_pcp(&mut self) {
        let unknown = std::mem::take(&mut self.counts[FrameClass::Unknown.index()]);
        self.counts[FrameClass::Pcp.index()] += unknown;
    }

    fn sum(&self, mobility: Mobility) -> u16 {
        FrameClass::ALL.into_iter().filter(|c| c.mobility() == mobility).map(|c| self.count(c)).sum()
    }
}
