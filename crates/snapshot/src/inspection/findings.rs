//! Findings from the map of frames: huge pages that exist, could exist and cannot exist.

use std::collections::BTreeMap;

use order9_units::{Nanos, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use super::Gigabytes;
use crate::classify::FrameClass;

/// Findings about a zone, a node or the machine from the map of frames.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Findings {
    /// Pageblocks by what can be made of them.
    pub blocks: BlockTally,
    /// Huge pages that moving pages could add to those that are free now, if every free frame could be a target.
    pub by_moving: Recovery,
    /// Recovery by moving pages to blocks of type Movable or CMA only, as Linux does. Types are an estimate on a real
    /// host.
    pub by_moving_in_linux: Recovery,
    /// The most that moving pages could add to those that are free now if the per-CPU lists were drained first, and the
    /// moves for it: no matter which of the frames without a flag are the pages on these lists.
    pub by_moving_if_drained: Recovery,
    /// "Drop, then compact": huge pages to be had if clean page cache and reclaimable slab went first.
    pub by_dropping: Drop,
    /// Least number of moves for the next huge pages: 1, 10, then 10 %, 50 % and all of those in `by_moving`.
    pub goals: Vec<Goal>,
    /// Pageblocks that no moving of pages can free.
    pub lost: Losses,
    /// Free pages on per-CPU lists, and what they may hold.
    pub on_cpu_lists: OnCpuLists,
    /// Huge pages in use.
    pub huge_in_use: HugeInUse,
    /// Areas of 1 GiB.
    pub gigabytes: Gigabytes,
    /// Frames by class; the sum is the number of present frames.
    pub census: BTreeMap<FrameClass, Pages>,
    /// Movable frames in folios of more than one page: counted as if each page could move alone.
    pub movable_in_large_folios: Pages,
    /// Pageblocks whose contents contradict the type assigned to them; 0 where types are known.
    pub blocks_against_type: u64,
}

/// Pageblocks by what can be made of them. The other fields sum to `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlockTally {
    /// All pageblocks of the span with at least one frame.
    pub total: u64,
    /// Free from end to end.
    pub free: u64,
    /// A huge page in use.
    pub huge: u64,
    /// Free and movable frames only.
    pub evacuable: u64,
    /// Besides free and movable frames only reclaimable slab.
    pub slab: u64,
    /// Besides free and movable frames only unmarked ones, which may all be free pages on per-CPU lists.
    pub unmarked: u64,
    /// Blocks that hold frames which cannot be moved.
    pub lost: u64,
    /// Incomplete blocks, at the edge of a zone or a hole.
    pub partial: u64,
    /// Blocks that have not been given to the allocator yet.
    pub deferred: u64,
}

/// Huge pages to be had by moving pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Recovery {
    /// Number of huge pages beyond those that are free now.
    pub huge_pages: u64,
    /// Least number of moves for all of them.
    pub moves: Pages,
    /// CPU time of these moves.
    pub time: Nanos,
}

/// Huge pages to be had by dropping what can be read or built again, then moving pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Drop {
    /// Number of huge pages beyond those that are free now.
    pub huge_pages: u64,
    /// Clean, unmapped page cache dropped, all of which may have to be read again.
    pub cache_dropped: Pages,
    /// Reclaimable slab freed, in the best case: an estimate.
    pub slab_freed: Pages,
    /// Least number of moves afterwards.
    pub moves: Pages,
    /// CPU time of dropping and moving, as far as priced.
    pub time: Nanos,
    /// Time to read all dropped cache again, where priced.
    pub reread_time: Option<Nanos>,
}

/// A number of huge pages and its price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Goal {
    /// `1`, `10`, `10 %`, `50 %` or `all`.
    pub goal: &'static str,
    /// Huge pages beyond those that are free now.
    pub huge_pages: u64,
    /// Least number of moves.
    pub moves: Pages,
    /// CPU time of these moves.
    pub time: Nanos,
}

/// Pageblocks that no moving of pages can free: tally `lost` and `slab`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Losses {
    /// Number of lost blocks.
    pub blocks: u64,
    /// Number of lost blocks that a single page holds.
    pub by_one_page: u64,
    /// Lost blocks by the class that holds them, most blocks first.
    pub by_holder: Vec<HeldBy>,
    /// Lost blocks by the number of pages that hold them, fewest first.
    pub by_pages: Vec<HeldByFew>,
}

/// Pageblocks lost to one class of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldBy {
    /// The class that holds most of a block's immovable frames; of equals, the first by number.
    pub class: FrameClass,
    /// Number of lost blocks that this class holds.
    pub blocks: u64,
    /// Number of blocks that hold no other immovable frames.
    pub alone: u64,
    /// Frames of the class in lost blocks, whether or not it is the main holder there.
    pub pages: Pages,
}

/// Pageblocks lost to between `from` and `to` immovable frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldByFew {
    /// Least number of immovable frames.
    pub from: u16,
    /// Largest number of immovable frames.
    pub to: u16,
    /// Number of blocks.
    pub blocks: u64,
}

/// Free pages on per-CPU lists. The kernel tells how many there are; in the map they look like kernel memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OnCpuLists {
    /// Number of free pages on per-CPU lists, at most the number of frames without a flag.
    pub pages: Pages,
    /// Pageblocks that they alone may hold, at most: tally `unmarked`.
    pub blocks: u64,
    /// Frames without a flag in these blocks.
    pub pages_there: Pages,
}

/// Huge pages in use, in frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct HugeInUse {
    /// Mapped pages of anonymous memory.
    pub anon: Pages,
    /// Mapped pages of files.
    pub file: Pages,
    /// tmpfs and shared memory.
    pub shmem: Pages,
    /// hugetlb pages, in use or in their pool.
    pub hugetlb: Pages,
    /// Anonymous memory of any page size.
    pub anon_total: Pages,
    /// Share of anonymous memory that is huge, 0 to 1; nothing where there is none.
    pub anon_share: Option<f64>,
}
