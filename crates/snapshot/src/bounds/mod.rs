//! Bounds for compaction: largest number of free huge pages that a zone could have, and least number of page moves for
//! them.
//!
//! A zone is a row of [`Block`]s: free, movable and immovable frames, and whether the block may receive moved pages. A
//! move takes one page to one free frame of the same zone. [`Zone`] answers in O(1) after counting-sorting the blocks by
//! cost; [`Zone::reach`] says whether moving or reclaiming pages would help one allocation, [`meeting_scanners`] what two
//! scanners that walk towards each other could do at best.
//!
//! The bounds are exact for base pages that may go to any free frame. Folios that may not be split and pins that show
//! only when moving fails make the counts upper and the moves lower bounds. Proofs and examples: docs/inspect.md.
//! Knows nothing of snapshots, classes of frames or prices.

mod allocate;
mod scanners;
mod sorted;

use order9_units::{PAGEBLOCK_PAGES, Pages};

pub use allocate::{Binding, Reach};
pub use scanners::meeting_scanners;
use sorted::Sorted;

/// One pageblock as compaction sees it. What is neither free nor movable is immovable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of free frames.
    pub free: u16,
    /// Frames whose content can move.
    pub movable: u16,
    /// Whether moved pages may be put here. Linux fills blocks of type Movable and CMA only.
    pub target: bool,
}

/// The blocks of one zone, ready to answer.
///
/// Law: every feasible set of blocks to free must leave room for their pages outside of it. Without restriction of
/// targets that is `n * pageblock <= free` for any `n` evacuable blocks, so the cheapest ones are best.
#[derive(Clone, Debug)]
pub struct Zone {
    pageblock: u64,
    free: u64,
    /// Free frames of blocks that may receive pages.
    target_free: u64,
    /// Blocks that are free from end to end.
    free_blocks: u64,
    /// Costs of evacuable blocks: all, those that may receive pages, and the others.
    all: Sorted,
    targets: Sorted,
    others: Sorted,
}

impl Zone {
    /// A zone of 2 MiB pageblocks.
    #[must_use]
    pub fn new(blocks: impl IntoIterator<Item = Block>) -> Self {
        Self::with_pageblock(PAGEBLOCK_PAGES, blocks)
    }

    /// A zone of pageblocks of `pageblock` frames, below 65536. A block whose frames do not add up to that is not
    /// evacuable.
    #[must_use]
    pub fn with_pageblock(pageblock: Pages, blocks: impl IntoIterator<Item = Block>) -> Self {
        let pageblock = pageblock.get();
        let (mut free, mut target_free, mut free_blocks) = (0, 0, 0);
        let costs = || vec![0_u64; pageblock as usize + 1];
        let (mut targets, mut others) = (costs(), costs());
        for block in blocks {
            free += u64::from(block.free);
            target_free += if block.target { u64::from(block.free) } else { 0 };
            if u64::from(block.free) + u64::from(block.movable) == pageblock {
                free_blocks += u64::from(block.movable == 0);
                let costs = if block.target { &mut targets } else { &mut others };
                costs[usize::from(block.movable)] += 1;
            }
        }
        let all: Vec<u64> = targets.iter().zip(&others).map(|(a, b)| a + b).collect();
        Self {
            pageblock,
            free,
            target_free,
            free_blocks,
            all: Sorted::from_counts(&all),
            targets: Sorted::from_counts(&targets),
            others: Sorted::from_counts(&others),
        }
    }

    /// The zone with `free` more free frames, which may receive pages but lie in no block that could be freed.
    #[must_use]
    pub fn with_room(self, free: Pages) -> Self {
        Self { free: self.free + free.get(), target_free: self.target_free + free.get(), ..self }
    }

    /// Number of free frames.
    #[must_use]
    pub fn free(&self) -> Pages {
        Pages::new(self.free)
    }

    /// Blocks that hold only free and movable frames, the free ones included.
    #[must_use]
    pub fn evacuable(&self) -> u64 {
        self.all.len()
    }

    /// Blocks that are free now.
    #[must_use]
    pub fn free_blocks(&self) -> u64 {
        self.free_blocks
    }

    /// Largest number of blocks that can be free at the same time, including blocks that are free now: the smaller of
    /// the evacuable blocks and the whole blocks that the free frames would fill.
    #[must_use]
    pub fn max_free_blocks(&self) -> u64 {
        self.evacuable().min(self.free / self.pageblock)
    }

    /// The least number of moves after which `blocks` blocks are free; `None` where that many cannot be.
    #[must_use]
    pub fn min_moves(&self, blocks: u64) -> Option<Pages> {
        (blocks <= self.max_free_blocks()).then(|| Pages::new(self.all.cheapest(blocks)))
    }

    /// Number of blocks of each cost (index: moves, up to one pageblock) that the cheapest way to as many free blocks
    /// as possible empties. Blocks that are free now have cost 0 and are included.
    #[must_use]
    pub fn costs(&self) -> Vec<u64> {
        self.all.counts_of_cheapest(self.max_free_blocks(), self.pageblock as usize)
    }

    /// Largest number of free blocks as in [`Zone::max_free_blocks`], but with pages moved into target blocks only.
    ///
    /// Emptying a target block takes a whole pageblock of target room (its pages move, its own free frames are lost as
    /// targets); emptying another takes room for its pages alone. Least need first is best.
    #[must_use]
    pub fn max_free_blocks_into_targets(&self) -> u64 {
        let others = self.others.most_within(self.target_free);
        let room = self.target_free - self.others.cheapest(others);
        others + self.targets.len().min(room / self.pageblock)
    }

    /// Least number of moves as in [`Zone::min_moves`], but with pages moved into target blocks only.
    ///
    /// Cost and need for room disagree, so every split of `blocks` between target blocks and others is tried: for a
    /// fixed split the cheapest of either kind are best in both respects. O(`blocks`).
    #[must_use]
    pub fn min_moves_into_targets(&self, blocks: u64) -> Option<Pages> {
        let least = blocks.saturating_sub(self.others.len());
        let most = blocks.min(self.targets.len());
        (least..=most)
            .filter(|&targets| {
                let need = targets * self.pageblock + self.others.cheapest(blocks - targets);
                need <= self.target_free
            })
            .map(|targets| Pages::new(self.targets.cheapest(targets) + self.others.cheapest(blocks - targets)))
            .min()
    }
}
