//! Mobility types of pageblocks as bits beside [`Pageblock::migratetype`](crate::Pageblock), so that a scanner passes over
//! those of other types 64 at a time, and the one place that changes a type.

use order9_units::Migratetype;

use crate::Frames;
use crate::storage::{Storage, Usual};
use crate::watch::Watch;

/// For each type, a bit per pageblock.
#[derive(Clone, Debug)]
pub(crate) struct TypeBits<S: Storage = Usual> {
    words: S::Of<u64>,
    /// Words of each type.
    per_type: usize,
}

impl<S: Storage> TypeBits<S> {
    /// Words that so many pageblocks need.
    pub(crate) const fn len(blocks: usize) -> usize {
        blocks.div_ceil(64) * Migratetype::COUNT
    }

    /// All are Movable.
    pub(crate) fn new(mut words: S::Of<u64>) -> Self {
        let per_type = words.len() / Migratetype::COUNT;
        words.fill(0);
        words[Migratetype::Movable as usize * per_type..][..per_type].fill(u64::MAX);
        Self { words, per_type }
    }

    /// A bit for each of the 64 pageblocks from `64 * word` on: set where the pageblock has this type.
    #[inline]
    pub(crate) fn word(&self, mt: Migratetype, word: usize) -> u64 {
        self.words[mt as usize * self.per_type + word]
    }

    fn set(&mut self, block: usize, old: Migratetype, new: Migratetype) {
        self.words[old as usize * self.per_type + block / 64] &= !(1 << (block % 64));
        self.words[new as usize * self.per_type + block / 64] |= 1 << (block % 64);
    }

    /// Bytes of metadata.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

impl<W: Watch, S: Storage> Frames<W, S> {
    /// A bit for each of the 64 pageblocks from `64 * word` on: set where the pageblock has type `mt`. A scanner passes over the
    /// others by it.
    #[inline]
    #[must_use]
    pub fn blocks_of_type(&self, mt: Migratetype, word: usize) -> u64 {
        self.types.word(mt, word)
    }

    /// Gives a pageblock another type, with all that counts or finds pageblocks by type; returns the one it had. What lies
    /// on free lists stays there.
    pub fn retype_block(&mut self, block: usize, mt: Migratetype) -> Migratetype {
        let of = &mut self.blocks[block];
        let old = core::mem::replace(&mut of.migratetype, mt);
        self.zones[of.zone.index()].count_block_type(old, mt);
        self.types.set(block, old, mt);
        self.touch_blocks(block, 1);
        old
    }
}
