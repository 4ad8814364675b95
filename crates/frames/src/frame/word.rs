//! The word of a frame: state, order, type and flags, packed.

use order9_units::{Migratetype, Order};

use super::FrameState;

/// State, order, type and flags of one frame in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word(u32);

const STATE: u32 = 0x7;
const ORDER_SHIFT: u32 = 3;
const ORDER: u32 = 0xf << ORDER_SHIFT;
const TYPE_SHIFT: u32 = 7;

/// Bits of state, order and type.
const FIXED: u32 = 0x3ff;

const TAIL: u32 = 0;
const HOLE: u32 = 1;
const RESERVED: u32 = 2;
const FREE: u32 = 3;
const PCP: u32 = 4;
const ALLOCATED: u32 = 5;
const HELD: u32 = 6;

/// Flags of a frame that layers above may add to: each is one bit, from [`Word::OWNER_BITS`] for other layers.
pub trait Bits: Copy {
    /// The bit.
    fn bits(self) -> u32;
}

/// Flags of a frame beside its state that the allocator knows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flag {
    /// The pageblock's `immovable` includes this block of frames.
    CountedImmovable = 1 << 10,
    /// Content that compaction may move: an LRU page or a movable-driver page.
    MovableContent = 1 << 11,
    /// A long-term pin holds the frame.
    Pinned = 1 << 12,
    /// Taken off its LRU by reclaim or compaction.
    Isolated = 1 << 13,
    /// A layer above uses it, and it alone may end that use.
    Owned = 1 << 14,
}

impl Bits for Flag {
    #[inline]
    fn bits(self) -> u32 {
        self as u32
    }
}

impl Word {
    /// A frame of the block that starts at a lower one.
    pub const TAIL: Self = Self(TAIL);
    /// No memory.
    pub const HOLE: Self = Self(HOLE);
    /// Kept from the allocator.
    pub const RESERVED: Self = Self(RESERVED);
    /// Bits that the allocator leaves to layers above. They are clear in a block that is free.
    pub const OWNER_BITS: u32 = 0xffff_8000;

    /// The first frame of a free block on the list of `list`.
    pub const fn free(order: Order, list: Migratetype) -> Self {
        Self::block(FREE, order, list)
    }

    /// The first frame of a block on a per-CPU list.
    pub const fn pcp(order: Order, cached: Migratetype) -> Self {
        Self::block(PCP, order, cached)
    }

    /// The first frame of a live allocation.
    pub const fn allocated(order: Order) -> Self {
        Self::block(ALLOCATED, order, Migratetype::Unmovable)
    }

    /// The first frame of a free block off the free lists.
    pub const fn held(order: Order) -> Self {
        Self::block(HELD, order, Migratetype::Unmovable)
    }

    const fn block(state: u32, order: Order, mt: Migratetype) -> Self {
        Self(state | (order.get() as u32) << ORDER_SHIFT | (mt as u32) << TYPE_SHIFT)
    }

    /// Whether this is the first frame of a free block of exactly `order`.
    pub const fn is_free_of(self, order: Order) -> bool {
        self.0 & (STATE | ORDER) == FREE | (order.get() as u32) << ORDER_SHIFT
    }

    /// Whether this is the first frame of a cached, allocated or held block of at least `order`.
    pub const fn is_used_from(self, order: Order) -> bool {
        let used = matches!(self.0 & STATE, PCP | ALLOCATED | HELD);
        used && self.0 & ORDER >= (order.get() as u32) << ORDER_SHIFT
    }

    /// Whether a free block starts here.
    pub const fn is_free(self) -> bool {
        self.0 & STATE == FREE
    }

    /// Whether a free block that a per-CPU list holds starts here.
    pub const fn is_pcp(self) -> bool {
        self.0 & STATE == PCP
    }

    /// Whether a live allocation starts here.
    pub const fn is_allocated(self) -> bool {
        self.0 & STATE == ALLOCATED
    }

    /// Order of the block that starts here; meaningless for tails, holes and reserved frames.
    pub fn order(self) -> Order {
        Order::new(((self.0 & ORDER) >> ORDER_SHIFT) as u8).expect("a frame word holds an order up to 10")
    }

    /// List or cached type of a free block.
    pub const fn list(self) -> Migratetype {
        match Migratetype::from_index((self.0 >> TYPE_SHIFT & 0x7) as usize) {
            Some(mt) => mt,
            None => panic!("a frame word holds a migratetype"),
        }
    }

    /// Whether a flag is set.
    #[inline]
    #[must_use]
    pub fn has(self, flag: impl Bits) -> bool {
        self.0 & flag.bits() != 0
    }

    /// Whether a live allocation starts here that may be freed: nobody pins, isolates or owns it.
    #[inline]
    pub const fn can_free(self) -> bool {
        self.0 & (STATE | Flag::Pinned as u32 | Flag::Isolated as u32 | Flag::Owned as u32) == ALLOCATED
    }

    /// This word for a block of a single frame.
    #[must_use]
    pub const fn single(self) -> Self {
        Self(self.0 & !ORDER)
    }

    /// This word of a single frame for a block of `order`.
    #[inline]
    pub(crate) const fn of_order(self, order: Order) -> Self {
        Self(self.0 | (order.get() as u32) << ORDER_SHIFT)
    }

    /// Whether a block that starts here has a single frame; meaningless for tails, holes and reserved frames.
    #[inline]
    pub const fn is_single(self) -> bool {
        self.0 & ORDER == 0
    }

    /// Whether this is a frame of a block of several, the first or another one.
    #[inline]
    pub const fn is_compound(self) -> bool {
        self.0 & STATE == TAIL || self.0 & ORDER != 0
    }

    /// Whether the frame is part of a block that starts lower.
    #[inline]
    pub const fn is_tail(self) -> bool {
        self.0 & STATE == TAIL
    }

    /// Frames of the block that starts here; meaningless for tails, holes and reserved frames.
    #[inline]
    pub const fn frames(self) -> u64 {
        1 << ((self.0 & ORDER) >> ORDER_SHIFT)
    }

    /// This word with a flag set or clear.
    #[inline]
    #[must_use]
    pub fn with(self, flag: impl Bits, on: bool) -> Self {
        if on { Self(self.0 | flag.bits()) } else { Self(self.0 & !flag.bits()) }
    }

    /// This word with every flag of `set`, and none of `clear`. Neither may name bits of the state, order or type.
    #[inline]
    #[must_use]
    pub const fn with_bits(self, set: u32, clear: u32) -> Self {
        debug_assert!((set | clear) & FIXED == 0);
        Self(self.0 & !clear | set)
    }

    /// The flags of `mask` that are set.
    #[inline]
    #[must_use]
    pub const fn bits(self, mask: u32) -> u32 {
        debug_assert!(mask & FIXED == 0);
        self.0 & mask
    }

    /// State of the frame, with the order and type that belong to it.
    pub fn state(self) -> FrameState {
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
}
