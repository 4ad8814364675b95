//! The pages of one file by their place in it, and the shadows of pages that reclaim took.
//!
//! On tmpfs reclaim leaves the number of a slot of swap instead of a shadow, by which the content is found again: such places
//! are never dropped but by whoever frees the slot.
//!
//! A file of one page keeps it in place, which makes millions of small files cheap; others have chunks of 64 places that
//! hold eight bytes for each: a page with the number of its mappings, or a shadow. Bits tell which, and which are dirty.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::ops::Bound;

use super::Shadow;
use super::chunks::{CHUNK, Chunk, Chunks, Slot};
use order9_frames::Idx;

/// The chunks of a file of several pages.
#[derive(Clone, Default)]
pub(super) struct Many {
    chunks: Chunks,
    /// Numbers of chunks with dirty pages.
    dirty: BTreeSet<u64>,
}

/// The pages and shadows of a file.
#[derive(Clone, Default)]
pub(super) enum PageTree {
    #[default]
    Empty,
    One {
        index: u64,
        slot: Slot,
        state: One,
    },
    Many(Box<Many>),
}

const _: () = assert!(size_of::<PageTree>() <= 24, "machines have millions of small files");

/// Content of the only place of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum One {
    Clean,
    Dirty,
    Shadow,
}

const fn place(index: u64) -> (u64, usize) {
    (index / CHUNK, (index % CHUNK) as usize)
}

/// The bits of chunk `number` that lie in `[from, end)`.
const fn within(number: u64, from: u64, end: u64) -> u64 {
    let base = number * CHUNK;
    let low = if from <= base {
        u64::MAX
    } else if from - base >= CHUNK {
        0
    } else {
        u64::MAX << (from - base)
    };
    let high = if end <= base {
        0
    } else if end - base >= CHUNK {
        u64::MAX
    } else {
        !(u64::MAX << (end - base))
    };
    low & high
}

impl PageTree {
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }

    #[inline]
    pub(super) fn page(&self, index: u64) -> Option<Idx> {
        let slot = self.slot(index)?;
        Some(Idx(slot.value))
    }

    /// Mappings of the page at `index`.
    pub(super) fn mappings(&self, index: u64) -> u32 {
        self.slot(index).map_or(0, |slot| slot.mappings)
    }

    /// The slot of a page.
    #[inline]
    fn slot(&self, index: u64) -> Option<Slot> {
        match self {
            Self::Empty => None,
            Self::One { index: only, slot, state } => (*only == index && *state != One::Shadow).then_some(*slot),
            Self::Many(many) => {
                let (number, at) = place(index);
                let chunk = many.chunks.get(number)?;
                (chunk.present >> at & 1 != 0).then(|| chunk.slots[at])
            }
        }
    }

    /// Changes the number of mappings of a page by one; returns the new number.
    pub(super) fn count_mapping(&mut self, index: u64, change: fn(u32, u32) -> u32) -> u32 {
        let slot = match self {
            Self::One { index: only, slot, .. } if *only == index => Some(slot),
            Self::Many(many) => {
                let (number, at) = place(index);
                many.chunks.get_mut(number).map(|chunk| &mut chunk.slots[at])
            }
            _ => None,
        };
        let slot = slot.expect("a mapped page is in its file");
        slot.mappings = change(slot.mappings, 1);
        slot.mappings
    }

    /// Puts a clean page where there is none; returns the shadow that was there.
    pub(super) fn insert(&mut self, index: u64, idx: Idx) -> Option<Shadow> {
        let slot = Slot { value: idx.0, mappings: 0 };
        let many = match self {
            Self::Empty => {
                *self = Self::One { index, slot, state: One::Clean };
                return None;
            }
            Self::One { index: only, slot: old, state } if *only == index => {
                assert!(*state == One::Shadow, "page {index} of a file is added twice");
                let shadow = Shadow(core::mem::replace(old, slot).value);
                *state = One::Clean;
                return Some(shadow);
            }
            Self::One { index, slot, state } => {
                let (index, slot, state) = (*index, *slot, *state);
                *self = Self::Many(Box::default());
                self.put_only(index, slot, state)
            }
            Self::Many(many) => many,
        };
        let (number, at) = place(index);
        let chunk = many.chunks.ensure(number);
        assert!(chunk.present >> at & 1 == 0, "page {index} of a file is added twice");
        let had_shadow = chunk.shadows >> at & 1 != 0;
        chunk.present |= 1 << at;
        chunk.shadows &= !(1 << at);
        let old = core::mem::replace(&mut chunk.slots[at], slot);
        had_shadow.then_some(Shadow(old.value))
    }

    /// Puts what was the only place of the file into its chunks.
    fn put_only(&mut self, index: u64, slot: Slot, state: One) -> &mut Many {
        let Self::Many(many) = self else { unreachable!("it has chunks now") };
        let (number, at) = place(index);
        let chunk = many.chunks.ensure(number);
        chunk.slots[at] = slot;
        match state {
            One::Shadow => chunk.shadows |= 1 << at,
            One::Clean | One::Dirty => chunk.present |= 1 << at,
        }
        if state == One::Dirty {
            chunk.dirty |= 1 << at;
            many.dirty.insert(number);
        }
        many
    }

    /// Puts another frame in the place of a page that stays what it is.
    pub(super) fn replace(&mut self, index: u64, idx: Idx) {
        let slot = match self {
            Self::One { index: only, slot, state } if *only == index && *state != One::Shadow => Some(slot),
            Self::Many(many) => {
                let (number, at) = place(index);
                let chunk = many.chunks.get_mut(number).filter(|chunk| chunk.present >> at & 1 != 0);
                chunk.map(|chunk| &mut chunk.slots[at])
            }
            _ => None,
        };
        slot.expect("the page is in its file").value = idx.0;
    }

    /// Takes out a page that is clean and unmapped, leaving a shadow or nothing; nodes that are not needed any more come free.
    pub(super) fn take(&mut self, index: u64, shadow: Option<Shadow>, freed: &mut Vec<u32>) -> Idx {
        let slot = self.slot(index).expect("the page is in its file");
        assert!(slot.mappings == 0, "page {index} is taken out of its file while mapped");
        let left = Slot { value: shadow.map_or(0, |shadow| shadow.0), mappings: 0 };
        match self {
            Self::Empty => unreachable!("a page was found there"),
            Self::One { slot, state, .. } if shadow.is_some() => (*slot, *state) = (left, One::Shadow),
            Self::One { .. } => *self = Self::Empty,
            Self::Many(many) => {
                let (number, at) = place(index);
                let chunk = many.chunks.ensure(number);
                assert!(chunk.dirty >> at & 1 == 0, "page {index} is taken out of its file while dirty");
                chunk.present &= !(1 << at);
                chunk.shadows |= u64::from(shadow.is_some()) << at;
                chunk.slots[at] = left;
                many.chunks.drop_if_empty(number, freed);
                self.collapse();
            }
        }
        Idx(slot.value)
    }

    /// Notes that the chunk of `index`, if there is one, has shadows alone since `now`; says which it is.
    pub(super) fn note_emptied(&mut self, index: u64, now: u64) -> Option<u64> {
        let Self::Many(many) = self else { return None };
        let number = place(index).0;
        let chunk = many.chunks.get_mut(number).filter(|chunk| chunk.present == 0)?;
        chunk.emptied = now;
        Some(number)
    }

    /// Drops a chunk that has had shadows alone since `when`.
    pub(super) fn drop_emptied(&mut self, number: u64, when: u64, freed: &mut Vec<u32>) {
        let Self::Many(many) = self else { return };
        if many.chunks.get(number).is_some_and(|chunk| chunk.present == 0 && chunk.emptied == when) {
            many.chunks.remove(number, freed);
        }
        self.collapse();
    }

    /// Whether the place at `index` lies in a chunk without node.
    #[inline]
    pub(super) fn lacks_node(&self, index: u64) -> bool {
        match self {
            Self::Many(many) => many.chunks.get(place(index).0).is_some_and(|chunk| chunk.node.is_none()),
            _ => false,
        }
    }

    /// Gives the chunk of `index`, which lacks one, its node.
    pub(super) fn set_node(&mut self, index: u64, node: u32) {
        let Self::Many(many) = self else { unreachable!("only chunks have nodes") };
        let chunk = many.chunks.get_mut(place(index).0).expect("it lacks a node");
        assert!(chunk.node.replace(node).is_none(), "the chunk of page {index} has a node already");
    }

    /// The nodes of all chunks.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        let chunks = match self {
            Self::Many(many) => Some(many.chunks.range(..)),
            _ => None,
        };
        chunks.into_iter().flatten().filter_map(|chunk| chunk.node)
    }

    /// Keeps no chunks where none holds anything.
    fn collapse(&mut self) {
        if let Self::Many(many) = self
            && many.chunks.is_empty()
        {
            *self = Self::Empty;
        }
    }

    /// Forgets the shadows from `index` on.
    pub(super) fn drop_shadows(&mut self, index: u64, freed: &mut Vec<u32>) {
        match self {
            Self::One { index: only, state: One::Shadow, .. } if *only >= index => *self = Self::Empty,
            Self::Many(many) => {
                let numbers: Vec<u64> = many.chunks.range(place(index).0..).map(|chunk| chunk.number).collect();
                for number in numbers {
                    many.chunks.ensure(number).shadows &= !within(number, index, u64::MAX);
                    many.chunks.drop_if_empty(number, freed);
                }
                self.collapse();
            }
            _ => {}
        }
    }

    /// Shadow that reclaim left at `index`.
    pub(super) fn shadow(&self, index: u64) -> Option<Shadow> {
        self.first_shadow(index, index + 1).map(|(_, shadow)| shadow)
    }

    /// The first place of `[from, end)` where reclaim left something.
    pub(super) fn first_shadow(&self, from: u64, end: u64) -> Option<(u64, Shadow)> {
        match self {
            Self::Many(many) if from < end => {
                let mut chunks = many.chunks.range(place(from).0..=place(end - 1).0);
                chunks.find_map(|chunk| {
                    let bits = chunk.shadows & within(chunk.number, from, end);
                    let at = bits.trailing_zeros();
                    (bits != 0).then(|| (chunk.number * CHUNK + u64::from(at), Shadow(chunk.slots[at as usize].value)))
                })
            }
            &Self::One { index, slot, state: One::Shadow } => {
                (from..end).contains(&index).then_some((index, Shadow(slot.value)))
            }
            _ => None,
        }
    }

    /// Forgets what reclaim left at `index`.
    pub(super) fn forget_shadow(&mut self, index: u64, freed: &mut Vec<u32>) {
        match self {
            Self::One { index: only, state: One::Shadow, .. } if *only == index => *self = Self::Empty,
            Self::Many(many) => {
                let (number, at) = place(index);
                let Some(chunk) = many.chunks.get_mut(number) else { return };
                chunk.shadows &= !(1 << at);
                many.chunks.drop_if_empty(number, freed);
                self.collapse();
            }
            _ => {}
        }
    }

    /// The first page of `[from, end)`.
    pub(super) fn first_page(&self, from: u64, end: u64) -> Option<(u64, Idx)> {
        match self {
            Self::Many(many) if from < end => {
                let page = |chunk: &Chunk| chunk.page(within(chunk.number, from, end));
                let (first, last) = (place(from).0, place(end - 1).0);
                let behind = (Bound::Excluded(first), Bound::Included(last));
                many.chunks.get(first).and_then(page).or_else(|| many.chunks.range(behind).find_map(page))
            }
            &Self::One { index, slot, state } => {
                let found = (from..end).contains(&index) && state != One::Shadow;
                found.then_some((index, Idx(slot.value)))
            }
            _ => None,
        }
    }

    /// Notes that a page has become dirty, or clean; says whether that is new.
    pub(super) fn set_dirty(&mut self, index: u64, dirty: bool) -> bool {
        match self {
            Self::One { index: only, state, .. } if *only == index && *state != One::Shadow => {
                let new = if dirty { One::Dirty } else { One::Clean };
                core::mem::replace(state, new) != new
            }
            Self::Many(many) => {
                let (number, at) = place(index);
                let chunk = many.chunks.ensure(number);
                assert!(chunk.present >> at & 1 != 0, "page {index} is in its file");
                let before = chunk.dirty;
                chunk.dirty = before & !(1 << at) | u64::from(dirty) << at;
                let after = chunk.dirty;
                match (before, after) {
                    (0, 1..) => drop(many.dirty.insert(number)),
                    (1.., 0) => drop(many.dirty.remove(&number)),
                    _ => {}
                }
                before != after
            }
            _ => unreachable!("page {index} is in its file"),
        }
    }

    /// Whether the page at `index` is dirty.
    pub(super) fn is_dirty(&self, index: u64) -> bool {
        match self {
            Self::One { index: only, state, .. } => *only == index && *state == One::Dirty,
            Self::Many(many) => {
                let (number, at) = place(index);
                many.chunks.get(number).is_some_and(|chunk| chunk.dirty >> at & 1 != 0)
            }
            Self::Empty => false,
        }
    }

    /// The first dirty page from `from` on.
    pub(super) fn next_dirty(&self, from: u64) -> Option<(u64, Idx)> {
        match self {
            &Self::One { index, slot, state: One::Dirty } => (index >= from).then_some((index, Idx(slot.value))),
            Self::Many(many) => many.dirty.range(place(from).0..).find_map(|&number| {
                let chunk = many.chunks.get(number)?;
                chunk.page(chunk.dirty & within(number, from, u64::MAX))
            }),
            _ => None,
        }
    }

    /// Every page: place, frame, number of mappings, whether it is marked as dirty.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, Idx, u32, bool)> {
        let only = match *self {
            Self::One { index, slot, state } if state != One::Shadow => {
                Some((index, Idx(slot.value), slot.mappings, state == One::Dirty))
            }
            _ => None,
        };
        let chunks = match self {
            Self::Many(many) => Some(many.chunks.range(..)),
            _ => None,
        };
        only.into_iter().chain(chunks.into_iter().flatten().flat_map(|chunk| {
            (0..CHUNK).filter(|at| chunk.present >> at & 1 != 0).map(move |at| {
                let Slot { value, mappings } = chunk.slots[at as usize];
                (chunk.number * CHUNK + at, Idx(value), mappings, chunk.dirty >> at & 1 != 0)
            })
        }))
    }
}

#[cfg(test)]
mod tests;
