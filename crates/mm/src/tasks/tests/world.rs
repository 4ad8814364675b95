//! A program with a file that it has mapped, and disks that are done at once.

use alloc::vec::Vec;
use core::cell::{Cell, RefCell};
use core::mem;
use core::ops::Range;

use order9_frames::Request;
use order9_units::{Nanos, NodeId, Pages};

use crate::env::{Disks, Env, FileWork, OomKill, SpinLock, Stall, Task, Until};
use crate::fs_cache::tests::mounted;
use crate::mempolicy::SpaceTask;
use crate::numa_balancing::NumaTask;
use crate::page_cache::tests::flush;
use crate::page_cache::{FileId, FileWrite, ReadLimits};
use crate::policy::Policy;
use crate::reclaim::PageWrite;
use crate::space::{Backing, MmapRequest, SpaceId, VirtAddr, VpnRange};
use crate::swap::SlotId;
use crate::tasks::UserTask;
use crate::tasks::slow_path::Pressure;
use crate::{Gfp, Mm};

/// Pages of the file.
pub(super) const FILE: u64 = 96;

/// A transfer that a disk has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    /// Pages were read: the first, and how many.
    Read(u64, u64),
    /// Pages were written.
    Write(u64, u64),
    /// Number of inodes that were written.
    Inodes(u64),
}

pub(super) struct World {
    mm: RefCell<Mm>,
    pub(super) file: FileId,
    pub(super) space: SpaceId,
    start: VirtAddr,
    transfers: RefCell<Vec<Transfer>>,
    dirtied: Cell<u64>,
    pub(super) killed: Cell<bool>,
    /// The disk has no room.
    pub(super) full: Cell<bool>,
    pub(super) slept: Cell<Nanos>,
    /// Number of sleeps of the task.
    pub(super) sleeps: Cell<u64>,
    /// Everything is written back during this sleep of the task, counted from 1.
    pub(super) flushed_during: Cell<u64>,
}

impl World {
    /// 64 MiB; the program has the file open, and mapped as a whole.
    pub(super) fn boot(policy: Policy) -> Self {
        let mut mm = mounted(policy).with_content_tags();
        let file = mm.fs_create(Pages::new(FILE)).expect("there is room");
        let asked = Request::new(order9_units::Order::ZERO, Gfp::GFP_KERNEL);
        mm.fs_open_fast(file, &asked);
        let space = mm.create_space().expect("it is the first");
        let backing = Backing::File { file, offset: Pages::ZERO, shared: true };
        let request = MmapRequest { backing, ..MmapRequest::anon(Pages::new(FILE).bytes()) };
        let start = mm.mmap(space, &request, 0).expect("there is room");
        Self {
            mm: RefCell::new(mm),
            file,
            space,
            start,
            transfers: RefCell::default(),
            dirtied: Cell::default(),
            killed: Cell::default(),
            full: Cell::default(),
            slept: Cell::default(),
            sleeps: Cell::default(),
            flushed_during: Cell::default(),
        }
    }

    pub(super) fn step<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        step(&mut self.mm.borrow_mut())
    }

    /// The address of a page of the file.
    pub(super) fn addr(&self, index: u64) -> VirtAddr {
        VirtAddr::new(self.start.get() + Pages::new(index).bytes().get())
    }

    /// Transfers since the last call.
    pub(super) fn transfers(&self) -> Vec<Transfer> {
        mem::take(&mut self.transfers.borrow_mut())
    }

    fn note(&self, transfer: Transfer) {
        self.transfers.borrow_mut().push(transfer);
    }
}

impl Env for World {
    fn with<R>(&self, step: impl FnOnce(&mut Mm) -> R) -> R {
        self.step(step)
    }

    async fn spend(&self) {}

    fn cpu(&self) -> usize {
        0
    }

    fn task(&self) -> Task {
        Task::default()
    }

    async fn sleep(&self, time: Nanos) {
        self.slept.set(self.slept.get() + time);
        self.sleeps.set(self.sleeps.get() + 1);
        if self.sleeps == self.flushed_during {
            self.step(|mm| flush(mm, 0));
        }
    }

    fn need_resched(&self) -> bool {
        false
    }

    fn lock_busy(&self, _: SpinLock) -> bool {
        false
    }
}

impl Stall for World {
    async fn submit(&self, _: Vec<PageWrite>) {}

    async fn wait(&self, _: Until, _: Option<Nanos>) -> bool {
        true
    }

    fn wake(&self, _: Until) {}

    fn now(&self) -> Nanos {
        self.slept.get()
    }
}

impl Pressure for World {
    async fn oom_kill(&self, _: &Request) -> OomKill {
        OomKill::NoVictim
    }
}

impl Disks for World {
    async fn work_on_files(&self, _: FileWork) {}

    fn read_limits(&self) -> ReadLimits {
        ReadLimits { read_ahead: Pages::new(32), request: Pages::new(64) }
    }

    fn read_pages(&self, file: FileId, index: u64, pages: Pages) {
        self.note(Transfer::Read(index, pages.get()));
        self.step(|mm| mm.end_page_read(file, index, pages, 0));
    }

    async fn wait_for_read(&self, file: FileId, places: Range<u64>) {
        unreachable!("pages {places:?} of {file:?} is read at once");
    }

    async fn read_slots(&self, _: &[SlotId]) {}

    fn write_pages(&self, write: &FileWrite) {
        self.note(Transfer::Write(write.index, write.pages.get()));
        self.step(|mm| mm.file_written(write, Nanos::ZERO, 0));
    }

    fn write_inodes(&self, inodes: Vec<FileId>) {
        self.note(Transfer::Inodes(inodes.len() as u64));
        self.step(|mm| inodes.into_iter().for_each(|inode| mm.inode_written(inode)));
    }

    async fn wait_for_room(&self) {}

    fn has_room_for(&self, _: FileId, _: Range<u64>, _: Pages) -> bool {
        !self.full.get()
    }
}

impl UserTask for World {
    fn disks(&self) -> &impl Disks {
        self
    }

    fn identity(&self) -> SpaceTask {
        self.space.into()
    }

    fn fatal_signal_pending(&self) -> bool {
        self.killed.get()
    }

    async fn lock_for_fault(&self, _: VirtAddr) -> impl Sized {}

    async fn mmap_read_lock(&self) -> impl Sized {}

    fn mmap_read_trylock(&self) -> Option<impl Sized> {
        Some(())
    }

    async fn lock_mappings(&self, _: VpnRange) -> impl Sized {}

    fn numa_task(&self) -> Option<NumaTask> {
        None
    }

    async fn move_to_idle_cpu(&self, _: NodeId) {}

    fn nr_dirtied(&self) -> &Cell<u64> {
        &self.dirtied
    }
}
