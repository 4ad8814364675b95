//! Differences between releases about the locks of address spaces, as data. The engine takes no locks: the world does.

/// Extent to which the lock of an address space (`mmap_lock`, up to 5.7 `mmap_sem`) keeps its threads from each other. Each
/// value
/// lets in all that the one before does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MmapLock {
    /// `munmap` holds it for writing until the last page is unmapped, and every fault waits. Up to 4.19.
    Whole,
    /// `munmap` holds it for writing until the mapping is cut out, and for reading while it unmaps pages. 4.20+.
    Downgraded,
    /// Faults in anonymous mappings that have pages hold the lock of their mapping instead. 6.4+.
    PerAnonVma,
    /// All faults do so. 6.7+; of hugetlb 6.10+.
    PerVma,
}
