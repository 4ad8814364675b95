//! Isolated pages that a migration is to move.

use alloc::vec::Vec;

use order9_frames::Idx;

use crate::Mm;

/// Owner of the list of pages to move: a task, or a run that the engine has.
pub(crate) trait Sources {
    /// Pages that are still to be moved; the last one is tried first.
    fn list<'a>(&'a mut self, mm: &'a mut Mm) -> &'a mut Vec<Idx>;
}

impl Sources for Vec<Idx> {
    fn list<'a>(&'a mut self, _: &'a mut Mm) -> &'a mut Vec<Idx> {
        self
    }
}
