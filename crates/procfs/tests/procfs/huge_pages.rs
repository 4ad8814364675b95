//! What files say of huge pages.

use order9_mm::policy::{HugeCow, LazyFree, Policy, ZeroWrite};
use order9_mm::space::{Access, Madvise, Prot};
use order9_mm::thp::HugeEnabled;
use order9_mm::{Mm, SpaceId};
use order9_procfs::{meminfo, render_smaps, vmstat};

use super::{CPU, HUGE, START, at, boot_nodes, fork, map, pages, rendered, touch};

/// The counters of huge pages, in the kernel's order; those of shared memory are counted elsewhere.
const NAMES: [&str; 21] = [
    "thp_migration_success",
    "thp_migration_fail",
    "thp_migration_split",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "thp_fault_fallback_charge",
    "thp_collapse_alloc",
    "thp_collapse_alloc_failed",
    "thp_split_page",
    "thp_split_page_failed",
    "thp_deferred_split_page",
    "thp_underused_split_page",
    "thp_split_pmd",
    "thp_scan_exceed_none_pte",
    "thp_scan_exceed_swap_pte",
    "thp_scan_exceed_share_pte",
    "thp_split_pud",
    "thp_zero_page_alloc",
    "thp_zero_page_alloc_failed",
    "thp_swpout",
    "thp_swpout_fallback",
];

/// A node with 64 MiB, and huge pages for all, as recent releases have them.
fn boot() -> Mm {
    let mut policy = Policy::default();
    (policy.thp.cow, policy.thp.zero_write) = (HugeCow::Split, ZeroWrite::Split);
    let mut mm = boot_nodes(policy, 1, 16 << 10);
    mm.set_thp_enabled(HugeEnabled::Always);
    mm.set_thp_use_zero_page(true);
    mm
}

#[test]
fn vmstat_has_every_counter_of_huge_pages() {
    let mm = boot();
    let counts = vmstat(&mm).filter(|(name, _)| name.starts_with("thp_") && !name.starts_with("thp_file_"));
    assert_eq!(counts.collect::<Vec<_>>(), NAMES.map(|name| (name, 0)));
}

#[test]
fn counters_of_lazily_freed_pages_are_those_of_the_release() {
    for (lazy_free, shown) in [
        (LazyFree::None, vec![]),
        (LazyFree::AnonLists, vec!["pglazyfreed"]),
        (LazyFree::FileLists, vec!["pglazyfree", "pglazyfreed"]),
    ] {
        let mut policy = Policy::default();
        policy.reclaim.lazy_free = lazy_free;
        let mm = boot_nodes(policy, 1, 1 << 13);
        let names = vmstat(&mm).map(|(name, _)| name).filter(|name| name.starts_with("pglazyfree"));
        assert_eq!(names.collect::<Vec<_>>(), shown, "{lazy_free:?}");
    }
}

/// What /proc/meminfo, /proc/vmstat and smaps say agrees.
fn outputs_agree(mm: &Mm, spaces: &[SpaceId]) -> [u64; 3] {
    let meminfo = |name| meminfo(mm).find(|&(field, _)| field == name).expect("a field").1;
    let vmstat = |name| vmstat(mm).find(|&(field, _)| field == name).expect("a field").1;
    let smaps = |space: SpaceId| {
        let text = rendered(|out| render_smaps(mm, mm.space(space).expect("it lives"), out));
        let lines = text.lines().filter_map(|line| line.strip_prefix("AnonHugePages:"));
        lines.map(|line| line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number")).sum::<u64>()
    };
    let (shown, counted) = (meminfo("AnonHugePages"), vmstat("nr_anon_transparent_hugepages"));
    assert_eq!(shown, 2048 * counted);
    assert!(vmstat("thp_split_page") <= vmstat("thp_fault_alloc") + vmstat("thp_collapse_alloc"));
    let mapped = spaces.iter().map(|&space| smaps(space)).sum();
    assert!(mapped >= shown, "{mapped} kB in programs, {shown} kB on the machine");
    [shown, mapped, meminfo("AnonPages")]
}

#[test]
fn meminfo_vmstat_and_smaps_agree_on_huge_pages() {
    let mut mm = boot();
    let space = mm.create_space().expect("it is the first");
    map(&mut mm, space, 0, 4 * HUGE);
    (0..3).for_each(|slot| touch(&mut mm, space, START, slot * HUGE..slot * HUGE + 1, Access::Write));
    touch(&mut mm, space, START, 3 * HUGE..3 * HUGE + 1, Access::Read);
    assert_eq!(outputs_agree(&mm, &[space]), [3 * 2048, 3 * 2048, 3 * 2048], "the page of zeros is nobody's");
    let child = fork(&mut mm, space);
    assert_eq!(outputs_agree(&mm, &[space, child]), [3 * 2048, 6 * 2048, 3 * 2048], "shared ones count twice");
    mm.mprotect(child, at(0), pages(1), Prot::READ).expect("it is mapped");
    assert_eq!(outputs_agree(&mm, &[space, child]), [3 * 2048, 5 * 2048, 3 * 2048], "one huge mapping is left");
    mm.mprotect(space, at(0), pages(1), Prot::READ).expect("it is mapped");
    assert_eq!(outputs_agree(&mm, &[space, child]), [2 * 2048, 4 * 2048, 3 * 2048], "now there is none");
    mm.madvise(space, at(HUGE), pages(HUGE), Madvise::DontNeed, CPU).expect("it is mapped");
    mm.exit(child, CPU).expect("it lives");
    assert_eq!(outputs_agree(&mm, &[space]), [2048, 2048, 2 * 2048]);
}

#[test]
fn smaps_say_what_is_advised_and_what_may_be_huge() {
    let mut mm = boot();
    let space = mm.create_space().expect("it is the first");
    map(&mut mm, space, 0, 2 * HUGE);
    map(&mut mm, space, 4 * HUGE, HUGE - 1);
    mm.madvise(space, at(0), pages(HUGE), Madvise::HugePage, CPU).expect("it is mapped");
    mm.madvise(space, at(HUGE), pages(HUGE), Madvise::NoHugePage, CPU).expect("it is mapped");
    let lines = |mm: &Mm| {
        let text = rendered(|out| render_smaps(mm, mm.space(space).expect("it lives"), out));
        let of =
            |name: &str| text.lines().filter(|line| line.starts_with(name)).map(Into::into).collect::<Vec<String>>();
        let eligible: Vec<bool> = of("THPeligible:").iter().map(|line| line.ends_with('1')).collect();
        let flags: Vec<[bool; 2]> =
            of("VmFlags:").iter().map(|line| [line.contains(" hg "), line.contains(" nh ")]).collect();
        (eligible, flags)
    };
    let flags = vec![[true, false], [false, true], [false, false]];
    assert_eq!(lines(&mm), (vec![true, false, false], flags.clone()), "the third has no whole slot");
    mm.set_thp_enabled(HugeEnabled::Madvise);
    assert_eq!(lines(&mm).0, [true, false, false]);
    mm.set_thp_enabled(HugeEnabled::Never);
    assert_eq!(lines(&mm), (vec![false, false, false], flags));
}
