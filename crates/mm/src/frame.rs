//! The frame table: state of every frame and the links of every list, as a structure of arrays.
//!
//! Key types: [`FrameState`] (what a frame is), [`FrameTable`] (all of them). A frame is on at most one list at a time, so
//! one pair of links serves free lists, per-CPU lists and LRU lists. Lists are rings closed by a sentinel that
//! lives behind the frames in the same array, which makes every insertion and removal branch-free.
//! Only the first frame of a block carries its state; the others are [`FrameState::Tail`] and are never written when a
//! block is allocated or freed whole: that is what makes an order-9 block as cheap as a single frame.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{Migratetype, Order, Pages, Pfn};

use crate::lru::{LruList, LruType};

/// Position in the frame table: a frame, or behind them a list's sentinel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Idx(pub(crate) u32);

impl Idx {
    pub(crate) const fn at(self) -> usize {
        self.0 as usize
    }

    /// The block that merges with a block of `order` here. The table starts at a multiple of the largest block.
    pub(crate) const fn buddy(self, order: Order) -> Self {
        Self(self.0 ^ (1 << order.get()))
    }

    pub(crate) const fn plus(self, frames: u32) -> Self {
        Self(self.0 + frames)
    }

    /// Position of the pageblock that holds this frame.
    pub(crate) const fn block(self) -> usize {
        self.at() >> Order::PAGEBLOCK.get()
    }
}

/// What a frame is. Blocks larger than one frame say so on their first frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameState {
    /// Part of the block that starts at a lower frame.
    Tail,
    /// No memory here, or memory the allocator was never given.
    Hole,
    /// Present, kept from the allocator at boot.
    Reserved,
    /// First frame of a free block on a free list.
    Free {
        /// Size of the block.
        order: Order,
        /// The free list it is on; before the freelist hygiene of 6.10 this can differ from the pageblock's type.
        list: Migratetype,
    },
    /// First frame of a free block on a per-CPU list.
    Pcp {
        /// Size of the block.
        order: Order,
        /// Type it was cached with, used when it returns to the free lists.
        cached: Migratetype,
    },
    /// First frame of a live allocation.
    Allocated {
        /// Size of the allocation.
        order: Order,
    },
    /// First frame of a free block that compaction has taken off the free lists.
    Held {
        /// Size of the block.
        order: Order,
    },
}

/// State, order, type and flags of one frame in 32 bits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word(u32);

const STATE: u32 = 0x7;
const ORDER_SHIFT: u32 = 3;
const ORDER: u32 = 0xf << ORDER_SHIFT;
const TYPE_SHIFT: u32 = 7;

const TAIL: u32 = 0;
const HOLE: u32 = 1;
const RESERVED: u32 = 2;
const FREE: u32 = 3;
const PCP: u32 = 4;
const ALLOCATED: u32 = 5;
const HELD: u32 = 6;

/// Flags of a frame beside its state.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    /// Its block's `immovable` includes this block of frames.
    CountedImmovable = 1 << 10,
    /// Content that compaction may move: an LRU page or a movable-driver page.
    MovableContent = 1 << 11,
    /// Somebody holds a long-term pin.
    Pinned = 1 << 12,
    /// Taken off its LRU by reclaim or compaction.
    Isolated = 1 << 13,
    /// An address space, file or slab cache uses it, and it alone may end that use.
    Owned = 1 << 14,
    /// On an LRU list, the one that the next three flags name.
    Lru = 1 << 15,
    /// An LRU page found in use.
    Active = 1 << LIST_SHIFT,
    /// An LRU page that would be written back to a file on disk, not to swap.
    File = 1 << (LIST_SHIFT + 1),
    /// An LRU page of an mlocked mapping.
    Unevictable = 1 << (LIST_SHIFT + 2),
    /// An LRU page that was accessed once.
    Referenced = 1 << 19,
    /// In the swap cache: it has a slot.
    SwapCache = 1 << 20,
    /// Changed since it was last written back.
    Dirty = 1 << 21,
    /// Being written back.
    Writeback = 1 << 22,
    /// Reclaim waits for the end of its writeback.
    Reclaim = 1 << 23,
    /// Being read from a file on disk: it holds nothing yet.
    Locked = 1 << 24,
    /// An LRU page that was active before.
    Workingset = 1 << 25,
    /// An anonymous page that its program can do without, where such pages stay on lists of anonymous ones.
    LazyFree = 1 << 26,
}

/// First of the flags that name an LRU list.
const LIST_SHIFT: u32 = 16;
/// What ends with the use of a frame by its owner.
const USE: u32 = Flag::Owned as u32
    | Flag::MovableContent as u32
    | Flag::Lru as u32
    | 0xf << LIST_SHIFT
    | Flag::Workingset as u32
    | Flag::LazyFree as u32;

impl Word {
    pub(crate) const TAIL: Self = Self(TAIL);
    pub(crate) const HOLE: Self = Self(HOLE);
    pub(crate) const RESERVED: Self = Self(RESERVED);

    pub(crate) const fn free(order: Order, list: Migratetype) -> Self {
        Self::block(FREE, order, list)
    }

    pub(crate) const fn pcp(order: Order, cached: Migratetype) -> Self {
        Self::block(PCP, order, cached)
    }

    pub(crate) const fn allocated(order: Order) -> Self {
        Self::block(ALLOCATED, order, Migratetype::Unmovable)
    }

    pub(crate) const fn held(order: Order) -> Self {
        Self::block(HELD, order, Migratetype::Unmovable)
    }

    const fn block(state: u32, order: Order, mt: Migratetype) -> Self {
        Self(state | (order.get() as u32) << ORDER_SHIFT | (mt as u32) << TYPE_SHIFT)
    }

    /// Whether this is the first frame of a free block of exactly `order`.
    pub(crate) const fn is_free_of(self, order: Order) -> bool {
        self.0 & (STATE | ORDER) == FREE | (order.get() as u32) << ORDER_SHIFT
    }

    /// Whether this is the first frame of a cached, allocated or held block of at least `order`.
    pub(crate) const fn is_used_from(self, order: Order) -> bool {
        let used = matches!(self.0 & STATE, PCP | ALLOCATED | HELD);
        used && self.0 & ORDER >= (order.get() as u32) << ORDER_SHIFT
    }

    pub(crate) const fn is_free(self) -> bool {
        self.0 & STATE == FREE
    }

    /// Whether this is a single frame that somebody uses and that is on no LRU list, nor movable in another way.
    #[inline]
    pub(crate) const fn is_used_alone(self) -> bool {
        let other = STATE | ORDER | Flag::Lru as u32 | Flag::MovableContent as u32;
        self.0 & other == ALLOCATED
    }

    /// Whether a free block that a per-CPU list holds starts here.
    pub(crate) const fn is_pcp(self) -> bool {
        self.0 & STATE == PCP
    }

    pub(crate) const fn is_allocated(self) -> bool {
        self.0 & STATE == ALLOCATED
    }

    /// Order of the block that starts here; meaningless for tails, holes and reserved frames.
    pub(crate) fn order(self) -> Order {
        Order::new(((self.0 & ORDER) >> ORDER_SHIFT) as u8).expect("a frame word holds an order up to 10")
    }

    /// List or cached type of a free block.
    pub(crate) const fn list(self) -> Migratetype {
        match Migratetype::from_index((self.0 >> TYPE_SHIFT & 0x7) as usize) {
            Some(mt) => mt,
            None => panic!("a frame word holds a migratetype"),
        }
    }

    pub(crate) const fn has(self, flag: Flag) -> bool {
        self.0 & flag as u32 != 0
    }

    /// Whether somebody beside the owner needs the frame: it is pinned, isolated, or data is on its way into or out of it.
    pub(crate) const fn is_held(self) -> bool {
        let held = Flag::Pinned as u32 | Flag::Isolated as u32 | Flag::Locked as u32 | Flag::Writeback as u32;
        self.0 & held != 0
    }

    /// Whether the block may be freed: nobody pins, isolates or owns it.
    pub(crate) const fn is_releasable(self) -> bool {
        self.0 & (Flag::Pinned as u32 | Flag::Isolated as u32 | Flag::Owned as u32) == 0
    }

    /// The same for a single frame.
    #[must_use]
    pub(crate) const fn single(self) -> Self {
        Self(self.0 & !ORDER)
    }

    /// Whether this is a frame of a block of several, the first or another one.
    #[inline]
    pub(crate) const fn is_compound(self) -> bool {
        self.0 & STATE == TAIL || self.0 & ORDER != 0
    }

    /// Whether the frame is part of a block that starts lower.
    #[inline]
    pub(crate) const fn is_tail(self) -> bool {
        self.0 & STATE == TAIL
    }

    /// Frames of the block that starts here; meaningless for tails, holes and reserved frames.
    #[inline]
    pub(crate) const fn frames(self) -> u64 {
        1 << ((self.0 & ORDER) >> ORDER_SHIFT)
    }

    /// Whether this is a page of a program or file, which is on an LRU list or isolated.
    #[inline]
    pub(crate) const fn is_lru_page(self) -> bool {
        let page = Flag::Owned as u32 | Flag::MovableContent as u32;
        self.0 & page == page
    }

    /// The LRU list that the flags of an LRU page name.
    #[inline]
    pub(crate) const fn lru_list(self) -> LruList {
        use LruList::{ActiveAnon, ActiveFile, InactiveAnon, InactiveFile, Unevictable};
        const BY_FLAGS: [LruList; 8] =
            [InactiveAnon, ActiveAnon, InactiveFile, ActiveFile, Unevictable, Unevictable, Unevictable, Unevictable];
        BY_FLAGS[(self.0 >> LIST_SHIFT & 0x7) as usize]
    }

    /// What an LRU page would be written back to.
    pub(crate) const fn lru_type(self) -> LruType {
        if self.has(Flag::File) { LruType::File } else { LruType::Anon }
    }

    /// The same naming another LRU list. An unevictable page keeps its type and is not active.
    #[inline]
    #[must_use]
    pub(crate) const fn with_list(self, list: LruList) -> Self {
        let word = match list {
            LruList::Unevictable => self,
            list => self.with(Flag::File, matches!(list, LruList::InactiveFile | LruList::ActiveFile)),
        };
        let active = matches!(list, LruList::ActiveAnon | LruList::ActiveFile);
        word.with(Flag::Active, active).with(Flag::Unevictable, matches!(list, LruList::Unevictable))
    }

    /// The word of a fresh frame once it has an owner and is on `list`.
    #[inline]
    #[must_use]
    pub(crate) const fn adopted(self, list: LruList) -> Self {
        const USED: u32 = Flag::Owned as u32 | Flag::MovableContent as u32 | Flag::Lru as u32;
        const BY_LIST: [u32; LruList::COUNT] = [
            0,
            Flag::Active as u32,
            Flag::File as u32,
            Flag::Active as u32 | Flag::File as u32,
            Flag::Unevictable as u32,
        ];
        Self(self.0 | USED | BY_LIST[list.index()])
    }

    /// The same without owner and everything that goes with one.
    #[inline]
    #[must_use]
    pub(crate) const fn unused(self) -> Self {
        Self(self.0 & !USE)
    }

    #[must_use]
    pub(crate) const fn with(self, flag: Flag, on: bool) -> Self {
        if on { Self(self.0 | flag as u32) } else { Self(self.0 & !(flag as u32)) }
    }

    pub(crate) fn state(self) -> FrameState {
        match self.0 & STATE {
            TAIL => FrameState::Tail,
            HOLE => FrameState::Hole,
            RESERVED => FrameState::Reserved,
            FREE => FrameState::Free { order: self.order(), list: self.list() },
            PCP => FrameState::Pcp { order: self.order(), cached: self.list() },
            ALLOCATED => FrameState::Allocated { order: self.order() },
            HELD => FrameState::Held { order: self.order() },
            state => unreachable!("frame state {state} does not exist"),
        }
    }
}

#[derive(Clone, Copy)]
struct Link {
    next: Idx,
    prev: Idx,
}

/// State and links of all frames from [`FrameTable::base`] on.
#[derive(Clone)]
pub(crate) struct FrameTable {
    base: Pfn,
    words: Vec<Word>,
    links: Vec<Link>,
}

impl FrameTable {
    /// A table of `frames` holes from `base` on and `lists` empty lists.
    ///
    /// `base` is a multiple of the largest block, and `frames + lists` fits 32 bits.
    pub(crate) fn new(base: Pfn, frames: u32, lists: u32) -> Self {
        assert!(base.is_aligned(Order::MAX), "{base:?} is no start of a largest block");
        let unlinked = Link { next: Idx(0), prev: Idx(0) };
        let mut links = Vec::with_capacity((frames + lists) as usize);
        links.resize(frames as usize, unlinked);
        links.extend((frames..frames + lists).map(|own| Link { next: Idx(own), prev: Idx(own) }));
        Self { base, words: vec![Word::HOLE; frames as usize], links }
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }

    /// Sentinel of the `n`-th list.
    pub(crate) fn list(&self, n: u32) -> Idx {
        Idx(self.words.len() as u32 + n)
    }

    pub(crate) fn idx(&self, pfn: Pfn) -> Option<Idx> {
        let at = pfn.get().checked_sub(self.base.get())?;
        (at < self.words.len() as u64).then_some(Idx(at as u32))
    }

    pub(crate) fn pfn(&self, idx: Idx) -> Pfn {
        Pfn::new(self.base.get() + u64::from(idx.0))
    }

    #[inline]
    pub(crate) fn word(&self, idx: Idx) -> Word {
        self.words[idx.at()]
    }

    /// The frame's word, or that of a hole behind the end of the table.
    #[inline]
    pub(crate) fn word_or_hole(&self, idx: Idx) -> Word {
        self.words.get(idx.at()).copied().unwrap_or(Word::HOLE)
    }

    /// How many of the `len` frames from `idx` on, up to the first that does not, have words of this kind.
    #[inline]
    pub(crate) fn leading(&self, idx: Idx, len: Pages, kind: impl Fn(Word) -> bool) -> Pages {
        let words = &self.words[idx.at()..idx.at() + len.get() as usize];
        Pages::new(words.iter().take_while(|word| kind(**word)).count() as u64)
    }

    #[inline]
    pub(crate) fn set(&mut self, idx: Idx, word: Word) {
        self.words[idx.at()] = word;
    }

    /// First frame of the list, or `None` if it is empty.
    #[inline]
    pub(crate) fn first(&self, list: Idx) -> Option<Idx> {
        let first = self.links[list.at()].next;
        (first != list).then_some(first)
    }

    /// Last frame of the list, or `None` if it is empty.
    #[inline]
    pub(crate) fn last(&self, list: Idx) -> Option<Idx> {
        let last = self.links[list.at()].prev;
        (last != list).then_some(last)
    }

    /// The frame behind `idx` on the list, or `None` if it is the last.
    #[inline]
    pub(crate) fn next(&self, list: Idx, idx: Idx) -> Option<Idx> {
        let next = self.links[idx.at()].next;
        (next != list).then_some(next)
    }

    /// The frame before `idx` on the list, or `None` if it is the first.
    #[inline]
    pub(crate) fn prev(&self, list: Idx, idx: Idx) -> Option<Idx> {
        let prev = self.links[idx.at()].prev;
        (prev != list).then_some(prev)
    }

    /// Moves everything up to `idx`, and `idx` itself, to the tail of the list.
    pub(crate) fn rotate_behind(&mut self, list: Idx, idx: Idx) {
        // A ring keeps its order when its sentinel moves.
        self.unlink(list);
        let next = self.links[idx.at()].next;
        self.insert(idx, list, next);
    }

    /// Moves everything before `idx` to the tail of the list.
    pub(crate) fn rotate_before(&mut self, list: Idx, idx: Idx) {
        self.unlink(list);
        let prev = self.links[idx.at()].prev;
        self.insert(prev, list, idx);
    }

    /// Frames of the list from head to tail.
    pub(crate) fn iter(&self, list: Idx) -> impl Iterator<Item = Idx> {
        let mut at = list;
        core::iter::from_fn(move || {
            at = self.links[at.at()].next;
            (at != list).then_some(at)
        })
    }

    #[inline]
    pub(crate) fn push_head(&mut self, list: Idx, idx: Idx) {
        let next = self.links[list.at()].next;
        self.insert(list, idx, next);
    }

    #[inline]
    pub(crate) fn push_tail(&mut self, list: Idx, idx: Idx) {
        let prev = self.links[list.at()].prev;
        self.insert(prev, idx, list);
    }

    /// Puts `idx` before `next` on the list that this is on.
    pub(crate) fn push_before(&mut self, next: Idx, idx: Idx) {
        let prev = self.links[next.at()].prev;
        self.insert(prev, idx, next);
    }

    #[inline]
    fn insert(&mut self, prev: Idx, idx: Idx, next: Idx) {
        self.links[idx.at()] = Link { next, prev };
        self.links[prev.at()].next = idx;
        self.links[next.at()].prev = idx;
    }

    #[inline]
    pub(crate) fn unlink(&mut self, idx: Idx) {
        let Link { next, prev } = self.links[idx.at()];
        self.links[prev.at()].next = next;
        self.links[next.at()].prev = prev;
    }

    /// Takes the first frame off the list.
    #[inline]
    pub(crate) fn pop_head(&mut self, list: Idx) -> Option<Idx> {
        let first = self.links[list.at()].next;
        if first == list {
            return None;
        }
        let next = self.links[first.at()].next;
        self.links[list.at()].next = next;
        self.links[next.at()].prev = list;
        Some(first)
    }

    /// Bytes of metadata, by capacity.
    pub(crate) fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<Word>() + self.links.capacity() * size_of::<Link>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_keep_state_and_flags_apart() {
        let order = Order::PAGEBLOCK;
        let word = Word::free(order, Migratetype::Cma).with(Flag::Pinned, true);
        assert_eq!(word.state(), FrameState::Free { order, list: Migratetype::Cma });
        assert!(word.is_free_of(order) && !word.is_free_of(Order::MAX));
        assert!(word.has(Flag::Pinned) && !word.has(Flag::CountedImmovable));
        assert!(word.with(Flag::Pinned, false) == Word::free(order, Migratetype::Cma));
    }

    #[test]
    fn words_name_lru_lists() {
        let word = Word::allocated(Order::ZERO).with(Flag::Owned, true).with(Flag::MovableContent, true);
        for list in LruList::ALL {
            assert_eq!(word.with_list(LruList::ActiveFile).with_list(list).lru_list(), list);
        }
        let locked = word.with_list(LruList::ActiveFile).with_list(LruList::Unevictable);
        assert_eq!((locked.lru_type(), locked.has(Flag::Active)), (LruType::File, false));
        let used = locked.with(Flag::Lru, true).with(Flag::Referenced, true);
        assert!(used.is_lru_page() && used.unused() == Word::allocated(Order::ZERO));
        assert_eq!(Word::allocated(Order::PAGEBLOCK).frames(), 512);
    }

    #[test]
    fn lists_keep_head_and_tail() {
        let mut frames = FrameTable::new(Pfn::new(0), 1024, 1);
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
        let mut frames = FrameTable::new(Pfn::new(0), 1024, 1);
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
