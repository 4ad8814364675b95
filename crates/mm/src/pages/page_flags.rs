//! Flags that pages in use have in the word of their first frame, beside those of the allocator.

use order9_frames::{Bits, Flag, Word};

use crate::lru_list::{LruList, LruType};

/// Flags of a page of a program or file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageFlag {
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
    /// A page of a file on disk at which a reader has the next ones read.
    Readahead = 1 << 27,
}

impl Bits for PageFlag {
    #[inline]
    fn bits(self) -> u32 {
        self as u32
    }
}

/// First of the flags that name an LRU list.
const LIST_SHIFT: u32 = 16;
const LIST: u32 = 0x7 << LIST_SHIFT;
/// An LRU page, isolated or not.
const LRU_PAGE: u32 = Flag::Owned as u32 | Flag::MovableContent as u32;
/// A fresh page once it has an owner and is on a list.
const ADOPTED: u32 = LRU_PAGE | PageFlag::Lru as u32;
/// Flags that end with the use of a frame by its owner.
const USE: u32 = ADOPTED
    | LIST
    | PageFlag::Referenced as u32
    | PageFlag::Workingset as u32
    | PageFlag::LazyFree as u32
    | PageFlag::Readahead as u32;

/// Questions to the flags of a page in use.
pub(crate) trait PageWord: Sized {
    /// Whether this is a single frame that somebody uses and that is on no LRU list, nor movable in another way.
    fn is_used_alone(&self) -> bool;
    /// Whether somebody beside the owner needs the frame: it is pinned, isolated, or data is on its way into or out of it.
    fn is_held(&self) -> bool;
    /// Whether this is a page of a program or file, which is on an LRU list or isolated.
    fn is_lru_page(&self) -> bool;
    /// The LRU list that the flags of an LRU page name.
    fn lru_list(self) -> LruList;
    /// Kind of storage that an LRU page would be written back to.
    fn lru_type(self) -> LruType;
    /// The word with the name of another LRU list. An unevictable page keeps its type and is not active.
    #[must_use]
    fn with_list(self, list: LruList) -> Self;
    /// The word of a fresh frame once it has an owner and is on `list`.
    #[must_use]
    fn adopted(self, list: LruList) -> Self;
    /// The word without owner and everything that goes with one.
    #[must_use]
    fn unused(self) -> Self;
}

impl PageWord for Word {
    #[inline]
    fn is_used_alone(&self) -> bool {
        self.is_allocated() && !self.is_compound() && self.bits(PageFlag::Lru as u32 | Flag::MovableContent as u32) == 0
    }

    #[inline]
    fn is_held(&self) -> bool {
        const HELD: u32 =
            Flag::Pinned as u32 | Flag::Isolated as u32 | PageFlag::Locked as u32 | PageFlag::Writeback as u32;
        self.bits(HELD) != 0
    }

    #[inline]
    fn is_lru_page(&self) -> bool {
        self.bits(LRU_PAGE) == LRU_PAGE
    }

    #[inline]
    fn lru_list(self) -> LruList {
        use LruList::{ActiveAnon, ActiveFile, InactiveAnon, InactiveFile, Unevictable};
        const BY_FLAGS: [LruList; 8] =
            [InactiveAnon, ActiveAnon, InactiveFile, ActiveFile, Unevictable, Unevictable, Unevictable, Unevictable];
        BY_FLAGS[(self.bits(LIST) >> LIST_SHIFT) as usize]
    }

    #[inline]
    fn lru_type(self) -> LruType {
        if self.has(PageFlag::File) { LruType::File } else { LruType::Anon }
    }

    #[inline]
    fn with_list(self, list: LruList) -> Self {
        let word = match list {
            LruList::Unevictable => self,
            list => self.with(PageFlag::File, matches!(list, LruList::InactiveFile | LruList::ActiveFile)),
        };
        let active = matches!(list, LruList::ActiveAnon | LruList::ActiveFile);
        word.with(PageFlag::Active, active).with(PageFlag::Unevictable, matches!(list, LruList::Unevictable))
    }

    #[inline]
    fn adopted(self, list: LruList) -> Self {
        const BY_LIST: [u32; LruList::COUNT] = [
            0,
            PageFlag::Active as u32,
            PageFlag::File as u32,
            PageFlag::Active as u32 | PageFlag::File as u32,
            PageFlag::Unevictable as u32,
        ];
        self.with_bits(ADOPTED | BY_LIST[list.index()], 0)
    }

    #[inline]
    fn unused(self) -> Self {
        self.with_bits(0, USE)
    }
}

#[cfg(test)]
mod tests {
    use order9_units::Order;

    use super::*;

    #[test]
    fn words_name_lru_lists() {
        let word = Word::allocated(Order::ZERO).with(Flag::Owned, true).with(Flag::MovableContent, true);
        for list in LruList::ALL {
            assert_eq!(word.with_list(LruList::ActiveFile).with_list(list).lru_list(), list);
        }
        let locked = word.with_list(LruList::ActiveFile).with_list(LruList::Unevictable);
        assert_eq!((locked.lru_type(), locked.has(PageFlag::Active)), (LruType::File, false));
        let used = locked.with(PageFlag::Lru, true).with(PageFlag::Referenced, true);
        assert!(used.is_lru_page() && used.unused() == Word::allocated(Order::ZERO));
        assert_eq!(Word::allocated(Order::PAGEBLOCK).frames(), 512);
    }
}
