//! Mobility types of pageblocks as bits beside [`Pageblock::migratetype`](crate::Pageblock), so that a scanner passes over
//! those of other types 64 at a time, and the one place that changes a type.

use alloc::vec;
use alloc::vec::Vec;
use core::array;

use order9_units::Migratetype;

use crate::Mm;
use crate::check::{Verdict, require};
use crate::trace::Tracer;

/// For each type, a bit per pageblock.
#[derive(Clone, Debug, Default)]
pub(crate) struct TypeBits([Vec<u64>; Migratetype::COUNT]);

impl TypeBits {
    /// All are Movable.
    pub(crate) fn new(blocks: usize) -> Self {
        let words = blocks.div_ceil(64);
        Self(array::from_fn(|mt| vec![if mt == Migratetype::Movable as usize { u64::MAX } else { 0 }; words]))
    }

    /// Which of the 64 pageblocks from `64 * word` on have this type.
    #[inline]
    pub(crate) fn word(&self, mt: Migratetype, word: usize) -> u64 {
        self.0[mt as usize][word]
    }

    fn set(&mut self, block: usize, old: Migratetype, new: Migratetype) {
        self.0[old as usize][block / 64] &= !(1 << (block % 64));
        self.0[new as usize][block / 64] |= 1 << (block % 64);
    }

    /// Bytes of metadata, by capacity.
    pub(crate) fn bytes(&self) -> usize {
        self.0.iter().map(|words| words.capacity() * size_of::<u64>()).sum()
    }
}

impl<T: Tracer> Mm<T> {
    /// Gives a pageblock another type, with all that counts or finds pageblocks by type; returns the one it had. What lies
    /// on free lists stays there.
    pub(crate) fn retype_block(&mut self, block: usize, mt: Migratetype) -> Migratetype {
        let of = &mut self.blocks[block];
        let old = core::mem::replace(&mut of.migratetype, mt);
        self.zones[of.zone.index()].count_block_type(old, mt);
        self.types.set(block, old, mt);
        self.touch_blocks(block, 1);
        old
    }

    /// Bits and pageblocks agree.
    pub(crate) fn check_type_bits(&self) -> Verdict {
        let mut blocks = self.blocks.iter().enumerate();
        blocks.try_for_each(|(block, of)| {
            let has = |mt: &Migratetype| self.types.word(*mt, block / 64) >> (block % 64) & 1 != 0;
            let found: Vec<_> = Migratetype::ALL.into_iter().filter(has).collect();
            require(found == [of.migratetype], "a pageblock has the bit of its type alone", || {
                alloc::format!("pageblock {block} is {:?}, bits say {found:?}", of.migratetype)
            })
        })
    }
}
