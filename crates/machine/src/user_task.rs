//! Threads as the engine's tasks see them: their locks, their disks, and how they end.

use std::cell::Cell;
use std::ops::Range;

use order9_mm::env::{Disks, FileWork};
use order9_mm::mempolicy::SpaceTask;
use order9_mm::numa_balancing::NumaTask;
use order9_mm::page_cache::{FileWrite, FolioPages, ReadLimits};
use order9_mm::space::{VirtAddr, VpnRange};
use order9_mm::tasks::{Stopped, UserTask};
use order9_mm::{FileId, SlotId};
use order9_units::{NodeId, Pages};
use order9_workloads::Stop;

use crate::cost::Picos;
use crate::faults::refused;
use crate::files::denied;
use crate::kernel::Kernel;
use crate::storage::wait_for_room;
use crate::thread::Thread;
use crate::time::{Class, Mode};

impl Thread {
    /// The stop of a program whose task cannot go on.
    pub(crate) fn stopped(&self, call: &'static str, why: Stopped) -> Stop {
        match why {
            Stopped::Killed => self.process.killed_stop(),
            Stopped::NoMemory(error) => self.no_memory(error),
            Stopped::Segv(addr) => Stop::Signal { signal: "SIGSEGV", addr: addr.get() },
            Stopped::Bus(addr) => Stop::Signal { signal: "SIGBUS", addr: addr.get() },
            Stopped::Refused(errno) => refused(call, errno),
            Stopped::Open(error) => denied("open", error),
            Stopped::Read(error) => denied("pread", error),
            Stopped::Write(error) => denied("pwrite", error),
            Stopped::NoSpace => refused("pwrite", order9_mm::Errno::Enospc),
        }
    }
}

impl UserTask for Thread {
    fn disks(&self) -> &impl Disks {
        &*self.kernel
    }

    fn identity(&self) -> SpaceTask {
        self.task
    }

    fn fatal_signal_pending(&self) -> bool {
        self.process.killed.get()
    }

    async fn lock_for_fault(&self, addr: VirtAddr) -> impl Sized {
        Thread::lock_for_fault(self, addr).await
    }

    async fn mmap_read_lock(&self) -> impl Sized {
        self.mmap_lock(Mode::Shared).await
    }

    fn mmap_read_trylock(&self) -> Option<impl Sized> {
        self.kernel.handle.try_lock(self.process.mmap_lock, Mode::Shared)
    }

    async fn lock_mappings(&self, range: VpnRange) -> impl Sized {
        self.change_mappings(range).await
    }

    fn numa_task(&self) -> Option<NumaTask> {
        Thread::numa_task(self)
    }

    async fn move_to_idle_cpu(&self, node: NodeId) {
        self.kernel.handle.move_to_idle(node).await;
    }

    fn nr_dirtied(&self) -> &Cell<u64> {
        &self.process.dirtied
    }
}

impl Disks for Kernel {
    async fn work_on_files(&self, work: FileWork) {
        let prices = &self.prices;
        let of = |pages: FolioPages, page: Picos, part: Picos| page.times(pages.firsts) + part.times(pages.parts);
        let time = match work {
            FileWork::Found => prices.file_page,
            FileWork::Read(pages) => of(pages, prices.read_page, prices.read_part),
            FileWork::Dirtied(pages) => of(pages, prices.dirty_page, prices.dirty_part),
            FileWork::WriteBack(pages) => of(pages, prices.writeback_page, prices.writeback_part),
            FileWork::WriteInodes(inodes) => prices.writeback_inode.times(inodes),
        };
        self.pay(Class::System, time).await;
    }

    fn read_limits(&self) -> ReadLimits {
        self.storage.read_limits()
    }

    fn read_pages(&self, file: FileId, index: u64, pages: Pages) {
        Kernel::read_pages(self, file, index, pages);
    }

    async fn wait_for_read(&self, file: FileId, places: Range<u64>) {
        let ticket = self.storage.read_of(file, places).expect("whoever adds a page reads it");
        let disk = self.storage.main().expect("the page is read from it");
        disk.wait(ticket).await;
    }

    async fn read_slots(&self, slots: &[SlotId]) {
        Kernel::read_slots(self, slots).await;
    }

    fn write_pages(&self, write: &FileWrite) {
        self.write_back(write);
    }

    fn write_inodes(&self, inodes: Vec<FileId>) {
        Kernel::write_inodes(self, inodes);
    }

    async fn wait_for_room(&self) {
        wait_for_room(self.storage.main().expect("files on disk have a disk")).await;
    }

    fn has_room_for(&self, file: FileId, places: Range<u64>, pending: Pages) -> bool {
        let blocks = self.storage.blocks.borrow();
        let missing = blocks.missing(file, places);
        missing == Pages::ZERO || blocks.free() >= pending + missing
    }
}
