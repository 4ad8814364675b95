//! Number of huge pages that can be allocated, and whether moving or reclaiming pages would help.

use order9_units::Pages;

use super::Zone;

/// The obstacle between a request and one huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Binding {
    /// No block could ever be emptied: freeing user pages does not help, only shrinking slab or unpinning does.
    Blocks,
    /// Fewer free frames than one pageblock.
    Frames,
    /// Enough free frames, but the watermark forbids to use them.
    Watermark,
}

/// The way to one huge page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Reach {
    /// A free block is there and the watermark allows to take it.
    Free,
    /// Moving pages alone is enough; reclaim is pointless.
    Compaction {
        /// Least number of moves.
        moves: Pages,
    },
    /// Pages have to be reclaimed first.
    Reclaim {
        /// Least number of pages that are missing.
        pages: Pages,
        /// The obstacle.
        short_of: Binding,
    },
    /// No amount of page reclaim helps: every block holds something that stays.
    Never,
}

impl Zone {
    /// Number of huge pages that can be allocated one after the other while free pages stay above `watermark`
    /// (including the request's lowmem reserve), given unlimited moving of pages.
    #[must_use]
    pub fn allocatable(&self, watermark: Pages) -> u64 {
        let usable = self.free.saturating_sub(watermark.get());
        self.evacuable().min(usable / self.pageblock)
    }

    /// Number of huge pages as in [`Zone::allocatable`], but with only free blocks once Linux refuses to start
    /// compaction: a run for a costly order wants more than two pageblocks of free frames above the low watermark.
    #[must_use]
    pub fn allocatable_by_gated_compaction(&self, low: Pages) -> u64 {
        let gate = low.get() + 2 * self.pageblock;
        let runs = self.free.saturating_sub(gate).div_ceil(self.pageblock);
        let without_compaction = self.free_blocks.min(self.allocatable(low));
        self.evacuable().min(runs).max(without_compaction)
    }

    /// The way to one huge page for a request that must leave `watermark` free pages (lowmem reserve included).
    #[must_use]
    pub fn reach(&self, watermark: Pages) -> Reach {
        let need = watermark.get() + self.pageblock;
        if self.evacuable() == 0 {
            return Reach::Never;
        }
        if self.free < need {
            let short_of = if self.free < self.pageblock { Binding::Frames } else { Binding::Watermark };
            return Reach::Reclaim { pages: Pages::new(need - self.free), short_of };
        }
        match self.all.cheapest(1) {
            0 => Reach::Free,
            moves => Reach::Compaction { moves: Pages::new(moves) },
        }
    }

    /// The obstacle to allocating more huge pages above `watermark`: the first of the three with the smallest limit.
    #[must_use]
    pub fn binding(&self, watermark: Pages) -> Binding {
        let frames = self.free / self.pageblock;
        let above = self.free.saturating_sub(watermark.get()) / self.pageblock;
        if self.evacuable() <= above {
            Binding::Blocks
        } else if above < frames {
            Binding::Watermark
        } else {
            Binding::Frames
        }
    }
}
