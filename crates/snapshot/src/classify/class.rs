//! Classes of frames, as far as they matter for huge pages.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// Use of one frame. Every frame of a zone's span has exactly one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum FrameClass {
    /// No frame exists here, or it lies outside the zone.
    #[default]
    Hole,
    /// The memory section of the frame is offline.
    Offline,
    /// Exists, but the kernel has not given it to the allocator yet: deferred initialisation.
    Deferred,
    /// The frame is in a free block of the buddy allocator.
    Free,
    /// Anonymous memory in base pages or folios below 2 MiB.
    Anon,
    /// Part of an anonymous 2 MiB huge page.
    AnonHuge,
    /// Clean page cache that no process maps: `drop_caches` drops it.
    FileClean,
    /// Clean page cache that some process maps: programs and libraries.
    FileMapped,
    /// Page cache that is dirty or under writeback.
    FileDirty,
    /// Part of a 2 MiB huge page of a file.
    FileHuge,
    /// Page of tmpfs or of shared memory.
    Shmem,
    /// Part of a 2 MiB huge page of tmpfs or shared memory.
    ShmemHuge,
    /// Page on the unevictable list, such as mlocked memory.
    Unevictable,
    /// Part of a folio of 2 to 256 pages on a kernel whose compaction leaves such folios where they are (before 6.9).
    LargeFolio,
    /// A user page that has to stay: one with a long-term pin, which only the lab and `synth` can tell, or an unevictable
    /// one where `vm.compact_unevictable_allowed` is 0.
    Pinned,
    /// Part of a hugetlb page.
    Hugetlb,
    /// Slab memory, not known to be reclaimable.
    Slab,
    /// Slab memory of reclaimable caches. On a real host an estimate: Linux tells only how much there is in all.
    SlabReclaimable,
    /// A page table (4.18 and later; older kernels do not tell).
    PageTable,
    /// A kernel page that user space maps but that is on no LRU list: rings of drivers and perf, the huge zero page.
    KernelMapped,
    /// The frame is in use without a flag that tells the use: kernel stacks, vmalloc, per-CPU areas.
    Unknown,
    /// A free page on a per-CPU list. In the map of a real host it looks like [`Self::Unknown`]: how many there are is
    /// known, not which, so the census gives the class to frames that hold blocks alone, as far as the number goes.
    Pcp,
    /// Never managed by the allocator: firmware, kernel image, boot allocations.
    Reserved,
    /// Given back to the hypervisor by a balloon or virtio-mem driver.
    Ballooned,
    /// Taken out of use because the hardware found it faulty.
    HwPoison,
}

/// Whether compaction and reclaim can move or free a frame of some class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mobility {
    /// There is no such frame.
    Absent,
    /// The frame is free already.
    Free,
    /// The content of the frame can be moved to another frame.
    Movable,
    /// The frame stays until its owner frees it.
    Immovable,
}

impl FrameClass {
    /// Number of classes.
    pub const COUNT: usize = 25;

    /// All classes, by number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Hole,
        Self::Offline,
        Self::Deferred,
        Self::Free,
        Self::Anon,
        Self::AnonHuge,
        Self::FileClean,
        Self::FileMapped,
        Self::FileDirty,
        Self::FileHuge,
        Self::Shmem,
        Self::ShmemHuge,
        Self::Unevictable,
        Self::LargeFolio,
        Self::Pinned,
        Self::Hugetlb,
        Self::Slab,
        Self::SlabReclaimable,
        Self::PageTable,
        Self::KernelMapped,
        Self::Unknown,
        Self::Pcp,
        Self::Reserved,
        Self::Ballooned,
        Self::HwPoison,
    ];

    /// The number of the class as an index into per-class arrays.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Short name: lower case, words joined by `_`; the same in JSON, legends and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hole => "hole",
            Self::Offline => "offline",
            Self::Deferred => "deferred",
            Self::Free => "free",
            Self::Anon => "anon",
            Self::AnonHuge => "anon_huge",
            Self::FileClean => "file_clean",
            Self::FileMapped => "file_mapped",
            Self::FileDirty => "file_dirty",
            Self::FileHuge => "file_huge",
            Self::Shmem => "shmem",
            Self::ShmemHuge => "shmem_huge",
            Self::Unevictable => "unevictable",
            Self::LargeFolio => "large_folio",
            Self::Pinned => "pinned",
            Self::Hugetlb => "hugetlb",
            Self::Slab => "slab",
            Self::SlabReclaimable => "slab_reclaimable",
            Self::PageTable => "page_table",
            Self::KernelMapped => "kernel_mapped",
            Self::Unknown => "unknown",
            Self::Pcp => "pcp",
            Self::Reserved => "reserved",
            Self::Ballooned => "ballooned",
            Self::HwPoison => "hwpoison",
        }
    }

    /// The class in plain words, for legends and sentences.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Hole => "no memory here",
            Self::Offline => "offline memory",
            Self::Deferred => "not initialised yet",
            Self::Free => "free",
            Self::Anon => "anonymous, base pages",
            Self::AnonHuge => "anonymous, 2 MiB pages",
            Self::FileClean => "page cache, clean",
            Self::FileMapped => "page cache, mapped",
            Self::FileDirty => "page cache, dirty",
            Self::FileHuge => "page cache, 2 MiB pages",
            Self::Shmem => "shared memory, base pages",
            Self::ShmemHuge => "shared memory, 2 MiB pages",
            Self::Unevictable => "mlocked or unevictable",
            Self::LargeFolio => "large folios",
            Self::Pinned => "pinned user pages",
            Self::Hugetlb => "hugetlb",
            Self::Slab => "slab",
            Self::SlabReclaimable => "slab, reclaimable",
            Self::PageTable => "page tables",
            Self::KernelMapped => "kernel pages mapped by users",
            Self::Unknown => "unknown kernel use",
            Self::Pcp => "free, on per-CPU lists",
            Self::Reserved => "reserved",
            Self::Ballooned => "given to the hypervisor",
            Self::HwPoison => "faulty",
        }
    }

    /// Whether compaction and reclaim can move or free such a frame. Huge pages count as immovable: compaction leaves a
    /// page of a whole pageblock in its place.
    #[must_use]
    pub const fn mobility(self) -> Mobility {
        match self {
            Self::Hole | Self::Offline => Mobility::Absent,
            Self::Free => Mobility::Free,
            Self::Anon | Self::FileClean | Self::FileMapped | Self::FileDirty | Self::Shmem | Self::Unevictable => {
                Mobility::Movable
            }
            _ => Mobility::Immovable,
        }
    }

    /// Whether compaction can move such a frame's content.
    #[must_use]
    pub const fn is_movable(self) -> bool {
        matches!(self.mobility(), Mobility::Movable)
    }

    /// Whether the frame counts as present in its zone.
    #[must_use]
    pub const fn is_present(self) -> bool {
        !matches!(self.mobility(), Mobility::Absent)
    }

    /// Whether it is part of a huge page of a pageblock or more.
    #[must_use]
    pub const fn is_huge(self) -> bool {
        matches!(self, Self::AnonHuge | Self::FileHuge | Self::ShmemHuge | Self::Hugetlb)
    }

    /// The class of the same content in a 2 MiB page, where there is one.
    pub(super) const fn as_huge(self) -> Option<Self> {
        match self {
            Self::Anon => Some(Self::AnonHuge),
            Self::FileClean | Self::FileMapped | Self::FileDirty => Some(Self::FileHuge),
            Self::Shmem => Some(Self::ShmemHuge),
            _ => None,
        }
    }
}

impl fmt::Display for FrameClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for FrameClass {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for FrameClass {
    fn schema_name() -> Cow<'static, str> {
        "FrameClass".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_in_order_and_named_once() {
        let mut names: Vec<_> = FrameClass::ALL.iter().map(|class| class.name()).collect();
        assert!(FrameClass::ALL.iter().enumerate().all(|(i, class)| class.index() == i));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FrameClass::COUNT);
    }
}
