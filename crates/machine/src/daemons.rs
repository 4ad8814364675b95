//! Daemons of the kernel, and what they and tasks that reclaim wait for.

use std::cell::Cell;
use std::rc::Rc;

use order9_mm::env::{Env, SpinLock, Stall, Task, Until};
use order9_mm::policy::Background;
use order9_mm::reclaim::PageWrite;
use order9_mm::tasks::Visits;
use order9_mm::{Mm, SpaceId, Wakeups};
use order9_units::{Nanos, NodeId};

use crate::disk::Op;
use crate::kernel::{Engine, Kernel};
use crate::thread::Thread;
use crate::time::{Handle, QueueId, TaskId, TaskSpec, Wake};

/// Patience of a daemon: in practice for ever, since a daemon without work is no hung task.
/// Nice value that khugepaged gives itself.
const KHUGEPAGED_NICE: i8 = 19;

const FOR_EVER: Nanos = Nanos::new(u64::MAX);

/// Wait queues of one node.
pub(crate) struct Waiting {
    kswapd: QueueId,
    kcompactd: QueueId,
    reserves: QueueId,
    isolated: QueueId,
    written: QueueId,
}

/// A daemon, as the engine sees it.
pub(crate) struct Daemon {
    pub(crate) kernel: Rc<Kernel>,
    task: Task,
    /// Whether its work is broken off, as that of a task is that was killed.
    pub(crate) killed: Cell<bool>,
    /// Whether it has done what there was to do.
    pub(crate) has_ended: Cell<bool>,
}

impl Waiting {
    pub(crate) fn new(handle: &Handle, node: NodeId) -> Self {
        let queue = |what: &str| handle.new_queue(&format!("node {}: {what}", node.0));
        Self {
            kswapd: queue("kswapd"),
            kcompactd: queue("kcompactd"),
            reserves: queue("reserves filled"),
            isolated: queue("few pages isolated"),
            written: queue("pages written"),
        }
    }
}

impl Daemon {
    pub(crate) fn new(kernel: &Rc<Kernel>, task: Task) -> Self {
        Self { kernel: Rc::clone(kernel), task, killed: Cell::new(false), has_ended: Cell::new(false) }
    }
}

impl Kernel {
    /// Starts kswapd and kcompactd of every node with memory, on the CPUs of the node if it has any.
    pub(crate) fn start_daemons(self: &Rc<Self>) {
        let nodes = self.look(|mm| {
            let has_memory =
                |node: &NodeId| mm.frames().zones().iter().any(|zone| zone.node() == *node && zone.managed() > 0);
            mm.frames().nodes().filter(has_memory).collect::<Vec<_>>()
        });
        for node in nodes {
            let task = Task { kthread: true, memalloc: true, ..Task::default() };
            let daemon = Daemon::new(self, task);
            let task = self.spawn_daemon(&format!("kswapd{}", node.0), node, async move {
                order9_mm::tasks::kswapd(&daemon, node).await;
            });
            self.kswapds.borrow_mut().push(task);
            if self.look(|mm| mm.policy().compaction.background == Background::Kcompactd) {
                self.start_kcompactd(node);
            }
        }
    }

    fn start_kcompactd(self: &Rc<Self>, node: NodeId) {
        // Unlike kswapd it may wait for whoever has a page locked, since nobody waits for it.
        let task = Task { kthread: true, ..Task::default() };
        let daemon = Daemon::new(self, task);
        let name = format!("kcompactd{}", node.0);
        let phase = self.variation.phase(&name, self.look(|mm| mm.phys().first_proactive_look_within(node)));
        let task = self.spawn_daemon(&name, node, async move {
            order9_mm::tasks::kcompactd(&daemon, node, phase).await;
        });
        self.kcompactds.borrow_mut().push(task);
    }

    /// Starts khugepaged, which rests while huge pages are disabled.
    pub(crate) fn start_khugepaged(self: &Rc<Self>) {
        let phase = self.variation.phase("khugepaged", self.look(|mm| mm.phys().khugepaged_scan_sleep()));
        let daemon = self.daemon_of_any_node();
        let task = self.handle.spawn(TaskSpec::new("khugepaged").daemon().nice(KHUGEPAGED_NICE), async move {
            order9_mm::tasks::khugepaged(&daemon, phase).await;
        });
        self.khugepaged.set(Some(task.expect("a task that may run on every CPU")));
    }

    /// Starts the flusher of the disk with the files, if there is one.
    pub(crate) fn start_flusher(self: &Rc<Self>) {
        if self.storage.main().is_none() {
            return;
        }
        let every = self.look(|mm| mm.phys().dirty_writeback_interval());
        let phase = every.and_then(|every| self.variation.phase("flusher", every));
        let daemon = self.daemon_of_any_node();
        let task = self.handle.spawn(TaskSpec::new("kworker/u:flush").daemon(), async move {
            order9_mm::tasks::flusher(&daemon, &*daemon.kernel, phase).await;
        });
        self.flusher.set(Some(task.expect("a task that may run on every CPU")));
    }

    /// Starts the work that shrinks per-CPU lists with time, in releases that have it.
    pub(crate) fn start_vmstat(self: &Rc<Self>) {
        if !self.look(|mm| mm.policy().frames.pcp.decay) {
            return;
        }
        let daemon = self.daemon_of_any_node();
        let phase = self.variation.phase("vmstat", order9_mm::tasks::STAT_INTERVAL);
        let task = self.handle.spawn(TaskSpec::new("kworker/mm_percpu_wq").daemon(), async move {
            order9_mm::tasks::vmstat(&daemon, phase).await;
        });
        task.expect("a task that may run on every CPU");
    }

    /// Starts the work that reports free blocks to the hypervisor, in guests that do so.
    pub(crate) fn start_page_reporting(self: &Rc<Self>) {
        if self.look(|mm| mm.phys().reported_blocks().is_none()) {
            return;
        }
        let daemon = self.daemon_of_any_node();
        let phase = self.variation.phase("page_reporting", order9_mm::tasks::REPORTING_DELAY);
        let task = self.handle.spawn(TaskSpec::new("kworker/page_reporting").daemon(), async move {
            order9_mm::tasks::page_reporting(&daemon, phase).await;
        });
        task.expect("a task that may run on every CPU");
    }

    fn daemon_of_any_node(self: &Rc<Self>) -> Daemon {
        Daemon::new(self, Task { kthread: true, ..Task::default() })
    }

    fn spawn_daemon(&self, name: &str, node: NodeId, body: impl Future<Output = ()> + 'static) -> TaskId {
        let spec = TaskSpec::new(name).daemon();
        let cpus = self.handle.cpus_of(node);
        let spec = if self.cpus.contains(&node) { spec.on(cpus) } else { spec };
        self.handle.spawn(spec, body).expect("a task that may run somewhere")
    }

    /// Wakes daemons that a step of the engine has found work for.
    #[cold]
    pub(crate) fn wake_daemons(&self, engine: &mut Engine) {
        let Wakeups { kswapd, kcompactd, written, flushers, khugepaged } = engine.take_wakeups();
        for node in Wakeups::nodes(kswapd) {
            self.wake(Until::KswapdNeeded(node));
        }
        for node in Wakeups::nodes(kcompactd) {
            self.wake(Until::KcompactdNeeded(node));
        }
        for node in Wakeups::nodes(written) {
            self.wake(Until::PagesWritten(node));
        }
        if khugepaged {
            self.wake(Until::KhugepagedNeeded);
        }
        if flushers {
            self.wake(Until::FlusherNeeded);
        }
    }

    fn queue(&self, until: Until) -> Option<QueueId> {
        let of = |node: NodeId| &self.waiting[node.index()];
        match until {
            Until::KswapdNeeded(node) => Some(of(node).kswapd),
            Until::KcompactdNeeded(node) => Some(of(node).kcompactd),
            Until::ReservesFilled(node) => Some(of(node).reserves),
            Until::FewIsolated(node) => Some(of(node).isolated),
            Until::PagesWritten(node) => Some(of(node).written),
            Until::KhugepagedNeeded => Some(self.khugepaged_wait),
            Until::FlusherNeeded => Some(self.flusher_wait),
            Until::Transferred => Some(self.transferred),
            Until::WriteEnded => Some(self.written),
            Until::Uncongested => None,
        }
    }

    fn wake(&self, until: Until) {
        if let Some(queue) = self.queue(until) {
            self.handle.wake_all(queue);
        }
    }

    pub(crate) async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        let timeout = timeout.unwrap_or(FOR_EVER);
        let wake = match (self.queue(until), self.storage.slowest()) {
            (Some(queue), _) => self.handle.wait(queue, Some(timeout)).await,
            (None, Some(disk)) => disk.congestion_wait(Op::Write, timeout).await,
            (None, None) => {
                self.handle.sleep(timeout).await;
                Wake::TimedOut
            }
        };
        wake == Wake::Woken
    }
}

impl Env for Daemon {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.kernel.with(step)
    }

    async fn spend(&self) {
        let flushes = self.kernel.look(|mm| mm.work().tlb_flushes > 0);
        let others = if flushes { self.kernel.translating_cpus() } else { 0 };
        self.kernel.settle(others).await;
    }

    fn cpu(&self) -> usize {
        self.kernel.handle.cpu().map_or(0, |cpu| usize::from(cpu.0))
    }

    fn task(&self) -> Task {
        Task { oom_victim: self.killed.get(), ..self.task }
    }

    async fn sleep(&self, time: Nanos) {
        self.kernel.handle.sleep(time).await;
    }

    fn need_resched(&self) -> bool {
        self.kernel.handle.need_resched()
    }

    fn lock_busy(&self, lock: SpinLock) -> bool {
        self.kernel.lock_busy(lock)
    }
}

impl Stall for Daemon {
    async fn submit(&self, writes: Vec<PageWrite>) {
        self.kernel.submit(writes).await;
    }

    async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        self.kernel.wait(until, timeout).await
    }

    fn wake(&self, until: Until) {
        self.kernel.wake(until);
    }

    fn now(&self) -> Nanos {
        self.kernel.handle.now()
    }

    async fn make_way(&self) {
        self.kernel.handle.make_way().await;
    }
}

impl Visits for Daemon {
    type Visitor = Thread;

    fn visitor(&self, space: SpaceId) -> Option<Thread> {
        let processes = self.kernel.processes.borrow();
        let process = processes.iter().find(|process| process.space == space && !process.has_ended())?;
        let (kernel, process) = (Rc::clone(&self.kernel), Rc::clone(process));
        Some(Thread { kernel, process, task: space.into(), visits: true, next_look: Rc::default() })
    }
}

impl Stall for Thread {
    async fn submit(&self, writes: Vec<PageWrite>) {
        self.kernel.submit(writes).await;
    }

    async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        self.kernel.wait(until, timeout).await
    }

    fn wake(&self, until: Until) {
        self.kernel.wake(until);
    }

    fn now(&self) -> Nanos {
        self.kernel.handle.now()
    }
}
