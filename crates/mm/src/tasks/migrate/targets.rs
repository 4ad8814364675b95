//! Frames for a migration to move pages to.

use alloc::vec::Vec;

use order9_frames::Idx;

use crate::Mm;

/// Source of free frames for migration.
pub(crate) trait Targets {
    /// A single held frame for the page in `source`; `None` ends the migration.
    fn take(&mut self, mm: &mut Mm, source: Idx) -> Option<Idx>;

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
