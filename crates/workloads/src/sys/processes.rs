//! Threads and processes: [`Processes`], how they start, wait for each other, and get their CPUs and their time.

use std::future::Future;
use std::ops::Add;

use order9_units::Nanos;

use super::address_space::Area;
use super::measuring::Measuring;
use super::shared::Shared;
use super::stop::Stop;
use crate::cpus::Spread;

/// System calls of a thread about itself and its children.
pub trait Processes: Sized {
    /// A thread or process that was started.
    type Child: Copy + 'static;

    /// Start of the random stream called `name` of this thread. The seed of the run decides it.
    fn seed(&self, name: &str) -> u64;

    /// Sleeps.
    fn sleep(&self, time: Nanos) -> impl Future<Output = Result<(), Stop>>;

    /// Computes for `time` without touching memory of note.
    fn compute(&self, time: Nanos) -> impl Future<Output = Result<(), Stop>>;

    /// `sched_setaffinity` of this thread, which goes on on one of `cpus`; numbers of CPUs that are not there do not count.
    /// Children that are started later are bound alike, but for threads of the kernel. `EINVAL` where no CPU is left.
    fn set_affinity(&self, cpus: &[u32]) -> impl Future<Output = Result<(), Stop>>;

    /// Sets how threads and processes of all programs spread over nodes from now on. A program on Linux cannot choose
    /// this, except by binding each thread.
    fn set_spread(&self, spread: Spread) -> impl Future<Output = Result<(), Stop>>;

    /// Sets how soon the OOM killer takes this process, and children that it starts later. `EACCES` on a real kernel, where the whole
    /// program is to go first.
    fn set_oom_score_adj(&self, adj: OomScoreAdj) -> impl Future<Output = Result<(), Stop>>;

    /// Starts a thread or process that runs `body`.
    fn spawn<B, F>(&self, kind: ChildKind, name: &str, body: B) -> impl Future<Output = Result<Self::Child, Stop>>
    where
        B: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static;

    /// Starts a process that runs `body` and has the private memory of the process with this number which memory in use belonged to at
    /// the start; `body` gets the part that is in base pages and not locked. `ESRCH` where there is none, `ENOSYS` on a real kernel.
    fn adopt<B, F>(&self, holder: u64, name: &str, body: B) -> impl Future<Output = Result<Self::Child, Stop>>
    where
        B: FnOnce(Self, Area) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static;

    /// Numbers, 0 at first, that this process has in common with all children that it starts later. Nothing else of what a body captures is
    /// common to two processes: [`ChildKind::Process`] and [`ChildKind::Fork`] have copies.
    fn share(&self, count: usize) -> Result<Shared, Stop>;

    /// Waits for the end of a child.
    fn wait(&self, child: Self::Child) -> impl Future<Output = Result<Ended, Stop>>;

    /// Waits until `threads` threads of this process wait at the barrier of this name.
    fn barrier(&self, name: &str, threads: u64) -> impl Future<Output = Result<(), Stop>>;
}

/// Kind of a child that is started.
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

/// Value of `/proc/self/oom_score_adj`: thousandths of all memory and swap by which the OOM killer takes a process for larger than it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OomScoreAdj(i16);

impl OomScoreAdj {
    /// The process is never killed.
    pub const MIN: Self = Self(-1000);
    /// The process is killed first.
    pub const MAX: Self = Self(1000);

    /// Value of `adj` thousandths, from -1000 to 1000; `None` beyond.
    #[must_use]
    pub fn new(adj: i64) -> Option<Self> {
        let adj = i16::try_from(adj).ok()?;
        (Self::MIN.0..=Self::MAX.0).contains(&adj).then_some(Self(adj))
    }

    /// Thousandths, from -1000 to 1000.
    #[must_use]
    pub const fn get(self) -> i64 {
        self.0 as i64
    }
}

/// CPU time, own and of children that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Time in user space.
    pub user: Nanos,
    /// Time in the kernel.
    pub system: Nanos,
}

impl Add for Times {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { user: self.user + other.user, system: self.system + other.system }
    }
}

/// End of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Times that it used.
    pub times: Times,
    /// Whether it came to its end.
    pub result: Result<(), Stop>,
}

/// Sleeps until `time`, if that is to come.
pub(crate) async fn sleep_until<S: Processes + Measuring>(sys: &S, time: Nanos) -> Result<(), Stop> {
    let now = sys.now();
    if time > now { sys.sleep(time - now).await } else { Ok(()) }
}
