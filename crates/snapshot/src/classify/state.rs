//! From one frame's flags and map count to what it holds.

use super::FrameClass;
use crate::FrameState;
use crate::flags::{PINNED, SLAB_RECLAIMABLE, kpf};

/// Class of a frame with its place in a compound page, packed in a byte so that a chunk's frames fit the cache.
///
/// Only the frames of one zone are ever looked at together; the others are [`Token::HOLE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token(u8);

impl Token {
    const CLASS: u8 = 0x1f;
    const HEAD: u8 = 0x40;
    const TAIL: u8 = 0x80;

    /// Number of classes that the class bits can tell apart.
    pub(crate) const CLASSES: usize = Self::CLASS as usize + 1;

    pub(crate) const HOLE: Self = Self::of(FrameClass::Hole);

    pub(crate) const fn of(class: FrameClass) -> Self {
        Self(class as u8)
    }

    pub(crate) const fn class(self) -> FrameClass {
        FrameClass::ALL[(self.0 & Self::CLASS) as usize]
    }

    /// Number of the class, below [`Token::CLASSES`].
    #[inline]
    pub(crate) const fn class_index(self) -> usize {
        (self.0 & Self::CLASS) as usize
    }

    /// Whether any bit differs.
    #[inline]
    pub(crate) const fn differs(self, other: Self) -> u8 {
        self.0 ^ other.0
    }

    /// The state with another class and an unchanged position in its compound page.
    pub(crate) const fn with_class(self, class: FrameClass) -> Self {
        Self(self.0 & !Self::CLASS | class as u8)
    }

    pub(crate) const fn is_head(self) -> bool {
        self.0 & Self::HEAD != 0
    }

    pub(crate) const fn is_tail(self) -> bool {
        self.0 & Self::TAIL != 0
    }

    pub(crate) const fn is_compound(self) -> bool {
        self.0 & (Self::HEAD | Self::TAIL) != 0
    }

    /// The token that the state of a frame gives by itself. Tails still have to inherit from their head: on older
    /// kernels most of their flags are missing.
    pub(crate) fn of_state(state: FrameState) -> Self {
        let class = class_of(state);
        let part = match class {
            FrameClass::Hole | FrameClass::Free | FrameClass::HwPoison => 0,
            _ if state.flags & kpf::COMPOUND_HEAD != 0 => Self::HEAD,
            _ if state.flags & kpf::COMPOUND_TAIL != 0 => Self::TAIL,
            _ => 0,
        };
        Self(class as u8 | part)
    }
}

const _: () = assert!(FrameClass::COUNT <= Token::CLASSES, "a class must fit its bits");

/// The class of a frame that is no tail. The first rule that applies decides: what a frame is, before what it is used
/// for, since 6.x kernels show leftover bits (such as ANON on slab) where a field of the page has another meaning.
fn class_of(FrameState { flags, count }: FrameState) -> FrameClass {
    let any = |mask: u64| flags & mask != 0;
    if any(kpf::NOPAGE) {
        FrameClass::Hole
    } else if any(kpf::HWPOISON) {
        FrameClass::HwPoison
    } else if any(kpf::OFFLINE) {
        FrameClass::Ballooned
    } else if any(kpf::BUDDY) {
        FrameClass::Free
    } else if any(kpf::SLAB) {
        if any(SLAB_RECLAIMABLE) { FrameClass::SlabReclaimable } else { FrameClass::Slab }
    } else if any(kpf::HUGE) {
        FrameClass::Hugetlb
    } else if any(kpf::PGTABLE) {
        FrameClass::PageTable
    } else if any(kpf::RESERVED) {
        FrameClass::Reserved
    } else if any(kpf::ZERO_PAGE) {
        FrameClass::KernelMapped
    } else if any(PINNED) {
        FrameClass::Pinned
    } else {
        user_class(flags, count)
    }
}

/// The class of a frame that is neither free nor known to be the kernel's.
///
/// Pages that wait in a per-CPU batch for their LRU list carry no LRU bit yet; anonymous ones are known by ANON, those
/// of files by being up to date, which the kernel's own pages never are.
fn user_class(flags: u64, count: u64) -> FrameClass {
    let any = |mask: u64| flags & mask != 0;
    let mapped = any(kpf::MMAP) || count > 0;
    if !any(kpf::LRU | kpf::ANON | kpf::KSM | kpf::UNEVICTABLE | kpf::UPTODATE) {
        return if mapped { FrameClass::KernelMapped } else { FrameClass::Unknown };
    }
    if any(kpf::UNEVICTABLE | kpf::MLOCKED) {
        FrameClass::Unevictable
    } else if any(kpf::ANON | kpf::KSM) {
        FrameClass::Anon
    } else if any(kpf::SWAPBACKED) {
        FrameClass::Shmem
    } else if any(kpf::DIRTY | kpf::WRITEBACK) {
        FrameClass::FileDirty
    } else if mapped {
        FrameClass::FileMapped
    } else {
        FrameClass::FileClean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(flags: u64, count: u64) -> FrameClass {
        Token::of_state(FrameState { flags, count }).class()
    }

    #[test]
    fn what_a_frame_is_wins_over_leftover_bits() {
        assert_eq!(class(kpf::SLAB | kpf::ANON | kpf::KSM, 0), FrameClass::Slab);
        assert_eq!(class(kpf::SLAB | SLAB_RECLAIMABLE, 0), FrameClass::SlabReclaimable);
        assert_eq!(class(kpf::BUDDY | kpf::UPTODATE, 1), FrameClass::Free);
        assert_eq!(class(kpf::HUGE | kpf::COMPOUND_TAIL, 1), FrameClass::Hugetlb);
        assert_eq!(class(kpf::PGTABLE | kpf::REFERENCED, 0), FrameClass::PageTable);
        assert_eq!(class(kpf::ANON | kpf::LRU | kpf::MMAP | PINNED, 1), FrameClass::Pinned);
        assert_eq!(class(kpf::NOPAGE, 0), FrameClass::Hole);
        assert_eq!(class(0, 0), FrameClass::Unknown);
    }

    #[test]
    fn page_cache_is_told_apart_by_the_price_of_dropping_it() {
        assert_eq!(class(kpf::LRU | kpf::UPTODATE, 0), FrameClass::FileClean);
        assert_eq!(class(kpf::LRU | kpf::UPTODATE | kpf::MMAP, 3), FrameClass::FileMapped);
        assert_eq!(class(kpf::LRU | kpf::UPTODATE | kpf::WRITEBACK, 0), FrameClass::FileDirty);
        assert_eq!(class(kpf::LRU | kpf::SWAPBACKED | kpf::DIRTY, 0), FrameClass::Shmem);
        assert_eq!(class(kpf::LRU | kpf::ANON, 1), FrameClass::Anon);
        assert_eq!(class(kpf::LRU | kpf::ANON | kpf::UNEVICTABLE | kpf::MLOCKED, 1), FrameClass::Unevictable);
    }

    #[test]
    fn pages_off_their_list_are_still_user_pages() {
        assert_eq!(class(kpf::ANON | kpf::SWAPBACKED | kpf::MMAP, 1), FrameClass::Anon);
        assert_eq!(class(kpf::UPTODATE, 0), FrameClass::FileClean);
        assert_eq!(class(kpf::MMAP, 1), FrameClass::KernelMapped);
    }
}
