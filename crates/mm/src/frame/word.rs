//! The word of a frame: state, order, type and flags, packed.

use order9_units::{Migratetype, Order};

use super::FrameState;
use crate::lru::{LruList, LruType};

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
}
