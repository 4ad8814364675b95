//! Writes to files, folio by folio.

use order9_mm::env::Env as _;
use order9_mm::tasks::{balance_dirty_pages, write_page, write_pages};
use order9_mm::{Errno, FileId};
use order9_units::{Bytes, PAGE_SIZE, Pages};
use order9_workloads::{self as workloads, Stop};

use crate::faults::refused;
use crate::thread::Thread;
use crate::time::Class;

impl Thread {
    /// Writes part of a file.
    pub(crate) async fn write_file(&self, number: workloads::FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        self.enter().await?;
        let file = self.living("pwrite", number, Errno::Ebadf)?;
        let (end, on_disk) = (offset + length, self.is_on_disk(file));
        let before = self.length(file);
        if !on_disk {
            self.grow(file, end)?;
        }
        let mut index = offset.get() / PAGE_SIZE.get();
        while index < end.get().div_ceil(PAGE_SIZE.get()) {
            let start = Bytes::new(index * PAGE_SIZE.get());
            let whole_pages = (end.get() / PAGE_SIZE.get()).saturating_sub(index);
            let mut pages = 1;
            if on_disk {
                let written = match offset <= start && whole_pages > 0 {
                    true => write_pages(self, file, index, whole_pages).await,
                    false => write_page(self, file, index).await.map(|()| 1),
                };
                pages = written.map_err(|why| self.stopped("pwrite", why))?;
            } else if let Err(stop) = self.write_tmpfs_page(file, index).await {
                self.cut_back(file, end, before, start.max(before));
                return Err(stop);
            }
            let copied = end.min(start + Pages::new(pages).bytes()) - offset.max(start);
            self.kernel.pay(Class::System, self.kernel.prices.file_page + self.copying(copied)).await;
            self.spend().await;
            if on_disk {
                let balanced = balance_dirty_pages(self).await;
                balanced.map_err(|why| self.stopped("pwrite", why))?;
            }
            index += pages;
        }
        if end > before {
            let size = self.kernel.look(|mm| mm.pages().cache().file_size(file)).unwrap_or_default();
            self.kernel.lengths.borrow_mut().grow(file, end, size);
        }
        Ok(())
    }

    /// A write that was to make a file of tmpfs end at `end` came to `written` only: the file ends there, unless others have
    /// changed its size meanwhile.
    fn cut_back(&self, file: FileId, end: Bytes, before: Bytes, written: Bytes) {
        let size = self.kernel.look(|mm| mm.pages().cache().file_size(file));
        if end > before && size == Some(Pages::from_bytes_ceil(end)) {
            let cut = self.kernel.with(|mm| mm.truncate(file, Pages::from_bytes_ceil(written), self.cpu()));
            // Else it was closed meanwhile.
            if cut.is_ok() {
                self.kernel.lengths.borrow_mut().set(file, written);
            }
        }
    }

    fn grow(&self, file: FileId, end: Bytes) -> Result<(), Stop> {
        let size = Pages::from_bytes_ceil(end);
        if self.kernel.look(|mm| mm.pages().cache().file_size(file)).is_some_and(|now| size <= now) {
            return Ok(());
        }
        self.kernel.with(|mm| mm.truncate(file, size, self.cpu())).map_err(|errno| refused("pwrite", errno))
    }
}
