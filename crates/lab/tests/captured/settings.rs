//! The settings of a host are those of a run from its memory.

use std::collections::BTreeMap;

use order9_import::{Disk, Imported, import};
use order9_mm::policy::Policy;
use order9_procfs::sysctl::{self, Access, SETTINGS, Setting, Values};
use order9_snapshot::Snapshot;
use order9_workloads::Workload;

use super::{fresh, from, on, plan};

fn policy(name: &str) -> Policy {
    order9_policy::load(name).expect("it is built in").policy
}

fn imported(snapshot: &Snapshot, name: &str) -> Imported {
    import(snapshot, policy(name), Disk::Present).expect("the map is sound")
}

/// A value that the setting takes and that no kernel starts with.
fn other(setting: &Setting) -> String {
    match setting.values {
        Values::Number { min, max } if setting.name == "vm.min_free_kbytes" => (min.max(70_000)).min(max).to_string(),
        Values::Number { min, max } => {
            let values = [min, min + 1, min + 7, max.min(41)];
            let is_other = |value: &&i64| (min..=max).contains(*value) && value.to_string() != setting.default;
            values.iter().rfind(is_other).expect("there are two values").to_string()
        }
        Values::ZeroOr { min, .. } => min.to_string(),
        Values::Numbers(_) => "128 64 16 8 0".to_owned(),
        // The last word excludes a size of its own.
        Values::Words(_) if setting.name == "thp/shmem_enabled" => "within_size".to_owned(),
        Values::Words(words) => (*words.iter().rfind(|word| **word != setting.default).expect("two words")).to_owned(),
    }
}

/// As the file has it: numbers with tabs, a word in brackets.
fn as_file(setting: &Setting, value: &str) -> String {
    match setting.values {
        // The last word excludes a size of its own.
        Values::Words(_) if setting.name == "thp/shmem_enabled" => "within_size".to_owned(),
        Values::Words(words) => words
            .iter()
            .map(|word| if *word == value { format!("[{word}]") } else { (*word).to_owned() })
            .collect::<Vec<_>>()
            .join(" "),
        _ => value.replace(' ', "\t"),
    }
}

#[test]
fn every_setting_that_can_be_written_comes_along() {
    let mut snapshot = fresh();
    let mut expected = BTreeMap::new();
    let is_written = |setting: &&Setting| {
        // What exclude each other have a test of their own, and the map holds the pools.
        let apart =
            setting.name.contains("dirty") && (setting.name.ends_with("bytes") || setting.name.ends_with("ratio"));
        // Proposed in 2018, and in no release; under other names up to 5.12; and off unless asked for.
        let proposed = setting.name == "thp/madv_hugepage_force_local";
        let balancing = setting.name.starts_with("kernel.numa_balancing");
        let kept = apart || proposed || balancing || setting.name.contains("nr_hugepages");
        setting.is_modelled() && setting.access == Access::ReadWrite && !kept
    };
    for setting in SETTINGS.iter().filter(is_written) {
        let value = other(setting);
        snapshot.settings.insert(setting.path.to_owned(), as_file(setting, &value));
        expected.insert(setting.name, value);
    }
    let Imported { mm, settings, .. } = imported(&snapshot, "linux-6.18");
    assert_eq!(mm.check(), Ok(()));
    let mut wrong = Vec::new();
    for (name, value) in &expected {
        let now = order9_import::value_shown(&sysctl::read(&mm, name).expect("6.18 has it"));
        // A machine has as many numbers as it has kinds of zones.
        if !value.starts_with(&now) {
            wrong.push(format!("{name} is {now}, captured was {value}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let taken: Vec<_> =
        settings.taken.iter().filter(|taken| taken.before != taken.value).map(|taken| taken.setting.name).collect();
    // Files of the pools in /sys are those of /proc again.
    let missing: Vec<_> =
        expected.keys().filter(|name| !name.starts_with("hugetlb/") && !taken.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn of_limits_in_bytes_and_in_percent_the_one_that_counts_comes_along() {
    for (bytes, ratio, background_bytes, background_ratio) in
        [("0", "17", "0", "3"), ("33554432", "0", "8388608", "0"), ("0", "0", "0", "0")]
    {
        let mut snapshot = fresh();
        let files = [
            ("bytes", bytes),
            ("ratio", ratio),
            ("background_bytes", background_bytes),
            ("background_ratio", background_ratio),
        ];
        for (file, value) in files {
            snapshot.settings.insert(format!("/proc/sys/vm/dirty_{file}"), value.to_owned());
        }
        let mm = imported(&snapshot, "linux-5.0").mm;
        for (file, value) in files {
            assert_eq!(
                sysctl::read(&mm, &format!("vm.dirty_{file}")).expect("it exists").trim(),
                value,
                "dirty_{file}"
            );
        }
    }
}

#[test]
fn what_an_old_policy_lacks_or_nobody_models_is_said_and_nothing_is_refused() {
    let mut snapshot = fresh();
    for (path, value) in [
        ("/proc/sys/vm/compaction_proactiveness", "55"),
        ("/proc/sys/vm/swappiness", "150"),
        ("/proc/sys/vm/overcommit_memory", "2"),
        ("/proc/sys/vm/panic_on_oom", "0"),
        ("/proc/sys/kernel/numa_balancing", "2"),
        ("/sys/kernel/mm/lru_gen/enabled", "0x0007"),
        ("/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled", "[always] inherit madvise never"),
        ("/sys/kernel/mm/transparent_hugepage/hugepages-16kB/enabled", "always inherit madvise [never]"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]"),
        ("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "always inherit [madvise] never"),
    ] {
        snapshot.settings.insert(path.to_owned(), value.to_owned());
    }
    let Imported { mm, settings, .. } = imported(&snapshot, "linux-5.0");
    let names =
        |of: &[order9_import::Untaken]| of.iter().map(|of| format!("{}={}", of.name, of.value)).collect::<Vec<_>>();
    let absent = names(&settings.not_in_policy);
    let sizes = ["thp/hugepages-2048kB/enabled=madvise", "thp/hugepages-64kB/enabled=always"];
    for name in ["vm.compaction_proactiveness=55", "vm.swappiness=150"].into_iter().chain(sizes) {
        assert!(absent.iter().any(|of| of == name), "{name} in {absent:?}");
    }
    let missing = names(&settings.not_modelled);
    assert_eq!(missing, ["lru_gen/enabled=0x0007", "vm.overcommit_memory=2"]);
    assert_eq!(names(&settings.left_off), ["kernel.numa_balancing=2"]);
    assert_eq!(sysctl::read(&mm, "thp/enabled").expect("it exists"), "always [madvise] never\n", "as the size says");
}

#[test]
fn what_no_kernel_says_is_refused() {
    for (path, value) in [
        ("/proc/sys/vm/min_free_kbytes", "plenty"),
        ("/sys/kernel/mm/transparent_hugepage/enabled", "[sometimes]"),
        ("/sys/kernel/mm/transparent_hugepage/hugepages-2048kB/enabled", "[sometimes]"),
    ] {
        for name in ["linux-6.18", "linux-4.4"] {
            let mut snapshot = fresh();
            snapshot.settings.insert(path.to_owned(), value.to_owned());
            let error = import(&snapshot, policy(name), Disk::Present).err().expect("it is refused").to_string();
            assert!(error.starts_with(path), "{error}");
        }
    }
}

#[test]
fn runs_say_what_they_took_over_and_what_they_replaced() {
    let mut snapshot = fresh();
    snapshot.settings.insert("/proc/sys/vm/swappiness".to_owned(), "61".to_owned());
    snapshot.settings.insert("/proc/sys/vm/page-cluster".to_owned(), "0".to_owned());
    let mut idle = plan(Workload::Idle, from(snapshot, b"made for a test"), "linux-7.2");
    idle.settings = vec![("vm.page-cluster".to_owned(), "5".to_owned())];
    let run = on(&idle).expect("it runs").runs.remove(0);
    let [unmodelled @ .., note, deferred] = &run.notes[..] else { panic!("{:?}", run.notes) };
    assert!(unmodelled.iter().all(|note| note.contains(" is not modelled yet: ")), "{unmodelled:?}");
    assert!(unmodelled.iter().any(|note| note.starts_with("thp.khugepaged_sizes ")), "{unmodelled:?}");
    let parts: Vec<_> = note.split("; ").collect();
    assert!(parts[0].starts_with("taken from the snapshot: ") && parts[0].contains("vm.swappiness=61"), "{note}");
    assert_eq!(parts.get(1), Some(&"replaced: vm.page-cluster=0 by 5"));
    assert!(deferred.starts_with("19.6 GiB of 24 GiB had not been given to the page allocator"), "{deferred}");
}
