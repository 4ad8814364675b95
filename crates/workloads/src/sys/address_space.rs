//! Memory of a program: [`AddressSpace`], the system calls that map it and the accesses to it.

use std::future::Future;

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use super::files::FileId;
use super::stop::Stop;

/// System calls about the memory of the process, and accesses to it.
pub trait AddressSpace {
    /// `mmap`.
    fn mmap(&self, mapping: Mapping) -> impl Future<Output = Result<Area, Stop>>;

    /// `munmap`.
    fn munmap(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// `mprotect`.
    fn mprotect(&self, area: Area, prot: Prot) -> impl Future<Output = Result<(), Stop>>;

    /// `mremap` with `MREMAP_MAYMOVE`: the area as it is afterwards.
    fn mremap(&self, area: Area, length: Bytes) -> impl Future<Output = Result<Area, Stop>>;

    /// `madvise`.
    fn madvise(&self, area: Area, advice: Advice) -> impl Future<Output = Result<(), Stop>>;

    /// `mlock`.
    fn mlock(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// `munlock`.
    fn munlock(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// `mincore`: how many base pages of `area` are in memory.
    fn mincore(&self, area: Area) -> impl Future<Output = Result<u64, Stop>>;

    /// Accesses one word of every base page of `area`, upward.
    fn touch(&self, area: Area, access: Access) -> impl Future<Output = Result<(), Stop>>;

    /// Stores to every byte of `area`, upward.
    fn fill(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// Loads `loads` words of `area`, each at random and not before the one before has come: what memory takes that caches and
    /// prefetching do not hide. What is not in memory is left out.
    fn load(&self, area: Area, loads: u64) -> impl Future<Output = Result<Loads, Stop>>;

    /// Pins `area` for good, as `pin_user_pages` with `FOLL_LONGTERM` does for a device: its pages are brought in, and stay
    /// where they are until [`unpin`](Self::unpin) of the same area or the end of the process.
    fn pin(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// Ends a pin; `EINVAL` where no pinned area starts there.
    fn unpin(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;
}

/// Memory of a program, page aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Address of the first byte.
    pub start: u64,
    /// Length of the area.
    pub length: Bytes,
}

impl Area {
    /// `length` bytes from `offset` on, both whole pages, as far as the area goes.
    #[must_use]
    pub fn part(self, offset: Bytes, length: Bytes) -> Self {
        let offset = offset.min(self.length);
        Self { start: self.start + offset.get(), length: length.min(self.length - offset) }
    }

    /// The base pages of the area.
    #[must_use]
    pub fn pages(self) -> u64 {
        self.length.get().div_ceil(PAGE_SIZE.get())
    }
}

/// A request to map an area, readable and, unless it is a file, writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Length of the area.
    pub length: Bytes,
    /// Contents of the area.
    pub of: Of,
}

impl Mapping {
    /// Private memory.
    #[must_use]
    pub const fn anon(length: Bytes) -> Self {
        Self { length, of: Of::Anon }
    }
}

/// Contents of a mapping's pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Private memory of the process.
    Anon,
    /// Memory shared with children that are forked.
    Shared,
    /// Pages of the hugetlb pools (`MAP_HUGETLB`); the length is rounded up to whole huge pages. `ENOMEM` where the pools have
    /// too few.
    Hugetlb {
        /// Shared with children that are forked.
        shared: bool,
    },
    /// A file from this offset on, shared and read-only.
    File(FileId, Bytes),
    /// A file, shared and writable.
    FileShared(FileId, Bytes),
    /// A file from this offset on, private: what is written is the process's own.
    FilePrivate(FileId, Bytes),
}

/// Accesses to memory that a program is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prot {
    /// No access.
    None,
    /// Reads only.
    Read,
    /// Reads and writes.
    ReadWrite,
}

/// Kind of access to a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One word is loaded.
    Read,
    /// One word is stored.
    Write,
}

/// Times of random loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// Number of loads.
    pub loads: u64,
    /// CPU time of all of them together.
    pub time: Nanos,
    /// Number of loads whose translation the TLB did not hold: `dTLB-load-misses` of perf(1). `None` where nobody counts them.
    pub tlb_misses: Option<u64>,
}

/// Advice of `madvise`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// `MADV_DONTNEED`.
    DontNeed,
    /// `MADV_FREE`: the pages may be taken until they are written again. Refused with `EINVAL` before 4.5.
    Free,
    /// `MADV_REMOVE`: what the area shows of a file is punched out of it.
    Remove,
    /// `MADV_HUGEPAGE`.
    HugePage,
    /// `MADV_NOHUGEPAGE`.
    NoHugePage,
    /// `MADV_LOCAL`, proposed in 2018. Refused with `EINVAL` but by placements of huge pages that know it.
    Local,
    /// `MADV_HUGEPAGE_FORCE_LOCAL`, proposed in 2018. The same, and with `EPERM` without privilege.
    HugePageForceLocal,
    /// `MADV_COLLAPSE`: what is there is made huge at once. Refused with `EINVAL` before 6.1.
    Collapse,
}
