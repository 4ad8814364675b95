//! Counts the frames of pageblocks by class: the inner loop of an inspection.

use order9_units::{Order, PAGEBLOCK_PAGES};

use super::{BlockSummary, FreeBlocks};
use crate::classify::{FrameClass, Layout, Piece, Token};

const PAGEBLOCK: usize = PAGEBLOCK_PAGES.get() as usize;
/// 64-bit words of a pageblock's bitmap.
const WORDS: usize = PAGEBLOCK / 64;

/// Counts of some pieces of one zone. Counts of adjacent pieces add up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) blocks: Vec<BlockSummary>,
    /// Free blocks by order of each pageblock, as the bitmap of free frames implies them; a pair of free pageblocks counts as two.
    pub(super) free_blocks: Vec<FreeBlocks>,
    pub(super) movable_in_folios: u64,
}

impl Counted {
    /// Counts one more piece, the next one upward; `tokens` is scratch space.
    pub(super) fn add(&mut self, layout: &Layout<'_>, piece: &Piece, tokens: &mut Vec<Token>) {
        layout.classify(piece, tokens);
        for block in tokens.chunks_exact(PAGEBLOCK) {
            let summary = if is_uniform(block) {
                BlockSummary::uniform(block[0].class())
            } else {
                self.movable_in_folios += movable_in_folios(block);
                BlockSummary::new(count_classes(block))
            };
            self.free_blocks.push(match usize::from(summary.free()) {
                0 => FreeBlocks::default(),
                PAGEBLOCK => WHOLE,
                _ => free_blocks(&free_bitmap(block)),
            });
            self.blocks.push(summary);
        }
    }

    /// Appends what the pieces above hold.
    pub(super) fn append(&mut self, mut above: Self) {
        self.blocks.append(&mut above.blocks);
        self.free_blocks.append(&mut above.free_blocks);
        self.movable_in_folios += above.movable_in_folios;
    }
}

/// Whether all frames of a block are equal. Without an early exit the compiler compares many frames at once.
fn is_uniform(block: &[Token]) -> bool {
    block.iter().fold(0, |differ, token| differ | token.differs(block[0])) == 0
}

/// Four tables, since a counter that was just written is slow to read again.
fn count_classes(block: &[Token]) -> [u16; FrameClass::COUNT] {
    let mut tables = [[0_u16; Token::CLASSES]; 4];
    for four in block.chunks_exact(4) {
        for (table, token) in tables.iter_mut().zip(four) {
            table[token.class_index()] += 1;
        }
    }
    std::array::from_fn(|class| tables.iter().map(|table| table[class]).sum())
}

fn movable_in_folios(block: &[Token]) -> u64 {
    const MOVABLE: u32 = {
        let mut mask = 0;
        let mut i = 0;
        while i < FrameClass::COUNT {
            mask |= (FrameClass::ALL[i].is_movable() as u32) << i;
            i += 1;
        }
        mask
    };
    block.iter().map(|token| u64::from(MOVABLE >> token.class_index() & u32::from(token.is_compound()))).sum()
}

fn free_bitmap(block: &[Token]) -> [u64; WORDS] {
    let free = Token::of(FrameClass::Free);
    let mut words = [0; WORDS];
    for (word, tokens) in words.iter_mut().zip(block.chunks_exact(64)) {
        for (bit, &token) in tokens.iter().enumerate() {
            *word |= u64::from(token == free) << bit;
        }
    }
    words
}

/// Bits at multiples of 2, 4, ... 64.
const ALIGNED: [u64; 6] = [
    0x5555_5555_5555_5555,
    0x1111_1111_1111_1111,
    0x0101_0101_0101_0101,
    0x0001_0001_0001_0001,
    0x0000_0001_0000_0001,
    0x0000_0000_0000_0001,
];

/// The free blocks of a pageblock that is free as a whole.
const WHOLE: FreeBlocks = {
    let mut blocks = [0; Order::COUNT];
    blocks[Order::PAGEBLOCK.index()] = 1;
    blocks
};

/// The buddy blocks of a pageblock that is not free as a whole: at every order, the free aligned ranges less those
/// that pair up to the next order. Bit `i` of a level says that the range of frames from `i` on is free.
fn free_blocks(bitmap: &[u64; WORDS]) -> FreeBlocks {
    let mut counts = FreeBlocks::default();
    let mut level = *bitmap;
    let mut ranges = ones(&level);
    let mut count = |order: usize, pairs: u64| {
        counts[order] = (ranges - 2 * pairs) as u16;
        ranges = pairs;
    };
    for (order, aligned) in ALIGNED.into_iter().enumerate() {
        level.iter_mut().for_each(|word| *word &= *word >> (1 << order) & aligned);
        count(order, ones(&level));
    }
    // From here on a range is one or more whole words.
    let mut length = WORDS;
    for order in ALIGNED.len()..Order::PAGEBLOCK.index() {
        length /= 2;
        (0..length).for_each(|i| level[i] = level[2 * i] & level[2 * i + 1]);
        count(order, ones(&level[..length]));
    }
    counts
}

fn ones(words: &[u64]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

#[cfg(test)]
mod tests {
    use order9_units::{Pages, Pfn, PfnRange};
    use proptest::prelude::*;

    use super::*;
    use crate::buddy;

    fn block_of(free: &[bool]) -> Vec<Token> {
        free.iter().map(|&free| Token::of(if free { FrameClass::Free } else { FrameClass::Anon })).collect()
    }

    fn free_blocks_by_runs(free: &[bool]) -> [u64; Order::COUNT] {
        let mut counts = [0; Order::COUNT];
        let mut at = 0;
        for run in free.chunk_by(|a, b| a == b) {
            if run[0] {
                buddy::count_free_blocks(PfnRange::of(Pfn::new(at), Pages::new(run.len() as u64)), &mut counts);
            }
            at += run.len() as u64;
        }
        counts
    }

    /// Runs of random lengths, so that blocks of every order occur.
    fn any_bitmap() -> impl Strategy<Value = Vec<bool>> {
        prop::collection::vec((any::<bool>(), 1_usize..200), 1..60).prop_map(|runs| {
            let frames = runs.into_iter().flat_map(|(free, length)| std::iter::repeat_n(free, length));
            frames.chain(std::iter::repeat(false)).take(PAGEBLOCK).collect()
        })
    }

    proptest! {
        #[test]
        fn bitmaps_give_the_same_blocks_as_runs(mut free in any_bitmap()) {
            free[300] = false;
            let counts = free_blocks(&free_bitmap(&block_of(&free)));
            prop_assert_eq!(counts.map(u64::from), free_blocks_by_runs(&free));
        }

        #[test]
        fn every_frame_is_counted_once(classes in prop::collection::vec(0..FrameClass::COUNT, PAGEBLOCK)) {
            let tokens: Vec<_> = classes.iter().map(|&class| Token::of(FrameClass::ALL[class])).collect();
            let counts = count_classes(&tokens);
            for class in FrameClass::ALL {
                let expected = classes.iter().filter(|&&c| c == class.index()).count();
                prop_assert_eq!(usize::from(counts[class.index()]), expected);
            }
        }
    }
}
