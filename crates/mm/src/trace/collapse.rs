//! Trace events of khugepaged and `MADV_COLLAPSE`: [`CollapseEvent`].

use order9_units::Pfn;

use crate::addr::VirtAddr;
use crate::ids::FileId;
use crate::ids::SpaceId;

/// An event of a collapse. What it came to is called as in the kernel, `succeeded` where nothing stood in the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollapseEvent {
    /// `mm_khugepaged_scan_pmd`: a slot was looked at.
    ScanPmd {
        /// Space of the slot.
        space: SpaceId,
        /// Last page of the slot that is in memory.
        pfn: Option<Pfn>,
        /// Some of its pages may be written.
        writable: bool,
        /// Pages used lately.
        referenced: u32,
        /// Pages empty or zeros.
        none_or_zero: u32,
        /// Pages in swap.
        unmapped: u32,
        /// Obstacle to the collapse.
        status: &'static str,
    },
    /// `mm_khugepaged_scan_file`, 6.1+: a range of a file was looked at.
    ScanFile {
        /// Space that maps the slot.
        space: SpaceId,
        /// Last page of the slot that is in memory.
        pfn: Option<Pfn>,
        /// The file.
        file: FileId,
        /// Pages in memory.
        present: u32,
        /// Pages in swap.
        swap: u32,
        /// Obstacle to the collapse.
        result: &'static str,
    },
    /// `mm_khugepaged_collapse_file`, 6.1+ (6.2+ on Linux): a collapse of a range of a file is over.
    CollapseFile {
        /// Space that maps the page.
        space: SpaceId,
        /// First frame of the huge page, if there was one.
        pfn: Option<Pfn>,
        /// The file.
        file: FileId,
        /// First page of the range.
        index: u64,
        /// Address at which the page is mapped.
        addr: VirtAddr,
        /// Result of the collapse.
        result: &'static str,
    },
    /// `mm_collapse_huge_page_swapin`: pages of a slot were read back from swap.
    Swapin {
        /// Space of the slot.
        space: SpaceId,
        /// Pages read back.
        swapped_in: u32,
        /// Pages used lately.
        referenced: u32,
        /// All are there now.
        ret: bool,
    },
    /// `mm_collapse_huge_page_isolate`: a slot was looked at again, with the huge page in hand.
    Isolate {
        /// First frame of the huge page.
        pfn: Pfn,
        /// Pages empty or zeros.
        none_or_zero: u32,
        /// Pages used lately.
        referenced: u32,
        /// Some of its pages may be written.
        writable: bool,
        /// Obstacle to the collapse.
        status: &'static str,
    },
    /// `mm_collapse_huge_page`: a collapse is over.
    HugePage {
        /// Space of the slot.
        space: SpaceId,
        /// Pages of the slot moved.
        isolated: bool,
        /// Result of the copy.
        status: &'static str,
    },
}
