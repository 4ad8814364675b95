//! Owners of memory: processes, files, control groups and users in the kernel, where a capture was asked to look for them.
//!
//! Key types: [`Owners`] (names, and who holds each frame), [`User`] (a process, or a file that one maps), [`Caller`] (code of the kernel
//! that allocated frames), [`OwnerMap`] (two small numbers for each frame). [`Held`] counts what an owner holds of a map. Names are private
//! data: a capture keeps them on request alone.

mod held;

use order9_units::{Migratetype, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use held::{Held, Holdings};

use crate::census::Census;
use crate::flags::kpf;
use crate::{Chunk, FrameMap, FrameMapBuilder, FrameState, Snapshot};

/// Most users or control groups that a snapshot names.
pub const OWNERS_MAX: usize = 1 << 16;

/// Names of owners, and the owner of each frame as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owners {
    /// Processes and mapped files.
    pub users: Vec<User>,
    /// Functions of the kernel that allocated frames. In the map their numbers follow those of the users.
    pub callers: Vec<Caller>,
    /// Paths of control groups, as /proc/PID/cgroup has them.
    pub cgroups: Vec<String>,
    /// Users in the kernel, the largest first.
    pub kernel: Vec<KernelUse>,
    /// Limits of the look, one sentence each.
    pub notes: Vec<String>,
    /// Owners of the frames from pfn 0 on.
    pub map: OwnerMap,
}

/// User of memory that is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum User {
    /// A process, with memory that it alone has.
    Process(Process),
    /// A file that a process maps.
    File(MappedFile),
}

/// A process that was looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Number of the process.
    pub pid: u32,
    /// Name of the program, as /proc/PID/comm has it.
    pub command: String,
    /// Path of the control group of the process.
    pub cgroup: String,
    /// Resident memory.
    pub resident: Pages,
    /// Anonymous memory, huge pages included.
    pub anonymous: Pages,
    /// Anonymous memory in huge pages.
    pub anon_huge: Pages,
    /// Anonymous memory in base pages, in ranges that are advised `MADV_HUGEPAGE` and hold a huge page.
    pub advised_base: Pages,
    /// Anonymous memory in base pages, in all ranges that hold a huge page and are not advised `MADV_NOHUGEPAGE`.
    pub collapsible: Pages,
}

/// A file that is mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MappedFile {
    /// Path of the file, as /proc/PID/smaps has it.
    pub path: String,
    /// Number of the largest process that maps it.
    pub pid: u32,
}

/// Code of the kernel that allocated frames, as page_owner tells (CONFIG_PAGE_OWNER, `page_owner=on`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Caller {
    /// The function that asked for the memory.
    pub function: String,
    /// Module of the function, or of the first of its callers that belongs to one; nothing for code that is built in.
    pub module: Option<String>,
}

/// Writes the function, and its module in brackets.
impl std::fmt::Display for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.function)?;
        self.module.as_ref().map_or(Ok(()), |module| write!(f, " [{module}]"))
    }
}

/// Memory that the kernel has for a purpose of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelUse {
    /// Name of the slab cache, or function that asked for the pages, with its driver where it belongs to one.
    pub name: String,
    /// Kind of the use.
    pub kind: KernelUseKind,
    /// Pages of the use.
    pub pages: Pages,
}

/// Kind of memory of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelUseKind {
    /// A cache of /proc/slabinfo.
    Slab,
    /// A caller of /proc/vmallocinfo.
    Vmalloc,
}

/// Place of an owner in a list of [`Owners`].
pub type OwnerId = usize;

/// Owner of each frame: the user that maps it, or the caller in the kernel that allocated it, and the control group that pays for it.
///
/// The map is kept as one of frames is, in chunks with a palette: the first word is the number of the user, or of the caller after
/// all users, the second one that of the control group, both from 1 on; 0 is nobody known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnerMap(pub(crate) FrameMap);

/// Puts an [`OwnerMap`] together, in ascending order of frames.
#[derive(Debug, Default)]
pub struct OwnerMapBuilder(FrameMapBuilder);

impl OwnerMapBuilder {
    /// Appends a frame with its user and its control group.
    pub fn push(&mut self, user: Option<OwnerId>, cgroup: Option<OwnerId>) {
        self.0.push(FrameState { flags: word(user), count: word(cgroup) });
    }

    /// The finished map.
    #[must_use]
    pub fn finish(self) -> OwnerMap {
        OwnerMap(self.0.finish())
    }
}

fn word(owner: Option<OwnerId>) -> u64 {
    owner.map_or(0, |owner| owner as u64 + 1)
}

fn owner(word: u64) -> Option<OwnerId> {
    word.checked_sub(1).map(|owner| owner as OwnerId)
}

impl OwnerMap {
    /// Number of frames, from pfn 0 on.
    #[must_use]
    pub fn len(&self) -> Pages {
        self.0.len()
    }

    /// Whether there is no frame.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The user that maps a frame; from the number of users on the caller that allocated it.
    #[must_use]
    pub fn user(&self, pfn: Pfn) -> Option<OwnerId> {
        owner(self.0.get(pfn)?.flags)
    }

    /// The control group that pays for a frame.
    #[must_use]
    pub fn cgroup(&self, pfn: Pfn) -> Option<OwnerId> {
        owner(self.0.get(pfn)?.count)
    }

    /// The chunks with their first frame, upward.
    pub(crate) fn chunks(&self) -> impl Iterator<Item = (Pfn, &Chunk)> {
        self.0.chunks()
    }

    /// Whether every number is one of `users` users and callers, and of `cgroups` control groups.
    pub(crate) fn fits(&self, users: usize, cgroups: usize) -> bool {
        let fits = |word: u64, names: usize| word <= names as u64;
        let states = self.0.chunks().flat_map(|(_, chunk)| chunk.palette());
        states.into_iter().all(|state| fits(state.flags, users) && fits(state.count, cgroups))
    }
}

impl Owners {
    /// Processes with their places in the list of users.
    pub fn processes(&self) -> impl Iterator<Item = (OwnerId, &Process)> {
        self.users.iter().enumerate().filter_map(|(at, user)| match user {
            User::Process(process) => Some((at, process)),
            User::File(_) => None,
        })
    }

    /// All names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        let users = self.users.iter().flat_map(|user| match user {
            User::Process(process) => vec![&process.command, &process.cgroup],
            User::File(file) => vec![&file.path],
        });
        let callers = self.callers.iter().flat_map(|of| std::iter::once(&of.function).chain(&of.module));
        users.chain(callers).chain(&self.cgroups).chain(self.kernel.iter().map(|of| &of.name)).chain(&self.notes)
    }

    /// All names, to be changed.
    pub(crate) fn names_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let users = self.users.iter_mut().flat_map(|user| match user {
            User::Process(process) => vec![&mut process.command, &mut process.cgroup],
            User::File(file) => vec![&mut file.path],
        });
        let callers = self.callers.iter_mut().flat_map(|of| std::iter::once(&mut of.function).chain(&mut of.module));
        let kernel = self.kernel.iter_mut().map(|of| &mut of.name);
        users.chain(callers).chain(&mut self.cgroups).chain(kernel).chain(&mut self.notes)
    }
}

impl User {
    /// The process; nothing for a file.
    #[must_use]
    pub const fn process(&self) -> Option<&Process> {
        match self {
            Self::Process(process) => Some(process),
            Self::File(_) => None,
        }
    }
}

/// Writes command and pid, or the path of the file.
impl std::fmt::Display for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Process(process) => write!(f, "{} ({})", process.command, process.pid),
            Self::File(file) => f.write_str(&file.path),
        }
    }
}

/// Frames that stay when the process ends that maps them: they are no memory of programs, or a pool's.
const STAYS: u64 = kpf::NOPAGE | kpf::RESERVED | kpf::SLAB | kpf::PGTABLE | kpf::HUGE | kpf::BUDDY | kpf::HWPOISON;

impl Snapshot {
    /// The snapshot as it would be without a process: frames that it alone has are free. Pageblocks keep the types that `census` of the
    /// snapshot has.
    #[must_use]
    pub fn without_process(&self, process: OwnerId, census: &Census) -> Self {
        let (Some(frames), Some(owners)) = (&self.frames, &self.owners) else { return self.clone() };
        let mut map = FrameMapBuilder::new();
        let mut freed = Vec::new();
        for pfn in PfnRange::of(Pfn::new(0), frames.len()).iter() {
            let state = frames.get(pfn).unwrap_or_default();
            let goes = owners.map.user(pfn) == Some(process) && state.flags & STAYS == 0;
            freed.extend(goes.then_some(pfn));
            map.push(if goes { FrameState { flags: kpf::BUDDY, count: 0 } } else { state });
        }
        let mut snapshot =
            Self { frames: Some(map.finish()), block_types: Some(types(frames.len(), census)), ..self.clone() };
        for zone in &mut snapshot.zones {
            let count = freed.iter().filter(|&&pfn| zone.span.contains(pfn)).count() as u64;
            zone.free = (zone.free + Pages::new(count)).min(zone.managed);
        }
        snapshot
    }
}

/// Type of every pageblock of a map of so many frames.
fn types(frames: Pages, census: &Census) -> Vec<Migratetype> {
    let mut types = vec![Migratetype::Movable; frames.get().div_ceil(PAGEBLOCK_PAGES.get()) as usize];
    for zone in &census.zones {
        let first = (zone.start_of(0).get() / PAGEBLOCK_PAGES.get()) as usize;
        types.iter_mut().skip(first).zip(&zone.types).for_each(|(of, &mt)| *of = mt);
    }
    types
}
