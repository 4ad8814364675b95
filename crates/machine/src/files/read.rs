//! Reads of files, folio by folio.

use order9_mm::Errno;
use order9_mm::tasks::read_page;
use order9_units::{Bytes, PAGE_SIZE};
use order9_workloads::{self as workloads, Stop};

use crate::thread::Thread;
use crate::time::Class;

impl Thread {
    /// Reads part of a file; less of it where that ends.
    pub(crate) async fn read_file(&self, file: workloads::FileId, offset: Bytes, length: Bytes) -> Result<Bytes, Stop> {
        self.enter().await?;
        let file = self.living("pread", file, Errno::Ebadf)?;
        let size = self.length(file);
        let read = length.min(size - offset.min(size));
        if read == Bytes::ZERO {
            return Ok(read);
        }
        let end = offset + read;
        if self.is_on_disk(file) {
            let (mut index, last) = (offset.get() / PAGE_SIZE.get(), end.get().div_ceil(PAGE_SIZE.get()));
            while index < last {
                let read = read_page(self, file, index, last - index).await;
                index += read.map_err(|why| self.stopped("pread", why))?;
            }
        } else {
            self.read_tmpfs(file, offset, end).await?;
        }
        self.kernel.pay(Class::System, self.copying(read)).await;
        Ok(read)
    }
}
