//! Parts of huge pages that hold something else than zeros: a bit for each frame of the machine.
//!
//! Kept only where the policy splits huge pages that are mostly zeros. A part is zeros from the clearing of its page on until
//! a program writes to it; what programs write is never taken for zeros. Nothing is said of single frames.

use alloc::vec::Vec;

use super::NR;
use order9_frames::Idx;

/// Words of the bits of one huge page.
const WORDS: usize = NR as usize / u64::BITS as usize;

/// Bits of frames that hold something.
#[derive(Clone)]
pub(crate) struct Filled {
    words: Vec<u64>,
}

impl Filled {
    /// All `frames` hold something, as far as anybody knows.
    pub(crate) fn new(frames: usize) -> Self {
        Self { words: alloc::vec![u64::MAX; frames.div_ceil(u64::BITS as usize)] }
    }

    /// Bytes on the host.
    pub(crate) const fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    /// Whether a frame holds something.
    pub(crate) fn get(&self, idx: Idx) -> bool {
        self.words[idx.at() / 64] >> (idx.at() % 64) & 1 != 0
    }

    /// Says whether a frame holds something.
    pub(crate) fn set(&mut self, idx: Idx, filled: bool) {
        let (word, bit) = (&mut self.words[idx.at() / 64], 1 << (idx.at() % 64));
        *word = if filled { *word | bit } else { *word & !bit };
    }

    /// All parts of the huge page that starts at `head` are zeros.
    pub(crate) fn clear_page(&mut self, head: Idx) {
        self.words[head.at() / 64..][..WORDS].fill(0);
    }

    /// `count` frames from `first` on hold something.
    pub(crate) fn fill(&mut self, first: Idx, count: u32) {
        (first.0..first.0 + count).for_each(|at| self.set(Idx(at), true));
    }
}
