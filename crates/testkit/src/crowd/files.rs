//! What tasks do with files, on disk and of tmpfs; each may be truncated, removed or evicted whenever they wait.

use order9_mm::env::{Env as _, Stall as _, Until};
use order9_mm::fs_cache::FsStep;
use order9_mm::page_cache::{Added, CachedPage, DropPagecache};
use order9_mm::{FileId, Gfp, Request, ShmemPage, SpaceId, alloc_pages};
use order9_units::{Order, Pages};

use super::machine::{Thread, Transfer};
use super::{CPU, page_request};

/// Pages that a write hands to a disk at once.
const TURN: Pages = Pages::new(8);

impl Thread {
    /// Opens a file on disk; says whether it is.
    fn open(&self, file: FileId) -> bool {
        let asked = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
        matches!(self.with(|mm| mm.fs_open_fast(file, &asked)), FsStep::Done { .. })
    }

    fn close(&self, file: FileId) {
        self.with(|mm| mm.fs_close(file)).expect("it is open");
    }

    /// Something is done to a file while it is open; not to one that is gone, or where there is no memory to open it.
    pub(super) async fn while_open(&self, file: FileId, work: impl AsyncFnOnce()) {
        let (exists, on_disk) = self.with(|mm| (mm.file_size(file).is_some(), mm.is_on_disk(file)));
        if !exists || on_disk && !self.open(file) {
            return;
        }
        work().await;
        if on_disk {
            self.close(file);
        }
    }

    /// Reads pages of an open file on disk, as far as it goes, and waits for them.
    pub(super) async fn read(&self, file: FileId, index: u64, count: u64) {
        for index in index..index + count {
            if self.with(|mm| mm.find_page(file, index)) == CachedPage::Missing {
                let Ok(page) = alloc_pages(self, &page_request(self.cpu())).await else { return };
                self.pause().await;
                match self.with(|mm| mm.add_to_page_cache(file, index, page, CPU)) {
                    Ok(Added::New(_)) => self.machine.begin(Transfer::Read(file, index)),
                    Ok(Added::Present) => {}
                    Err(_beyond_its_end) => return self.with(|mm| mm.free(page, CPU)).expect("it was just allocated"),
                }
            }
        }
        while let CachedPage::BeingRead(_) = self.with(|mm| mm.find_page(file, index)) {
            self.wait(Until::Transferred, None).await;
        }
    }

    /// Writes a page of an open file.
    pub(super) async fn write(&self, file: FileId, index: u64) {
        match self.with(|mm| mm.is_on_disk(file)) {
            true => self.write_to_disk(file, index).await,
            false => self.write_to_tmpfs(file, index).await,
        }
    }

    async fn write_to_disk(&self, file: FileId, index: u64) {
        loop {
            match self.with(|mm| mm.write_page(file, index, self.machine.now())) {
                CachedPage::Uptodate(_) => return,
                CachedPage::BeingRead(_) => drop(self.wait(Until::Transferred, None).await),
                CachedPage::Missing => {
                    let Ok(page) = alloc_pages(self, &page_request(self.cpu())).await else { return };
                    self.pause().await;
                    // Time has passed: files are queued by when they became dirty.
                    match self.with(|mm| mm.write_new_page(file, index, page, self.machine.now(), CPU)) {
                        Ok(Added::New(_)) => return,
                        Ok(Added::Present) => {}
                        Err(_) => return self.with(|mm| mm.free(page, CPU)).expect("it was just allocated"),
                    }
                }
            }
        }
    }

    async fn write_to_tmpfs(&self, file: FileId, index: u64) {
        if self.with(|mm| mm.file_size(file)).is_none_or(|size| index >= size.get()) {
            return;
        }
        match self.with(|mm| mm.shmem_page(file, index)) {
            ShmemPage::Present(_) => {}
            ShmemPage::Swapped(slot) => {
                let Ok(page) = alloc_pages(self, &page_request(self.cpu())).await else { return };
                self.pause().await;
                self.with(|mm| mm.shmem_swap_in(file, index, slot, page, CPU));
            }
            ShmemPage::Hole => self.fill_hole(file, index).await,
        }
        self.with(|mm| {
            let beyond = mm.file_size(file).is_none_or(|size| index >= size.get());
            if !beyond && let ShmemPage::Present(_) = mm.shmem_page(file, index) {
                mm.write_page(file, index, self.machine.now());
            }
        });
    }

    async fn fill_hole(&self, file: FileId, index: u64) {
        let Ok(mut hole) = self.with(|mm| mm.shmem_hole(SpaceId::default(), file, index, CPU)) else { return };
        let page = loop {
            match alloc_pages(self, &hole.request(CPU)).await {
                Ok(page) => break page,
                Err(_) if hole.may_be_refused() => hole = self.with(|mm| mm.shmem_refused(&hole)),
                Err(_) => return,
            }
        };
        self.pause().await;
        self.with(|mm| {
            if mm.fill_shmem_hole(&hole, page, CPU).is_err() {
                mm.free(page, CPU).expect("it was just allocated");
            }
        });
    }

    /// Writes back all that is dirty of a file.
    pub(super) async fn write_back(&self, file: FileId) {
        while let Some(write) = self.with(|mm| mm.start_writeback(file, TURN)) {
            self.machine.begin(Transfer::Write(write));
            self.pause().await;
        }
        if self.with(|mm| mm.start_inode_write(file)) {
            self.machine.begin(Transfer::Inode(file));
        }
        self.pause().await;
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
        let mut run = self.with(|mm| DropPagecache::new(mm, CPU));
        while self.with(|mm| run.step(mm)).is_none() {
            self.pause().await;
        }
    }
}
