//! Captures: of this host with whatever rights the test has, and of copied files.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::support::{bundled, order9, order9_line};

/// Copies of the files that need no privilege.
fn bundle(folder: &Path) {
    let zoneinfo = "Node 0, zone   Normal\n  pages free     600\n        min      10\n        low      12\n        high     14\n        \
                    spanned  1024\n        present  1024\n        managed  1024\n  start_pfn:           0\n";
    let files = [
        ("zoneinfo", zoneinfo),
        (
            "buddyinfo",
            "Node 0, zone   Normal     88      0      0      0      0      0      0      0      0      1      0\n",
        ),
        ("vmstat", "nr_free_pages 600\ncompact_stall 4\ncompact_success 3\ncompact_fail 1\n"),
    ];
    fs::create_dir_all(folder.join("proc")).unwrap();
    for (name, text) in files {
        fs::write(folder.join("proc").join(name), text).unwrap();
    }
}

#[test]
fn this_host_can_be_captured_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.o9snap");
    let text = order9_line("capture -o {}", &path).success();
    assert!(text.starts_with(path.to_str().unwrap()), "{text}");
    let info = order9_line("snapshot info {}", &path).success();
    let shown = order9_line("inspect {}", &path).success();
    if text.contains("not measured") || !shown.contains("Memory map") {
        writeln!(std::io::stderr(), "skipped in part: no right to the map, or too little memory for prices").unwrap();
        return;
    }
    assert!(text.contains("\nmeasured: ") && info.contains(" to copy a page, "), "{text}{info}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&shown).contains("measured on the host when it was captured"), "{shown}");
    let without = order9_line("capture --no-calibrate -o {}", &path).success();
    assert!(!without.contains("measured: "), "{without}");
    let shown = order9_line("inspect {}", &path).success();
    assert!(shown.contains("(machine epyc-vm: ") && !words(&shown).contains("measured on the host"), "{shown}");
}

#[test]
fn without_the_map_the_rest_is_shown_and_the_lack_said_first() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let text = order9_line("inspect --root {}", folder.path()).success();
    assert!(text.starts_with("No map: the memory map could not be read"), "{text}");
    assert!(text.contains("85 % of free memory"), "{text}");
    assert!(text.contains("compact_stall"), "{text}");
}

#[test]
fn a_capture_without_the_map_keeps_what_there_is() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let path = folder.path().join("rest.o9snap");
    let words = ["capture", "-o", path.to_str().unwrap(), "--root", folder.path().to_str().unwrap()];
    assert!(order9(words).success().contains("not read: /proc/kpageflags"));
    assert!(order9_line("inspect {}", &path).success().starts_with("No map: the memory map could not be read"));
}

#[test]
fn secrets_that_a_bundle_links_to_are_in_no_output() {
    const SECRET: &str = "hunter2";
    let outside = tempfile::tempdir().unwrap();
    for name in ["shadow", "swappiness"] {
        fs::write(outside.path().join(name), format!("root:$6${SECRET}:19000:0:99999:7:::\n")).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let proc = folder.path().join("proc");
    fs::create_dir_all(proc.join("sys/kernel")).unwrap();
    std::os::unix::fs::symlink(outside.path(), proc.join("sys/vm")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("shadow"), proc.join("cmdline")).unwrap();
    fs::copy(outside.path().join("shadow"), proc.join("sys/kernel/osrelease")).unwrap();
    fs::copy(outside.path().join("shadow"), proc.join("kpageflags")).unwrap();
    let path = folder.path().join("bundle.o9snap");
    let words = ["capture", "-o", path.to_str().unwrap(), "--root", folder.path().to_str().unwrap()];
    let captured = order9(words).success();
    for refused in [
        "not read: /proc/sys/vm: refused: proc/sys/vm is a link",
        "not read: /proc/cmdline: refused: proc/cmdline is a link",
        "not read: /proc/sys/kernel/osrelease: cannot be used: line 1: expected a kernel release",
        "not read: /proc/kpageflags: cannot be read: holds a word that no kernel prints there",
    ] {
        assert!(captured.contains(refused), "{captured}");
    }
    let shown = [
        captured,
        order9_line("snapshot info --json {}", &path).success(),
        order9_line("inspect --json {}", &path).success(),
        order9_line("inspect --root {}", folder.path()).success(),
    ];
    assert!(shown.iter().all(|text| !text.contains(SECRET)), "{shown:?}");
    assert!(!unpacked(&fs::read(&path).unwrap()).windows(SECRET.len()).any(|bytes| bytes == SECRET.as_bytes()));
}

/// The decompressed sections of a snapshot file, one after the other.
fn unpacked(file: &[u8]) -> Vec<u8> {
    let (mut rest, mut all) = (&file[24..], Vec::new());
    while !rest.is_empty() {
        let stored = u64::from_le_bytes(rest[8..16].try_into().unwrap()) as usize;
        all.extend(zstd::decode_all(&rest[24..24 + stored]).unwrap());
        rest = &rest[24 + stored..];
    }
    all
}

#[test]
fn what_identifies_a_host_is_cut_to_what_an_analysis_needs() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    fs::create_dir_all(folder.path().join("proc/sys/kernel")).unwrap();
    for (name, text) in [
        ("sys/kernel/osrelease", "5.14.0-503.11.1.el9_5.acme.x86_64\n"),
        ("uptime", "93784.12 1.00\n"),
        ("cmdline", "root=UUID=12 hugepagesz=2M hostname=web7 mem=16G zswap.compressor=acme\n"),
    ] {
        fs::write(folder.path().join("proc").join(name), text).unwrap();
    }
    let path = folder.path().join("cut.o9snap");
    let capture = |more: &[&str]| {
        let words = ["capture", "-o", path.to_str().unwrap(), "--root", folder.path().to_str().unwrap()];
        order9(words.into_iter().chain(more.iter().copied())).success();
        order9_line("snapshot info --json {}", &path).success()
    };
    let info = capture(&[]);
    for kept in [
        "\"kernel_release\": \"5.14.0-503.el9\"",
        "\"uptime\": 93600000000000",
        "\"kernel_command_line\": \"hugepagesz=2M mem=16G zswap.compressor=?\"",
        "\"kernel_parameters_dropped\": 2",
    ] {
        assert!(info.contains(kept), "{kept}: {info}");
    }
    assert!(capture(&["--full-release"]).contains("5.14.0-503.11.1.el9_5.acme.x86_64"));
}

#[test]
fn a_linked_output_keeps_its_link() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (target, link) = (directory.path().join("target.o9snap"), directory.path().join("link.o9snap"));
    std::fs::write(&target, "old").expect("the target can be written");
    std::os::unix::fs::symlink(&target, &link).expect("a link can be made");
    let mut order9 = std::process::Command::new(env!("CARGO_BIN_EXE_order9"));
    let done = order9.args(["snapshot", "synth", "--size", "1G", "-o"]).arg(&link).output().expect("order9 runs");
    assert!(done.status.success(), "{done:?}");
    assert!(link.is_symlink());
    assert!(std::fs::metadata(&target).expect("the target is there").len() > 100);
}

#[test]
fn owners_are_kept_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("host.o9snap");
    let json = |line: &str| -> serde_json::Value {
        serde_json::from_str(&order9_line(line, &path).success()).expect("it is JSON")
    };
    let text = order9_line("capture --owners --no-calibrate -o {}", &path).success();
    let shown = json("inspect {} --json");
    if text.contains("not read: owners of memory") || shown["total"]["findings"].is_null() {
        writeln!(std::io::stderr(), "SKIPPED: a test of owners: no right to look at processes").unwrap();
        return;
    }
    let users = shown["owners"]["users"].as_array().unwrap();
    assert!(users.iter().any(|user| user["owner"]["process"]["pid"].as_u64() > Some(0)), "{users:#?}");
    assert!(order9_line("inspect {}", &path).success().contains("Who holds memory"));
    order9_line("capture --no-calibrate -o {}", &path).success();
    assert!(json("inspect {} --json")["owners"].is_null(), "nobody's names are kept unasked");
}

/// A guest of 512 MiB whose kernel 6.1 was built with CONFIG_PAGE_OWNER and booted with `page_owner=on`, right after it had made 3,000 files.
#[test]
fn code_of_the_kernel_has_the_pages_that_its_slab_caches_count() {
    let path = bundled("page-owner-6.1.o9snap");
    let shown: serde_json::Value =
        serde_json::from_str(&order9_line("inspect {} --json", &path).success()).expect("it is JSON");
    let named = |list: &str, name: &dyn Fn(&serde_json::Value) -> bool| {
        let list = shown["owners"][list].as_array().unwrap();
        list.iter().find(|of| name(of)).unwrap_or_else(|| panic!("{list:#?}"))["pages"].as_u64().unwrap()
    };
    for (function, cache) in [("shmem_alloc_inode", "shmem_inode_cache"), ("__kernfs_new_node", "kernfs_node_cache")] {
        let by_function = named("callers", &|of| of["owner"]["function"] == function);
        let in_cache = named("kernel", &|of| of["name"] == cache);
        assert!(by_function > 0 && by_function.abs_diff(in_cache) <= in_cache / 50, "{by_function} {in_cache}");
    }
    let text = order9_line("inspect {}", &path).success();
    assert!(text.contains("allocated in the kernel by") && text.contains("shmem_alloc_inode"), "{text}");
}

#[test]
fn a_process_that_is_not_there_cannot_be_collapsed() {
    let refused = order9(["collapse", "4194305"]).refusal().to_owned();
    assert!(refused.starts_with("process 4194305: no such process"), "{refused}");
}
