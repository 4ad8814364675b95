//! Files of programs. They live in memory, as on tmpfs: there is no page cache with a disk behind it yet.

use order9_mm::env::Env as _;
use order9_mm::{FileId, Gfp};
use order9_units::Pages;
use order9_workloads::{self as workloads, Stop};

use crate::faults::refused;
use crate::thread::Thread;
use crate::time::Class;

/// What a program writes with one system call.
const WRITE: Pages = Pages::new(256);

const NOTE: &str = "files live in memory, as on tmpfs: there is no page cache with a disk behind it yet";

/// Files by the numbers that programs know them by.
#[derive(Default)]
pub(crate) struct Files(Vec<FileId>);

impl Thread {
    pub(crate) fn file(&self, file: workloads::FileId) -> FileId {
        self.kernel.files.borrow().0[file.0 as usize]
    }

    /// Makes a file and writes all of it, 1 MiB with each call.
    pub(crate) async fn write_file(&self, pages: Pages) -> Result<workloads::FileId, Stop> {
        self.enter().await?;
        self.kernel.record.borrow_mut().notes.insert(NOTE);
        let file = self.kernel.with(|mm| mm.create_file(pages)).map_err(|errno| refused("open", errno))?;
        for index in 0..pages.get() {
            if index % WRITE.get() == 0 {
                self.enter().await?;
            }
            let page = self.page(Gfp::GFP_HIGHUSER_MOVABLE).await?;
            let added = self.kernel.with(|mm| mm.add_file_page(file, index, page, self.cpu()));
            added.expect("the file is open, and the page within it");
            self.kernel.pay(Class::System, self.kernel.prices.copy_page).await;
            self.spend().await;
        }
        let mut files = self.kernel.files.borrow_mut();
        files.0.push(file);
        Ok(workloads::FileId(files.0.len() as u32 - 1))
    }

    pub(crate) async fn unlink(&self, file: workloads::FileId) -> Result<(), Stop> {
        self.enter().await?;
        let file = self.file(file);
        self.kernel.with(|mm| mm.close_file(file, self.cpu())).map_err(|errno| refused("unlink", errno))?;
        self.spend().await;
        Ok(())
    }
}
