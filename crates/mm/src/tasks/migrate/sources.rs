//! Isolated pages that a migration is to move.

use alloc::vec::Vec;

use order9_frames::Idx;

use crate::Mm;
use crate::trace::Tracer;

/// Owner of the list of pages to move: a task, or a run that the engine has.
pub(crate) trait Sources<T: Tracer> {
    /// Pages that are still to be moved; the last one is tried first.
    fn list<'a>(&'a mut self, mm: &'a mut Mm<T>) -> &'a mut Vec<Idx>;
}

impl<T: Tracer> Sources<T> for Vec<Idx> {
    fn list<'a>(&'a mut self, _: &'a mut Mm<T>) -> &'a mut Vec<Idx> {
        self
    }
}
