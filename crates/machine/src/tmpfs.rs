//! Files on tmpfs: mounts, pages that system calls read and write, and parts that are cut out.

use order9_mm::env::Env as _;
use order9_mm::tasks::{Filled, tmpfs_page, tmpfs_page_to_write};
use order9_mm::{Errno, FileId, MountId};
use order9_procfs::tmpfs_options;
use order9_units::{Bytes, PAGE_SIZE, Pages};
use order9_workloads::{self as workloads, Mount, Statfs, Stop, Tmpfs};

use crate::faults::refused;
use crate::files::file_of;
use crate::thread::Thread;
use crate::time::Class;

impl Tmpfs for Thread {
    async fn mount_tmpfs(&self, options: &str) -> Result<Mount, Stop> {
        self.enter().await?;
        let mount = tmpfs_options(options).and_then(|options| self.kernel.with(|mm| mm.mount_tmpfs(options)));
        mount.map(|mount| Mount(mount.number())).map_err(|errno| refused("mount", errno))
    }

    async fn remount_tmpfs(&self, mount: Mount, options: &str) -> Result<(), Stop> {
        self.enter().await?;
        let remount = |options| self.kernel.with(|mm| mm.remount_tmpfs(MountId::new(mount.0), options));
        tmpfs_options(options).and_then(remount).map_err(|errno| refused("mount", errno))
    }

    async fn statfs(&self, mount: Mount) -> Result<Statfs, Stop> {
        self.enter().await?;
        let known = self.kernel.look(|mm| mm.pages().cache().statfs(MountId::new(mount.0)));
        let known = known.ok_or_else(|| refused("statfs", Errno::Enoent))?;
        Ok(Statfs { blocks: known.blocks, free: known.free })
    }

    async fn create_on(&self, mount: Mount) -> Result<workloads::FileId, Stop> {
        self.enter().await?;
        let prices = &self.kernel.prices;
        self.kernel.pay(Class::System, prices.file_open + prices.file_create).await;
        let (mount, creator) = (MountId::new(mount.0), Some(self.process.space));
        let file = self.kernel.with(|mm| mm.create_file_on(mount, Pages::ZERO, creator));
        file.map(|file| workloads::FileId(file.index() as u32)).map_err(|errno| refused("open", errno))
    }

    async fn truncate(&self, number: workloads::FileId, length: Bytes) -> Result<(), Stop> {
        let file = self.tmpfs_file("ftruncate", number).await?;
        let done = self.kernel.with(|mm| mm.truncate(file, Pages::from_bytes_ceil(length), self.cpu()));
        self.kernel.lengths.borrow_mut().set(file, length);
        self.spend().await;
        done.map_err(|errno| refused("ftruncate", errno))
    }

    /// Gives the file all pages of the range, or none: where there is not room for all, new pages are freed again.
    async fn fallocate(&self, number: workloads::FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        let file = self.tmpfs_file("fallocate", number).await?;
        let (first, end) = (Pages::from_bytes_floor(offset), Pages::from_bytes_ceil(offset + length));
        let before = self.kernel.look(|mm| mm.pages().cache().file_size(file)).unwrap_or_default();
        if end > before {
            let grown = self.kernel.with(|mm| mm.truncate(file, end, self.cpu()));
            grown.map_err(|errno| refused("fallocate", errno))?;
        }
        let mut filled = Vec::new();
        for index in first.get()..end.get() {
            match self.tmpfs_page_to_write("fallocate", file, index).await {
                Ok(hole) => filled.extend(hole),
                Err(stop) => {
                    self.undo_preallocation(file, (before, end), filled);
                    return Err(stop);
                }
            }
            self.spend().await;
        }
        if offset + length > self.length(file) {
            self.kernel.lengths.borrow_mut().set(file, offset + length);
        }
        Ok(())
    }

    /// Punches out the whole pages of the range; parts of pages are zeroed, which takes no memory.
    async fn punch_hole(&self, number: workloads::FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        let file = self.tmpfs_file("fallocate", number).await?;
        let (first, end) = (Pages::from_bytes_ceil(offset), Pages::from_bytes_floor(offset + length));
        let done = self.kernel.with(|mm| mm.punch_hole(file, first.get(), end - end.min(first), self.cpu()));
        self.spend().await;
        done.map_err(|errno| refused("fallocate", errno))
    }
}

impl Thread {
    /// Makes holes of what filled some, and a file that was to grow from one size to another as large as it was, unless it has
    /// another size by now. One that was closed meanwhile is left.
    fn undo_preallocation(&self, file: FileId, (before, end): (Pages, Pages), filled: Vec<Filled>) {
        self.kernel.with(|mm| {
            for (index, pages) in filled {
                let _closed = mm.punch_hole(file, index, pages, self.cpu());
            }
            if end > before && mm.pages().cache().file_size(file) == Some(end) {
                let _closed = mm.truncate(file, before, self.cpu());
            }
        });
    }

    /// A file that a call is about, if it is one of tmpfs.
    async fn tmpfs_file(&self, call: &'static str, number: workloads::FileId) -> Result<FileId, Stop> {
        self.enter().await?;
        let file = file_of(number);
        match self.kernel.look(|mm| (mm.pages().cache().file_size(file), mm.pages().cache().is_on_disk(file))) {
            (None, _) => Err(refused(call, Errno::Ebadf)),
            (Some(_), true) => Err(refused(call, Errno::Eopnotsupp)),
            (Some(_), false) => Ok(file),
        }
    }

    /// Reads what lies in `[offset, end)` of a file of tmpfs, which uses its pages; holes have none.
    pub(crate) async fn read_tmpfs(&self, file: FileId, offset: Bytes, end: Bytes) -> Result<(), Stop> {
        for index in offset.get() / PAGE_SIZE.get()..end.get().div_ceil(PAGE_SIZE.get()) {
            let page = tmpfs_page(self, file, index).await.map_err(|why| self.stopped("pread", why))?;
            if let Some(pfn) = page {
                self.kernel.with(|mm| mm.mark_accessed(pfn));
            }
        }
        Ok(())
    }

    /// Writes the page at `index` of a file of tmpfs.
    pub(crate) async fn write_tmpfs_page(&self, file: FileId, index: u64) -> Result<(), Stop> {
        self.tmpfs_page_to_write("pwrite", file, index).await?;
        self.kernel.with(|mm| mm.write_page(file, index, self.kernel.handle.now()));
        Ok(())
    }

    /// Sees to it that there is a page at `index` of a file of tmpfs, on behalf of `call`; the hole that was filled for that.
    async fn tmpfs_page_to_write(&self, call: &'static str, file: FileId, index: u64) -> Result<Option<Filled>, Stop> {
        tmpfs_page_to_write(self, file, index).await.map_err(|why| self.stopped(call, why))
    }
}
