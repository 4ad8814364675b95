//! A table of the runs of one kind that are under way: compaction, reclaim.
//!
//! Key types: [`Runs`], [`RunId`]. A run lasts for many steps, between which its task keeps only the run's number.

use alloc::vec::Vec;
use core::marker::PhantomData;

/// The number of a run of kind `R`; numbers are used again.
pub struct RunId<R> {
    at: u32,
    of: PhantomData<fn() -> R>,
}

/// Runs of kind `R` by their numbers.
#[derive(Clone, Debug)]
pub(crate) struct Runs<R> {
    slots: Vec<Option<R>>,
}

/// Why a number must have a run: a task uses its run until the task ends the run.
const LIVES: &str = "a run is used until it is ended";

impl<R> Runs<R> {
    /// Starts a run.
    pub(crate) fn begin(&mut self, run: R) -> RunId<R> {
        let at = match self.slots.iter().position(Option::is_none) {
            Some(unused) => {
                self.slots[unused] = Some(run);
                unused
            }
            None => {
                self.slots.push(Some(run));
                self.slots.len() - 1
            }
        };
        RunId { at: at as u32, of: PhantomData }
    }

    /// A run under way.
    pub(crate) fn get_mut(&mut self, id: RunId<R>) -> &mut R {
        self.slots[id.at as usize].as_mut().expect(LIVES)
    }

    /// Ends a run.
    pub(crate) fn end(&mut self, id: RunId<R>) -> R {
        self.slots[id.at as usize].take().expect(LIVES)
    }

    /// All runs under way.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        self.slots.iter().flatten()
    }
}

// Derived, these would ask for the same of `R`.
impl<R> Default for Runs<R> {
    fn default() -> Self {
        Self { slots: Vec::new() }
    }
}

impl<R> Clone for RunId<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for RunId<R> {}

impl<R> PartialEq for RunId<R> {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl<R> Eq for RunId<R> {}

impl<R> core::fmt::Debug for RunId<R> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "run {}", self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again_once_their_runs_have_ended() {
        let mut runs = Runs::default();
        let [first, second] = ["a", "b"].map(|run| runs.begin(run));
        assert_ne!(first, second);
        assert_eq!(runs.end(first), "a");
        let third = runs.begin("c");
        assert_eq!((third, *runs.get_mut(third), *runs.get_mut(second)), (first, "c", "b"));
        assert!(runs.iter().eq(&["c", "b"]));
    }
}
