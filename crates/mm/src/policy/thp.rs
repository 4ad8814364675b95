//! Differences between releases about huge pages, as data.

use order9_units::HugeDefrag;

use crate::policy::placement::HugePlacement;

/// Switches of transparent huge pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThpPolicy {
    /// Value of `transparent_hugepage/defrag` at boot.
    pub defrag: DefragDefault,
    /// `transparent_hugepage/defrag` takes `defer`. 4.6+.
    pub defer: bool,
    /// `transparent_hugepage/defrag` takes `defer+madvise`. 4.11+.
    pub defer_madvise: bool,
    /// Faults in advised memory give up after one round, as others do. Up to 4.7.
    pub madvised_noretry: bool,
    /// On which nodes a fault looks for a huge page, and what each attempt may do.
    pub placement: HugePlacement,
    /// Distance of the furthest node that counts as near, where the placement tells near nodes from others; 10 is the node
    /// itself.
    pub near: u32,
    /// Extent of the copy that a write makes of a huge page which others map, too.
    pub cow: HugeCow,
    /// Page that a write to the huge page of zeros gets.
    pub zero_write: ZeroWrite,
    /// Whoever splits a huge mapping splits its page with it, for all who map it. Up to 4.4.
    pub split_page_with_pmd: bool,
    /// A huge page whose last mapping goes is queued for a split, too, although it is freed at once. Up to 5.4.
    pub queue_full_unmap: bool,
    /// `enabled` and `defrag` compare words up to the end of the shorter one. Up to 4.10.
    pub words_by_prefix: bool,
    /// `madvise` takes `MADV_COLLAPSE`. 6.1+.
    pub madvise_collapse: bool,
    /// khugepaged reads up to `khugepaged/max_ptes_swap` pages of a slot back from swap, if enough others are in use. 4.8+.
    pub max_ptes_swap: bool,
    /// khugepaged collapses slots of which others map up to `khugepaged/max_ptes_shared` pages, and parts of huge pages.
    /// 5.8+.
    pub max_ptes_shared: bool,
    /// Huge pages move whole to another node or out of a range; else they are split first. 4.14+.
    pub migration: bool,
    /// `fork` copies pages that are pinned instead of sharing them. 5.9+.
    pub fork_pin_copy: bool,
    /// New mappings that start at the start of a slot.
    pub mmap_align: MmapAlign,
    /// A hugetlb pool that grows tries hard on a node only until that had no page once. 5.4+.
    pub hugetlb_noretry: bool,
    /// Shared memory and tmpfs have huge pages. 4.8+.
    pub shmem: bool,
    /// Effort of an allocation for a huge page of shared memory.
    pub shmem_gfp: ShmemGfp,
    /// Fate of a huge page of tmpfs that is truncated or punched in part.
    pub shmem_punch: ShmemPunch,
    /// `huge=within_size` asks whether the huge page that holds the accessed page ends within the file, not the one that ends
    /// where it starts. 5.15+.
    pub within_size_end: bool,
    /// Collapse takes the page tables off what shows a huge page of tmpfs by single entries. 5.4+.
    pub shmem_retract: bool,
    /// Reclaim writes anonymous huge pages whole to swap that has room for them in one piece, and frees them whole. 4.14+.
    pub swap_whole: bool,
    /// Huge pages that single entries map go to swap in one piece, those of less than 2 MiB too; else they are split first. 6.10+.
    pub swap_small_whole: bool,
    /// Readahead and writes fill the page cache with folios of several pages, of up to 2 MiB. 6.16+ on ext4.
    pub file_large: bool,
    /// Disabling huge pages computes `vm.min_free_kbytes` anew. 5.10+.
    pub stop_resets_min_free: bool,
    /// Zone Movable counts among those for which huge pages raise `vm.min_free_kbytes`. Up to 4.15.
    pub min_free_all_zones: bool,
    /// The huge page of zeros is held by each slot that maps it, not by each space until its end. Up to 4.8.
    pub zero_by_slot: bool,
    /// Collapse takes the huge page from any of the nodes that hold most of the slot, if these are several; else from one of
    /// them, the next in turn. 6.2+.
    pub collapse_equal_nodes: bool,
    /// Every new huge page waits in the deferred split queue to be looked at, and one that is mostly zeros is split there; a
    /// split maps the page of zeros where a part holds nothing else. 6.12+.
    pub shrink_underused: bool,
    /// `MADV_DONTNEED` of a whole slot frees its page table, so that the next fault may take a huge page. 6.14+.
    pub free_empty_tables: bool,
    /// Files and fields about huge pages that exist.
    pub interface: HugeInterface,
}

/// Files and fields about huge pages that exist, beside those of mechanisms with a switch of their own. Each value includes
/// the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HugeInterface {
    /// `enabled`, `defrag`, `use_zero_page` and `khugepaged/`; `AnonHugePages`. Up to 4.9.
    Base,
    /// `hpage_pmd_size`. 4.10+.
    PmdSize,
    /// `Hugetlb` of /proc/meminfo. 4.16+.
    HugetlbTotal,
    /// `THPeligible` of smaps. 5.0+.
    Eligible,
    /// `FileHugePages` of /proc/meminfo, `FilePmdMapped` of it and of smaps. 5.4+.
    File,
    /// `hugepages-2048kB/` with its statistics, and boot parameters of shared memory. 6.8+, complete as of 6.14.
    Sizes,
}

/// Faults that reclaim and compact for a huge page unless the administrator says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefragDefault {
    /// All. Up to 4.5.
    Always,
    /// Faults in advised memory. 4.6+.
    Madvise,
}

/// Extent of the copy that a write makes of a huge page which others map, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugeCow {
    /// All of it, to another huge page. Up to 5.7.
    Huge,
    /// The base page that was written. 5.8+.
    Split,
}

/// Page that a write to the huge page of zeros gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZeroWrite {
    /// A huge page. Up to 5.7, and 6.13+.
    Huge,
    /// A base page. 5.8 to 6.12.
    Split,
}

/// New mappings of anonymous memory that start at the start of a slot, unless the program says where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MmapAlign {
    /// None: mappings lie side by side. Up to 6.6.
    None,
    /// Mappings of at least 2 MiB. 6.7+.
    Large,
    /// Mappings of a multiple of 2 MiB. 6.13+.
    Multiple,
}

/// Effort of an allocation for a huge page of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmemGfp {
    /// Effort for any page of the file, in one round: the request reclaims, compacts and wakes kswapd. Up to 5.11.
    Mapping,
    /// Effort of a fault for an anonymous huge page; a system call counts as unadvised. 5.12+.
    Mode,
}

/// Fate of a huge page of tmpfs that is truncated or punched in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShmemPunch {
    /// The page stays, zeroed in part. Up to 5.9.
    Zero,
    /// The page is split, unless it is pinned, and the punched part is freed. 5.10+.
    Split,
}

impl ThpPolicy {
    /// Whether `transparent_hugepage/defrag` takes this value.
    #[must_use]
    pub const fn has_defrag(&self, defrag: HugeDefrag) -> bool {
        match defrag {
            HugeDefrag::Defer => self.defer,
            HugeDefrag::DeferMadvise => self.defer_madvise,
            HugeDefrag::Always | HugeDefrag::Madvise | HugeDefrag::Never => true,
        }
    }
}

impl Default for ThpPolicy {
    fn default() -> Self {
        Self {
            defrag: DefragDefault::Madvise,
            defer: true,
            defer_madvise: true,
            madvised_noretry: false,
            placement: HugePlacement::ThisNode,
            near: 10,
            cow: HugeCow::Huge,
            zero_write: ZeroWrite::Huge,
            split_page_with_pmd: false,
            queue_full_unmap: true,
            words_by_prefix: false,
            madvise_collapse: false,
            max_ptes_swap: true,
            max_ptes_shared: false,
            migration: true,
            fork_pin_copy: false,
            mmap_align: MmapAlign::None,
            hugetlb_noretry: false,
            shmem: true,
            shmem_gfp: ShmemGfp::Mapping,
            shmem_punch: ShmemPunch::Zero,
            within_size_end: false,
            shmem_retract: false,
            swap_whole: true,
            swap_small_whole: false,
            file_large: false,
            stop_resets_min_free: false,
            min_free_all_zones: false,
            zero_by_slot: false,
            collapse_equal_nodes: false,
            shrink_underused: false,
            free_empty_tables: false,
            interface: HugeInterface::Eligible,
        }
    }
}
