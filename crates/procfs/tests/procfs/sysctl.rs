//! Settings are read, written and refused as the files of Linux do it, and docs/settings.md lists all of them.
//!
//! After a wanted change of the list: `UPDATE_GOLDEN=1 cargo test -p order9-procfs --test procfs`, then read the difference.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use order9_mm::policy::{HugeInterface, HugePlacement, MempolicyInterface, PcpHigh, Policy, ThpPolicy};
use order9_mm::space::MmapRequest;
use order9_mm::{Errno, Gfp, Layout, Mark, Mm, MmBuilder, NodeSpec, Request, ZoneSpec};
use order9_procfs::command_line::{BootParameter, PARAMETERS};
use order9_procfs::sysctl::{self, Access, HugetlbFile, Knob, Model, SETTINGS, Setting, SettingError};
use order9_units::{Bytes, Nanos, NodeId, Order, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};

fn boot(policy: Policy) -> Mm {
    super::boot(policy, Pages::ZERO)
}

/// A policy that has every setting the engine has, where NUMA balancing has its settings in /proc.
fn all_settings() -> Policy {
    let mut policy = Policy::default();
    policy.frames.pcp.high = PcpHigh::AutoTuned;
    policy.compaction.proactive = true;
    policy.frames.fallback.defrag_mode = true;
    policy.thp.max_ptes_shared = true;
    policy.thp.interface = HugeInterface::Sizes;
    policy.thp.shrink_underused = true;
    policy.thp.placement = HugePlacement::ForceLocal;
    policy.mempolicy = MempolicyInterface::AutoWeights;
    policy
}

/// The same where they are in /sys.
fn all_settings_with_debugfs() -> Policy {
    let mut policy = all_settings();
    policy.numa_balancing.debugfs = true;
    policy
}

fn read(mm: &Mm, name: &str) -> String {
    sysctl::read(mm, name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn write(mm: &mut Mm, name: &str, value: &str) {
    sysctl::write(mm, name, value).unwrap_or_else(|error| panic!("{name} = {value:?}: {error}"));
    mm.check().expect("every law holds");
}

#[test]
fn a_setting_answers_to_its_name_and_to_its_path() {
    let min_free = Setting::find("vm.min_free_kbytes");
    assert_eq!(min_free.map(|setting| setting.path), Some("/proc/sys/vm/min_free_kbytes"));
    assert_eq!(Setting::find("/proc/sys/vm/min_free_kbytes"), min_free);
    assert_eq!(Setting::find("vm/min_free_kbytes"), min_free);
    let pages_to_scan = Setting::find("/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan");
    assert_eq!(pages_to_scan, Setting::find("thp/khugepaged/pages_to_scan"));
    assert!(pages_to_scan.is_some());
    assert_eq!(Setting::find("min_free_kbytes"), None);
    assert_eq!(Setting::find("vm.min_free"), None);
}

#[test]
fn the_list_is_in_order_and_names_nothing_twice() {
    assert!(SETTINGS.is_sorted_by_key(|setting| setting.path));
    let unique: BTreeSet<_> = SETTINGS.iter().flat_map(|setting| [setting.name, setting.path]).collect();
    assert_eq!(unique.len(), 2 * SETTINGS.len());
}

#[test]
fn every_setting_is_modelled_or_refused_by_name() {
    let [mut before, mut since] = [boot(all_settings()), boot(all_settings_with_debugfs())];
    before.set_node_bandwidth([(NodeId(0), 10_000)]);
    for setting in SETTINGS {
        let in_debugfs = setting.path.starts_with("/sys/kernel/debug");
        let (mm, other) = if in_debugfs { (&mut since, &mut before) } else { (&mut before, &mut since) };
        if let Model::Engine(Knob::NumaScan(..)) = setting.model {
            assert_eq!(sysctl::read(other, setting.name), Err(SettingError::Absent(setting)));
            assert_eq!(sysctl::write(other, setting.name, "9"), Err(SettingError::Absent(setting)));
        }
        let content = sysctl::read(mm, setting.name);
        match (setting.model, setting.access) {
            (_, Access::WriteOnly) => assert_eq!(content, Err(SettingError::WriteOnly(setting))),
            (Model::Engine(_), _) => {
                let content = content.unwrap_or_else(|error| panic!("{error}"));
                assert!(content.ends_with('\n'), "{}", setting.name);
                // Its 0 stands for the ratio and cannot be written.
                if setting.name != "vm.dirty_background_bytes" && setting.access != Access::ReadOnly {
                    let in_force = content.split(['[', ']']).nth(1).unwrap_or(&content);
                    write(mm, setting.path, in_force);
                }
                assert_eq!(read(mm, setting.name), content, "{}", setting.name);
            }
            (Model::Missing(_), _) => assert_eq!(content, Err(SettingError::NotModelled(setting))),
        }
        let refused = match setting.access {
            Access::ReadOnly => SettingError::ReadOnly(setting),
            _ if setting.is_modelled() => SettingError::Invalid(setting),
            Access::ReadWrite | Access::WriteOnly => SettingError::NotModelled(setting),
        };
        assert_eq!(sysctl::write(mm, setting.name, "what"), Err(refused));
    }
}

#[test]
fn refusals_say_what_was_wrong_and_what_linux_answers() {
    let mut mm = boot(Policy::default());
    let mut refused = |name, value| {
        let error = sysctl::write(&mut mm, name, value).expect_err("it is refused");
        (error.to_string(), error.errno())
    };
    let says = |text: &str, errno| (text.to_owned(), errno);
    assert_eq!(refused("vm.swapiness", "10"), says("no such setting", Some(Errno::Enoent)));
    assert_eq!(
        refused("vm.panic_on_oom", "1"),
        says("vm.panic_on_oom is not modelled yet (there is no OOM killer)", None)
    );
    assert_eq!(
        refused("kernel.numa_balancing", "2"),
        says("kernel.numa_balancing is not modelled with this value: there is no memory tiering", None)
    );
    assert_eq!(refused("kernel.numa_balancing", "4"), says("kernel.numa_balancing takes 0 to 3", Some(Errno::Einval)));
    assert_eq!(
        refused("vm.watermark_scale_factor", "0"),
        says("vm.watermark_scale_factor takes 1 to 3000", Some(Errno::Einval))
    );
    assert_eq!(
        refused("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "1"),
        says("thp/hpage_pmd_size is read-only", Some(Errno::Eacces))
    );
    let error = sysctl::read(&mm, "vm.compact_memory").expect_err("it only starts something");
    assert_eq!((error.to_string().as_str(), error.errno()), ("vm.compact_memory is write-only", Some(Errno::Eacces)));
}

#[test]
fn files_of_huge_pages_hold_the_words_of_their_release() {
    let (enabled, defrag) = ("thp/enabled", "thp/defrag");
    let mut mm = boot(Policy::default());
    assert_eq!(read(&mm, enabled), "[always] madvise never\n");
    assert_eq!(read(&mm, defrag), "always defer defer+madvise [madvise] never\n");
    for (word, shown) in [("never\n", "always madvise [never]\n"), ("madvise", "always [madvise] never\n")] {
        write(&mut mm, enabled, word);
        assert_eq!(read(&mm, enabled), shown);
    }
    write(&mut mm, defrag, "defer+madvise");
    for wrong in ["", "\n", "a", "alw", "Always", "alwaysX", "always\n\n", " always", "[always]", "1"] {
        for file in [enabled, defrag] {
            let before = read(&mm, file);
            assert_eq!(
                sysctl::write(&mut mm, file, wrong).map_err(SettingError::errno),
                Err(Some(Errno::Einval)),
                "{wrong:?}"
            );
            assert_eq!(read(&mm, file), before);
        }
    }
    for wrong in ["2", "-1", "one", "0x1", "1 1", "", "1\n\n"] {
        let written = sysctl::write(&mut mm, "thp/use_zero_page", wrong);
        assert_eq!(written.map_err(SettingError::errno), Err(Some(Errno::Einval)), "{wrong:?}");
    }
    for wrong in ["0", "4294967296", "-1", "+", "1k", "0x10", "1.5", " 1", "", "\n", "1\n\n"] {
        let written = sysctl::write(&mut mm, "thp/khugepaged/pages_to_scan", wrong);
        assert_eq!(written.map_err(SettingError::errno), Err(Some(Errno::Einval)), "{wrong:?}");
        assert_eq!(read(&mm, "thp/khugepaged/pages_to_scan"), "4096\n");
    }
    write(&mut mm, "thp/use_zero_page", "0\n");
    assert_eq!((read(&mm, "thp/use_zero_page"), read(&mm, "thp/hpage_pmd_size")), ("0\n".into(), "2097152\n".into()));
}

#[test]
fn the_folder_of_the_size_holds_the_words_of_linux() {
    let mut mm = boot(all_settings());
    let (enabled, shmem) = ("thp/hugepages-2048kB/enabled", "thp/hugepages-2048kB/shmem_enabled");
    assert_eq!(read(&mm, enabled), "always [inherit] madvise never\n");
    assert_eq!(read(&mm, shmem), "always [inherit] within_size advise never\n");
    write(&mut mm, enabled, "madvise\n");
    write(&mut mm, shmem, "within_size");
    assert_eq!(read(&mm, enabled), "always inherit [madvise] never\n");
    assert_eq!(read(&mm, shmem), "always inherit [within_size] advise never\n");
    for (file, wrong) in [(enabled, "advise"), (enabled, "inheri"), (enabled, ""), (shmem, "deny"), (shmem, "madvise")]
    {
        assert_eq!(
            sysctl::write(&mut mm, file, wrong).map_err(SettingError::errno),
            Err(Some(Errno::Einval)),
            "{wrong:?}"
        );
    }
    assert_eq!(
        sysctl::write(&mut mm, "thp/shmem_enabled", "force").map_err(SettingError::errno),
        Err(Some(Errno::Einval))
    );
    assert_eq!(read(&mm, "thp/hugepages-2048kB/stats/nr_anon"), "0\n");
}

#[test]
fn old_releases_know_fewer_words_and_take_beginnings() {
    let mut policy = Policy::default();
    (policy.thp.defer, policy.thp.defer_madvise, policy.thp.words_by_prefix) = (false, false, true);
    let mut mm = boot(policy.clone());
    assert_eq!(read(&mm, "thp/defrag"), "always [madvise] never\n");
    assert_eq!(sysctl::write(&mut mm, "thp/defrag", "defer").map_err(SettingError::errno), Err(Some(Errno::Einval)));
    assert_eq!(sysctl::write(&mut mm, "thp/enabled", "d").map_err(SettingError::errno), Err(Some(Errno::Einval)));
    for word in ["a", "alw", "alwaysX"] {
        write(&mut mm, "thp/enabled", "never");
        write(&mut mm, "thp/enabled", word);
        assert_eq!(read(&mm, "thp/enabled"), "[always] madvise never\n");
    }
    policy.thp.defer = true;
    let mut mm = boot(policy);
    write(&mut mm, "thp/defrag", "defer+madvise");
    assert_eq!(read(&mm, "thp/defrag"), "always [defer] madvise never\n");
}

#[test]
fn shmem_enabled_takes_its_six_words_exactly_in_every_release() {
    for words_by_prefix in [false, true] {
        let mut policy = Policy::default();
        policy.thp.words_by_prefix = words_by_prefix;
        let mut mm = boot(policy);
        let file = "thp/shmem_enabled";
        assert_eq!(read(&mm, file), "always within_size advise [never] deny force\n");
        for word in ["always", "within_size", "advise", "deny", "force", "never"] {
            for text in [word.to_owned(), format!("{word}\n")] {
                write(&mut mm, file, "never");
                write(&mut mm, file, &text);
                assert_eq!(read(&mm, file), NAMES_OF_SHMEM.replace(word, &format!("[{word}]")));
            }
        }
        for wrong in ["", "\n", "a", "alw", "Force", "forceX", "deny\n\n", " deny", "[deny]", "within_size_or_so", "1"]
        {
            let written = sysctl::write(&mut mm, file, wrong);
            assert_eq!(written.map_err(SettingError::errno), Err(Some(Errno::Einval)), "{wrong:?}");
            assert_eq!(read(&mm, file), NAMES_OF_SHMEM.replace("never", "[never]"));
        }
    }
}

const NAMES_OF_SHMEM: &str = "always within_size advise never deny force\n";

#[test]
fn files_of_huge_pages_come_with_their_release() {
    let exists = |policy: Policy, name: &str| match sysctl::read(&boot(policy), name) {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.errno(), Some(Errno::Enoent), "{name}: {error}");
            false
        }
    };
    let since = |name: &str, change: fn(&mut Policy, bool)| {
        for has in [false, true] {
            let mut policy = Policy::default();
            change(&mut policy, has);
            assert_eq!(exists(policy, name), has, "{name}");
        }
    };
    let base =
        Policy { thp: ThpPolicy { interface: HugeInterface::Base, ..Policy::default().thp }, ..Policy::default() };
    for name in ["thp/enabled", "thp/defrag", "thp/use_zero_page", "thp/khugepaged/defrag", "thp/khugepaged/full_scans"]
    {
        assert!(exists(base.clone(), name), "{name} is in all releases");
    }
    since("thp/shmem_enabled", |policy, has| policy.thp.shmem = has);
    since("thp/khugepaged/max_ptes_swap", |policy, has| policy.thp.max_ptes_swap = has);
    since("thp/khugepaged/max_ptes_shared", |policy, has| policy.thp.max_ptes_shared = has);
    since("thp/madv_hugepage_force_local", |policy, has| {
        policy.thp.placement = if has { HugePlacement::ForceLocal } else { HugePlacement::MadvLocal };
    });
    since("thp/shrink_underused", |policy, has| policy.thp.shrink_underused = has);
    for name in ["enabled", "shmem_enabled", "stats/nr_anon", "stats/swpout"] {
        since(&format!("thp/hugepages-2048kB/{name}"), |policy, has| {
            policy.thp.interface = if has { HugeInterface::Sizes } else { HugeInterface::File };
        });
    }
    since("thp/hpage_pmd_size", |policy, has| {
        policy.thp.interface = if has { HugeInterface::PmdSize } else { HugeInterface::Base };
    });
}

#[test]
fn enabling_huge_pages_keeps_more_memory_free() {
    for resets in [false, true] {
        let mut policy = Policy::default();
        policy.thp.stop_resets_min_free = resets;
        let mut mm = boot(policy);
        let raised = mm.phys().min_free_kbytes();
        write(&mut mm, "thp/enabled", "never");
        assert_eq!(mm.phys().min_free_kbytes() < raised, resets, "only where stopping computes it anew");
        write(&mut mm, "thp/enabled", "madvise");
        assert_eq!(mm.phys().min_free_kbytes(), raised);
        mm.phys_mut().set_min_free_kbytes(2 * raised);
        write(&mut mm, "thp/enabled", "always");
        assert_eq!(mm.phys().min_free_kbytes(), 2 * raised, "never lowered");
    }
}

#[test]
fn zone_movable_counts_for_that_up_to_4_15() {
    let raised = |min_free_all_zones| {
        let mut policy = Policy::default();
        policy.thp.min_free_all_zones = min_free_all_zones;
        let zone = |kind, start, mib: u64| {
            let span = PfnRange::of(Pfn::new(start), Pages::new(mib << 8));
            ZoneSpec { node: NodeId(0), kind, span }
        };
        let layout = Layout {
            nodes: vec![NodeSpec { distances: vec![10] }],
            zones: vec![zone(ZoneKind::Normal, 1 << 20, 4096), zone(ZoneKind::Movable, 1 << 22, 4096)],
            cpus: vec![NodeId(0)],
            ..Layout::default()
        };
        MmBuilder::new(&layout, policy).expect("the layout is sound").boot().phys().min_free_kbytes()
    };
    // A block for each of 11 reasons to keep one, in every zone.
    assert_eq!([false, true].map(raised), [512 * 11 * 4, 2 * 512 * 11 * 4]);
}

#[test]
fn a_setting_that_the_policy_does_not_have_does_not_exist() {
    let mut policy = Policy::default();
    policy.frames.watermark.boost_factor = None;
    let mut mm = boot(policy);
    let setting = Setting::find("vm.watermark_boost_factor").expect("it is in the list");
    assert_eq!(sysctl::read(&mm, setting.name), Err(SettingError::Absent(setting)));
    assert_eq!(sysctl::write(&mut mm, setting.name, "0"), Err(SettingError::Absent(setting)));
    assert_eq!(mm.frames().settings().boost_factor, None);
}

#[test]
fn watermarks_follow_their_settings() {
    let mut mm = boot(Policy::default());
    write(&mut mm, "vm.min_free_kbytes", "4096\n");
    assert_eq!(read(&mm, "vm.min_free_kbytes"), "4096\n");
    let marks = |mm: &Mm| [Mark::Min, Mark::Low, Mark::High].map(|mark| mm.frames().zones()[1].watermarks().of(mark));
    // Three quarters of 1024 pages; the distance is a quarter of that, or 10/10000 of the zone's 196608 pages.
    assert_eq!(marks(&mm), [768, 964, 1160]);
    write(&mut mm, "vm.watermark_scale_factor", "100");
    assert_eq!(marks(&mm), [768, 2734, 4700]);
    write(&mut mm, "vm.min_free_kbytes", "0");
    assert_eq!(marks(&mm), [0, 1966, 3932]);
    write(&mut mm, "vm.watermark_boost_factor", "0");
    assert_eq!(mm.frames().settings().boost_factor, Some(0));
}

#[test]
fn lowmem_reserves_follow_their_ratios() {
    let mut mm = boot(Policy::default());
    assert_eq!(read(&mm, "vm.lowmem_reserve_ratio"), "256\t256\t32\t0\n");
    assert_eq!(mm.frames().zones()[0].lowmem_reserve(), [0, 0, 768, 768]);
    let marks = mm.frames().zones()[0].watermarks();
    write(&mut mm, "vm.lowmem_reserve_ratio", "256 0x80\n");
    assert_eq!(read(&mm, "vm.lowmem_reserve_ratio"), "256\t128\t32\t0\n");
    assert_eq!(mm.frames().zones()[0].lowmem_reserve(), [0, 0, 1536, 1536]);
    write(&mut mm, "vm.lowmem_reserve_ratio", "256 -1 32 0 0");
    assert_eq!(read(&mm, "vm.lowmem_reserve_ratio"), "256\t0\t32\t0\n");
    assert_eq!(mm.frames().zones()[0].lowmem_reserve(), [0; 4]);
    assert_eq!(mm.frames().zones()[0].watermarks(), marks);
}

#[test]
fn per_cpu_lists_hold_a_fraction_of_their_zone() {
    let mut mm = boot(all_settings());
    let setting = "vm.percpu_pagelist_high_fraction";
    let high = |mm: &Mm| mm.frames().pcp(mm.frames().zones()[1].id(), 0).expect("a CPU").high();
    let before = high(&mm);
    write(&mut mm, setting, "100");
    assert_eq!(high(&mm), (3 << 16) / 100 / 2);
    write(&mut mm, "vm.watermark_scale_factor", "20");
    assert_eq!(high(&mm), (3 << 16) / 100 / 2);
    assert!(sysctl::write(&mut mm, setting, "7").is_err(), "more than an eighth of a zone");
    write(&mut mm, setting, "1000000");
    assert_eq!(high(&mm), 4 * mm.frames().pcp(mm.frames().zones()[1].id(), 0).expect("a CPU").batch());
    write(&mut mm, "vm.watermark_scale_factor", "10");
    write(&mut mm, setting, "0");
    assert_eq!(high(&mm), before);
    let mut old = all_settings();
    old.frames.pcp.high = PcpHigh::SixBatches;
    assert_eq!(sysctl::read(&boot(old), setting).map_err(SettingError::errno), Err(Some(Errno::Enoent)));
}

#[test]
fn mappings_are_limited_by_max_map_count() {
    let mut mm = boot(Policy::default());
    let space = mm.create_space().expect("it is the first");
    write(&mut mm, "vm.max_map_count", "2");
    // A file per mapping keeps them from merging. One above the limit is allowed.
    let shared = MmapRequest { backing: order9_mm::space::Backing::AnonShared, ..MmapRequest::anon(PAGE_SIZE) };
    for _ in 0..3 {
        mm.mmap(space, &shared, 0).expect("there is room");
    }
    assert_eq!(mm.mmap(space, &shared, 0), Err(Errno::Enomem));
    write(&mut mm, "vm.max_map_count", "0");
    assert_eq!(mm.space(space).expect("it lives").vmas().count(), 3);
    write(&mut mm, "vm.max_map_count", "65530");
    mm.mmap(space, &MmapRequest::anon(Bytes::new(1)), 0).expect("there is room again");
}

#[test]
fn of_two_limits_of_dirty_memory_the_one_written_last_counts() {
    let mut mm = boot(all_settings());
    let limits = |mm: &Mm| (mm.dirty_limits().thresh.get(), mm.dirty_limits().background.get());
    let before = limits(&mm);
    write(&mut mm, "vm.dirty_bytes", "819200");
    write(&mut mm, "vm.dirty_background_bytes", "4096");
    assert_eq!(
        (limits(&mm), read(&mm, "vm.dirty_ratio"), read(&mm, "vm.dirty_background_ratio")),
        ((200, 1), "0\n".into(), "0\n".into())
    );
    for refused in ["-1", "1", "4096"] {
        assert!(sysctl::write(&mut mm, "vm.dirty_bytes", refused).is_err(), "{refused} is less than two pages");
    }
    write(&mut mm, "vm.dirty_ratio", "20");
    write(&mut mm, "vm.dirty_background_ratio", "10");
    assert_eq!((limits(&mm), read(&mm, "vm.dirty_bytes")), (before, "0\n".into()));
    write(&mut mm, "vm.dirty_writeback_centisecs", "0");
    write(&mut mm, "vm.dirty_expire_centisecs", "100");
    assert_eq!((mm.phys().dirty_writeback_interval(), mm.phys().dirty_expire()), (None, Nanos::new(1_000_000_000)));
}

#[test]
fn swappiness_ends_where_costs_are_not_weighed() {
    let mut old = boot(Policy::default());
    write(&mut old, "vm.swappiness", "100");
    let refused = sysctl::write(&mut old, "vm.swappiness", "101").expect_err("it is too large");
    assert_eq!(refused.errno(), Some(Errno::Einval));
    assert_eq!(refused.to_string(), "vm.swappiness takes at most 100 under this policy");
    assert_eq!(read(&old, "vm.swappiness"), "100\n");
    let mut policy = Policy::default();
    policy.reclaim.balance = order9_mm::policy::BalanceRule::RefaultCost;
    write(&mut boot(policy), "vm.swappiness", "200");
}

#[test]
fn dropping_caches_is_counted_by_what_was_asked() {
    let mut mm = boot(Policy::default());
    for (value, pagecache, slab) in [("1", 1, 0), ("2", 1, 1), ("3", 2, 2), ("4", 2, 2)] {
        write(&mut mm, "vm.drop_caches", value);
        assert_eq!((mm.counters().drop_pagecache, mm.counters().drop_slab), (pagecache, slab), "after {value}");
    }
    assert!(sysctl::write(&mut mm, "vm.drop_caches", "0").is_err() && sysctl::read(&mm, "vm.drop_caches").is_err());
}

#[test]
fn the_ends_of_every_range_are_taken() {
    for end in ["0", "1", "8", "3000", "2147483647"] {
        let mut mm = boot(all_settings());
        for setting in SETTINGS.iter().filter(|setting| setting.is_modelled() && setting.access != Access::WriteOnly) {
            // A pool is made as large as memory allows, a weight of 0 is the default, and a switch is shown by a word.
            let other = match setting.model {
                Model::Engine(knob) => {
                    matches!(knob, Knob::Hugetlb(HugetlbFile::Nr) | Knob::InterleaveWeight | Knob::InterleaveAuto)
                }
                Model::Missing(_) => false,
            };

            if sysctl::write(&mut mm, setting.name, end).is_ok() && !other {
                assert!(read(&mm, setting.name).starts_with(end), "{} = {end}", setting.name);
            }
            mm.check().expect("every law holds");
        }
        // There is memory, or there is none to give: both are answers.
        let _ = mm.alloc_fast(&Request::new(Order::PAGEBLOCK, Gfp::GFP_KERNEL));
        mm.check().expect("every law holds");
    }
}

/// Whether the document has a row for a setting: sizes of huge pages have the same files, and rows stand for 2 MiB, and for
/// 64 kB where that differs.
fn is_listed(setting: &Setting) -> bool {
    let Some((_, of_size)) = setting.name.split_once("thp/hugepages-") else { return true };
    of_size.starts_with("2048kB/") || ["64kB/enabled", "64kB/shmem_enabled"].contains(&of_size)
}

/// The settings of `modelled` or not, in Markdown.
fn rows(modelled: bool) -> String {
    let last = if modelled { "default" } else { "what is missing" };
    let mut rows = format!("| setting | file | takes | unit | {last} | meaning |\n|---|---|---|---|---|---|\n");
    for setting in SETTINGS.iter().filter(|setting| setting.is_modelled() == modelled && is_listed(setting)) {
        let Setting { name, path, values, unit, meaning, default, access, model } = setting;
        let takes = if *access == Access::ReadOnly { "read-only".to_owned() } else { values.to_string() };
        let last = match model {
            Model::Engine(_) => default,
            Model::Missing(what) => what,
        };
        rows += &format!("| `{name}` | `{path}` | {takes} | {unit} | {last} | {meaning} |\n");
    }
    rows
}

/// The parameters of the kernel, in Markdown.
fn parameter_rows() -> String {
    let rows = PARAMETERS
        .iter()
        .map(|BootParameter { name, takes, meaning, .. }| format!("| `{name}=` | {takes} | {meaning} |\n"));
    ["| parameter | takes | meaning |\n|---|---|---|\n".to_owned()].into_iter().chain(rows).collect()
}

/// `text` with the table below `heading` replaced by `table`.
fn with_table(text: &str, heading: &str, table: &str) -> String {
    let start = text.find(heading).unwrap_or_else(|| panic!("docs/settings.md has the heading {heading}"));
    let begin = start + text[start..].find("\n| ").expect("a table below the heading") + 1;
    let end = text[begin..].find("\n\n").map_or(text.len(), |blank| begin + blank + 1);
    format!("{}{table}{}", &text[..begin], &text[end..])
}

#[test]
fn the_document_lists_every_setting_and_parameter() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/settings.md");
    let text = fs::read_to_string(&path).expect("docs/settings.md is readable");
    let expected = with_table(&text, "## Settings", &rows(true));
    let expected = with_table(&expected, "## Boot parameters", &parameter_rows());
    let expected = with_table(&expected, "## Not modelled yet", &rows(false));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, &expected).expect("docs/settings.md can be written");
    }
    assert!(fs::read_to_string(&path).unwrap() == expected, "docs/settings.md differs from the list of the code");
}
