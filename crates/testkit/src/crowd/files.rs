//! Operations of tasks on files, on disk and of tmpfs. Each file may be truncated, removed or evicted whenever a task
//! waits.

use order9_mm::env::Env as _;
use order9_mm::fs_cache::FsStep;
use order9_mm::tasks::{
    balance_dirty_pages, drop_pagecache, read_page, sync_file, tmpfs_page_to_write, write_page, write_pages,
};
use order9_mm::{FileId, Gfp, Request};
use order9_units::{Order, Pages};

use super::CPU;
use super::machine::Thread;

impl Thread {
    /// Opens a file on disk; says whether it is.
    fn open(&self, file: FileId) -> bool {
        let asked = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
        matches!(self.with(|mm| mm.fs_open_fast(file, &asked)), FsStep::Done { .. })
    }

    fn close(&self, file: FileId) {
        self.with(|mm| mm.pages_mut().fs_close(file)).expect("it is open");
    }

    /// Does `work` to a file while it is open. Does nothing where the file is gone, or no memory is left to open it.
    pub(super) async fn while_open(&self, file: FileId, work: impl AsyncFnOnce()) {
        let (exists, on_disk) =
            self.with(|mm| (mm.pages().cache().file_size(file).is_some(), mm.pages().cache().is_on_disk(file)));
        if !exists || on_disk && !self.open(file) {
            return;
        }
        work().await;
        if on_disk {
            self.close(file);
        }
    }

    /// Reads pages of an open file on disk, as far as it goes.
    pub(super) async fn read(&self, file: FileId, index: u64, count: u64) {
        let (mut at, end) = (index, index + count);
        while at < end {
            match read_page(self, file, at, end - at).await {
                Ok(read) => at += read,
                Err(_) => return,
            }
        }
        self.with(|mm| mm.pages_mut().cache_mut().forget_readahead(file));
    }

    /// Writes pages of an open file, from an odd place on each only in part, which reads it first where it is on disk.
    pub(super) async fn write(&self, file: FileId, index: u64, count: u64) {
        let on_disk = self.with(|mm| mm.pages().cache().is_on_disk(file));
        let (mut at, end) = (index, index + count);
        while at < end {
            at += match (on_disk, index.is_multiple_of(2)) {
                (true, true) => write_pages(self, file, at, end - at).await.unwrap_or(1),
                (true, false) => {
                    let _why_not = write_page(self, file, at).await;
                    1
                }
                (false, _) => {
                    if tmpfs_page_to_write(self, file, at).await.is_ok() {
                        self.with(|mm| mm.write_page(file, at, self.machine.now()));
                    }
                    1
                }
            };
            if on_disk {
                let _killed = balance_dirty_pages(self).await;
            }
        }
    }

    /// Writes back all that is dirty of a file, and waits for it.
    pub(super) async fn sync(&self, file: FileId) {
        sync_file(self, self, file).await;
    }

    /// Sets the size of an open file, in steps.
    pub(super) async fn truncate(&self, file: FileId, size: u64) {
        while self.with(|mm| mm.truncate_step(file, size, CPU)) {
            self.pause().await;
        }
        self.with(|mm| mm.truncate(file, Pages::new(size), CPU)).expect("it is open");
    }

    /// `echo 1 > /proc/sys/vm/drop_caches`.
    pub(super) async fn drop_pagecache(&self) {
        drop_pagecache(self).await;
    }
}
