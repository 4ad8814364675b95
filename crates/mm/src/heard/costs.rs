//! [`Costs`]: how many pageblocks of a zone take how many moves to empty, kept up to date as frames change.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::storage::Storage;
use order9_frames::{FrameTable, Idx, Pageblock, is_whole};
use order9_units::{Migratetype, Order, PAGEBLOCK_PAGES};

/// Number of pageblocks by the moves that empty them, from none to a full pageblock.
pub(crate) type Histogram = [u32; PAGEBLOCK_PAGES.get() as usize + 1];

pub(crate) const EMPTY: Histogram = [0; PAGEBLOCK_PAGES.get() as usize + 1];

/// Cost of a pageblock that cannot be emptied or has no memory.
const NEVER: u16 = u16::MAX;

/// Moves that empty each pageblock.
#[derive(Clone, Debug)]
pub(crate) struct Costs {
    pub(crate) zones: Vec<Histogram>,
    pub(crate) of: Vec<u16>,
}

impl Costs {
    pub(crate) fn new(zones: usize, blocks: &[Pageblock], frames: &FrameTable) -> Self {
        let mut costs = Self { zones: vec![EMPTY; zones], of: vec![NEVER; blocks.len()] };
        (0..blocks.len()).for_each(|block| costs.touch(block, &blocks[block], frames));
        costs
    }

    /// Updates the cost of a pageblock whose counts have changed.
    #[inline]
    pub(crate) fn touch<S: Storage>(&mut self, block: usize, own: &Pageblock, frames: &FrameTable<S>) {
        let Some(zone) = self.zones.get_mut(own.zone.index()) else { return };
        let new = cost(own, block, frames);
        let old = core::mem::replace(&mut self.of[block], new);
        if old != new {
            if old != NEVER {
                zone[usize::from(old)] -= 1;
            }
            if new != NEVER {
                zone[usize::from(new)] += 1;
            }
        }
    }

    /// Bytes of metadata.
    pub(crate) fn bytes(&self) -> usize {
        self.zones.capacity() * size_of::<Histogram>() + self.of.capacity() * size_of::<u16>()
    }
}

/// Moves that empty the pageblock.
#[inline]
pub(crate) fn cost<S: Storage>(own: &Pageblock, block: usize, frames: &FrameTable<S>) -> u16 {
    // A run that has claimed a pageblock keeps it from others.
    if !own.is_evacuable() || own.migratetype == Migratetype::Isolate {
        return NEVER;
    }
    let pages = own.movable() + own.isolated;
    if u64::from(pages) < PAGEBLOCK_PAGES.get() {
        return pages;
    }
    // Held as a whole, or a huge page.
    let first = frames.word(Idx((block as u32) << Order::PAGEBLOCK.get()));
    if own.isolated == pages || is_whole(first) { NEVER } else { pages }
}
