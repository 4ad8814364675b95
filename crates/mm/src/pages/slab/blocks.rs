//! Pageblocks that hold slab.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::{Order, PAGEBLOCK_PAGES};

/// Frames of slabs by pageblock.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SlabBlocks {
    frames: Vec<u16>,
    /// Pageblocks with any.
    used: u64,
}

impl SlabBlocks {
    pub(crate) fn new(blocks: usize) -> Self {
        Self { frames: alloc::vec![0; blocks], used: 0 }
    }

    /// Pageblocks that hold slab.
    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn bytes(&self) -> usize {
        self.frames.capacity() * size_of::<u16>()
    }

    /// Counts a slab of `order` at `frame`.
    pub(crate) fn add(&mut self, frame: Idx, order: Order) {
        let each = order.pages().min(PAGEBLOCK_PAGES).get() as u16;
        let mut begun = 0;
        for block in self.of(frame, order) {
            begun += u64::from(*block == 0);
            *block += each;
        }
        self.used += begun;
    }

    /// Counts it out.
    pub(crate) fn remove(&mut self, frame: Idx, order: Order) {
        let each = order.pages().min(PAGEBLOCK_PAGES).get() as u16;
        let mut emptied = 0;
        for block in self.of(frame, order) {
            *block -= each;
            emptied += u64::from(*block == 0);
        }
        self.used -= emptied;
    }

    /// The pageblocks of a slab: one, unless it is larger.
    fn of(&mut self, frame: Idx, order: Order) -> &mut [u16] {
        let first = frame.block();
        &mut self.frames[first..first + order.pages().get().div_ceil(PAGEBLOCK_PAGES.get()) as usize]
    }
}
