//! Switches of transparent huge pages.

use order9_mm::policy::{
    DefragDefault, HugeCow, HugeInterface, HugePlacement, MmapAlign, ShmemGfp, ShmemPunch, ZeroWrite,
};

use super::within_u32;
use crate::switch::{Case, Switch, Value, Values};

/// The placements of the engine.
static PLACEMENTS: [Case; HugePlacement::ALL.len()] = {
    let mut cases = [Case { name: "", says: "", releases: "" }; HugePlacement::ALL.len()];
    let mut at = 0;
    while at < cases.len() {
        let (name, rule) = (HugePlacement::ALL[at].name(), HugePlacement::ALL[at].rule());
        cases[at] = Case { name, says: rule.says, releases: rule.origin };
        at += 1;
    }
    cases
};

/// Switches of huge pages, in the order of the fields of their group.
pub(super) static SWITCHES: &[Switch] = &[
    choice!(
        thp.defrag,
        "Default of transparent_hugepage/defrag: which faults reclaim and compact for a huge page",
        "unless set otherwise, a huge page is worth reclaim and compaction to",
        DefragDefault::Always: "always",
            "every fault that may have one", "up to 4.5";
        DefragDefault::Madvise: "madvise",
            "faults in advised memory", "4.6+";
    ),
    flag!(
        thp.defer,
        "Whether transparent_hugepage/defrag takes defer",
        off: "no fault can leave reclaim and compaction to the daemons", "up to 4.5",
        on: "transparent_hugepage/defrag takes defer", "4.6+"
    ),
    flag!(
        thp.defer_madvise,
        "Whether transparent_hugepage/defrag takes defer+madvise",
        off: "leaving reclaim and compaction to the daemons is for all faults or none", "up to 4.10",
        on: "transparent_hugepage/defrag takes defer+madvise", "4.11+"
    ),
    flag!(
        thp.madvised_noretry,
        "Whether faults in advised memory give up after one round, as others do",
        off: "faults in advised memory reclaim and compact more than once", "4.8+",
        on: "faults in advised memory give up after one round, as others do", "up to 4.7"
    ),
    Switch {
        key: "thp.placement",
        meaning: "Nodes on which a fault looks for a huge page, and the rights of each attempt",
        sysctl: None,
        values: Values::Word { subject: "a fault takes a huge page from", cases: &PLACEMENTS },
        get: |policy| Value::Word(policy.thp.placement.name()),
        set: |policy, value| {
            policy.thp.placement = HugePlacement::find(value.word()).expect("the switch admits placements alone");
        },
    },
    Switch {
        key: "thp.near",
        meaning: "Largest distance of near nodes, for placements that tell them from others",
        sysctl: None,
        values: Values::Number {
            subject: "nodes count as near",
            says: "up to a distance of {}",
            range: 10..=255,
            absent: None,
            releases: "proposed in 2018: 10, the node itself",
        },
        get: |policy| Value::Number(policy.thp.near.into()),
        set: |policy, value| policy.thp.near = within_u32(value.number().expect("the switch admits no word")),
    },
    choice!(
        thp.cow,
        "Pages that a write to a shared huge page copies",
        "a write to a shared huge page copies",
        HugeCow::Huge: "huge",
            "all of it, to another huge page", "up to 5.7";
        HugeCow::Split: "split",
            "the base page that is written", "5.8+";
    ),
    choice!(
        thp.zero_write,
        "Page that a write to the huge page of zeros gets",
        "a write to the huge page of zeros gets",
        ZeroWrite::Huge: "huge",
            "a huge page", "up to 5.7, and 6.13+";
        ZeroWrite::Split: "split",
            "a base page", "5.8 to 6.12";
    ),
    flag!(
        thp.split_page_with_pmd,
        "Whether a huge page is split together with a mapping of it that is cut",
        off: "a huge page of which a part is unmapped stays whole until memory is short", "4.5+",
        on: "a huge page is split as soon as one of its mappings is cut", "up to 4.4"
    ),
    flag!(
        thp.queue_full_unmap,
        "Whether a huge page that loses its last mapping is queued for a split before it is freed",
        off: "only huge pages that stay mapped in part are queued for a split", "5.5+",
        on: "a huge page whose last mapping goes is queued for a split, too, and freed at once", "4.6 to 5.4"
    ),
    flag!(
        thp.words_by_prefix,
        "Whether enabled and defrag compare words only up to the end of the shorter one",
        off: "enabled and defrag take whole words only", "4.11+",
        on: "enabled and defrag take the beginnings of words, and what begins with one", "up to 4.10"
    ),
    flag!(
        thp.madvise_collapse,
        "Whether madvise takes MADV_COLLAPSE",
        off: "no program can have its base pages made huge", "up to 6.0",
        on: "madvise takes MADV_COLLAPSE", "6.1+"
    ),
    flag!(
        thp.max_ptes_swap,
        "Whether khugepaged reads pages back from swap to make a huge page",
        off: "khugepaged leaves slots alone of which a page is in swap", "up to 4.7",
        on: "khugepaged reads up to khugepaged/max_ptes_swap pages of a slot back from swap", "4.8+"
    ),
    flag!(
        thp.max_ptes_shared,
        "Whether khugepaged collapses slots of which others map pages, and parts of huge pages",
        off: "khugepaged leaves slots alone of which others map a page, and parts of huge pages", "up to 5.7",
        on: "khugepaged collapses slots of which others map up to khugepaged/max_ptes_shared pages, and parts of huge pages", "5.8+"
    ),
    flag!(
        thp.migration,
        "Whether huge pages move whole to another node or out of a range",
        off: "huge pages are split before they move to another node or out of a range", "up to 4.13",
        on: "huge pages move whole to another node or out of a range", "4.14+"
    ),
    flag!(
        thp.fork_pin_copy,
        "Whether fork copies pages that are pinned instead of sharing them",
        off: "fork shares pages that are pinned like others", "up to 5.8",
        on: "fork copies pages that are pinned, huge ones as base pages", "5.9+"
    ),
    choice!(
        thp.mmap_align,
        "Which new mappings of anonymous memory start at the start of a slot",
        "the kernel chooses the start of a slot for",
        MmapAlign::None: "none",
            "no mapping of anonymous memory", "up to 6.6";
        MmapAlign::Large: "large",
            "mappings of at least 2 MiB of anonymous memory", "6.7 to 6.11";
        MmapAlign::Multiple: "multiple",
            "mappings of a multiple of 2 MiB of anonymous memory", "6.12+";
    ),
    flag!(
        thp.hugetlb_noretry,
        "Whether a hugetlb pool that grows tries hard on a node only until that had no page once",
        off: "a hugetlb pool that grows tries as hard on every node each time", "up to 5.3",
        on: "a hugetlb pool that grows tries hard on a node only until that had no page once", "5.4+"
    ),
    flag!(
        thp.shmem,
        "Whether shared memory and tmpfs have huge pages",
        off: "shared memory and tmpfs have base pages alone", "up to 4.7",
        on: "shared memory and tmpfs have huge pages where mount options and transparent_hugepage/shmem_enabled say so",
            "4.8+"
    ),
    choice!(
        thp.shmem_gfp,
        "Rights of an allocation for a huge page of shared memory",
        "for a huge page of shared memory one may do",
        ShmemGfp::Mapping: "mapping",
            "what one may for any page of the file, in one round: reclaim, compact and wake kswapd", "up to 5.11";
        ShmemGfp::Mode: "mode",
            "what a fault may for an anonymous one", "5.12+";
    ),
    choice!(
        thp.shmem_punch,
        "Treatment of a huge page of tmpfs that is truncated or punched in part",
        "a huge page of tmpfs that is truncated or punched in part",
        ShmemPunch::Zero: "zero",
            "stays, zeroed in part", "up to 5.9";
        ShmemPunch::Split: "split",
            "is split unless it is pinned, and the part is freed", "5.10+";
    ),
    flag!(
        thp.within_size_end,
        "Whether huge=within_size asks for the end of the huge page that holds the accessed page",
        off: "huge=within_size rounds the place of the accessed page up, so that the first of a huge page needs none of it",
            "up to 5.14",
        on: "huge=within_size asks for the end of the huge page that holds the accessed page", "5.15+"
    ),
    flag!(
        thp.shmem_retract,
        "Whether collapse maps huge pages of tmpfs anew that single entries show",
        off: "collapse leaves huge pages of tmpfs alone that single entries show", "up to 5.3",
        on: "collapse maps huge pages of tmpfs anew that single entries show", "5.4+"
    ),
    flag!(
        thp.swap_whole,
        "Whether reclaim swaps anonymous huge pages out in one piece",
        off: "anonymous huge pages are split before they go to swap", "up to 4.13",
        on: "anonymous huge pages go to swap in one piece where it has room for that, and are freed in one piece", "4.14+"
    ),
    flag!(
        thp.swap_small_whole,
        "Whether reclaim swaps huge pages out in one piece that single entries map, as those of less than 2 MiB are",
        off: "huge pages that single entries map, those of less than 2 MiB too, are split before they go to swap", "up to 6.9",
        on: "huge pages that single entries map, those of less than 2 MiB too, go to swap in one piece, unless they are mapped in part", "6.10+"
    ),
    flag!(
        thp.file_large,
        "Whether the page cache has folios of several pages",
        off: "the page cache has base pages alone", "up to 6.15 on ext4",
        on: "readahead and writes fill the page cache with folios of up to 2 MiB, which are reclaimed and moved as one",
            "6.16+ on ext4"
    ),
    flag!(
        thp.stop_resets_min_free,
        "Whether disabling huge pages computes vm.min_free_kbytes anew",
        off: "vm.min_free_kbytes stays raised when huge pages are disabled", "up to 5.9",
        on: "disabling huge pages computes vm.min_free_kbytes anew", "5.10+"
    ),
    flag!(
        thp.min_free_all_zones,
        "Whether zone Movable counts where huge pages raise vm.min_free_kbytes",
        off: "huge pages raise vm.min_free_kbytes for all zones but Movable", "4.16+",
        on: "huge pages raise vm.min_free_kbytes for all zones", "up to 4.15"
    ),
    flag!(
        thp.zero_by_slot,
        "Holders that keep the huge page of zeros from being freed",
        off: "a program that has mapped the huge page of zeros keeps it until it ends", "4.9+",
        on: "the huge page of zeros is kept while a slot maps it", "up to 4.8"
    ),
    flag!(
        thp.collapse_equal_nodes,
        "From which of several nodes that hold most of a slot collapse takes the huge page",
        off: "of nodes that hold equally much of a slot collapse asks one, the next in turn", "up to 6.0",
        on: "of nodes that hold equally much of a slot collapse takes whichever has a huge page", "6.1+"
    ),
    flag!(
        thp.shrink_underused,
        "Whether huge pages that are mostly zeros are split under pressure",
        off: "huge pages stay huge however little of them is used, and their zeros are swapped like all else",
            "up to 6.11",
        on: "huge pages with more zeros than khugepaged/max_ptes_none are split under pressure, and splits free zeros",
            "6.12+"
    ),
    flag!(
        thp.free_empty_tables,
        "Whether MADV_DONTNEED of a whole slot frees its page table",
        off: "a slot that MADV_DONTNEED has emptied keeps its page table, and gets base pages", "up to 6.13",
        on: "MADV_DONTNEED of a whole slot frees its page table, so that the next fault may take a huge page", "6.14+"
    ),
    choice!(
        thp.interface,
        "Files and fields about huge pages that exist; each value has all of the values before it",
        "files and fields about huge pages end with",
        HugeInterface::Base: "base",
            "enabled, defrag, use_zero_page, khugepaged/ and AnonHugePages", "up to 4.9";
        HugeInterface::PmdSize: "pmd_size",
            "hpage_pmd_size", "4.10 to 4.15";
        HugeInterface::HugetlbTotal: "hugetlb_total",
            "Hugetlb of /proc/meminfo", "4.16 to 4.20";
        HugeInterface::Eligible: "eligible",
            "THPeligible of smaps", "5.0 to 5.3";
        HugeInterface::File: "file",
            "FileHugePages and FilePmdMapped", "5.4 to 6.7";
        HugeInterface::Sizes: "sizes",
            "hugepages-2048kB/, its statistics, and boot parameters of shared memory", "6.8+, complete as of 6.14";
    ),
];
