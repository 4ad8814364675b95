//! What a program may ask of the system it runs on: [`Sys`].
//!
//! The lab implements it in virtual time, the field kit by real system calls. Calls answer as Linux does; what ends a
//! program is a [`Stop`], to be passed on with `?`. Code between two awaits must not depend on who else runs.

use std::future::Future;
use std::ops::{Add, Range};

use order9_units::{Bytes, Nanos, NodeId, NodeMask, Order, PAGE_SIZE};

use crate::cpus::Spread;
use crate::mempolicy::{MbindFlags, Mempolicy, Numastat};
use crate::tmpfs::{Mount, Statfs};

/// The system, as seen by one thread of one process. A clone is the same thread's.
pub trait Sys: Clone + 'static {
    /// What the machine has.
    fn facts(&self) -> Facts;

    /// `MemFree` and `MemAvailable` of /proc/meminfo.
    fn memory(&self) -> Memory;

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

    /// Loads `loads` words of `area`, each at random and not before the one before has come: what memory takes that caches and
    /// prefetching do not hide. What is not in memory is left out.
    fn load(&self, area: Area, loads: u64) -> impl Future<Output = Result<Loads, Stop>>;

    /// `mincore`: how many base pages of `area` are in memory.
    fn mincore(&self, area: Area) -> impl Future<Output = Result<u64, Stop>>;

    /// `get_mempolicy` with `MPOL_F_NODE | MPOL_F_ADDR`: the node of the first page of `area`, which is brought in if it is
    /// not there.
    fn page_node(&self, area: Area) -> impl Future<Output = Result<NodeId, Stop>>;

    /// `move_pages` with `MPOL_MF_MOVE` of every base page of `area` to `node`: how many of them lie there then.
    fn move_pages(&self, area: Area, node: NodeId) -> impl Future<Output = Result<u64, Stop>>;

    /// `sched_setaffinity` of this thread, which goes on on one of `cpus`; numbers of CPUs that are not there do not count.
    /// Children that are started later are bound alike, but for threads of the kernel. `EINVAL` where no CPU is left.
    fn set_affinity(&self, cpus: &[u32]) -> impl Future<Output = Result<(), Stop>>;

    /// How what is started from now on spreads over nodes, by all programs: nothing that a program of Linux can choose, but by
    /// binding each thread.
    fn set_spread(&self, spread: Spread) -> impl Future<Output = Result<(), Stop>>;

    /// `cpulist` of a node below /sys/devices/system/node: the numbers of its CPUs.
    fn cpus_of(&self, node: NodeId) -> Vec<u32>;

    /// `set_mempolicy`: where pages of this thread are allocated from now on. What it starts inherits it.
    fn set_mempolicy(&self, policy: Mempolicy) -> impl Future<Output = Result<(), Stop>>;

    /// `mbind`: the same for the pages of `area`. `EIO` where pages lie, or after all moves still lie, elsewhere.
    fn mbind(&self, area: Area, policy: Mempolicy, flags: MbindFlags) -> impl Future<Output = Result<(), Stop>>;

    /// `get_mempolicy` with `MPOL_F_ADDR`: the policy of the first page of `area`; without: that of the thread.
    fn get_mempolicy(&self, area: Option<Area>) -> impl Future<Output = Result<Mempolicy, Stop>>;

    /// `get_mempolicy` with `MPOL_F_MEMS_ALLOWED`: the nodes that the cpuset of the process has.
    fn mems_allowed(&self) -> NodeMask;

    /// `set_mempolicy_home_node`: the node to look on first, of the policy that `area` has. 5.17+.
    fn set_mempolicy_home_node(&self, area: Area, home: NodeId) -> impl Future<Output = Result<(), Stop>>;

    /// `migrate_pages` of this process: what lies on the nodes of `from` goes to those of `to`, by their place. How many pages
    /// could not.
    fn migrate_pages(&self, from: NodeMask, to: NodeMask) -> impl Future<Output = Result<u64, Stop>>;

    /// Writes `mems` to `cpuset.mems` of a cpuset that this process alone is in; with `migrates`, its pages follow
    /// (`cpuset.memory_migrate`).
    fn set_mems(&self, mems: NodeMask, migrates: bool) -> impl Future<Output = Result<(), Stop>>;

    /// /proc/self/numa_maps.
    fn numa_maps(&self) -> String;

    /// `numastat` of every node.
    fn numastat(&self) -> Vec<Numastat>;

    /// `getcpu`: the node of the CPU that runs this thread.
    fn node(&self) -> NodeId;

    /// Pins `area` for good, as `pin_user_pages` with `FOLL_LONGTERM` does for a device: its pages are brought in, and stay
    /// where they are until [`Sys::unpin`] of the same area or the end of the process.
    fn pin(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// Ends a pin; `EINVAL` where no pinned area starts there.
    fn unpin(&self, area: Area) -> impl Future<Output = Result<(), Stop>>;

    /// `mount` of tmpfs with `options` as mount(8) takes them: `huge=`, `mpol=` and `size=` (tmpfs(5)), separated by commas.
    /// `EINVAL` for others, for an `mpol=` that the kernel does not have or of nodes without memory, and before 4.8 for any `huge=` but never.
    fn mount_tmpfs(&self, options: &str) -> impl Future<Output = Result<Mount, Stop>>;

    /// `mount` with `MS_REMOUNT`: another `huge=`, for pages to come, another `mpol=`, for files to come, or another `size=`;
    /// `EINVAL` where its files hold more.
    fn remount_tmpfs(&self, mount: Mount, options: &str) -> impl Future<Output = Result<(), Stop>>;

    /// `statfs` of a mount of tmpfs: its size, and how much of it is free.
    fn statfs(&self, mount: Mount) -> impl Future<Output = Result<Statfs, Stop>>;

    /// `open` with `O_CREAT` on a mount of tmpfs: a new, empty file, open.
    fn create_on(&self, mount: Mount) -> impl Future<Output = Result<FileId, Stop>>;

    /// `ftruncate` of a file on tmpfs; `EOPNOTSUPP` on disk.
    fn truncate(&self, file: FileId, length: Bytes) -> impl Future<Output = Result<(), Stop>>;

    /// `fallocate` of a file on tmpfs, which grows where it has to; `EOPNOTSUPP` on disk. Where the mount has no room for all of
    /// it, `ENOSPC`, and the file is as before.
    fn fallocate(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<(), Stop>>;

    /// `fallocate` with `FALLOC_FL_PUNCH_HOLE` of a file on tmpfs; `EOPNOTSUPP` on disk.
    fn punch_hole(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<(), Stop>>;

    /// Makes a file of `length` and writes all of it with what cannot be compressed: create, write, close.
    fn create_file(&self, length: Bytes) -> impl Future<Output = Result<FileId, Stop>>;

    /// `unlink`: removes a file; mappings of it keep its pages.
    fn remove_file(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// `open` with `O_CREAT | O_TRUNC` of a name that is not taken: a new, empty file, open.
    fn create(&self) -> impl Future<Output = Result<FileId, Stop>>;

    /// `open` of a file that exists.
    fn open(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// `close`.
    fn close(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// One `pread`: how much was read, which is less than `length` where the file ends.
    fn read(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<Bytes, Stop>>;

    /// One `pwrite`; the file grows where it has to. `ENOSPC` where there is no room for all of it: what had room is written.
    fn write(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<(), Stop>>;

    /// `fsync`.
    fn fsync(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// `sync`.
    fn sync(&self) -> impl Future<Output = Result<(), Stop>>;

    /// Writes to /proc/sys/vm/drop_caches.
    fn drop_caches(&self, what: DropCaches) -> impl Future<Output = Result<(), Stop>>;

    /// Writes 1 to /proc/sys/vm/compact_memory, or to /sys/devices/system/node/nodeN/compact: all that can be moved there is
    /// packed, however long that takes.
    fn compact(&self, node: Option<NodeId>) -> impl Future<Output = Result<(), Stop>>;

    /// Writes to a file with the size of the hugetlb pools, and reads back how many pages the hugetlb pools hold then: fewer, where memory
    /// does not yield as many.
    fn set_nr_hugepages(&self, file: PoolFile, count: u64) -> impl Future<Output = Result<u64, Stop>>;

    /// The kernel allocates for itself, on behalf of this thread. `None` where it would have to go without: an atomic request,
    /// one of an order above 3, or one for a node alone, that memory has no room for. What is not freed outlives the process.
    fn kernel_alloc(&self, what: KernelAlloc) -> impl Future<Output = Result<Option<Self::KernelMemory>, Stop>>;

    /// The kernel frees what it allocated.
    fn kernel_free(&self, memory: Self::KernelMemory) -> impl Future<Output = Result<(), Stop>>;

    /// The kernel frees some pages of a block, by their place in it (`split_page`, then each by itself); the rest of the block
    /// is freed by other calls of this.
    fn kernel_free_pages(
        &self,
        memory: Self::KernelMemory,
        pages: Range<u64>,
    ) -> impl Future<Output = Result<(), Stop>>;

    /// Starts a thread or process that runs `body`.
    fn spawn<B, F>(&self, kind: ChildKind, name: &str, body: B) -> impl Future<Output = Result<Self::Child, Stop>>
    where
        B: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static;

    /// Waits for the end of a child.
    fn wait(&self, child: Self::Child) -> impl Future<Output = Result<Ended, Stop>>;

    /// Waits until `threads` threads of this process wait at the barrier of this name.
    fn barrier(&self, name: &str, threads: u64) -> impl Future<Output = Result<(), Stop>>;

    /// Records a latency or duration of `operation`.
    fn sample(&self, operation: &str, time: Nanos);

    /// Records the mean time of `of` operations that took `total` together.
    fn mean(&self, operation: &str, total: Nanos, of: u64);

    /// Records a rate of `operation`: how many per second.
    fn rate(&self, operation: &str, per_second: f64);

    /// Records a share of `operation`, in percent.
    fn percent(&self, operation: &str, percent: f64);

    /// Records how many there are of `what`.
    fn count(&self, what: &str, count: f64);

    /// Keeps the state of memory at this moment, as a snapshot of this name; without effect where nobody keeps any.
    fn snapshot(&self, name: &str);

    /// Says that what follows belongs to this phase of the benchmark: counters are kept for each.
    fn phase(&self, name: &str);

    /// A thread or process that was started.
    type Child: Copy + 'static;

    /// What the kernel allocated for itself.
    type KernelMemory: Copy + Send + 'static;
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
    /// Size of the disk that holds files; `None` where they live in memory, as on tmpfs.
    pub disk: Option<Bytes>,
    /// `MemAvailable` at the start, where memory was in use before; `None` where nothing was.
    pub available: Option<Bytes>,
}

impl Facts {
    /// What sizes are shares of unless somebody chooses them: all memory, or what was available where some was in use.
    #[must_use]
    pub fn room(&self) -> Bytes {
        self.available.unwrap_or(self.memory)
    }

    /// Whether memory was in use before the start, so that it need not be filled to be like that of a host.
    #[must_use]
    pub const fn starts_in_use(&self) -> bool {
        self.available.is_some()
    }
}

/// How much memory there is to be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Not used by anybody.
    pub free: Bytes,
    /// What programs could still get without swapping, by the kernel's estimate.
    pub available: Bytes,
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
    /// Pages of the hugetlb pools (`MAP_HUGETLB`); the length is rounded up to whole huge pages. `ENOMEM` where the pools have
    /// too few.
    Hugetlb {
        /// Shared with children that are forked.
        shared: bool,
    },
    /// A file from this offset on, shared and read-only.
    File(FileId, Bytes),
    /// The same, writable.
    FileShared(FileId, Bytes),
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

/// What loads at random took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// How many there were.
    pub loads: u64,
    /// CPU time of all of them together.
    pub time: Nanos,
    /// Those whose translation the TLB did not hold: `dTLB-load-misses` of perf(1).
    pub tlb_misses: u64,
}

/// What `madvise` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advice {
    /// `MADV_DONTNEED`.
    DontNeed,
    /// `MADV_FREE`: the pages may be taken until they are written again. Refused with `EINVAL` before 4.5.
    Free,
    /// `MADV_REMOVE`: what the area shows of a file is punched out of it.
    Remove,
    /// `MADV_HUGEPAGE`.
    HugePage,
    /// `MADV_NOHUGEPAGE`.
    NoHugePage,
    /// `MADV_LOCAL`, proposed in 2018. Refused with `EINVAL` but by placements of huge pages that know it.
    Local,
    /// `MADV_HUGEPAGE_FORCE_LOCAL`, proposed in 2018. The same, and with `EPERM` without privilege.
    HugePageForceLocal,
    /// `MADV_COLLAPSE`: what is there is made huge at once. Refused with `EINVAL` before 6.1.
    Collapse,
}

/// What is dropped of what only serves to save reading it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropCaches {
    /// 1: clean pages of files.
    Pages,
    /// 2: slab objects that shrinkers can free, such as dentries and inodes.
    Slab,
    /// 3: both.
    All,
}

/// A file of /proc/sys/vm with the size of the hugetlb pools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolFile {
    /// `nr_hugepages`: all nodes take turns.
    NrHugepages,
    /// `nr_hugepages_mempolicy`: the nodes of the writer's memory policy do.
    NrHugepagesMempolicy,
}

/// What the kernel allocates for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelAlloc {
    /// How much.
    pub size: KernelSize,
    /// Whether a shrinker can free it (`__GFP_RECLAIMABLE`); unmovable otherwise.
    pub reclaimable: bool,
    /// Must not wait (`GFP_ATOMIC`), as in an interrupt; `GFP_KERNEL` otherwise.
    pub atomic: bool,
    /// From this node or not at all (`__GFP_THISNODE | __GFP_NORETRY`); otherwise where the policy of the thread says.
    pub node: Option<NodeId>,
}

/// How much the kernel allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSize {
    /// Pages in one block.
    Block(Order),
    /// An object of slab (`kmalloc`); whole pages where it is larger than 8 KiB.
    Object(Bytes),
}

impl KernelAlloc {
    /// Unmovable and able to wait.
    #[must_use]
    pub const fn new(size: KernelSize) -> Self {
        Self { size, reclaimable: false, atomic: false, node: None }
    }
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
    /// A thread of the kernel, which has no memory of its own.
    Kernel,
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
