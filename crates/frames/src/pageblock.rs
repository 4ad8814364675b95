//! Pageblocks: the 2 MiB units of mobility grouping, each with a type and incremental counts of what it holds.
//!
//! The counts answer "what would it cost to empty this block, and can it be emptied at all" without looking at a frame;
//! a compaction index stands on them. A block belongs to one zone; frames outside it count as absent.

use order9_units::{Migratetype, PAGEBLOCK_PAGES};

use crate::count::Class;
use crate::zone::ZoneId;

/// Frames per pageblock as the counts use it.
const FRAMES: u16 = PAGEBLOCK_PAGES.get() as u16;

/// Counts, type and zone of a pageblock. Counts are in frames; with [`Pageblock::movable`] they add up to 512.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pageblock {
    /// On free lists.
    pub free: u16,
    /// Reserved, or in use or cached for a request that is not movable.
    pub immovable: u16,
    /// Otherwise movable, but pinned.
    pub pinned: u16,
    /// Held by compaction: free frames taken as targets, pages taken off their LRU.
    pub isolated: u16,
    /// Holes, and frames outside the zone.
    pub absent: u16,
    /// Mobility type.
    pub migratetype: Migratetype,
    /// The zone it belongs to.
    pub zone: ZoneId,
}

const _: () = assert!(size_of::<Pageblock>() <= 12, "pageblock counts have a budget of 0.03 bytes per frame");

impl Pageblock {
    /// A block of `zone` without any memory.
    #[must_use]
    pub const fn absent(zone: ZoneId) -> Self {
        Self { free: 0, immovable: 0, pinned: 0, isolated: 0, absent: FRAMES, migratetype: Migratetype::Movable, zone }
    }

    /// The count of a class; that of movable frames follows from the others.
    #[inline]
    pub(crate) const fn count_mut(&mut self, class: Class) -> Option<&mut u16> {
        match class {
            Class::Free => Some(&mut self.free),
            Class::Immovable => Some(&mut self.immovable),
            Class::Pinned => Some(&mut self.pinned),
            Class::Isolated => Some(&mut self.isolated),
            Class::Absent => Some(&mut self.absent),
            Class::Movable => None,
        }
    }

    /// Frames in use whose contents compaction may move: everything that is nothing else.
    #[must_use]
    pub const fn movable(&self) -> u16 {
        FRAMES - self.free - self.immovable - self.pinned - self.isolated - self.absent
    }

    /// Whether moving pages alone can make this a free huge page.
    #[must_use]
    pub const fn is_evacuable(&self) -> bool {
        (self.immovable | self.pinned | self.absent) == 0
    }
}
