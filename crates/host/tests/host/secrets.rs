//! Bundles that try to get at files of the host that reads them, by every kind of link, and what is said of each.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use order9_host::{Options, Root, capture};
use order9_snapshot::Snapshot;
use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::mount::{MountPropagationFlags, UnmountFlags, mount_bind, mount_change, unmount};

use crate::support::{Bundle, reason};

/// In every file outside the bundle, line by line, and so in every 64-bit word.
const SECRET: &str = "hunter2!hunter2!";

/// Everything that a capture reads in a bundle, sizes and nodes for examples.
const FILES: &[&str] = &[
    "/proc/zoneinfo",
    "/proc/buddyinfo",
    "/proc/pagetypeinfo",
    "/proc/vmstat",
    "/proc/meminfo",
    "/proc/uptime",
    "/proc/cmdline",
    "/proc/iomem",
    "/proc/pressure/memory",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/vm/swappiness",
    "/proc/sys/vm/lowmem_reserve_ratio",
    "/proc/sys/vm/numa_zonelist_order",
    "/sys/kernel/mm/transparent_hugepage/enabled",
    "/sys/kernel/mm/transparent_hugepage/khugepaged/defrag",
    "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled",
    "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/swpout",
    "/sys/kernel/mm/hugepages/hugepages-2048kB/demote_size",
    "/sys/kernel/mm/lru_gen/enabled",
    "/sys/kernel/mm/numa/demotion_enabled",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/node/node0/distance",
    "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
    "/sys/devices/system/memory/block_size_bytes",
    "/proc/kpageflags",
    "/proc/kpagecount",
];

/// A bundle that can be captured, in which `path` has nothing yet, and the directory with the secret beside it.
struct Trap {
    bundle: Bundle,
    outside: tempfile::TempDir,
}

impl Trap {
    fn new() -> Self {
        let outside = tempfile::tempdir().expect("a temporary directory");
        fs::write(outside.path().join("secret"), format!("{SECRET}\n").repeat(64)).expect("a secret");
        // Settings that a bundle may not overwrite by linking a directory: they look as they should.
        fs::write(outside.path().join("swappiness"), "77777\n").expect("a setting");
        Self { bundle: Bundle::empty().with("/proc/vmstat", "nr_free_pages 1024\n"), outside }
    }

    /// Where `path` is, with its directory made and nothing in its place.
    fn place(&self, path: &str) -> PathBuf {
        let place = self.bundle.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().expect("a file of a directory")).expect("its directory");
        let _ = fs::remove_file(&place);
        place
    }

    fn secret(&self) -> PathBuf {
        self.outside.path().join("secret")
    }

    /// The snapshot, which has nothing of what lies outside.
    fn capture(&self, what: &str) -> Snapshot {
        match capture(&Root::directory(self.bundle.path()), Options::default()) {
            Ok(snapshot) => {
                assert_clean(&snapshot, what);
                snapshot
            }
            Err(error) => {
                assert!(!error.to_string().contains("hunter2"), "{what}: {error}");
                Snapshot::default()
            }
        }
    }
}

/// Neither metadata nor frames hold a word of the secret.
fn assert_clean(snapshot: &Snapshot, what: &str) {
    let metadata = format!("{:?}", Snapshot { frames: None, ..snapshot.clone() });
    assert!(!metadata.contains("hunter2") && !metadata.contains("77777"), "{what}: {metadata}");
    let secret: Vec<u64> =
        SECRET.as_bytes().chunks(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
    let low = |word: u64| word & 0xffff_ffff;
    for (_, chunk) in snapshot.frames.iter().flat_map(|frames| frames.chunks()) {
        for state in chunk.palette() {
            for word in [state.flags, state.count] {
                assert!(secret.iter().all(|&part| low(part) != low(word)), "{what}: {word:#x}");
            }
        }
    }
}

/// What is said of the first refused path that `path` lies in.
fn refusal(snapshot: &Snapshot, path: &str) -> String {
    let mut missing = snapshot.missing.iter().filter(|missing| path.starts_with(&missing.path));
    missing.next().map_or(String::new(), |missing| missing.reason.clone())
}

/// Skips visibly, since the test harness would swallow a `println!`.
fn skipped(what: &str) {
    writeln!(std::io::stderr(), "SKIPPED: {what}").expect("stderr");
}

#[test]
fn links_in_place_of_files_are_refused_by_name() {
    for path in FILES {
        let trap = Trap::new();
        let depth = path.matches('/').count() - 1 + trap.bundle.path().components().count();
        let relative = PathBuf::from("../".repeat(depth)).join(trap.secret().strip_prefix("/").unwrap());
        let chain = trap.bundle.path().join("chain");
        symlink(trap.secret(), &chain).unwrap();
        for target in [trap.secret(), relative, chain] {
            symlink(&target, trap.place(path)).unwrap();
            let snapshot = trap.capture(path);
            if *path != "/proc/vmstat" {
                let reason = refusal(&snapshot, path);
                assert!(reason.starts_with("refused: ") && reason.contains("is a link"), "{path}: {reason}");
            }
        }
    }
}

#[test]
fn links_in_place_of_directories_are_refused_by_name() {
    let directories = ["/proc/sys", "/proc/sys/vm", "/proc/pressure", "/sys", "/sys/kernel/mm/transparent_hugepage"];
    for directory in directories {
        let trap = Trap::new();
        fs::create_dir_all(trap.outside.path().join("vm")).unwrap();
        fs::copy(trap.outside.path().join("swappiness"), trap.outside.path().join("vm/swappiness")).unwrap();
        symlink(trap.outside.path(), trap.place(directory)).unwrap();
        let snapshot = trap.capture(directory);
        let named = snapshot.missing.iter().find(|missing| missing.reason.contains(&directory[1..]));
        assert!(named.is_some_and(|missing| missing.reason.contains("is a link")), "{directory}: {named:?}");
    }
}

#[test]
fn magic_links_are_refused() {
    let trap = Trap::new();
    symlink("/proc/self/root", trap.place("/proc/sys/vm")).unwrap();
    symlink("/proc/self/cwd", trap.place("/sys/kernel/mm")).unwrap();
    symlink("/proc/self/environ", trap.place("/proc/cmdline")).unwrap();
    let snapshot = trap.capture("magic links");
    assert!(refusal(&snapshot, "/proc/sys/vm").contains("proc/sys/vm is a link"));
    assert!(refusal(&snapshot, "/proc/cmdline").contains("proc/cmdline is a link"));
    assert_eq!(snapshot.machine.kernel_command_line, "");
}

#[test]
fn a_hard_link_to_another_file_does_not_look_like_the_kernels() {
    for path in FILES {
        let trap = Trap::new();
        // What matters is that it is a regular file; temporary directories may lie on several file systems.
        let place = trap.place(path);
        fs::hard_link(trap.secret(), &place).or_else(|_| fs::copy(trap.secret(), &place).map(drop)).unwrap();
        trap.capture(path);
    }
}

#[test]
fn texts_under_the_name_of_a_setting_are_left_out_and_named() {
    let trap = Trap::new();
    let shadow = format!("root:$6${SECRET}:19000:0:99999:7:::\n");
    fs::write(trap.place("/proc/sys/vm/swappiness"), &shadow).unwrap();
    fs::write(trap.place("/sys/kernel/mm/transparent_hugepage/enabled"), &shadow).unwrap();
    fs::write(trap.place("/proc/sys/vm/shadow"), &shadow).unwrap();
    let snapshot = trap.capture("texts");
    assert_eq!(reason(&snapshot, "/proc/sys/vm/swappiness"), "left out: expected a number");
    let expected = "left out: expected some of the words always, inherit, madvise, never, one of them in brackets";
    assert_eq!(reason(&snapshot, "/sys/kernel/mm/transparent_hugepage/enabled"), expected);
    assert_eq!(snapshot.settings.len(), 0);
}

#[test]
fn pipes_and_sockets_are_not_waited_for() {
    for path in FILES {
        let trap = Trap::new();
        mknodat(CWD, trap.place(path), FileType::Fifo, Mode::RUSR, 0).expect("a pipe");
        let snapshot = trap.capture(path);
        if *path != "/proc/vmstat" {
            assert_eq!(refusal(&snapshot, path), "refused: a pipe, expected a regular file", "{path}");
        }
    }
    let trap = Trap::new();
    let _socket = UnixListener::bind(trap.place("/proc/uptime")).expect("a socket");
    assert_eq!(refusal(&trap.capture("socket"), "/proc/uptime"), "refused: a socket, expected a regular file");
}

#[test]
fn devices_are_not_opened() {
    let trap = Trap::new();
    let zero = trap.place("/proc/kpageflags");
    // /dev/zero, whose words would all be flags.
    if mknodat(CWD, &zero, FileType::CharacterDevice, Mode::RUSR, makedev(1, 5)).is_err() {
        return skipped("devices_are_not_opened needs root, to make a device");
    }
    let snapshot = trap.capture("device");
    assert_eq!(refusal(&snapshot, "/proc/kpageflags"), "refused: a device, expected a regular file");
    assert_eq!(snapshot.frames, None);
}

#[test]
fn bind_mounts_are_refused_by_name() {
    let trap = Trap::new();
    let (file, directory) = (trap.place("/proc/sys/vm/x").with_file_name("swappiness"), trap.place("/sys/kernel/mm"));
    fs::write(&file, "").unwrap();
    fs::create_dir_all(&directory).unwrap();
    let Some(_file) = Bind::new(&trap.outside.path().join("swappiness"), &file) else {
        return skipped("bind_mounts_are_refused_by_name needs root, to mount");
    };
    let _directory = Bind::new(trap.outside.path(), &directory).expect("another mount");
    let snapshot = trap.capture("bind mounts");
    let of = |path: &str| format!("refused: {path} is another mount, and not part of this directory");
    assert_eq!(reason(&snapshot, "/proc/sys/vm/swappiness"), of("proc/sys/vm/swappiness"));
    assert_eq!(reason(&snapshot, "/sys/kernel/mm/transparent_hugepage"), of("sys/kernel/mm"));
}

/// A bind mount that ends with the test.
struct Bind(PathBuf);

impl Bind {
    /// `None` where this process may not mount.
    fn new(source: &Path, target: &Path) -> Option<Self> {
        mount_bind(source, target).ok()?;
        let mount = Self(target.to_owned());
        mount_change(target, MountPropagationFlags::PRIVATE).ok()?;
        Some(mount)
    }
}

impl Drop for Bind {
    fn drop(&mut self) {
        unmount(&self.0, UnmountFlags::DETACH).expect("unmounting what was mounted");
    }
}
