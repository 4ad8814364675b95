//! The flusher: writes back what is dirty for long, what is too much, and what reclaim asks for.
//!
//! Files are written in the order in which they became dirty, a piece of each in turn, as long as the disk takes more. Inodes
//! follow their data, many with one transfer.

use std::cell::Cell;
use std::rc::Rc;

use order9_mm::FileId;
use order9_mm::page_cache::FileWrite;
use order9_units::{Nanos, Pages};

use crate::kernel::{Engine, Kernel};
use crate::storage::wait_for_room;
use crate::time::{Class, Handle, QueueId, TaskId, TaskSpec};

/// Pages of a file that are written before the next one has its turn: 4 MiB.
const TURN: Pages = Pages::new(1024);
/// Inodes that are written with one transfer.
const INODES: usize = 128;
/// How long the flusher waits for a full disk at a time.
const CONGESTION_WAIT: Nanos = Nanos::new(100_000_000);

/// Where the flusher sleeps, and what it was woken for.
pub(crate) struct Flusher {
    queue: QueueId,
    woken: Cell<bool>,
    /// Dirty pages that reclaim wants to be written.
    wanted: Cell<u64>,
    task: Cell<Option<TaskId>>,
}

/// What has to be written now.
#[derive(Clone, Copy)]
enum Due {
    /// Whatever is dirty: there is too much of it, or reclaim waits.
    Anything,
    /// What has been dirty since then.
    OlderThan(Nanos),
}

impl Flusher {
    pub(crate) fn new(handle: &Handle) -> Self {
        let queue = handle.new_queue("flusher");
        Self { queue, woken: Cell::default(), wanted: Cell::default(), task: Cell::default() }
    }

    /// Its task, if there are disks with files.
    pub(crate) const fn task(&self) -> Option<TaskId> {
        self.task.get()
    }

    /// There is too much dirty.
    pub(crate) fn wake(&self, handle: &Handle) {
        if !self.woken.replace(true) {
            handle.wake_all(self.queue);
        }
    }

    /// Reclaim meets nothing but dirty pages: `pages` are, in all.
    pub(crate) fn write_all(&self, handle: &Handle, pages: u64) {
        self.wanted.set(self.wanted.get().max(pages));
        self.wake(handle);
    }
}

impl Kernel {
    /// Starts the flusher of the disk with the files, if there is one.
    pub(crate) fn start_flusher(self: &Rc<Self>) {
        if self.storage.main().is_none() {
            return;
        }
        let kernel = Rc::clone(self);
        let every = self.look(Engine::dirty_writeback_interval);
        let mut phase = every.and_then(|every| self.variation.phase("flusher", every));
        let flush = async move {
            loop {
                let every = kernel.look(Engine::dirty_writeback_interval);
                let timeout = phase.take().or(every).unwrap_or(Nanos::new(u64::MAX));
                if !kernel.flusher.woken.take() {
                    kernel.handle.wait(kernel.flusher.queue, Some(timeout)).await;
                    kernel.flusher.woken.set(false);
                }
                kernel.flush().await;
            }
        };
        let spec = TaskSpec::new("kworker/u:flush").daemon();
        let task = self.handle.spawn(spec, flush).expect("a task that may run on every CPU");
        self.flusher.task.set(Some(task));
    }

    /// Writes back all that is due.
    async fn flush(&self) {
        let mut inodes = Vec::new();
        while let Some(file) = self.what_is_due().and_then(|due| self.next_due(due)) {
            let mut left = TURN;
            while let Some(write) = self.with(|mm| mm.start_writeback(file, left)) {
                self.write_back_paid(&write).await;
                self.flusher.wanted.set(self.flusher.wanted.get().saturating_sub(write.pages.get()));
                left -= write.pages;
                if left == Pages::ZERO {
                    break;
                }
            }
            if left == Pages::ZERO {
                let now = self.handle.now();
                self.with(|mm| mm.requeue_dirty(file, now));
            } else {
                self.write_inode(file, &mut inodes).await;
            }
            wait_for_room(self.storage.main().expect("files on disk have a disk")).await;
        }
        self.flusher.wanted.set(0);
        self.write_inodes_paid(&mut inodes).await;
    }

    fn what_is_due(&self) -> Option<Due> {
        let (limits, dirty, expire) = self.look(|mm| (mm.dirty_limits(), mm.write_pending(None), mm.dirty_expire()));
        if dirty.dirty > limits.background.get() || self.flusher.wanted.get() > 0 {
            return Some(Due::Anything);
        }
        let old = self.handle.now().get().checked_sub(expire.get());
        old.map(|old| Due::OlderThan(Nanos::new(old)))
    }

    fn next_due(&self, due: Due) -> Option<FileId> {
        let older_than = match due {
            Due::Anything => None,
            Due::OlderThan(time) => Some(time),
        };
        self.look(|mm| mm.next_dirty(older_than))
    }

    async fn write_back_paid(&self, write: &FileWrite) {
        self.write_back(write);
        self.pay(Class::System, self.prices.writeback_page.times(write.pages.get())).await;
    }

    /// Has the inode of a file written with others.
    async fn write_inode(&self, file: FileId, inodes: &mut Vec<FileId>) {
        if self.with(|mm| mm.start_inode_write(file)) {
            inodes.push(file);
        }
        if inodes.len() >= INODES {
            self.write_inodes_paid(inodes).await;
        }
    }

    async fn write_inodes_paid(&self, inodes: &mut Vec<FileId>) {
        if inodes.is_empty() {
            return;
        }
        let price = self.prices.writeback_inode.times(inodes.len() as u64);
        self.write_inodes(std::mem::take(inodes));
        self.pay(Class::System, price).await;
    }

    /// Writes back all of a file, and waits for it. What was changed while it was being written is written again after that:
    /// hence twice.
    pub(crate) async fn sync_file(&self, file: FileId) {
        for _ in 0..2 {
            self.write_file_back(file).await;
            while self.look(|mm| mm.is_being_written(file)) {
                self.handle.wait(self.written, Some(CONGESTION_WAIT)).await;
            }
        }
    }

    /// Writes back all that is dirty, and waits for it; twice, as for one file.
    pub(crate) async fn sync_all(&self) {
        for _ in 0..2 {
            let begin = self.handle.now();
            while let Some(file) = self.look(|mm| mm.next_dirty(Some(begin))) {
                self.write_file_back(file).await;
            }
            while self.look(|mm| mm.write_pending(None).writeback) > 0 {
                self.handle.wait(self.written, Some(CONGESTION_WAIT)).await;
            }
        }
    }

    /// Starts to write back all of a file.
    async fn write_file_back(&self, file: FileId) {
        while let Some(write) = self.with(|mm| mm.start_writeback(file, TURN)) {
            self.write_back_paid(&write).await;
            wait_for_room(self.storage.main().expect("files on disk have a disk")).await;
        }
        let mut inodes = Vec::new();
        self.write_inode(file, &mut inodes).await;
        self.write_inodes_paid(&mut inodes).await;
    }
}
