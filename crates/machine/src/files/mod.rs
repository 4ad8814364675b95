//! Files of programs: on the machine's disk behind the page cache or, on a machine without a disk, on tmpfs.
//!
//! The parts: [`blocks`] (where files lie on the disk), [`read`] and [`write`] (system calls page by page). What a read or
//! write does to a page is a task of the engine, and so is writeback. The number of a file is the engine's.

mod blocks;
mod read;
mod write;

use std::collections::BTreeMap;

use order9_mm::env::Env as _;
use order9_mm::fs_cache::FsError;
use order9_mm::tasks::{self, sync, sync_file};
use order9_mm::{Errno, FileId};
use order9_units::{Bytes, PAGE_SIZE, Pages};
use order9_workloads::{self as workloads, Files, Stop};

use crate::cost::Picos;
use crate::faults::refused;
use crate::thread::Thread;
use crate::time::Class;

pub(crate) use blocks::{BlockMap, Piece};

/// Bytes that a program writes with one system call.
const WRITE: Bytes = Bytes::new(1 << 20);

/// The engine's number of a file.
pub(crate) const fn file_of(file: workloads::FileId) -> FileId {
    FileId::new(file.0)
}

const fn named(file: FileId) -> workloads::FileId {
    workloads::FileId(file.index() as u32)
}

/// The stop of a program whose call the filesystem refuses.
pub(crate) fn denied(call: &'static str, error: FsError) -> Stop {
    refused(
        call,
        match error {
            FsError::NoSuchFile(_) => Errno::Enoent,
            FsError::TooLarge(_) | FsError::BeyondEnd(..) => Errno::Efbig,
            FsError::Open(_) => Errno::Ebusy,
            FsError::NotOpen(_) | FsError::NotCached(_) => Errno::Ebadf,
            _ => Errno::Enomem,
        },
    )
}

/// Lengths of files that do not end with a page.
#[derive(Default)]
pub(crate) struct Lengths(BTreeMap<FileId, Bytes>);

impl Lengths {
    /// A file is `length` long now.
    pub(crate) fn set(&mut self, file: FileId, length: Bytes) {
        self.0.remove(&file);
        if !length.get().is_multiple_of(PAGE_SIZE.get()) {
            self.0.insert(file, length);
        }
    }

    /// A write has made a file, which has `size` now, `length` long, unless others made it longer meanwhile.
    fn grow(&mut self, file: FileId, length: Bytes, size: Pages) {
        let is_longer = self.0.get(&file).is_some_and(|&now| now >= length) || Pages::from_bytes_ceil(length) < size;
        if is_longer {
            return;
        }
        if length.get().is_multiple_of(PAGE_SIZE.get()) {
            self.0.remove(&file);
        } else {
            self.0.insert(file, length);
        }
    }
}

impl Files for Thread {
    async fn create(&self) -> Result<workloads::FileId, Stop> {
        self.enter().await?;
        let prices = &self.kernel.prices;
        self.kernel.pay(Class::System, prices.file_open + prices.file_create).await;
        if !self.has_disk() {
            let file = self.kernel.with(|mm| mm.create_file(Pages::ZERO)).map_err(|errno| refused("open", errno))?;
            return Ok(named(file));
        }
        let file = self.kernel.with(|mm| mm.fs_create(Pages::ZERO)).map_err(|error| denied("open", error))?;
        tasks::create_inode(self, file).await.map_err(|why| self.stopped("open", why))?;
        let now = self.kernel.handle.now();
        self.kernel.with(|mm| mm.pages_mut().mark_inode_dirty(file, now)).map_err(|error| denied("open", error))?;
        self.spend().await;
        Ok(named(file))
    }

    /// Writes 1 MiB with each call.
    async fn create_file(&self, length: Bytes) -> Result<workloads::FileId, Stop> {
        let file = self.create().await?;
        for offset in (0..length.get()).step_by(WRITE.get() as usize) {
            let offset = Bytes::new(offset);
            self.write(file, offset, WRITE.min(length - offset)).await?;
        }
        self.close(file).await?;
        Ok(file)
    }

    async fn open(&self, number: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        self.kernel.pay(Class::System, self.kernel.prices.file_open).await;
        let file = self.by_name("open", number)?;
        if self.is_on_disk(file) && self.open_inode(file).await? {
            self.kernel.read_inode(file).await;
        }
        Ok(())
    }

    async fn close(&self, number: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        let file = self.living("close", number, Errno::Ebadf)?;
        self.kernel.with(|mm| mm.pages_mut().cache_mut().forget_readahead(file));
        if self.is_on_disk(file) {
            self.kernel.with(|mm| mm.pages_mut().fs_close(file)).map_err(|error| denied("close", error))?;
            self.drop_unlinked();
        }
        Ok(())
    }

    async fn fsync(&self, number: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        let file = self.living("fsync", number, Errno::Ebadf)?;
        if self.is_on_disk(file) {
            sync_file(self, &*self.kernel, file).await;
        }
        self.alive()
    }

    async fn sync(&self) -> Result<(), Stop> {
        self.enter().await?;
        sync(self, &*self.kernel).await;
        self.alive()
    }

    async fn remove_file(&self, number: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        self.kernel.pay(Class::System, self.kernel.prices.file_unlink).await;
        let file = self.by_name("unlink", number)?;
        if self.is_on_disk(file) {
            self.kernel.unlinked.borrow_mut().insert(file);
            self.drop_unlinked();
        } else {
            self.kernel.with(|mm| mm.close_file(file, self.cpu())).map_err(|errno| refused("unlink", errno))?;
        }
        self.spend().await;
        Ok(())
    }

    async fn read(&self, file: workloads::FileId, offset: Bytes, length: Bytes) -> Result<Bytes, Stop> {
        self.read_file(file, offset, length).await
    }

    async fn write(&self, file: workloads::FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        self.write_file(file, offset, length).await
    }
}

impl Thread {
    /// Length of a file.
    pub(crate) fn length(&self, file: FileId) -> Bytes {
        let whole = || self.kernel.look(|mm| mm.pages().cache().file_size(file)).unwrap_or_default().bytes();
        self.kernel.lengths.borrow().0.get(&file).copied().unwrap_or_else(whole)
    }

    /// Whether files are on a disk.
    fn has_disk(&self) -> bool {
        self.kernel.storage.main().is_some()
    }

    /// Whether this one is.
    fn is_on_disk(&self, file: FileId) -> bool {
        self.kernel.look(|mm| mm.pages().cache().is_on_disk(file))
    }

    /// Opens a file on disk that is to be mapped, if it is one.
    pub(crate) async fn open_for_mapping(&self, of: workloads::Of) -> Result<Option<FileId>, Stop> {
        let (workloads::Of::File(file, _) | workloads::Of::FileShared(file, _) | workloads::Of::FilePrivate(file, _)) =
            of
        else {
            return Ok(None);
        };
        let file = file_of(file);
        if !self.is_on_disk(file) {
            return Ok(None);
        }
        if self.open_inode(file).await? {
            self.kernel.read_inode(file).await;
        }
        Ok(Some(file))
    }

    /// Brings inode and dentry of a file into memory and uses them; says whether the inode has to be read.
    async fn open_inode(&self, file: FileId) -> Result<bool, Stop> {
        tasks::open_inode(self, file).await.map_err(|why| self.stopped("open", why))
    }

    /// Removes the files without a name that nobody has open or mapped any more.
    pub(crate) fn drop_unlinked(&self) {
        if self.kernel.unlinked.borrow().is_empty() {
            return;
        }
        let unused =
            |file: &FileId| self.kernel.with(|mm| mm.fs_unlink(*file, self.cpu())) != Err(FsError::Open(*file));
        for file in self.kernel.unlinked.borrow_mut().extract_if(.., unused) {
            self.kernel.storage.blocks.borrow_mut().forget(file);
            self.kernel.lengths.borrow_mut().0.remove(&file);
        }
    }

    /// The file, if it still has a name.
    fn by_name(&self, call: &'static str, number: workloads::FileId) -> Result<FileId, Stop> {
        let file = self.living(call, number, Errno::Enoent)?;
        if self.kernel.unlinked.borrow().contains(&file) { Err(refused(call, Errno::Enoent)) } else { Ok(file) }
    }

    /// The file, if it still exists.
    fn living(&self, call: &'static str, file: workloads::FileId, errno: Errno) -> Result<FileId, Stop> {
        let file = file_of(file);
        let lives = self.kernel.look(|mm| mm.pages().cache().file_size(file).is_some());
        if lives { Ok(file) } else { Err(refused(call, errno)) }
    }

    fn copying(&self, length: Bytes) -> Picos {
        Picos::new(self.kernel.prices.copy_page.get() * length.get() / PAGE_SIZE.get())
    }
}
