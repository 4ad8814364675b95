//! What files say of huge pages.

use order9_mm::policy::{HugeCow, HugeInterface, LazyFree, Policy, ZeroWrite};
use order9_mm::space::{Access, Madvise, Prot};
use order9_mm::thp::HugeEnabled;
use order9_mm::{Errno, Mm, ShmemEnabled, SpaceId};
use order9_procfs::{meminfo, render_smaps, sysctl, vmstat};

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
    mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
    mm.tune(|tunables| tunables.thp_use_zero_page = true);
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
    mm.phys_mut().set_thp_enabled(HugeEnabled::Madvise);
    assert_eq!(lines(&mm).0, [true, false, false]);
    mm.phys_mut().set_thp_enabled(HugeEnabled::Never);
    assert_eq!(lines(&mm), (vec![false, false, false], flags));
}

/// Where the files of khugepaged are.
const KHUGEPAGED: &str = "/sys/kernel/mm/transparent_hugepage/khugepaged/";

#[test]
fn files_take_what_linux_takes() {
    let mut policy = Policy::default();
    (policy.thp.max_ptes_swap, policy.thp.max_ptes_shared) = (true, true);
    let mut mm = boot_nodes(policy, 1, 16 << 10);
    let get = |mm: &Mm, file: &str| sysctl::read(mm, &format!("{KHUGEPAGED}{file}")).expect("it can be read");
    let set = |mm: &mut Mm, file: &str, value: &str| sysctl::write(mm, &format!("{KHUGEPAGED}{file}"), value);
    let defaults = [
        ("pages_to_scan", 4096),
        ("scan_sleep_millisecs", 10_000),
        ("alloc_sleep_millisecs", 60_000),
        ("max_ptes_none", 511),
        ("max_ptes_swap", 64),
        ("max_ptes_shared", 256),
        ("defrag", 0), // 1 with 512 MiB and more.
        ("pages_collapsed", 0),
        ("full_scans", 0),
    ];
    for (file, value) in defaults {
        assert_eq!(get(&mm, file), format!("{value}\n"), "{file}");
    }
    for (file, most) in [("pages_to_scan", u64::from(u32::MAX)), ("max_ptes_swap", 511), ("defrag", 1)] {
        set(&mut mm, file, &most.to_string()).expect("the value is allowed");
        for wrong in [(most + 1).to_string(), "-1".into(), "x".into(), String::new()] {
            assert!(set(&mut mm, file, &wrong).is_err(), "{file} takes no {wrong:?}");
        }
        assert_eq!(get(&mm, file), format!("{most}\n"), "a refused write changes nothing");
    }
    assert!(set(&mut mm, "pages_to_scan", "0").is_err());
    assert!(set(&mut mm, "full_scans", "0").is_err());
    let mut policy = Policy::default();
    (policy.thp.max_ptes_swap, policy.thp.max_ptes_shared) = (false, false);
    let old = boot_nodes(policy, 1, 16 << 10);
    for file in ["max_ptes_swap", "max_ptes_shared"] {
        assert!(sysctl::read(&old, &format!("{KHUGEPAGED}{file}")).is_err(), "there is no {file} yet");
    }
}

#[test]
fn writing_the_length_of_a_pause_of_khugepaged_ends_it() {
    let mut mm = boot();
    mm.take_wakeups();
    for (file, wakes) in [("scan_sleep_millisecs", true), ("alloc_sleep_millisecs", true), ("max_ptes_none", false)] {
        sysctl::write(&mut mm, &format!("{KHUGEPAGED}{file}"), "1").expect("the value is allowed");
        assert_eq!(mm.take_wakeups().khugepaged, wakes, "{file}");
    }
}

#[test]
fn shmem_enabled_forces_only_sizes_that_inherit() {
    let mut policy = Policy::default();
    policy.thp.interface = HugeInterface::Sizes;
    let mut mm = boot_nodes(policy, 1, 16 << 10);
    mm.pages_mut().cache_mut().set_shmem_enabled(ShmemEnabled::Deny);
    sysctl::write(&mut mm, "thp/hugepages-2048kB/shmem_enabled", "always").expect("it is one of the words");
    let forced = sysctl::write(&mut mm, "thp/shmem_enabled", "force").expect_err("the size has a word of its own");
    assert_eq!(forced.errno(), Some(Errno::Einval));
    assert_eq!(mm.pages().cache().shmem_enabled(), ShmemEnabled::Deny, "a refused write changes nothing");
    sysctl::write(&mut mm, "thp/hugepages-2048kB/shmem_enabled", "inherit").expect("it is one of the words");
    sysctl::write(&mut mm, "thp/shmem_enabled", "force").expect("the size inherits");
}

#[test]
fn statistics_of_the_size_that_the_engine_does_not_have_are_zero_and_none_can_be_written() {
    let mut policy = Policy::default();
    policy.thp.interface = HugeInterface::Sizes;
    let mut mm = boot_nodes(policy, 1, 16 << 10);
    for file in [
        "anon_fault_alloc",
        "anon_fault_fallback_charge",
        "shmem_fallback_charge",
        "swpin",
        "swpin_fallback",
        "swpin_fallback_charge",
        "swpout",
        "swpout_fallback",
        "zswpout",
    ] {
        let name = format!("thp/hugepages-2048kB/stats/{file}");
        assert_eq!(sysctl::read(&mm, &name).as_deref(), Ok("0\n"), "{file}");
        assert!(sysctl::write(&mut mm, &name, "0").is_err(), "{file} is read-only");
    }
}
