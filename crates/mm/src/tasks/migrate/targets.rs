//! Frames for a migration to move pages to.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Order;

use crate::Mm;

/// Source of free frames for migration.
pub(crate) trait Targets {
    /// A single held frame for the page in `source`; `None` ends the migration.
    fn take(&mut self, mm: &mut Mm, source: Idx) -> Option<Idx>;

    /// Held frames that make up a block of `order`, the first one. Where there are none, a huge page is split.
    fn take_block(&mut self, _: &mut Mm, _: Order) -> Option<Idx> {
        None
    }

    /// Takes a frame back that was not needed; it is still held.
    fn give_back(&mut self, mm: &mut Mm, target: Idx);
}

/// Held frames, the last one first.
pub(crate) struct Room(pub(crate) Vec<Idx>);

impl Targets for Room {
    fn take(&mut self, _: &mut Mm, _: Idx) -> Option<Idx> {
        self.0.pop()
    }

    fn give_back(&mut self, _: &mut Mm, target: Idx) {
        self.0.push(target);
    }
}
