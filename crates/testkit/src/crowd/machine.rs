//! The machine of the crowd: disks that end a transfer when the world says so, and waits that let others run.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::ops::Range;
use std::rc::Rc;
use std::task::Poll;

use order9_mm::env::{Disks, Env, FileWork, OomKill, SpinLock, Stall, Task, Until};
use order9_mm::mempolicy::SpaceTask;
use order9_mm::numa_balancing::NumaTask;
use order9_mm::page_cache::{FileWrite, ReadLimits};
use order9_mm::policy::Policy;
use order9_mm::reclaim::PageWrite;
use order9_mm::slab::CacheSpec;
use order9_mm::space::{VirtAddr, VpnRange};
use order9_mm::tasks::{UserTask, Visits};
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_mm::{Effort, FileId, Mm, MmBuilder, Pressure, Request, SlotId, SpaceId, SwapWrite, Wakeups};
use order9_units::{Nanos, NodeId, Pages};

use super::CPU;
use crate::nodes::{self, Choices};

/// Memory of the machine, about.
const MEMORY: Pages = Pages::new(4 << 10);
const SWAP: Pages = Pages::new(1200);
/// Transfers that disks have waiting before a task that submits more has to wait.
const QUEUE: usize = 64;
/// Looks after which a wait with a timeout is over.
const PATIENCE: u32 = 3;

/// State of a disk.
pub(super) enum Transfer {
    Swap(SwapWrite),
    Write(FileWrite),
    Inodes(Vec<FileId>),
    /// Pages of a file being read, from an index on.
    Read(FileId, u64, Pages),
}

pub(super) struct Machine {
    mm: RefCell<Mm>,
    pub(super) nodes: nodes::Machine,
    transfers: RefCell<Vec<Transfer>>,
    /// Spaces whose `mmap_lock` somebody has.
    locked: RefCell<Vec<SpaceId>>,
    /// Number of wake-ups by what was woken.
    woken: RefCell<Vec<(Until, u64)>>,
    /// Number of waits up to now.
    now: Cell<u64>,
    /// Whether all tasks are killed, because one did not come to its end.
    killed: Cell<bool>,
}

impl Machine {
    /// A few nodes with huge pages for all, content tags, a filesystem and swap.
    pub(super) fn boot(policy: Policy, choices: &mut impl Choices) -> Self {
        let nodes = nodes::Machine::draw(choices, MEMORY);
        let mut mm = MmBuilder::new(&nodes.layout, policy).expect("the layout is sound").content_tags().boot();
        mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
        mm.phys_mut().set_thp_defrag(HugeDefrag::Always);
        mm.phys_mut().set_min_free_kbytes(256);
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
        let Wakeups { kswapd, kcompactd, written, khugepaged, flushers } = mm.take_wakeups();
        Wakeups::nodes(kswapd).for_each(|node| self.wake(Until::KswapdNeeded(node)));
        Wakeups::nodes(kcompactd).for_each(|node| self.wake(Until::KcompactdNeeded(node)));
        Wakeups::nodes(written).for_each(|node| self.wake(Until::PagesWritten(node)));
        if khugepaged {
            self.wake(Until::KhugepagedNeeded);
        }
        if flushers {
            self.wake(Until::FlusherNeeded);
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

    /// Number of transfers under way.
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
            Transfer::Inodes(inodes) => inodes.into_iter().for_each(|inode| mm.inode_written(inode)),
            Transfer::Read(file, index, pages) => mm.end_page_read(file, index, pages, CPU),
        });
        self.wake(Until::Transferred);
        self.wake(Until::WriteEnded);
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
    /// Whether the task waits for work.
    idle: Rc<Cell<bool>>,
    cpu: usize,
    /// The program that it is of.
    space: SpaceId,
    /// Pages it has made dirty since it last looked at how many there are.
    dirtied: Rc<Cell<u64>>,
}

impl Thread {
    /// A thread of no program.
    pub(super) fn new(machine: &Rc<Machine>, cpu: usize) -> Self {
        Self {
            machine: Rc::clone(machine),
            memalloc: Rc::default(),
            idle: Rc::default(),
            cpu,
            space: SpaceId::default(),
            dirtied: Rc::default(),
        }
    }

    /// This thread as one of the program with space `space`.
    pub(super) fn of(&self, space: SpaceId) -> Self {
        Self { space, ..self.clone() }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle.get()
    }

    /// Lets other tasks run.
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
        self.lock_now(space)
    }

    fn lock_now(&self, space: SpaceId) -> MmapLock {
        self.machine.locked.borrow_mut().push(space);
        MmapLock { machine: Rc::clone(&self.machine), space }
    }
}

impl Env for Thread {
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
        self.wait_for_room().await;
    }

    async fn wait(&self, until: Until, timeout: Option<Nanos>) -> bool {
        let before = self.machine.times_woken(until);
        use Until::{FlusherNeeded, KcompactdNeeded, KhugepagedNeeded, KswapdNeeded};
        let for_work = matches!(until, KswapdNeeded(_) | KcompactdNeeded(_) | KhugepagedNeeded | FlusherNeeded);
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

/// Every `mmap_lock` is one for writing, and a mapping has no lock of its own.
impl UserTask for Thread {
    fn disks(&self) -> &impl Disks {
        self
    }

    fn identity(&self) -> SpaceTask {
        self.space.into()
    }

    fn fatal_signal_pending(&self) -> bool {
        self.machine.killed.get()
    }

    async fn lock_for_fault(&self, _: VirtAddr) -> impl Sized {
        self.lock(self.space).await
    }

    async fn mmap_read_lock(&self) -> impl Sized {
        self.lock(self.space).await
    }

    fn mmap_read_trylock(&self) -> Option<impl Sized> {
        (!self.machine.is_locked(self.space)).then(|| self.lock_now(self.space))
    }

    async fn lock_mappings(&self, _: VpnRange) -> impl Sized {
        self.lock(self.space).await
    }

    fn numa_task(&self) -> Option<NumaTask> {
        Some(NumaTask { pid: self.cpu as u32, cpu: self.cpu, threads: 2 })
    }

    async fn move_to_idle_cpu(&self, _: NodeId) {
        self.pause().await;
    }

    fn nr_dirtied(&self) -> &Cell<u64> {
        &self.dirtied
    }

    async fn preemption_point(&self) {
        self.pause().await;
    }
}

impl Visits for Thread {
    type Visitor = Self;

    fn visitor(&self, space: SpaceId) -> Option<Self> {
        Some(self.of(space))
    }
}

/// Runs of places that the disk has side by side: no more than this many pages.
const PIECE: u64 = 24;

fn pieces(index: u64, pages: Pages) -> impl Iterator<Item = (u64, Pages)> {
    let end = index + pages.get();
    (index..end).step_by(PIECE as usize).map(move |at| (at, Pages::new(PIECE.min(end - at))))
}

/// Disks have room for everything; a read of swap is over when the task goes on.
impl Disks for Thread {
    async fn work_on_files(&self, _: FileWork) {}

    fn read_limits(&self) -> ReadLimits {
        ReadLimits { read_ahead: Pages::new(32), request: Pages::new(PIECE) }
    }

    fn read_pages(&self, file: FileId, index: u64, pages: Pages) {
        for (index, pages) in pieces(index, pages) {
            self.machine.begin(Transfer::Read(file, index, pages));
        }
    }

    async fn wait_for_read(&self, _: FileId, _: Range<u64>) {
        self.wait(Until::Transferred, None).await;
    }

    async fn read_slots(&self, _: &[SlotId]) {
        self.pause().await;
    }

    fn write_pages(&self, write: &FileWrite) {
        for (index, pages) in pieces(write.index, write.pages) {
            self.machine.begin(Transfer::Write(FileWrite { index, pages, ..*write }));
        }
    }

    fn write_inodes(&self, inodes: Vec<FileId>) {
        self.machine.begin(Transfer::Inodes(inodes));
    }

    async fn wait_for_room(&self) {
        while self.machine.transfers() > QUEUE {
            self.pause().await;
        }
    }

    fn has_room_for(&self, _: FileId, _: Range<u64>, _: Pages) -> bool {
        true
    }
}
