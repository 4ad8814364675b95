//! The machine of the crowd: disks that end a transfer when the world says so, and waits that let others run.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use order9_mm::env::{Env, OomKill, SpinLock, Stall, Task, Until};
use order9_mm::page_cache::FileWrite;
use order9_mm::policy::Policy;
use order9_mm::reclaim::PageWrite;
use order9_mm::slab::CacheSpec;
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_mm::trace::NoTrace;
use order9_mm::{Effort, FileId, Mm, MmBuilder, Pressure, Request, SpaceId, SwapWrite, Wakeups};
use order9_units::{Nanos, Pages};

use super::CPU;
use crate::nodes::{self, Choices};

/// Memory of the machine, about.
const MEMORY: Pages = Pages::new(4 << 10);
const SWAP: Pages = Pages::new(1200);
/// Transfers that disks have waiting before a task that submits more has to wait.
const QUEUE: usize = 64;
/// Looks after which a wait with a timeout is over.
const PATIENCE: u32 = 3;

/// What a disk is doing.
pub(super) enum Transfer {
    Swap(SwapWrite),
    Write(FileWrite),
    Inode(FileId),
    /// Pages being read, of a file.
    Read(FileId, u64),
}

pub(super) struct Machine {
    mm: RefCell<Mm>,
    pub(super) nodes: nodes::Machine,
    transfers: RefCell<Vec<Transfer>>,
    /// Spaces whose `mmap_lock` somebody has.
    locked: RefCell<Vec<SpaceId>>,
    /// How often what was woken.
    woken: RefCell<Vec<(Until, u64)>>,
    /// Waits so far.
    now: Cell<u64>,
    /// Whoever does not come to an end is killed.
    killed: Cell<bool>,
}

impl Machine {
    /// A few nodes with huge pages for all, content tags, a filesystem and swap.
    pub(super) fn boot(policy: Policy, choices: &mut impl Choices) -> Self {
        let nodes = nodes::Machine::draw(choices, MEMORY);
        let mut mm = MmBuilder::new(&nodes.layout, policy).expect("the layout is sound").content_tags().boot();
        mm.set_thp_enabled(HugeEnabled::Always);
        mm.set_thp_defrag(HugeDefrag::Always);
        mm.set_min_free_kbytes(256);
        mm.swapon_solid_state(SWAP);
        mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted");
        Self {
            mm: RefCell::new(mm),
            nodes,
            transfers: RefCell::default(),
            locked: RefCell::default(),
            woken: RefCell::default(),
            now: Cell::new(0),
            killed: Cell::new(false),
        }
    }

    /// One step on the engine; wakes whom that has to.
    pub(super) fn step<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        let mut mm = self.mm.borrow_mut();
        let result = step(&mut mm);
        let Wakeups { kswapd, kcompactd, written, khugepaged, .. } = mm.take_wakeups();
        Wakeups::nodes(kswapd).for_each(|node| self.wake(Until::KswapdNeeded(node)));
        Wakeups::nodes(kcompactd).for_each(|node| self.wake(Until::KcompactdNeeded(node)));
        Wakeups::nodes(written).for_each(|node| self.wake(Until::PagesWritten(node)));
        if khugepaged {
            self.wake(Until::KhugepagedNeeded);
        }
        result
    }

    pub(super) fn now(&self) -> Nanos {
        Nanos::new(self.now.get() * 1_000_000)
    }

    fn wake(&self, until: Until) {
        let mut woken = self.woken.borrow_mut();
        match woken.iter_mut().find(|(what, _)| *what == until) {
            Some((_, times)) => *times += 1,
            None => woken.push((until, 1)),
        }
    }

    fn times_woken(&self, until: Until) -> u64 {
        self.woken.borrow().iter().find(|(what, _)| *what == until).map_or(0, |&(_, times)| times)
    }

    pub(super) fn begin(&self, transfer: Transfer) {
        self.transfers.borrow_mut().push(transfer);
    }

    /// Transfers under way.
    pub(super) fn transfers(&self) -> usize {
        self.transfers.borrow().len()
    }

    /// Ends the nth transfer.
    pub(super) fn end_transfer(&self, nth: usize) {
        let transfer = self.transfers.borrow_mut().swap_remove(nth);
        let now = self.now();
        self.step(|mm| match transfer {
            Transfer::Swap(write) => mm.swap_written(write, CPU),
            Transfer::Write(write) => mm.file_written(&write, now, CPU),
            Transfer::Inode(file) => mm.inode_written(file),
            Transfer::Read(file, index) => mm.end_page_read(file, index, Pages::new(1), CPU),
        });
        self.wake(Until::Transferred);
        self.wake(Until::Uncongested);
    }

    /// Kills every task.
    pub(super) fn kill_all(&self) {
        self.killed.set(true);
    }

    pub(super) fn is_locked(&self, space: SpaceId) -> bool {
        self.locked.borrow().contains(&space)
    }
}

/// The `mmap_lock` of a space, as long as it lives.
pub(super) struct MmapLock {
    machine: Rc<Machine>,
    space: SpaceId,
}

impl Drop for MmapLock {
    fn drop(&mut self) {
        self.machine.locked.borrow_mut().retain(|&space| space != self.space);
    }
}

/// A task on the machine.
#[derive(Clone)]
pub(super) struct Thread {
    pub(super) machine: Rc<Machine>,
    memalloc: Rc<Cell<bool>>,
    /// It waits for work.
    idle: Rc<Cell<bool>>,
    cpu: usize,
}

impl Thread {
    pub(super) fn new(machine: &Rc<Machine>, cpu: usize) -> Self {
        Self { machine: Rc::clone(machine), memalloc: Rc::default(), idle: Rc::default(), cpu }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle.get()
    }

    /// Lets others run.
    pub(super) async fn pause(&self) {
        self.machine.now.set(self.machine.now.get() + 1);
        let mut paused = false;
        poll_fn(|_| if std::mem::replace(&mut paused, true) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    /// Waits for the `mmap_lock` of a space.
    pub(super) async fn lock(&self, space: SpaceId) -> MmapLock {
        while self.machine.is_locked(space) {
            self.pause().await;
        }
        self.machine.locked.borrow_mut().push(space);
        MmapLock { machine: Rc::clone(&self.machine), space }
    }
}

impl Env for Thread {
    type Tracer = NoTrace;

    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.machine.step(step)
    }

    async fn spend(&self) {
        self.pause().await;
    }

    fn cpu(&self) -> usize {
        self.cpu
    }

    fn task(&self) -> Task {
        Task { memalloc: self.memalloc.get(), oom_victim: self.machine.killed.get(), ..Task::default() }
    }

    async fn sleep(&self, _: Nanos) {
        self.pause().await;
    }

    fn need_resched(&self) -> bool {
        self.machine.now.get().is_multiple_of(13)
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        self.machine.now.get().is_multiple_of(17)
    }
}

impl Stall for Thread {
    async fn submit(&self, writes: Vec<PageWrite>) {
        for write in writes {
            self.machine.begin(match write {
                PageWrite::Swap(write) => Transfer::Swap(write),
                PageWrite::File(write) => Transfer::Write(write),
            });
        }
        while self.machine.transfers() > QUEUE {
            self.pause().await;
        }
    }

    async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        let before = self.machine.times_woken(until);
        let for_work = matches!(until, Until::KswapdNeeded(_) | Until::KcompactdNeeded(_) | Until::KhugepagedNeeded);
        self.idle.set(for_work);
        for look in 0.. {
            self.pause().await;
            let woken = self.machine.times_woken(until) > before;
            if woken || timeout.is_some() && look == PATIENCE {
                self.idle.set(false);
                return woken;
            }
        }
        unreachable!("a wait without end goes on")
    }

    fn wake(&self, until: Until) {
        self.machine.wake(until);
    }

    fn now(&self) -> Nanos {
        self.machine.now()
    }
}

impl Pressure for Thread {
    async fn exert<R>(&self, _: Effort, work: impl Future<Output = R>) -> R {
        let before = self.memalloc.replace(true);
        let result = work.await;
        self.memalloc.set(before);
        result
    }

    async fn oom_kill(&self, _: &Request) -> OomKill {
        OomKill::NoVictim
    }
}
