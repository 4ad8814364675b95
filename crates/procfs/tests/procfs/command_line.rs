//! The kernel's command line decides what it decides on Linux, and what it does not take is said in the kernel's log.

#[path = "../../../../fuzz/src/boot.rs"]
mod boot;

use order9_mm::policy::{HugeInterface, Policy};
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};
use order9_procfs::command_line::CommandLine;
use order9_procfs::sysctl;
use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

/// Boots `mm` with `text`; returns the kernel's log.
fn boot_with(mm: &mut Mm, text: &str) -> Vec<String> {
    let line = CommandLine::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let log = line.boot(mm).into_iter().map(|line| line.text).collect();
    mm.check().expect("every law holds");
    log
}

fn machine(policy: Policy, mib: u64) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(mib << 8));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}

fn read(mm: &Mm, name: &str) -> String {
    sysctl::read(mm, name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

const WARNING: &str = "huge_memory: transparent_hugepage= cannot parse, ignored";

#[test]
fn the_boot_parameter_sets_enabled_and_small_machines_start_without() {
    let files = ["thp/enabled", "thp/defrag", "thp/use_zero_page", "thp/khugepaged/defrag"];
    let defrag = "always defer defer+madvise [madvise] never\n";
    for (word, enabled) in [
        ("always", "[always] madvise never\n"),
        ("madvise", "always [madvise] never\n"),
        ("never", "always madvise [never]\n"),
    ] {
        let mut mm = machine(Policy::default(), 1024);
        let text = format!("transparent_hugepage={word}");
        assert_eq!(boot_with(&mut mm, &text), [format!("Kernel command line: {text}")], "nothing to complain about");
        assert_eq!(files.map(|file| read(&mm, file)), [enabled, defrag, "1\n", "1\n"]);
    }
    let mut small = machine(Policy::default(), 511);
    let off = ["always madvise [never]\n", "always defer defer+madvise madvise [never]\n", "0\n", "0\n"];
    boot_with(&mut small, "transparent_hugepage=always");
    assert_eq!(files.map(|file| read(&small, file)), off, "less than 512 MiB");
    sysctl::write(&mut small, "thp/enabled", "always").expect("the administrator may");
    assert_eq!(read(&small, "thp/enabled"), "[always] madvise never\n");
}

#[test]
fn words_that_the_boot_parameter_does_not_take_are_ignored_with_one_warning() {
    for word in ["=sometimes", "=defer", "=Always", "=al", "=", "", "=always,never", "=0"] {
        let mut mm = machine(Policy::default(), 1024);
        let before = mm.phys().min_free_kbytes();
        let log = boot_with(&mut mm, &format!("transparent_hugepage{word}"));
        assert_eq!(log[1..], [WARNING], "{word:?}");
        assert_eq!(read(&mm, "thp/enabled"), "[always] madvise never\n", "what the build says");
        assert_eq!(mm.phys().min_free_kbytes(), before);
    }
    let mut mm = machine(Policy::default(), 1024);
    let log = boot_with(&mut mm, "transparent_hugepage=never transparent_hugepage=x transparent-hugepage=madvise");
    assert_eq!((&log[1..], read(&mm, "thp/enabled").as_str()), (&[WARNING.to_owned()][..], "always [madvise] never\n"));
}

#[test]
fn a_machine_that_boots_without_huge_pages_keeps_no_memory_free_for_them() {
    for resets in [false, true] {
        let mut policy = Policy::default();
        policy.thp.stop_resets_min_free = resets;
        let mut never = machine(policy.clone(), 1024);
        let with = never.phys().min_free_kbytes();
        boot_with(&mut never, "transparent_hugepage=never");
        assert!(never.phys().min_free_kbytes() < with, "in any release");
        let mut always = machine(policy, 1024);
        boot_with(&mut always, "transparent_hugepage=always");
        assert_eq!(always.phys().min_free_kbytes(), with);
    }
}

#[test]
fn the_boot_parameter_of_shared_memory_sets_its_file() {
    let mut policy = Policy::default();
    let line = CommandLine::parse("transparent_hugepage_shmem=advise").expect("there is one");
    assert_eq!(line.first_absent(&policy.thp).map(|parameter| parameter.name), Some("transparent_hugepage_shmem"));
    policy.thp.interface = HugeInterface::Sizes;
    assert_eq!(line.first_absent(&policy.thp), None);
    let mut mm = machine(policy, 1024);
    boot_with(&mut mm, line.text());
    let shown = "always within_size [advise] never deny force\n";
    assert_eq!(read(&mm, "thp/shmem_enabled"), shown);
    let log = boot_with(&mut mm, "transparent_hugepage_shmem=madvise");
    assert_eq!(log[1..], ["transparent_hugepage_shmem= cannot parse, ignored"]);
    assert_eq!(read(&mm, "thp/shmem_enabled"), shown);
}

#[test]
fn boot_parameters_by_size_set_the_files_of_the_size() {
    let mut policy = Policy::default();
    policy.thp.interface = HugeInterface::Sizes;
    let (anon, shmem) = ("thp/hugepages-2048kB/enabled", "thp/hugepages-2048kB/shmem_enabled");
    for (text, file, shown) in [
        ("thp_anon=2M:madvise", anon, "always inherit [madvise] never\n"),
        ("thp_anon=64K:always", anon, "always inherit madvise [never]\n"),
        ("thp_anon=2M:always thp_anon=64K:never", anon, "[always] inherit madvise never\n"),
        ("thp_shmem=8K-2M:within_size", shmem, "always inherit [within_size] advise never\n"),
        ("thp_shmem=64K:always", shmem, "always inherit within_size advise [never]\n"),
    ] {
        let mut mm = machine(policy.clone(), 1024);
        assert_eq!(boot_with(&mut mm, text).len(), 1, "{text}: nothing to complain about");
        assert_eq!(read(&mm, file), shown, "{text}");
    }
    let mut mm = machine(policy, 1024);
    assert_eq!(
        boot_with(&mut mm, "thp_anon=32,64K:always thp_shmem=2M:deny")[1..],
        [
            "huge_memory: thp_anon=32,64K:always: error parsing string, ignoring setting",
            "thp_shmem=2M:deny: error parsing string, ignoring setting"
        ]
    );
    assert_eq!(read(&mm, anon), "always [inherit] madvise never\n");
}

#[test]
fn pools_are_made_at_boot_as_large_as_free_memory_allows() {
    let log_of = |mm: &mut Mm, text| boot_with(mm, text).split_off(1);
    let mut mm = super::boot(Policy::default(), Pages::ZERO);
    assert_eq!(log_of(&mut mm, "hugepages=10"), ["HugeTLB: registered 2.00 MiB page size, pre-allocated 10 pages"]);
    assert_eq!(read(&mm, "vm.nr_hugepages"), "10\n");
    let mut mm = super::boot(Policy::default(), Pages::ZERO);
    let log = log_of(&mut mm, "hugepages=100000");
    let got = read(&mm, "vm.nr_hugepages").trim().to_owned();
    assert!((400..512).contains(&got.parse::<u32>().expect("a number")), "of the 512 of 1 GiB: {got}");
    let failed = format!("HugeTLB: allocating 100000 of page size 2.00 MiB failed.  Only allocated {got} hugepages.");
    assert_eq!(log[0], failed);
    let mut mm = super::boot(Policy::default(), Pages::ZERO);
    assert_eq!(log_of(&mut mm, "hugepages=many"), ["HugeTLB: Invalid hugepages parameter many"]);
    let again = "HugeTLB: hugepages= specified twice without interleaving hugepagesz=, ignoring hugepages=7";
    assert_eq!(log_of(&mut mm, "hugepages=2 hugepages=7")[0], again);
    assert_eq!(read(&mm, "vm.nr_hugepages"), "2\n");
    assert!(boot_with(&mut mm, "").is_empty(), "without parameters there is nothing to say");
}

#[test]
fn inputs_that_the_fuzzer_starts_from_boot_or_are_refused() {
    let corpus = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/command_line");
    let files: Vec<_> = std::fs::read_dir(corpus).expect("there is a corpus").collect();
    assert!(files.len() >= 3);
    for file in files {
        let text = std::fs::read(file.expect("the folder is readable").path()).expect("inputs are readable");
        boot::run(&String::from_utf8_lossy(&text));
    }
}
