//! The frame table: state of every frame and the links of every list, as a structure of arrays.
//!
//! Key types: [`FrameState`] (what a frame is), [`FrameTable`] (all of them). A frame is on at most one list at a time, so
//! one pair of links serves free lists, per-CPU lists and LRU lists. Lists are rings closed by a sentinel that
//! lives behind the frames in the same array, which makes every insertion and removal branch-free.
//! Only the first frame of a block carries its state; the others are [`FrameState::Tail`] and are never written when a
//! block is allocated or freed whole: that is what makes an order-9 block as cheap as a single frame.

mod table;
mod word;

use order9_units::{Migratetype, Order};

pub(crate) use table::READ_TOGETHER;
pub use table::{FrameTable, Link};
pub use word::{Bits, Flag, Word};

/// Position in the frame table: a frame, or behind them a list's sentinel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Idx(pub u32);

impl Idx {
    /// The position as an index of arrays.
    pub const fn at(self) -> usize {
        self.0 as usize
    }

    /// The block that merges with a block of `order` here. The table starts at a multiple of the largest block.
    pub const fn buddy(self, order: Order) -> Self {
        Self(self.0 ^ (1 << order.get()))
    }

    /// First frame of the block that a block of `order` here and its buddy make.
    pub const fn parent(self, order: Order) -> Self {
        Self(self.0 & !(1 << order.get()))
    }

    /// The frame so many further on.
    pub const fn plus(self, frames: u32) -> Self {
        Self(self.0 + frames)
    }

    /// Position of the pageblock that holds this frame.
    pub const fn block(self) -> usize {
        self.at() >> Order::PAGEBLOCK.get()
    }
}

/// State of a frame. A block of several frames has its state on the first; the others are tails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameState {
    /// Part of the block that starts at a lower frame.
    Tail,
    /// No memory here, or memory the allocator was never given.
    Hole,
    /// Present, kept from the allocator at boot.
    Reserved,
    /// First frame of a free block on a free list.
    Free {
        /// Size of the block.
        order: Order,
        /// The free list it is on; before the freelist hygiene of 6.10 this can differ from the pageblock's type.
        list: Migratetype,
    },
    /// First frame of a free block on a per-CPU list.
    Pcp {
        /// Size of the block.
        order: Order,
        /// Type it was cached with, used when it returns to the free lists.
        cached: Migratetype,
    },
    /// First frame of a live allocation.
    Allocated {
        /// Size of the allocation.
        order: Order,
    },
    /// First frame of a free block that compaction has taken off the free lists.
    Held {
        /// Size of the block.
        order: Order,
    },
}
