//! Processes: an address space, the threads in it, and the children they wait for.
//!
//! Nothing is ever cancelled from outside: a killed process finds out at its next call of the system, so that what is in
//! its hands (a page just allocated, a lock) is never lost.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin as Pinned;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use order9_mm::tasks::fill_tables;
use order9_mm::{Errno, SpaceId};
use order9_units::Nanos;
use order9_workloads::{Area, ChildKind, Ended, Measuring as _, OomScoreAdj, Processes, Shared, Spread, Stop, Times};
use rand_pcg::rand_core::Rng as _;

use crate::faults::refused;
use crate::kernel::Kernel;
use crate::mmap_lock::{VmaLocks, all_mappings};
use crate::pages::Pin;
use crate::thread::Thread;
use crate::time::{Class, CpuId, Handle, LockId, LockKind, Mode, NoSuchCpu, QueueId, TaskId, TaskSpec};

/// Time of computing after which a thread sees that its process is killed. So no reaper of the kernel has to take its memory before.
const DIES_WITHIN: Nanos = Nanos::new(100_000_000);

pub(crate) struct Process {
    pub(crate) name: Rc<str>,
    pub(crate) space: SpaceId,
    /// Lock of the address space.
    pub(crate) mmap_lock: LockId,
    pub(crate) vma_locks: VmaLocks,
    /// Threads that live; none once it has ended.
    pub(crate) threads: Cell<u64>,
    pub(crate) killed: Cell<bool>,
    pub(crate) oom_score_adj: Cell<OomScoreAdj>,
    /// A thread of the kernel.
    pub(crate) kthread: bool,
    /// Pages it has made dirty since it last looked at how many there are.
    pub(crate) dirtied: Cell<u64>,
    /// Wait queue in which its threads wait for time and for children. A kill wakes them all.
    pub(crate) waiting: QueueId,
    /// All threads it ever had.
    tasks: RefCell<Vec<TaskId>>,
    children: RefCell<Vec<Ending>>,
    /// Times of processes that were waited for.
    waited: Cell<Times>,
    /// Barriers of its threads by name.
    pub(crate) barriers: RefCell<BTreeMap<String, Barrier>>,
    /// Pages that the process has pinned.
    pub(crate) pins: RefCell<Vec<Pin>>,
}

/// A place where threads wait for each other.
#[derive(Clone, Copy, Default)]
pub(crate) struct Barrier {
    /// Number of threads that wait.
    waiting: u64,
    /// Number of times that all threads have come.
    passed: u64,
}

/// The code of a thread, whatever its type: what starts a thread is compiled once, not once for each program.
pub(crate) type Body = Box<dyn FnOnce(Thread) -> Pinned<Box<dyn Future<Output = Result<(), Stop>>>>>;

pub(crate) fn boxed<F>(body: impl FnOnce(Thread) -> F + 'static) -> Body
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    Box::new(move |thread| Box::pin(body(thread)))
}

/// A child, and how it ended if it has.
type Ending = Option<Ended>;

/// A thread or process that a process has started, by its number there.
#[derive(Clone, Copy, Debug)]
pub struct Child(usize);

impl Process {
    pub(crate) fn new(handle: &Handle, name: &str, space: SpaceId, kthread: bool) -> Self {
        Self {
            name: name.into(),
            space,
            mmap_lock: handle.new_lock(&format!("mmap_lock of {name}"), LockKind::Sleeping),
            vma_locks: VmaLocks::new(handle, name),
            threads: Cell::new(1),
            killed: Cell::new(false),
            oom_score_adj: Cell::default(),
            kthread,
            dirtied: Cell::default(),
            waiting: handle.new_queue(&format!("threads of {name}")),
            tasks: RefCell::default(),
            children: RefCell::default(),
            waited: Cell::default(),
            barriers: RefCell::default(),
            pins: RefCell::default(),
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.threads.get() == 0
    }

    /// Tells all threads that it is over.
    pub(crate) fn kill(&self, handle: &Handle) {
        self.killed.set(true);
        handle.wake_all(self.waiting);
    }

    pub(crate) fn killed_stop(&self) -> Stop {
        Stop::Killed { process: self.name.to_string() }
    }

    /// CPU time of its threads and of processes that were waited for.
    pub(crate) fn times(&self, handle: &Handle) -> Times {
        let tasks = self.tasks.borrow();
        tasks.iter().map(|&task| task_times(handle, task)).fold(self.waited.get(), |sum, times| sum + times)
    }
}

fn task_times(handle: &Handle, task: TaskId) -> Times {
    let stats = handle.task_stats(task);
    Times { user: stats.user, system: stats.system + stats.spin }
}

impl Kernel {
    /// Starts a process with an address space of its own, whose first thread runs `body` and tells `parent`.
    pub(crate) fn start_process(
        self: &Rc<Self>,
        name: &str,
        kind: ChildKind,
        space: SpaceId,
        parent: Option<(Thread, Child)>,
        body: Body,
    ) {
        let process = Rc::new(Process::new(&self.handle, name, space, kind == ChildKind::Kernel));
        if let Some((parent, _)) = &parent {
            process.oom_score_adj.set(parent.process.oom_score_adj.get());
        }
        self.processes.borrow_mut().push(Rc::clone(&process));
        let kernel = Rc::clone(self);
        let thread = Thread { kernel, process, task: space.into(), visits: false, next_look: Rc::default() };
        let own = thread.clone();
        thread.start(name, async move {
            let result = body(own.clone()).await;
            let result = own.end_process(result).await;
            if let Some((parent, child)) = parent {
                let times = own.process.times(&own.kernel.handle);
                parent.process.waited.set(parent.process.waited.get() + times);
                parent.child_ended(child, Ended { times, result });
            }
        });
    }
}

impl Processes for Thread {
    type Child = Child;

    fn seed(&self, name: &str) -> u64 {
        self.kernel.handle.stream(name).next_u64()
    }

    async fn sleep(&self, time: Nanos) -> Result<(), Stop> {
        self.enter().await?;
        let end = self.now() + time;
        while self.now() < end {
            self.alive()?;
            self.kernel.handle.wait(self.process.waiting, Some(end - self.now())).await;
        }
        self.alive()
    }

    async fn compute(&self, time: Nanos) -> Result<(), Stop> {
        let mut rest = time;
        while rest > Nanos::ZERO {
            let piece = rest.min(DIES_WITHIN);
            self.run_user(piece).await;
            self.alive()?;
            rest -= piece;
        }
        self.alive()
    }

    async fn set_affinity(&self, cpus: &[u32]) -> Result<(), Stop> {
        self.enter().await?;
        let cpus = cpus.iter().filter_map(|&cpu| u16::try_from(cpu).ok().map(CpuId)).collect();
        let bound = self.kernel.handle.set_affinity(&cpus).await;
        bound.map_err(|NoSuchCpu| refused("sched_setaffinity", Errno::Einval))
    }

    fn share(&self, count: usize) -> Result<Shared, Stop> {
        Ok(Shared::new(Vec::from_iter((0..count).map(|_| AtomicU64::new(0)))))
    }

    async fn set_spread(&self, spread: Spread) -> Result<(), Stop> {
        self.kernel.handle.set_packed(spread == Spread::Packed);
        self.alive()
    }

    async fn set_oom_score_adj(&self, adj: OomScoreAdj) -> Result<(), Stop> {
        self.enter().await?;
        self.process.oom_score_adj.set(adj);
        Ok(())
    }

    async fn spawn<B, F>(&self, kind: ChildKind, name: &str, body: B) -> Result<Child, Stop>
    where
        B: FnOnce(Self) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        self.spawn_boxed(kind, name, boxed(body)).await
    }

    async fn adopt<B, F>(&self, holder: u64, name: &str, body: B) -> Result<Child, Stop>
    where
        B: FnOnce(Self, Area) -> F + Send + 'static,
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        self.enter().await?;
        let (space, area) = self.inherited(holder)?;
        Ok(self.start_child(ChildKind::Process, name, Some(space), boxed(move |sys| body(sys, area))))
    }

    /// A kill does not end the wait for threads, which end by it themselves.
    async fn wait(&self, child: Child) -> Result<Ended, Stop> {
        self.enter().await?;
        loop {
            let ended = self.process.children.borrow_mut()[child.0].clone();
            if let Some(ended) = ended {
                return Ok(ended);
            }
            self.alive()?;
            self.kernel.handle.wait(self.process.waiting, None).await;
        }
    }

    /// A kill ends the wait.
    async fn barrier(&self, name: &str, threads: u64) -> Result<(), Stop> {
        self.enter().await?;
        let barrier = || self.process.barriers.borrow().get(name).copied().unwrap_or_default();
        let Barrier { waiting, passed } = barrier();
        let all = waiting + 1 >= threads;
        let after =
            if all { Barrier { waiting: 0, passed: passed + 1 } } else { Barrier { waiting: waiting + 1, passed } };
        self.process.barriers.borrow_mut().insert(name.to_owned(), after);
        if all {
            self.kernel.handle.wake_all(self.process.waiting);
        }
        while barrier().passed == passed {
            self.alive()?;
            self.kernel.handle.wait(self.process.waiting, None).await;
        }
        self.alive()
    }
}

impl Thread {
    // The future is boxed here, since the code of a future is compiled wherever it is awaited.
    fn spawn_boxed<'a>(
        &'a self,
        kind: ChildKind,
        name: &'a str,
        body: Body,
    ) -> Pinned<Box<dyn Future<Output = Result<Child, Stop>> + 'a>> {
        Box::pin(async move {
            self.enter().await?;
            self.kernel.pay(Class::System, self.kernel.prices.spawn).await;
            let space = self.space_of_child(kind).await?;
            Ok(self.start_child(kind, name, space, body))
        })
    }

    /// The address space of a new child; `None` for a thread, which lives in that of this process.
    async fn space_of_child(&self, kind: ChildKind) -> Result<Option<SpaceId>, Stop> {
        if kind == ChildKind::Thread {
            return Ok(None);
        }
        if kind == ChildKind::Fork {
            return self.fork_space().await.map(Some);
        }
        let space = self.kernel.with(|mm| mm.create_space()).map_err(|errno| refused("fork", errno))?;
        if kind == ChildKind::Process {
            // `exec` takes the memory, not the policy for it.
            let inherited = self.kernel.with(|mm| mm.pages_mut().spaces_mut().inherit_mempolicy(self.task, space));
            inherited.expect("both live");
        }
        Ok(Some(space))
    }

    /// The address space of a holder of memory before the run, and what is mapped there.
    fn inherited(&self, holder: u64) -> Result<(SpaceId, Area), Stop> {
        let held = usize::try_from(holder).ok().and_then(|holder| self.kernel.look(|mm| mm.inherited(holder)));
        let (space, range) = held.ok_or_else(|| refused("adopt", Errno::Esrch))?;
        Ok((space, Area { start: range.start.addr().get(), length: range.len().bytes() }))
    }

    /// Starts a child in the address space `space`, or a thread.
    fn start_child(&self, kind: ChildKind, name: &str, space: Option<SpaceId>, body: Body) -> Child {
        let child = Child(self.process.children.borrow().len());
        self.process.children.borrow_mut().push(None);
        match space {
            Some(space) => self.kernel.start_process(name, kind, space, Some((self.clone(), child)), body),
            None => self.start_thread(name, child, body),
        }
        child
    }

    /// Makes `future` a task on account of this thread's process, bound as the running task is: all but kthreadd hand that
    /// down.
    fn start(&self, name: &str, future: impl Future<Output = ()> + 'static) {
        let bound = self.kernel.handle.affinity().filter(|_| !self.process.kthread);
        let spec = bound.into_iter().fold(TaskSpec::new(name), TaskSpec::on);
        let task = self.kernel.handle.spawn(spec, future).expect("CPUs of a task that runs");
        self.process.tasks.borrow_mut().push(task);
    }

    fn start_thread(&self, name: &str, child: Child, body: Body) {
        self.process.threads.set(self.process.threads.get() + 1);
        let task =
            self.kernel.with(|mm| mm.pages_mut().spaces_mut().start_thread(self.task)).expect("who starts it lives");
        let own = Self { task, next_look: Rc::default(), ..self.clone() };
        self.start(name, async move {
            let result = body(own.clone()).await;
            own.process.threads.set(own.process.threads.get() - 1);
            own.kernel.with(|mm| mm.pages_mut().spaces_mut().end_thread(own.task));
            let handle = &own.kernel.handle;
            let times = handle.current().map_or_else(Times::default, |task| task_times(handle, task));
            own.child_ended(child, Ended { times, result });
        });
    }

    fn child_ended(&self, child: Child, ended: Ended) {
        self.process.children.borrow_mut()[child.0] = Some(ended);
        self.kernel.handle.wake_all(self.process.waiting);
    }

    /// Ends the process after its first thread: waits for the others, gives back all memory.
    async fn end_process(&self, result: Result<(), Stop>) -> Result<(), Stop> {
        while self.process.threads.get() > 1 {
            self.kernel.handle.wait(self.process.waiting, None).await;
        }
        self.unpin_all();
        self.record_nodes();
        let space = self.process.space;
        let lock = self.mmap_lock(Mode::Exclusive).await;
        let mut rest = all_mappings();
        while self.kernel.with(|mm| mm.unmap_step(space, &mut rest, self.cpu())) == Ok(true) {
            self.kernel.settle(0).await;
        }
        self.kernel.with(|mm| mm.exit(space, self.cpu())).expect("a process ends once");
        drop(lock);
        self.drop_unlinked();
        self.kernel.settle(0).await;
        self.process.threads.set(0);
        if self.process.killed.get() { Err(self.process.killed_stop()) } else { result }
    }

    /// A copy of this process's address space.
    async fn fork_space(&self) -> Result<SpaceId, Stop> {
        let _changing = self.change_mappings(all_mappings()).await;
        let mut fork = self.kernel.with(|mm| mm.fork(self.task)).map_err(|errno| refused("fork", errno))?;
        let copied = fill_tables(self, fork.child(), |mm| mm.fork_step(&mut fork)).await;
        if copied.is_err() {
            self.kernel.with(|mm| mm.exit(fork.child(), self.cpu())).expect("the child has not run");
            self.kernel.settle(0).await;
        }
        copied.map(|()| fork.child()).map_err(|why| self.stopped("fork", why))
    }
}
