//! Files of programs. They live in memory, as on tmpfs: there is no page cache with a disk behind it yet.

use order9_mm::env::Env as _;
use order9_mm::shrinker::{DropSlab, ShrinkStep};
use order9_mm::{Errno, FileId, Gfp};
use order9_units::{Bytes, PAGE_SIZE, Pages};
use order9_workloads::{self as workloads, DropCaches, Stop};

use crate::cost::Picos;
use crate::faults::refused;
use crate::thread::Thread;
use crate::time::Class;

/// What a program writes with one system call.
const WRITE: Bytes = Bytes::new(1 << 20);

const NOTE: &str = "files live in memory, as on tmpfs: there is no page cache with a disk behind it yet";

/// Files by the numbers that programs know them by.
#[derive(Default)]
pub(crate) struct Files(Vec<Entry>);

struct Entry {
    file: FileId,
    length: Bytes,
}

impl Thread {
    pub(crate) fn file(&self, file: workloads::FileId) -> FileId {
        self.kernel.files.borrow().0[file.0 as usize].file
    }

    /// A new, empty file.
    pub(crate) async fn new_file(&self) -> Result<workloads::FileId, Stop> {
        self.enter().await?;
        self.kernel.record.borrow_mut().notes.insert(NOTE);
        let file = self.kernel.with(|mm| mm.create_file(Pages::ZERO)).map_err(|errno| refused("open", errno))?;
        let mut files = self.kernel.files.borrow_mut();
        files.0.push(Entry { file, length: Bytes::ZERO });
        Ok(workloads::FileId(files.0.len() as u32 - 1))
    }

    /// Makes a file and writes all of it, 1 MiB with each call.
    pub(crate) async fn make_file(&self, length: Bytes) -> Result<workloads::FileId, Stop> {
        let file = self.new_file().await?;
        for offset in (0..length.get()).step_by(WRITE.get() as usize) {
            let offset = Bytes::new(offset);
            self.write_file(file, offset, WRITE.min(length - offset)).await?;
        }
        self.close_file(file).await?;
        Ok(file)
    }

    pub(crate) async fn open_file(&self, file: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        self.living("open", file, Errno::Enoent).map(|_| ())
    }

    pub(crate) async fn close_file(&self, file: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        self.living("close", file, Errno::Ebadf).map(|_| ())
    }

    /// Copies what there is of the file; holes read as zeros and need no page.
    pub(crate) async fn read_file(&self, file: workloads::FileId, offset: Bytes, length: Bytes) -> Result<Bytes, Stop> {
        self.enter().await?;
        self.living("pread", file, Errno::Ebadf)?;
        let end = self.kernel.files.borrow().0[file.0 as usize].length;
        let read = length.min(end - offset.min(end));
        self.kernel.pay(Class::System, self.copying(read)).await;
        Ok(read)
    }

    /// Writes part of a file: allocates the pages that it does not have there.
    pub(crate) async fn write_file(&self, number: workloads::FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        self.enter().await?;
        let file = self.living("pwrite", number, Errno::Ebadf)?;
        let end = offset + length;
        self.grow(number, end)?;
        for index in offset.get() / PAGE_SIZE.get()..end.get().div_ceil(PAGE_SIZE.get()) {
            if self.kernel.look(|mm| mm.file_page(file, index)).is_none() {
                let page = self.page(Gfp::GFP_HIGHUSER_MOVABLE).await?;
                let added = self.kernel.with(|mm| mm.add_file_page(file, index, page, self.cpu()));
                added.map_err(|errno| refused("pwrite", errno))?;
            }
            let start = Bytes::new(index * PAGE_SIZE.get());
            let copied = end.min(start + PAGE_SIZE) - offset.max(start);
            self.kernel.pay(Class::System, self.copying(copied)).await;
            self.spend().await;
        }
        Ok(())
    }

    /// Whatever is written is where it stays: there is no disk.
    pub(crate) async fn sync_file(&self, file: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        self.living("fsync", file, Errno::Ebadf).map(|_| ())
    }

    /// Drops what shrinkers can free; pages of files in memory cannot be dropped.
    pub(crate) async fn drop_cached(&self, what: DropCaches) -> Result<(), Stop> {
        self.enter().await?;
        if what == DropCaches::Pages {
            return Ok(());
        }
        let mut run = self.kernel.with(|mm| DropSlab::new(mm, self.cpu()));
        loop {
            match self.kernel.with(|mm| run.step(mm)) {
                ShrinkStep::Done(_) => return self.alive(),
                ShrinkStep::Progress => self.spend().await,
            }
        }
    }

    pub(crate) async fn unlink(&self, file: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        let file = self.living("unlink", file, Errno::Enoent)?;
        self.kernel.with(|mm| mm.close_file(file, self.cpu())).map_err(|errno| refused("unlink", errno))?;
        self.spend().await;
        Ok(())
    }

    /// The file, if it still has a name.
    fn living(&self, call: &'static str, file: workloads::FileId, errno: Errno) -> Result<FileId, Stop> {
        let file = self.file(file);
        let lives = self.kernel.look(|mm| mm.file(file).is_some());
        if lives { Ok(file) } else { Err(refused(call, errno)) }
    }

    fn grow(&self, number: workloads::FileId, end: Bytes) -> Result<(), Stop> {
        let Entry { file, length } = &mut self.kernel.files.borrow_mut().0[number.0 as usize];
        if end > *length {
            let size = Pages::from_bytes_ceil(end);
            let grown = self.kernel.with(|mm| mm.truncate(*file, size, self.cpu()));
            grown.map_err(|errno| refused("pwrite", errno))?;
            *length = end;
        }
        Ok(())
    }

    fn copying(&self, length: Bytes) -> Picos {
        Picos::new(self.kernel.prices.copy_page.get() * length.get() / PAGE_SIZE.get())
    }
}
