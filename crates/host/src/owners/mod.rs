//! Owners of memory: which processes, files and control groups hold the frames of this host, and which users in the kernel hold most.
//!
//! Key type: [`Owners`](order9_snapshot::owners::Owners). `processes` chooses whom to look at, `pagemap` says which frames they have,
//! `cgroups` which control group pays for a frame, `kernel` what the kernel has, `callers` which code of the kernel allocated a frame. Names are private data, so that nobody looks unless asked.
//!
//! The look has bounds: the largest processes alone, and a time for all of them. A process that ends meanwhile is left out.

mod callers;
mod cgroups;
mod kernel;
mod pagemap;
mod processes;
mod sparse;

use std::io;

use order9_snapshot::FrameMap;
use order9_snapshot::owners::{MappedFile, OWNERS_MAX, OwnerMap, OwnerMapBuilder, Owners, User};
use order9_units::{Nanos, Pages, PfnRange};

use crate::smaps::MappedRange;
use crate::stopwatch::Stopwatch;
use callers::Callers;
use cgroups::CgroupWords;
use pagemap::{Entry, PageMap};
use sparse::Sparse;

/// Most processes that are looked at.
const PROCESSES_MAX: usize = 64;
/// CPU time, and time on a host that is busy, after which no other process is looked at, and no other record of page_owner.
const CPU_MAX: Nanos = Nanos::new(2_000_000_000);
const WALL_MAX: Nanos = Nanos::new(20_000_000_000);
/// Mapping names of pages that all processes have in common.
const COMMON: [&str; 3] = ["[vvar]", "[vvar_vclock]", "[vdso]"];
/// Beginnings of the names of files that go when the last process that maps them ends.
const PASSING: [&str; 4] = ["/memfd:", "/dev/zero", "/SYSV", "/anon_hugepage"];

/// Looks for the owners of the frames of this host, of which a map was just read.
///
/// # Errors
/// Where the kernel does not show whose frames are whose, with the right or option that is needed.
pub(crate) fn owners(frames: &FrameMap) -> Result<Owners, String> {
    let mut look = Look::new(frames.len());
    look.processes()?;
    look.callers(frames);
    let Look { mut owners, taken, .. } = look;
    owners.kernel = kernel::largest();
    owners.map = map(&mut owners, &taken, frames.len());
    Ok(owners)
}

/// A look under way.
struct Look {
    owners: Owners,
    /// Place of the user of each frame.
    taken: Sparse,
    watch: Stopwatch,
}

impl Look {
    fn new(frames: Pages) -> Self {
        Self { owners: Owners::default(), taken: Sparse::new(frames), watch: Stopwatch::start() }
    }

    fn is_over(&self) -> bool {
        is_over(&self.watch)
    }

    /// Looks at the largest processes, one after the other.
    fn processes(&mut self) -> Result<(), String> {
        let all = processes::by_size();
        let (mut looked, mut denied, mut gone) = (0, 0, 0);
        for pid in all.iter().take(PROCESSES_MAX).copied() {
            if self.is_over() {
                break;
            }
            match self.process(pid) {
                Ok(()) => looked += 1,
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => denied += 1,
                // The process has ended, and needs no look any more.
                Err(_) => gone += 1,
            }
        }
        if looked == 0 && denied > 0 {
            return Err("needs root (CAP_SYS_ADMIN and CAP_SYS_PTRACE)".to_owned());
        }
        let refused = if denied > 0 { format!(", {denied} may not be") } else { String::new() };
        if looked + gone < all.len() {
            let all = all.len();
            self.owners.notes.push(format!("the {looked} largest of {all} processes were looked at{refused}"));
        }
        Ok(())
    }

    fn process(&mut self, pid: u32) -> io::Result<()> {
        let (process, ranges) = processes::read(pid)?;
        let mut pages = PageMap::open(pid)?;
        let id = self.owners.users.len();
        self.owners.users.push(User::Process(process));
        for range in ranges.iter().filter(|range| range.resident.get() > 0 && !COMMON.contains(&range.name.as_str())) {
            if self.is_over() {
                break;
            }
            let file = self.file(range, pid);
            pages.for_each(range.start, range.end, |entry| {
                let owner = owner(entry, range, id, file);
                self.taken.take(entry.pfn, owner, entry.is_exclusive);
            })?;
        }
        Ok(())
    }

    /// Looks at the kernel's own frames, where the kernel says who allocated them.
    fn callers(&mut self, frames: &FrameMap) {
        let Some(file) = callers::open() else { return };
        self.watch = Stopwatch::start();
        let users = self.owners.users.len();
        let mut names = Callers::new(OWNERS_MAX - users);
        let (taken, watch) = (&mut self.taken, &self.watch);
        let note = |range: PfnRange, caller: usize| {
            range.iter().for_each(|pfn| taken.take(pfn.get(), users + caller, false));
        };
        let all = callers::for_each(frames, callers::reader(&file), || is_over(watch), &mut names, note);
        self.owners.callers = names.names;
        match all {
            Ok(true) => {}
            Ok(false) => self.owners.notes.push("time was up before all records of page_owner were read".to_owned()),
            Err(error) => self.owners.notes.push(format!("{}: {}", callers::FILE, error.kind())),
        }
    }

    /// Place of the file that a range maps; `None` where it maps none, or there are too many.
    fn file(&mut self, range: &MappedRange, pid: u32) -> Option<usize> {
        if !range.name.starts_with('/') {
            return None;
        }
        let users = &mut self.owners.users;
        let known = users.iter().position(|user| matches!(user, User::File(file) if file.path == range.name));
        known.or_else(|| {
            let file = MappedFile { path: range.name.clone(), pid };
            (users.len() < OWNERS_MAX - PROCESSES_MAX).then(|| users.push(User::File(file)))?;
            Some(users.len() - 1)
        })
    }
}

fn is_over(watch: &Stopwatch) -> bool {
    watch.cpu() >= CPU_MAX || watch.wall() >= WALL_MAX
}

/// Owner of a page: the file that is mapped there, unless the page goes with the process.
fn owner(entry: Entry, range: &MappedRange, process: usize, file: Option<usize>) -> usize {
    let goes = entry.is_exclusive && PASSING.iter().any(|start| range.name.starts_with(start));
    file.filter(|_| entry.is_of_file && !goes).unwrap_or(process)
}

/// Owners of all frames: users as they were found, control groups as /proc/kpagecgroup has them.
fn map(owners: &mut Owners, taken: &Sparse, frames: Pages) -> OwnerMap {
    let mut builder = OwnerMapBuilder::default();
    let mut cgroups = match CgroupWords::open() {
        Ok(words) => Some(words),
        Err(reason) => {
            owners.notes.push(format!("control groups of frames: {reason}"));
            None
        }
    };
    for pfn in 0..frames.get() {
        let cgroup = cgroups.as_mut().and_then(|words| words.next(&mut owners.cgroups));
        builder.push(taken.get(pfn), cgroup);
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_files_that_go_with_a_process_are_the_process_s() {
        let range = |name: &str| MappedRange { name: name.to_owned(), ..MappedRange::default() };
        let entry = |is_of_file, is_exclusive| Entry { pfn: 1, is_of_file, is_exclusive };
        assert_eq!(owner(entry(true, true), &range("/lib/libc.so"), 0, Some(3)), 3);
        assert_eq!(owner(entry(false, true), &range("/lib/libc.so"), 0, Some(3)), 0, "a private copy");
        assert_eq!(owner(entry(true, true), &range("/memfd:guest (deleted)"), 0, Some(3)), 0);
        assert_eq!(owner(entry(true, false), &range("/dev/zero (deleted)"), 0, Some(3)), 3, "others have it, too");
        assert_eq!(owner(entry(true, true), &range("anon_inode:[io_uring]"), 0, None), 0);
    }

    #[test]
    fn this_process_finds_its_memory() {
        let frames = Pages::new(1 << 24);
        let mut look = Look::new(frames);
        match look.process(std::process::id()) {
            Ok(()) => assert!(look.owners.users[0].process().is_some_and(|of| of.resident > Pages::ZERO)),
            Err(error) => println!("skipped: {error}"),
        }
    }
}
