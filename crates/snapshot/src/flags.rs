//! Bits of a frame's flag word: those of /proc/kpageflags by their kernel names, and two that only order9 writes.
//!
//! Source: the kernel's documentation of /proc/kpageflags (admin-guide/mm/pagemap) and its uapi list of bits. Bits 0 to
//! 31 are stable there; bits 32 and up are "kernel hacking assistances" that may move, and have in practice only been
//! added.

/// Bits of /proc/kpageflags, as masks, named as in the kernel documentation without their `KPF_` prefix.
///
/// Where no release is given, every kernel from 2.6.32 on reports the bit.
pub mod kpf {
    /// The page is locked, for instance for I/O.
    pub const LOCKED: u64 = 1 << 0;
    /// An I/O error occurred. Always 0 since 6.12.
    pub const ERROR: u64 = 1 << 1;
    /// Referenced since it last was moved on its LRU list.
    pub const REFERENCED: u64 = 1 << 2;
    /// The page holds up-to-date data.
    pub const UPTODATE: u64 = 1 << 3;
    /// Has been written to and holds newer data than the disk.
    pub const DIRTY: u64 = 1 << 4;
    /// The page is on an LRU list.
    pub const LRU: u64 = 1 << 5;
    /// The page is on an active LRU list.
    pub const ACTIVE: u64 = 1 << 6;
    /// Managed by a slab allocator. Some kernels flag heads of compound slabs only, 6.18 every frame.
    pub const SLAB: u64 = 1 << 7;
    /// Being written to disk.
    pub const WRITEBACK: u64 = 1 << 8;
    /// Will be reclaimed as soon as its I/O completes.
    pub const RECLAIM: u64 = 1 << 9;
    /// The frame is in a free block of the buddy allocator. Some kernels flag the first frame of a block only, 6.18
    /// every frame.
    pub const BUDDY: u64 = 1 << 10;
    /// Mapped into at least one address space.
    pub const MMAP: u64 = 1 << 11;
    /// Part of an anonymous mapping.
    pub const ANON: u64 = 1 << 12;
    /// Has an entry in the swap cache.
    pub const SWAPCACHE: u64 = 1 << 13;
    /// Backed by swap or RAM: anonymous memory and tmpfs.
    pub const SWAPBACKED: u64 = 1 << 14;
    /// First frame of a compound page.
    pub const COMPOUND_HEAD: u64 = 1 << 15;
    /// Any other frame of a compound page.
    pub const COMPOUND_TAIL: u64 = 1 << 16;
    /// Part of a hugetlb page.
    pub const HUGE: u64 = 1 << 17;
    /// The page is on the unevictable LRU list.
    pub const UNEVICTABLE: u64 = 1 << 18;
    /// Hardware found it faulty.
    pub const HWPOISON: u64 = 1 << 19;
    /// No frame exists at this address. 6.18 reports such frames as 0 instead.
    pub const NOPAGE: u64 = 1 << 20;
    /// Shared by same-page merging.
    pub const KSM: u64 = 1 << 21;
    /// Part of a transparent huge page (3.4 and later); newer kernels set it for any large folio, page cache included.
    pub const THP: u64 = 1 << 22;
    /// Logically offline (5.1 and later). From 3.18 to 5.0 the bit is `BALLOON`: held by a balloon driver.
    pub const OFFLINE: u64 = 1 << 23;
    /// The zero page, base or huge (4.0 and later).
    pub const ZERO_PAGE: u64 = 1 << 24;
    /// The page has not been accessed since it was marked idle (4.3 and later).
    pub const IDLE: u64 = 1 << 25;
    /// Holds a page table (4.18 and later).
    pub const PGTABLE: u64 = 1 << 26;

    /// Never managed by the buddy allocator: firmware, kernel image, early boot allocations.
    pub const RESERVED: u64 = 1 << 32;
    /// Locked into memory by mlock.
    pub const MLOCKED: u64 = 1 << 33;
    /// All blocks are allocated on disk. Newer 6.x kernels call the bit `OWNER_2`: a second bit for the page's owner.
    pub const MAPPEDTODISK: u64 = 1 << 34;
    /// Carries private data of its file system.
    pub const PRIVATE: u64 = 1 << 35;
    /// Carries a second kind of private data.
    pub const PRIVATE_2: u64 = 1 << 36;
    /// Flag for the page's owner.
    pub const OWNER_PRIVATE: u64 = 1 << 37;
    /// Flag for the architecture.
    pub const ARCH: u64 = 1 << 38;
    /// The page is mapped uncached.
    pub const UNCACHED: u64 = 1 << 39;
    /// A mapping of it was written to since soft-dirty bits were cleared (3.11 and later).
    pub const SOFTDIRTY: u64 = 1 << 40;
    /// Flag for the architecture (5.10 and later): memory tags on arm64.
    pub const ARCH_2: u64 = 1 << 41;
    /// Flag for the architecture (6.2 and later).
    pub const ARCH_3: u64 = 1 << 42;
}

/// A free block whose memory a hypervisor has taken back, in the word of its first frame: the kernel has one bit for "reported" on free
/// pages and "up to date" on others (`PG_reported`, 5.7 and later), and no other free page has it.
pub const REPORTED: u64 = kpf::BUDDY | kpf::UPTODATE;

/// Whether the first frame of a free block has these flags where a hypervisor has taken the block back.
#[must_use]
pub const fn is_reported(flags: u64) -> bool {
    flags & REPORTED == REPORTED
}

/// Bits 56 to 63: order9's own. Linux does not use them, and a capture clears them; the lab and `synth` know more about
/// a frame than /proc tells and say it here.
pub const PRIVATE_BITS: u64 = 0xff << 56;

/// The frame has a long-term pin and cannot move, although nothing else in its flags says so.
pub const PINNED: u64 = 1 << 63;

/// The frame is slab memory of a reclaimable cache, such as dentries; without it slab memory counts as unmovable.
pub const SLAB_RECLAIMABLE: u64 = 1 << 62;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_bits_lie_above_every_bit_of_linux() {
        assert_eq!(PINNED & PRIVATE_BITS, PINNED);
        assert_eq!(SLAB_RECLAIMABLE & PRIVATE_BITS, SLAB_RECLAIMABLE);
        assert!(kpf::ARCH_3 < PRIVATE_BITS & PRIVATE_BITS.wrapping_neg());
    }
}
