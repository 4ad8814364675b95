//! The files of the kernel from which the host makes a snapshot of the guest's memory.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use miniz_oxide::deflate::compress_to_vec;
use order9_live::FromGuest;

use crate::cpu_lists;

/// Files that say what machine and what settings there are, and directories with all that is below them. What a kernel does not have is
/// left out.
const SETTINGS: [&str; 17] = [
    "/proc/iomem",
    "/proc/cmdline",
    "/proc/uptime",
    "/proc/pressure/memory",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/vm",
    "/sys/kernel/mm/transparent_hugepage",
    "/sys/kernel/mm/hugepages",
    "/sys/kernel/mm/lru_gen",
    "/sys/kernel/mm/numa",
    "/sys/kernel/mm/mempolicy",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/node",
    "/sys/devices/system/memory",
    "/sys/block/zram0/disksize",
    "/proc/swaps",
];

/// Files that say where pages are, and how many.
const PAGES: [&str; 7] = [
    "/proc/zoneinfo",
    "/proc/vmstat",
    "/proc/meminfo",
    "/proc/buddyinfo",
    "/proc/pagetypeinfo",
    "/proc/kpageflags",
    "/proc/kpagecount",
];

/// Depth of directories below those that are named.
const DEPTH: usize = 4;
/// Bytes that are compressed at once: a guest has little memory, and a program in it has most of that.
const PIECE: usize = 256 << 10;
/// The fastest level of compression: maps repeat themselves.
const LEVEL: u8 = 1;

/// Per-CPU lists of free pages while a map is made.
#[derive(Clone, Copy)]
pub(crate) enum Lists {
    /// As the program that runs has made them.
    AsTheyAre,
    /// [Kept short](cpu_lists::kept_short).
    Short,
}

/// Sends all of them.
pub(crate) fn send(snapshot: &str, lists: Lists, mut to: impl FnMut(&FromGuest) -> io::Result<()>) -> io::Result<()> {
    send_files(snapshot, &SETTINGS, &mut to)?;
    let mut pages = || send_files(snapshot, &PAGES, &mut to);
    match lists {
        Lists::AsTheyAre => pages(),
        Lists::Short => cpu_lists::kept_short(pages),
    }?;
    to(&FromGuest::MapEnds { snapshot: snapshot.to_owned() })
}

fn send_files(snapshot: &str, files: &[&str], to: &mut impl FnMut(&FromGuest) -> io::Result<()>) -> io::Result<()> {
    let mut paths = Vec::new();
    files.iter().for_each(|path| list(Path::new(path), DEPTH, &mut paths));
    paths.into_iter().try_for_each(|path| send_file(snapshot, &path, to))
}

/// The regular files at and below `path`.
fn list(path: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let Ok(kind) = fs::symlink_metadata(path).map(|data| data.file_type()) else { return };
    if kind.is_file() {
        found.push(path.to_owned());
    } else if kind.is_dir() && depth > 0 {
        let Ok(entries) = fs::read_dir(path) else { return };
        let mut entries: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        entries.sort_unstable();
        entries.iter().for_each(|entry| list(entry, depth - 1, found));
    }
}

fn send_file(snapshot: &str, path: &Path, to: &mut impl FnMut(&FromGuest) -> io::Result<()>) -> io::Result<()> {
    // Files that can only be written, and those of switched-off parts, are not there to be read.
    let Ok(mut file) = File::open(path) else { return Ok(()) };
    let mut buffer = vec![0; PIECE];
    loop {
        let mut length = 0;
        while length < buffer.len() {
            match file.read(&mut buffer[length..]) {
                Ok(0) | Err(_) => break,
                Ok(read) => length += read,
            }
        }
        if length > 0 {
            let deflated = compress_to_vec(&buffer[..length], LEVEL);
            let path = path.display().to_string();
            to(&FromGuest::Map { snapshot: snapshot.to_owned(), path, deflated })?;
        }
        if length < buffer.len() {
            return Ok(());
        }
    }
}
