//! Disks of the machine: where files and swap lie on them, and what the engine learns when a transfer ends.
//!
//! Key types: [`Storage`] (all disks), [`Io`] (what is transferred). The filesystem is on the first disk that is not swap as a whole:
//! files from its beginning, then its log, then swap. Swap takes the end of every disk that has some, and slots go on from one disk
//! to the next in the order of the machine.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Weak;

use order9_mm::fs_cache::Filesystem;
use order9_mm::page_cache::{FileWrite, ReadLimits};
use order9_mm::reclaim::PageWrite;
use order9_mm::slab::CacheSpec;
use order9_mm::{FileId, SlotId, SwapWrite};
use order9_units::{Bytes, Nanos, Pages};

use crate::cost::Picos;
use crate::disk::{Bio, Block, Completion, Disk, DiskSpec, Op, Ticket};
use crate::files::{BlockMap, Piece};
use crate::kernel::{Engine, Kernel};
use crate::time::{Class, Handle};

/// A disk of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineDisk {
    /// Name of the disk, such as `sda`.
    pub name: String,
    /// Properties of the disk.
    pub spec: DiskSpec,
    /// Size of its swap area; may be none.
    pub swap: Pages,
    /// Limits that were set.
    pub limits: DiskLimits,
    /// The filesystem, if files are on this disk.
    pub file_system: FileSystem,
}

/// Kind of filesystem, by the memory that it takes for files beside their pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileSystem {
    /// Inodes alone, of the size that those of XFS have.
    #[default]
    Plain,
    /// XFS with its log items, buffers of metadata and names.
    Xfs,
}

impl FileSystem {
    /// All kinds, by their names in machine files.
    pub const ALL: [(&str, Self); 2] = [("plain", Self::Plain), ("xfs", Self::Xfs)];

    /// The memory that it takes.
    pub(crate) const fn memory(self) -> Filesystem {
        match self {
            Self::Plain => Filesystem::of_inodes(CacheSpec::XFS_INODE),
            Self::Xfs => Filesystem::XFS,
        }
    }
}

/// Limits of a disk's requests, as far as the kernel does not choose them: it does by its release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskLimits {
    /// The largest request of its properties is the kernel's default.
    pub default_request: bool,
    /// Linux takes the disk for one that rotates: /sys/block/*/queue/rotational. It does so of every disk of virtio that does not say
    /// otherwise.
    pub rotational: bool,
    /// Pages that are read ahead: /sys/block/*/queue/read_ahead_kb.
    pub read_ahead: Option<Pages>,
}

impl DiskLimits {
    /// 128 KiB, `VM_READAHEAD_PAGES`.
    const READ_AHEAD: Pages = Pages::new(32);
    /// The default of the largest request from 6.17 on, `BLK_DEF_MAX_SECTORS_CAP`.
    const LARGE_REQUEST: Pages = Pages::new(1024);

    /// The largest request where the release has `large` ones, or has not.
    fn request(&self, of: &DiskSpec, large: bool) -> Pages {
        if self.default_request && large { Self::LARGE_REQUEST } else { of.max_request }
    }

    /// Pages that are read ahead. LKML: "block: Improve read ahead size for rotational devices" (2025).
    fn read_ahead(&self, of: &DiskSpec, large: bool) -> Pages {
        let rotates = self.rotational || of.rotating.is_some();
        let by_kernel = if large && rotates { self.request(of, large) + self.request(of, large) } else { Pages::ZERO };
        self.read_ahead.unwrap_or(by_kernel.max(Self::READ_AHEAD))
    }
}

impl MachineDisk {
    /// Whether a filesystem has room on it: a disk such as `zram0` is swap as a whole.
    #[must_use]
    pub fn holds_files(&self) -> bool {
        self.swap < self.spec.size
    }
}

/// The disks of a machine, and what is under way on them.
pub(crate) struct Storage {
    disks: Vec<Installed>,
    /// Place of the disk with the filesystem among them.
    main: Option<usize>,
    file_system: FileSystem,
    under_way: RefCell<UnderWay>,
    pub(crate) blocks: RefCell<BlockMap>,
    /// Blocks that the log has taken so far.
    logged: Cell<u64>,
    reads: RefCell<Reads<Ticket>>,
    congested: Cell<bool>,
}

struct Installed {
    disk: Disk,
    swap: Pages,
    read_ahead: Pages,
}

/// Subject of a bio's transfer.
enum Io {
    SwapOut(SwapWrite),
    /// A read that a task waits for and ends itself.
    Read,
    FileRead {
        file: FileId,
        index: u64,
        pages: Pages,
    },
    FileWrite(FileWrite),
    Inodes(Vec<FileId>),
}

/// Transfers that have not ended, by the tag of their bio.
#[derive(Default)]
struct UnderWay {
    all: Vec<Option<Io>>,
    unused: Vec<usize>,
}

impl UnderWay {
    fn add(&mut self, io: Io) -> u64 {
        let tag = self.unused.pop().unwrap_or_else(|| {
            self.all.push(None);
            self.all.len() - 1
        });
        self.all[tag] = Some(io);
        tag as u64
    }

    fn take(&mut self, tag: u64) -> Io {
        self.unused.push(tag as usize);
        self.all[tag as usize].take().expect("a transfer ends once")
    }
}

/// Reads of files under way, by their first page: how many pages, and what to wait for. No two of them share a page.
struct Reads<T>(BTreeMap<(FileId, u64), (Pages, T)>);

impl<T: Copy> Reads<T> {
    /// The wait for the last read that has one of these places.
    fn of(&self, file: FileId, places: Range<u64>) -> Option<T> {
        let (&(_, first), &(pages, wait)) = self.0.range((file, 0)..(file, places.end)).next_back()?;
        (places.start < first + pages.get()).then_some(wait)
    }
}

/// The log of a filesystem of this size, which XFS makes a 2048th of it.
const fn log_of(size: Pages) -> Pages {
    Pages::new(size.get() / 2048 + 1)
}

/// Inodes that fill one block of writeback: an inode is 512 bytes in the log and 512 bytes in its place. Larger disk
/// inodes are rare.
const INODES_PER_BLOCK: u64 = 4;
/// Longest single wait for room in a congested queue.
const CONGESTION_WAIT: Nanos = Nanos::new(100_000_000);
/// Inodes of 512 bytes in a block, as they are read.
const INODES_READ: u64 = 8;

impl Storage {
    /// Makes the storage of valid `disks`.
    pub(crate) fn new(handle: &Handle, disks: &[MachineDisk], large_requests: bool, kernel: &Weak<Kernel>) -> Self {
        let install = |of: &MachineDisk| {
            let kernel = Weak::clone(kernel);
            let spec = DiskSpec { max_request: of.limits.request(&of.spec, large_requests), ..of.spec };
            let read_ahead = of.limits.read_ahead(&of.spec, large_requests);
            let end_io = move |completion: &Completion| {
                if let Some(kernel) = kernel.upgrade() {
                    kernel.end_io(completion);
                }
            };
            let disk = Disk::new(handle, &of.name, spec, end_io).expect("a disk that was validated");
            Installed { disk, swap: of.swap.min(of.spec.size), read_ahead }
        };
        let main = disks.iter().position(MachineDisk::holds_files);
        let file_system = main.map(|main| disks[main].file_system).unwrap_or_default();
        let disks: Vec<Installed> = disks.iter().map(install).collect();
        let capacity = main.map_or(Pages::ZERO, |main| {
            let of = &disks[main];
            let size = of.disk.spec().size;
            Pages::new(size.get().saturating_sub(of.swap.get() + log_of(size).get()))
        });
        Self {
            disks,
            main,
            file_system,
            under_way: RefCell::default(),
            blocks: RefCell::new(BlockMap::new(capacity)),
            logged: Cell::default(),
            reads: RefCell::new(Reads(BTreeMap::new())),
            congested: Cell::default(),
        }
    }

    /// Tells the engine of all swap space.
    pub(crate) fn swapon(&self, engine: &mut Engine) {
        for Installed { disk, swap, .. } in &self.disks {
            match (disk.spec().in_memory, disk.spec().rotating) {
                (true, _) => engine.swapon_in_memory(*swap),
                (false, Some(_)) => engine.pages_mut().swap_mut().swapon(*swap),
                (false, None) => engine.swapon_solid_state(*swap),
            }
        }
    }

    /// The disk with the filesystem.
    pub(crate) fn main(&self) -> Option<&Disk> {
        self.main.map(|main| &self.disks[main].disk)
    }

    /// The filesystem of that disk; the default where there is none.
    pub(crate) const fn file_system(&self) -> FileSystem {
        self.file_system
    }

    /// Distance that the disk with the filesystem is read ahead.
    pub(crate) fn read_limits(&self) -> ReadLimits {
        let of = &self.disks[self.main.expect("files on disk have a disk")];
        ReadLimits { read_ahead: of.read_ahead, request: of.disk.spec().max_request }
    }

    /// The disks in their order.
    pub(crate) fn disks(&self) -> impl Iterator<Item = &Disk> {
        self.disks.iter().map(|of| &of.disk)
    }

    /// The disk that holds up writers.
    pub(crate) fn slowest(&self) -> Option<&Disk> {
        self.disks().find(|disk| disk.is_congested(Op::Write)).or(self.main())
    }

    /// A read under way that one of these places of a file is part of.
    pub(crate) fn read_of(&self, file: FileId, places: Range<u64>) -> Option<Ticket> {
        self.reads.borrow().of(file, places)
    }

    /// The disk and block of a slot.
    fn place_of_slot(&self, slot: SlotId) -> (&Disk, Block) {
        let mut before = slot.index();
        for Installed { disk, swap, .. } in &self.disks {
            if before < swap.get() {
                return (disk, Block::new(disk.spec().size.get() - swap.get() + before));
            }
            before -= swap.get();
        }
        unreachable!("slot {} lies behind all swap", slot.index());
    }

    /// Whether `next` lies right behind `slot` on the same disk.
    fn are_neighbours(&self, slot: SlotId, next: SlotId) -> bool {
        let ((disk, at), (other, behind)) = (self.place_of_slot(slot), self.place_of_slot(next));
        std::ptr::eq(disk, other) && behind.get() == at.get() + 1
    }

    fn submit(&self, disk: &Disk, op: Op, first: Block, pages: Pages, io: Io) -> Ticket {
        let read = if let Io::FileRead { file, index, .. } = io { Some((file, index)) } else { None };
        let tag = self.under_way.borrow_mut().add(io);
        let ticket = disk.submit(Bio { op, first, pages, tag });
        if let Some((file, index)) = read {
            self.reads.borrow_mut().0.insert((file, index), (pages, ticket));
        }
        ticket
    }
}

/// Waits while a disk has all it can take, as whoever wants a request of a full queue does.
pub(crate) async fn wait_for_room(disk: &Disk) {
    while disk.is_congested(Op::Write) {
        disk.congestion_wait(Op::Write, CONGESTION_WAIT).await;
    }
}

impl Kernel {
    /// Starts the writes of reclaim, each as soon as its disk has room for it.
    pub(crate) async fn submit(&self, writes: Vec<PageWrite>) {
        for write in writes {
            match write {
                PageWrite::Swap(write) => {
                    let (disk, first) = self.storage.place_of_slot(write.slot);
                    wait_for_room(disk).await;
                    self.pay(Class::System, self.prices.swap_out).await;
                    self.pay_for_transfer(disk, self.prices.compress_page, write.pages).await;
                    self.storage.submit(disk, Op::Write, first, write.pages, Io::SwapOut(write));
                }
                PageWrite::File(write) => {
                    wait_for_room(self.storage.main().expect("files on disk have a disk")).await;
                    self.write_back(&write);
                }
            }
        }
        self.note_congestion();
    }

    /// Lets the CPU do what a disk would, at a price for each page, where the "disk" is memory.
    async fn pay_for_transfer(&self, disk: &Disk, price: Picos, pages: Pages) {
        if disk.spec().in_memory {
            self.pay(Class::System, price.times(pages.get())).await;
        }
    }

    /// Reads slots of swap, in their order; neighbours together.
    pub(crate) async fn read_slots(&self, slots: &[SlotId]) {
        let mut reads = Vec::new();
        for run in slots.chunk_by(|&slot, &next| self.storage.are_neighbours(slot, next)) {
            let (disk, first) = self.storage.place_of_slot(run[0]);
            let pages = Pages::new(run.len() as u64);
            self.pay(Class::System, self.prices.swap_in.times(pages.get())).await;
            self.pay_for_transfer(disk, self.prices.decompress_page, pages).await;
            reads.push((disk, self.storage.submit(disk, Op::Read, first, pages, Io::Read)));
        }
        for (disk, ticket) in reads {
            disk.wait(ticket).await;
        }
    }

    /// Starts to write pages of a file, which get a place if they have none.
    pub(crate) fn write_back(&self, write: &FileWrite) {
        let disk = self.storage.main().expect("files on disk have a disk");
        let FileWrite { file, mut index, pages } = *write;
        let end = index + pages.get();
        while index < end {
            let mut blocks = self.storage.blocks.borrow_mut();
            let mut piece = blocks.piece(file, index, Pages::new(end - index));
            if piece.at.is_none() {
                piece = blocks.place(file, index, piece.pages);
            }
            let Piece { pages, at, .. } = piece;
            drop(blocks);
            let first = at.expect("it has a place now");
            self.storage.submit(disk, Op::Write, first, pages, Io::FileWrite(FileWrite { file, index, pages }));
            index += pages.get();
        }
        self.note_congestion();
    }

    /// Starts to write inodes back.
    pub(crate) fn write_inodes(&self, inodes: Vec<FileId>) {
        let disk = self.storage.main().expect("files on disk have a disk");
        let log = log_of(disk.spec().size);
        let start = self.storage.blocks.borrow().capacity();
        let pages = (inodes.len() as u64).div_ceil(INODES_PER_BLOCK).min(log.get());
        let mut at = self.storage.logged.get();
        if at + pages > log.get() {
            at = 0;
        }
        self.storage.logged.set(at + pages);
        let first = Block::new(start.get() + at);
        self.storage.submit(disk, Op::Write, first, Pages::new(pages), Io::Inodes(inodes));
        self.note_congestion();
    }

    /// Starts to read pages of a file, which the engine has locked for it: `pages` from `index` on.
    pub(crate) fn read_pages(&self, file: FileId, mut index: u64, pages: Pages) {
        let disk = self.storage.main().expect("files on disk have a disk");
        let end = index + pages.get();
        while index < end {
            let Piece { pages, at, .. } = self.storage.blocks.borrow().piece(file, index, Pages::new(end - index));
            match at {
                Some(first) => {
                    self.storage.submit(disk, Op::Read, first, pages, Io::FileRead { file, index, pages });
                }
                // A hole is full of zeros.
                None => self.with(|mm| mm.end_page_read(file, index, pages, self.interrupted_cpu())),
            }
            index += pages.get();
        }
    }

    /// Reads the inode of a file.
    pub(crate) async fn read_inode(&self, file: FileId) {
        let Some(disk) = self.storage.main() else { return };
        let capacity = self.storage.blocks.borrow().capacity();
        let block = file.index() as u64 / INODES_READ % capacity.get().max(1);
        disk.wait(self.storage.submit(disk, Op::Read, Block::new(block), Pages::new(1), Io::Read)).await;
    }

    /// A transfer has ended.
    fn end_io(&self, completion: &Completion) {
        let io = self.storage.under_way.borrow_mut().take(completion.bio.tag);
        let (now, cpu) = (completion.ended, self.interrupted_cpu());
        match io {
            Io::Read => {}
            Io::SwapOut(write) => self.with(|mm| mm.swap_written(write, cpu)),
            Io::FileWrite(write) => self.with(|mm| mm.file_written(&write, now, cpu)),
            Io::Inodes(inodes) => self.with(|mm| inodes.into_iter().for_each(|inode| mm.inode_written(inode))),
            Io::FileRead { file, index, pages } => {
                self.storage.reads.borrow_mut().0.remove(&(file, index));
                self.with(|mm| mm.end_page_read(file, index, pages, cpu));
            }
        }
        let bytes = completion.bio.pages.bytes();
        let (read, written) = match completion.bio.op {
            Op::Read => (bytes, Bytes::ZERO),
            Op::Write => (Bytes::ZERO, bytes),
        };
        self.with(|mm| mm.phys_mut().count_transfer(read, written));
        self.handle.wake_all(self.transferred);
        if completion.bio.op == Op::Write {
            self.handle.wake_all(self.written);
            self.note_congestion();
        }
    }

    /// Tells the engine when the queue of the disk with the files becomes full, or no longer is.
    fn note_congestion(&self) {
        let congested = self.storage.main().is_some_and(|disk| disk.is_congested(Op::Write));
        if self.storage.congested.replace(congested) != congested {
            self.with(|mm: &mut Engine| mm.set_congested(congested));
        }
    }

    /// The CPU that interrupts come to.
    fn interrupted_cpu(&self) -> usize {
        self.handle.cpu().map_or(0, |cpu| usize::from(cpu.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folio_waits_for_the_last_of_its_reads() {
        let file = FileId::new(3);
        let mut reads = Reads(BTreeMap::new());
        for (tag, first, pages) in [(0, 4, 3), (1, 7, 9), (2, 20, 4)] {
            reads.0.insert((file, first), (Pages::new(pages), tag));
        }
        assert_eq!(
            [3..4, 4..5, 6..7, 7..8, 16..20].map(|places| reads.of(file, places)),
            [None, Some(0), Some(0), Some(1), None]
        );
        assert_eq!(reads.of(file, 4..8), Some(1), "of several, the last");
        reads.0.remove(&(file, 7));
        assert_eq!(reads.of(file, 4..8), Some(0));
        assert_eq!(reads.of(FileId::new(4), 4..8), None);
    }
}
