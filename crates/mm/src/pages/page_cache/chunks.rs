//! Chunks of a file, by their numbers.
//!
//! Pages of a file are read, mapped and taken mostly in order, so the chunk that was changed last is found without a search.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::RangeBounds;

use order9_frames::Idx;

pub(crate) const CHUNK: u64 = u64::BITS as u64;

#[derive(Clone, Copy, Default)]
pub(super) struct Slot {
    /// The frame of a page, or a shadow.
    pub(super) value: u32,
    pub(super) mappings: u32,
}

/// 64 places of a file, the first at a multiple of 64.
#[derive(Clone)]
pub(super) struct Chunk {
    /// Places before it, in chunks.
    pub(super) number: u64,
    pub(super) present: u64,
    /// Pages that are dirty.
    pub(super) dirty: u64,
    pub(super) shadows: u64,
    /// When reclaim took its last page: a number from the list of such chunks.
    pub(super) emptied: u64,
    /// The object that stands for it in the kernel's memory, by number.
    pub(super) node: Option<u32>,
    pub(super) slots: [Slot; CHUNK as usize],
}

impl Chunk {
    fn new(number: u64) -> Self {
        let slots = [Slot::default(); CHUNK as usize];
        Self { number, present: 0, dirty: 0, shadows: 0, emptied: 0, node: None, slots }
    }

    /// The first of the places `bits` that has a page.
    pub(super) fn page(&self, bits: u64) -> Option<(u64, Idx)> {
        let bits = self.present & bits;
        let at = bits.trailing_zeros();
        (bits != 0).then(|| (self.number * CHUNK + u64::from(at), Idx(self.slots[at as usize].value)))
    }
}

/// All chunks of a file that hold something.
#[derive(Clone, Default)]
pub(super) struct Chunks {
    #[expect(
        clippy::vec_box,
        reason = "a list of the chunks themselves, half a KiB each, would be copied whenever it grows"
    )]
    list: Vec<Box<Chunk>>,
    /// Positions in `list`, by number.
    positions: BTreeMap<u64, u32>,
    /// Position of the chunk that was changed last.
    recent: usize,
}

impl Chunks {
    pub(super) fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    #[inline]
    fn position(&self, number: u64) -> Option<usize> {
        match self.list.get(self.recent) {
            Some(chunk) if chunk.number == number => Some(self.recent),
            _ => self.positions.get(&number).map(|&at| at as usize),
        }
    }

    #[inline]
    pub(super) fn get(&self, number: u64) -> Option<&Chunk> {
        Some(&self.list[self.position(number)?])
    }

    #[inline]
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut Chunk> {
        self.recent = self.position(number)?;
        Some(&mut self.list[self.recent])
    }

    /// The chunk of this number, an empty one where there was none.
    pub(super) fn ensure(&mut self, number: u64) -> &mut Chunk {
        self.recent = self.position(number).unwrap_or_else(|| {
            self.positions.insert(number, self.list.len() as u32);
            self.list.push(Box::new(Chunk::new(number)));
            self.list.len() - 1
        });
        &mut self.list[self.recent]
    }

    /// Forgets a chunk if nothing is left in it; its node comes free.
    pub(super) fn drop_if_empty(&mut self, number: u64, freed: &mut Vec<u32>) {
        if self.get(number).is_some_and(|chunk| chunk.present | chunk.shadows == 0) {
            self.remove(number, freed);
        }
    }

    pub(super) fn remove(&mut self, number: u64, freed: &mut Vec<u32>) {
        let at = self.positions.remove(&number).expect("the chunk is there");
        freed.extend(self.list.swap_remove(at as usize).node);
        if let Some(moved) = self.list.get(at as usize) {
            self.positions.insert(moved.number, at);
        }
    }

    /// The chunks whose numbers are in a range, upward.
    pub(super) fn range(&self, numbers: impl RangeBounds<u64>) -> impl Iterator<Item = &Chunk> {
        self.positions.range(numbers).map(|(_, &at)| &*self.list[at as usize])
    }
}
