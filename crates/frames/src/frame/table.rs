//! The arrays: a word and the links of a list for every frame.

use order9_units::{Order, Pages, Pfn};

use super::{Idx, Word};
use crate::storage::{Storage, Usual};

/// Blocks whose cache lines [`FrameTable::read_for_merges`] fetches side by side.
pub(crate) const READ_TOGETHER: usize = 64;

/// Neighbours of a frame on the list that it is on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Link {
    next: Idx,
    prev: Idx,
}

/// State and links of all frames from `base` on, and the sentinels of all lists behind them.
#[derive(Clone)]
pub struct FrameTable<S: Storage = Usual> {
    base: Pfn,
    words: S::Of<Word>,
    links: S::Of<Link>,
}

impl<S: Storage> FrameTable<S> {
    /// A table of holes from `base` on with empty lists: `words` has a place for each frame, `links` one for each frame and
    /// each list.
    ///
    /// `base` is a multiple of the largest block, and the length of `links` fits 32 bits.
    pub(crate) fn new(base: Pfn, mut words: S::Of<Word>, mut links: S::Of<Link>) -> Self {
        assert!(base.is_aligned(Order::MAX), "{base:?} is no start of a largest block");
        words.fill(Word::HOLE);
        let frames = words.len();
        for (own, link) in (frames as u32..).zip(&mut links[frames..]) {
            *link = Link { next: Idx(own), prev: Idx(own) };
        }
        Self { base, words, links }
    }

    /// Frames in the table, holes included.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a machine has frames")]
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Sentinel of the `n`-th list.
    pub fn list(&self, n: u32) -> Idx {
        Idx(self.words.len() as u32 + n)
    }

    /// The position of a frame; `None` outside the table.
    #[inline]
    pub fn idx(&self, pfn: Pfn) -> Option<Idx> {
        // Below the base it wraps around to far behind the end.
        let at = pfn.get().wrapping_sub(self.base.get());
        (at < self.words.len() as u64).then_some(Idx(at as u32))
    }

    /// The position and the word of a frame; `None` outside the table.
    #[inline]
    pub(crate) fn find(&self, pfn: Pfn) -> Option<(Idx, Word)> {
        let at = pfn.get().wrapping_sub(self.base.get());
        let word = *self.words.get(usize::try_from(at).ok()?)?;
        Some((Idx(at as u32), word))
    }

    /// The frame at a position.
    #[inline]
    pub fn pfn(&self, idx: Idx) -> Pfn {
        Pfn::new(self.base.get() + u64::from(idx.0))
    }

    /// The word of a frame.
    #[inline]
    pub fn word(&self, idx: Idx) -> Word {
        self.words[idx.at()]
    }

    /// The frame's word, or that of a hole behind the end of the table.
    #[inline]
    pub fn word_or_hole(&self, idx: Idx) -> Word {
        self.words.get(idx.at()).copied().unwrap_or(Word::HOLE)
    }

    /// Number of the `len` frames from `idx` on that have words of this kind, up to the first that does not.
    #[inline]
    pub fn leading(&self, idx: Idx, len: Pages, kind: impl Fn(Word) -> bool) -> Pages {
        let words = &self.words[idx.at()..idx.at() + len.get() as usize];
        Pages::new(words.iter().take_while(|word| kind(**word)).count() as u64)
    }

    /// Sets the word of a frame.
    #[inline]
    pub fn set(&mut self, idx: Idx, word: Word) {
        self.words[idx.at()] = word;
    }

    /// First frame of the list, or `None` if it is empty.
    #[inline]
    pub fn first(&self, list: Idx) -> Option<Idx> {
        let first = self.links[list.at()].next;
        (first != list).then_some(first)
    }

    /// Last frame of the list, or `None` if it is empty.
    #[inline]
    pub fn last(&self, list: Idx) -> Option<Idx> {
        let last = self.links[list.at()].prev;
        (last != list).then_some(last)
    }

    /// The frame behind `idx` on the list, or `None` if it is the last.
    #[inline]
    pub fn next(&self, list: Idx, idx: Idx) -> Option<Idx> {
        let next = self.links[idx.at()].next;
        (next != list).then_some(next)
    }

    /// The frame before `idx` on the list, or `None` if it is the first.
    #[inline]
    pub fn prev(&self, list: Idx, idx: Idx) -> Option<Idx> {
        let prev = self.links[idx.at()].prev;
        (prev != list).then_some(prev)
    }

    /// Moves everything up to `idx`, and `idx` itself, to the tail of the list.
    pub fn rotate_behind(&mut self, list: Idx, idx: Idx) {
        // A ring keeps its order when its sentinel moves.
        self.unlink(list);
        let next = self.links[idx.at()].next;
        self.insert(idx, list, next);
    }

    /// Moves everything before `idx` to the tail of the list.
    pub fn rotate_before(&mut self, list: Idx, idx: Idx) {
        self.unlink(list);
        let prev = self.links[idx.at()].prev;
        self.insert(prev, list, idx);
    }

    /// Frames of the list from head to tail.
    pub fn iter(&self, list: Idx) -> impl Iterator<Item = Idx> {
        let mut at = list;
        core::iter::from_fn(move || {
            at = self.links[at.at()].next;
            (at != list).then_some(at)
        })
    }

    /// Puts a frame that is on no list at the head of one.
    #[inline(always)]
    pub fn push_head(&mut self, list: Idx, idx: Idx) {
        let next = self.links[list.at()].next;
        self.insert(list, idx, next);
    }

    /// Puts a frame that is on no list at the tail of one.
    #[inline(always)]
    pub fn push_tail(&mut self, list: Idx, idx: Idx) {
        let prev = self.links[list.at()].prev;
        self.insert(prev, idx, list);
    }

    /// Puts `idx` before `next` on the list that this is on.
    pub fn push_before(&mut self, next: Idx, idx: Idx) {
        let prev = self.links[next.at()].prev;
        self.insert(prev, idx, next);
    }

    /// Puts a frame that is on no list at the head or at the tail of one. Which end it is takes no branch: often nobody can guess.
    #[inline(always)]
    pub(crate) fn push(&mut self, list: Idx, idx: Idx, at_tail: bool) {
        let Link { next, prev } = self.links[list.at()];
        let (prev, next) = if at_tail { (prev, list) } else { (list, next) };
        self.insert(prev, idx, next);
    }

    #[inline(always)]
    fn insert(&mut self, prev: Idx, idx: Idx, next: Idx) {
        let links = &mut *self.links;
        links[idx.at()] = Link { next, prev };
        links[prev.at()].next = idx;
        links[next.at()].prev = idx;
    }

    /// Takes a frame off the list that it is on.
    #[inline(always)]
    pub fn unlink(&mut self, idx: Idx) {
        let links = &mut *self.links;
        let Link { next, prev } = links[idx.at()];
        links[prev.at()].next = next;
        links[next.at()].prev = prev;
    }

    /// Takes the first frame off the list.
    #[inline(always)]
    pub fn pop_head(&mut self, list: Idx) -> Option<Idx> {
        let links = &mut *self.links;
        let first = links[list.at()].next;
        if first == list {
            return None;
        }
        let next = links[first.at()].next;
        links[list.at()].next = next;
        links[next.at()].prev = list;
        Some(first)
    }

    /// Takes the last frame off the list.
    #[inline]
    pub fn pop_tail(&mut self, list: Idx) -> Option<Idx> {
        let links = &mut *self.links;
        let last = links[list.at()].prev;
        if last == list {
            return None;
        }
        let prev = links[last.at()].prev;
        links[list.at()].prev = prev;
        links[prev.at()].next = list;
        Some(last)
    }

    /// Reads what frees of these frames will change, and nothing else, so that the cache lines are fetched side by side.
    pub(crate) fn read_for_frees(&self, frames: &[Pfn]) {
        let positions = frames.iter().filter_map(|&pfn| self.idx(pfn));
        core::hint::black_box(
            positions
                .fold(0, |read, idx| read ^ self.words[idx.at()].bits(Word::OWNER_BITS) ^ self.links[idx.at()].next.0),
        );
    }

    /// Reads what merges of these blocks would change now, and nothing else: the neighbours of their buddies on the lists, and
    /// the words that choose an end of a list. A merge waits for one cache line after the other; for a batch of blocks, which
    /// are at most [`READ_TOGETHER`], this fetches the lines side by side.
    pub(crate) fn read_for_merges(&self, blocks: &[Idx]) {
        let mut neighbours = [Idx::default(); 4 * READ_TOGETHER];
        let mut above = [Idx::default(); READ_TOGETHER];
        let mut len = 0;
        for (&block, above) in blocks.iter().zip(&mut above) {
            let (mut idx, mut order) = (block, self.word(block).order());
            while order < Order::PAGEBLOCK && self.word_or_hole(idx.buddy(order)).is_free_of(order) {
                let Link { next, prev } = self.links[idx.buddy(order).at()];
                if let Some(pair) = neighbours.get_mut(len..len + 2) {
                    (pair[0], pair[1]) = (next, prev);
                    len += 2;
                }
                (idx, order) = (idx.parent(order), order.up().expect("a block below a pageblock has a larger order"));
            }
            *above = order.up().map_or(idx, |larger| idx.parent(order).buddy(larger));
        }
        // Two loops with nothing to wait for but the lines.
        let links = neighbours[..len].iter().fold(0, |read, idx| read ^ self.links[idx.at()].next.0);
        let words = above.iter().fold(true, |read, &idx| read ^ self.word_or_hole(idx).is_free());
        core::hint::black_box((links, words));
    }

    /// Bytes of metadata.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.words) + size_of_val(&*self.links)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// 1024 frames and a list.
    fn table() -> FrameTable {
        FrameTable::new(Pfn::new(0), alloc::vec![Word::TAIL; 1024], alloc::vec![Link::default(); 1025])
    }

    #[test]
    fn lists_keep_head_and_tail() {
        let mut frames = table();
        let list = frames.list(0);
        assert!(frames.first(list).is_none());
        frames.push_head(list, Idx(5));
        frames.push_head(list, Idx(6));
        frames.push_tail(list, Idx(7));
        assert_eq!(frames.iter(list).map(|idx| idx.0).collect::<Vec<_>>(), [6, 5, 7]);
        frames.unlink(Idx(5));
        assert_eq!(frames.iter(list).map(|idx| idx.0).collect::<Vec<_>>(), [6, 7]);
        assert!(frames.last(list) == Some(Idx(7)));
    }

    #[test]
    fn lists_rotate_without_losing_anybody() {
        let mut frames = table();
        let list = frames.list(0);
        (1..=5).for_each(|n| frames.push_tail(list, Idx(n)));
        let order = |frames: &FrameTable| frames.iter(list).map(|idx| idx.0).collect::<Vec<_>>();
        frames.rotate_behind(list, Idx(2));
        assert_eq!(order(&frames), [3, 4, 5, 1, 2]);
        frames.rotate_behind(list, Idx(2));
        assert_eq!(order(&frames), [3, 4, 5, 1, 2], "the last one is there already");
        frames.rotate_before(list, Idx(5));
        assert_eq!(order(&frames), [5, 1, 2, 3, 4]);
        frames.rotate_before(list, Idx(5));
        assert_eq!((order(&frames), frames.prev(list, Idx(5))), (alloc::vec![5, 1, 2, 3, 4], None));
        assert_eq!((frames.next(list, Idx(5)), frames.next(list, Idx(4))), (Some(Idx(1)), None));
    }
}
