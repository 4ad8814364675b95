//! What a program may ask of the system it runs on: [`Sys`].
//!
//! The lab implements it in virtual time, the field kit by real system calls. Calls answer as Linux does; what ends a
//! program is a [`Stop`], to be passed on with `?`. Code between two awaits must not depend on who else runs.

use std::future::Future;
use std::ops::Add;

use order9_units::{Bytes, Nanos, PAGE_SIZE};

/// The system, as seen by one thread of one process. A clone is the same thread's.
pub trait Sys: Clone + 'static {
    /// What the machine has.
    fn facts(&self) -> Facts;

    /// Time since an arbitrary beginning.
    fn now(&self) -> Nanos;

    /// Where the random stream called `name` of this thread starts; the same for the same seed of the run.
    fn seed(&self, name: &str) -> u64;

    /// Sleeps.
    fn sleep(&self, time: Nanos) -> impl Future<Output = Result<(), Stop>>;

    /// Computes for `time` without touching memory of note.
    fn compute(&self, time: Nanos) -> impl Future<Output = Result<(), Stop>>;

    /// `mmap`.
    fn mmap(&self, mapping: Mapping) -> impl Future<Output = Result<Area, Stop>>;

    /// `munmap`.
    fn munmap(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// `mprotect`.
    fn mprotect(&self, area: Area, prot: Prot) -> impl Future<Output = Result<(), Stop>>;

    /// `mremap` with `MREMAP_MAYMOVE`: the area as it is afterwards.
    fn mremap(&self, area: Area, length: Bytes) -> impl Future<Output = Result<Area, Stop>>;

    /// `madvise`.
    fn madvise(&self, area: Area, advice: Advice) -> impl Future<Output = Result<(), Stop>>;

    /// `mlock`.
    fn mlock(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// `munlock`.
    fn munlock(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// Accesses one word of every base page of `area`, upward.
    fn touch(&self, area: Area, access: Access) -> impl Future<Output = Result<(), Stop>>;

    /// Stores to every byte of `area`, upward.
    fn fill(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// Makes a file of `length` and writes all of it with what cannot be compressed.
    fn create_file(&self, length: Bytes) -> impl Future<Output = Result<FileId, Stop>>;

    /// Removes a file; mappings of it keep its pages.
    fn remove_file(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// Starts a thread or process that runs `body`.
    fn spawn<B, F>(&self, kind: ChildKind, name: &str, body: B) -> impl Future<Output = Result<Self::Child, Stop>>
    where
        B: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static;

    /// Waits for the end of a child.
    fn wait(&self, child: Self::Child) -> impl Future<Output = Result<Ended, Stop>>;

    /// Records a latency or duration of `operation`.
    fn sample(&self, operation: &str, time: Nanos);

    /// Says that what follows belongs to this phase of the benchmark: counters are kept for each.
    fn phase(&self, name: &str);

    /// A thread or process that was started.
    type Child: Copy + 'static;
}

/// What a machine has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// `MemTotal`: memory that the allocator manages.
    pub memory: Bytes,
    /// Logical CPUs.
    pub cpus: u32,
    /// Memory of each node.
    pub nodes: Vec<Bytes>,
}

/// Memory of a program, page aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Address of the first byte.
    pub start: u64,
    /// How much.
    pub length: Bytes,
}

/// What is mapped, readable and, where it is not a file, writable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// How much.
    pub length: Bytes,
    /// Of what.
    pub of: Of,
}

/// What the pages of a mapping are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Private memory of the process.
    Anon,
    /// Memory shared with children that are forked.
    Shared,
    /// A file from this offset on, shared and read-only.
    File(FileId, Bytes),
    /// A file from this offset on, private: what is written is the process's own.
    FilePrivate(FileId, Bytes),
}

/// A file, by a number of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// What a program may do with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prot {
    /// Nothing.
    None,
    /// Read.
    Read,
    /// Read and write.
    ReadWrite,
}

/// How a page is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One word is loaded.
    Read,
    /// One word is stored.
    Write,
}

/// What `madvise` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// `MADV_DONTNEED`.
    DontNeed,
    /// `MADV_HUGEPAGE`.
    HugePage,
    /// `MADV_NOHUGEPAGE`.
    NoHugePage,
}

/// What kind of child is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChildKind {
    /// A thread of the same process.
    Thread,
    /// A process with memory of its own, empty at the start.
    Process,
    /// A process with a copy of this one's memory, as `fork` makes it.
    Fork,
}

/// CPU time, own and of children that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// In user space.
    pub user: Nanos,
    /// In the kernel.
    pub system: Nanos,
}

/// How a child ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// What it used.
    pub times: Times,
    /// Whether it came to its end.
    pub result: Result<(), Stop>,
}

/// What ends a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A system call was refused.
    #[error("{call} failed with {errno}")]
    Refused {
        /// Its name.
        call: &'static str,
        /// Name of the error, as in errno(3).
        errno: &'static str,
    },
    /// Memory was accessed that is not there, or not so.
    #[error("{signal} at {addr:#x}")]
    Signal {
        /// `SIGSEGV` or `SIGBUS`.
        signal: &'static str,
        /// The address.
        addr: u64,
    },
    /// The process was killed because memory had run out.
    #[error("{process} was killed because memory had run out")]
    Killed {
        /// Its name.
        process: String,
    },
    /// Memory had run out, and nobody was left to be killed for it.
    #[error("memory has run out: {0}")]
    OutOfMemory(String),
}

impl Area {
    /// `length` bytes from `offset` on, both whole pages, as far as the area goes.
    #[must_use]
    pub fn part(self, offset: Bytes, length: Bytes) -> Self {
        let offset = offset.min(self.length);
        Self { start: self.start + offset.get(), length: length.min(self.length - offset) }
    }

    /// The base pages of the area.
    #[must_use]
    pub fn pages(self) -> u64 {
        self.length.get().div_ceil(PAGE_SIZE.get())
    }
}

impl Mapping {
    /// Private memory.
    #[must_use]
    pub const fn anon(length: Bytes) -> Self {
        Self { length, of: Of::Anon }
    }
}

impl Add for Times {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }
}
