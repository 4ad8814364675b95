//! Keeps the counts of pageblocks true: every frame is in exactly one class, derived from its word.

use order9_units::{Order, PAGEBLOCK_PAGES};

use crate::Frames;
use crate::frame::{Bits, Flag, FrameState, Idx, Word};
use crate::storage::Storage;
use crate::watch::Watch;

/// Class in which a pageblock counts a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// On a free list.
    Free,
    /// In use, and compaction may move it.
    Movable,
    /// Reserved, or in use or cached for a request that is not movable.
    Immovable,
    /// Otherwise movable, but pinned.
    Pinned,
    /// Off the free lists for compaction, or off an LRU list.
    Isolated,
    /// A hole.
    Absent,
}

impl Class {
    /// The class of a block of frames whose first frame has this word; `None` for a tail.
    pub fn of(word: Word) -> Option<Self> {
        Some(match word.state() {
            FrameState::Tail => return None,
            FrameState::Hole => Self::Absent,
            FrameState::Reserved => Self::Immovable,
            FrameState::Free { .. } => Self::Free,
            FrameState::Held { .. } => Self::Isolated,
            FrameState::Pcp { .. } | FrameState::Allocated { .. } => Self::of_used(word),
        })
    }

    /// The class of a cached or allocated block. Being isolated outweighs the rest, since it ends soon.
    #[inline]
    pub fn of_used(word: Word) -> Self {
        if word.has(Flag::Isolated) {
            Self::Isolated
        } else if word.has(Flag::CountedImmovable) {
            Self::Immovable
        } else if word.has(Flag::Pinned) {
            Self::Pinned
        } else {
            Self::Movable
        }
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// Adds the `order` block at `idx` to `class` of its pageblocks.
    #[inline]
    pub fn count_in(&mut self, idx: Idx, order: Order, class: Class) {
        self.count_in_run(idx, order, 1, class);
    }

    /// Adds `count` blocks of `order` from `idx` on to `class` of their pageblock; of whole pageblocks there is one.
    #[inline]
    pub(crate) fn count_in_run(&mut self, idx: Idx, order: Order, count: u64, class: Class) {
        self.for_counts(idx, order, count, class, |count, frames| *count += frames);
    }

    /// Takes the `order` block at `idx` out of `class` of its pageblocks.
    #[inline]
    pub fn count_out(&mut self, idx: Idx, order: Order, class: Class) {
        self.count_out_run(idx, order, 1, class);
    }

    /// Takes `count` blocks of `order` from `idx` on out of `class` of their pageblock; of whole pageblocks there is one.
    #[inline]
    pub(crate) fn count_out_run(&mut self, idx: Idx, order: Order, count: u64, class: Class) {
        self.for_counts(idx, order, count, class, |count, frames| *count -= frames);
    }

    #[inline(always)]
    fn for_counts(&mut self, idx: Idx, order: Order, count: u64, class: Class, change: impl Fn(&mut u16, u16)) {
        if class == Class::Movable && order < Order::PAGEBLOCK {
            return; // Derived from the others.
        }
        let first = idx.block();
        if order <= Order::PAGEBLOCK {
            self.for_count(first, (count as u16) << order.get(), class, change);
        } else {
            let frames = PAGEBLOCK_PAGES.get() as u16;
            (first..first + 2).for_each(|block| self.for_count(block, frames, class, &change));
        }
    }

    /// Changes the count of one pageblock.
    #[inline(always)]
    fn for_count(&mut self, block: usize, frames: u16, class: Class, change: impl Fn(&mut u16, u16)) {
        if let Some(count) = self.blocks[block].count_mut(class) {
            change(count, frames);
        }
        self.touch_blocks(block, 1);
    }

    /// Brings the index, if there is one, up to date with, and tells of, `blocks` pageblocks from `first`
    /// on.
    #[inline]
    pub fn touch_blocks(&mut self, first: usize, blocks: usize) {
        for (block, of) in (first..).zip(&self.blocks[first..first + blocks]) {
            self.watch.recounted(block, of, &self.table);
        }
        if self.index.is_some() {
            self.touch_index(first, blocks);
        }
    }

    #[inline(never)]
    fn touch_index(&mut self, first: usize, blocks: usize) {
        let Some(index) = &mut self.index else { return };
        self.work.locked.index_updates += blocks as u64;
        for (block, of) in (first..).zip(&self.blocks[first..first + blocks]) {
            index.touch(block, of, &self.table);
        }
    }

    /// An attempt to empty a pageblock has failed: for some time the index counts it as more expensive.
    pub fn penalize(&mut self, block: usize) {
        if let Some(index) = &mut self.index {
            index.penalize(block, &self.blocks[block], &self.table);
        }
    }

    /// Changes flags of the live allocation at `idx`, moving its frames to the class they then belong to.
    #[cold]
    pub fn reflag(&mut self, idx: Idx, flag: impl Bits, on: bool) {
        let before = self.table.word(idx);
        self.reword(idx, before, before.with(flag, on));
    }

    /// Gives the live allocation at `idx`, whose word is `before`, one with other flags, moving its frames to the class they then
    /// belong to.
    #[inline(always)]
    pub fn reword(&mut self, idx: Idx, before: Word, after: Word) {
        let order = before.order();
        self.count_out(idx, order, Class::of_used(before));
        self.count_in(idx, order, Class::of_used(after));
        self.table.set(idx, after);
    }
}
