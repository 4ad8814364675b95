//! Files of programs, by number: a directory holds a file, or a link to one on a mount, for each.

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use order9_units::Bytes;
use order9_workloads::{FileId, Files, Stop};
use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng as _;

use super::Thread;
use crate::errno::refused;

/// Bytes that a program writes with one system call.
const WRITE: u64 = 1 << 20;

impl Thread {
    /// The link, or the file itself, of this number.
    pub(super) fn path(&self, file: FileId) -> PathBuf {
        self.process.run.files.join(file.0.to_string())
    }

    /// The open file, which is opened where it is not.
    pub(super) fn file(&self, call: &'static str, file: FileId) -> Result<Arc<File>, Stop> {
        let mut state = self.process.state();
        if let Some(open) = state.open.get(&file.0) {
            return Ok(Arc::clone(open));
        }
        let opened = OpenOptions::new().read(true).write(true).open(self.path(file));
        let opened = Arc::new(opened.map_err(|error| refused(call, error))?);
        state.open.insert(file.0, Arc::clone(&opened));
        Ok(opened)
    }
}

/// Bytes that cannot be compressed, as many as one system call writes. To make them anew for each call would take longer than the call.
pub(super) static NOISE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut bytes = vec![0; WRITE as usize];
    Pcg64Mcg::new(1).fill_bytes(&mut bytes);
    bytes
});

/// Bytes that a thread keeps for its reads, at most: more would be memory that the workload does not ask for.
const READ_KEPT: usize = 2 << 20;

thread_local! {
    /// Memory into which a thread reads: new memory for each call would be faults that the workload does not ask for.
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Files for Thread {
    async fn create_file(&self, length: Bytes) -> Result<FileId, Stop> {
        let file = self.create().await?;
        let open = self.file("open", file)?;
        for offset in (0..length.get()).step_by(WRITE as usize) {
            let part = &NOISE[..WRITE.min(length.get() - offset) as usize];
            open.write_all_at(part, offset).map_err(|error| refused("pwrite", error))?;
        }
        self.close(file).await?;
        Ok(file)
    }

    async fn create(&self) -> Result<FileId, Stop> {
        let file = FileId(self.process.run.clock.new_file());
        let created = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(self.path(file));
        let created = created.map_err(|error| refused("open", error))?;
        self.process.state().open.insert(file.0, Arc::new(created));
        Ok(file)
    }

    async fn open(&self, file: FileId) -> Result<(), Stop> {
        self.file("open", file).map(drop)
    }

    async fn read(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<Bytes, Stop> {
        let open = self.file("pread", file)?;
        let read = READ.with_borrow_mut(|bytes| {
            let length = length.get() as usize;
            if length > READ_KEPT {
                return open.read_at(&mut vec![0; length], offset.get());
            }
            bytes.resize(bytes.len().max(length), 0);
            open.read_at(&mut bytes[..length], offset.get())
        });
        Ok(Bytes::new(read.map_err(|error| refused("pread", error))? as u64))
    }

    async fn write(&self, file: FileId, offset: Bytes, length: Bytes) -> Result<(), Stop> {
        let open = self.file("pwrite", file)?;
        let (mut at, end) = (offset.get(), offset.get() + length.get());
        while at < end {
            let part = &NOISE[..(end - at).min(WRITE) as usize];
            open.write_all_at(part, at).map_err(|error| refused("pwrite", error))?;
            at += part.len() as u64;
        }
        Ok(())
    }

    async fn fsync(&self, file: FileId) -> Result<(), Stop> {
        self.file("fsync", file)?.sync_all().map_err(|error| refused("fsync", error))
    }

    async fn sync(&self) -> Result<(), Stop> {
        rustix::fs::sync();
        Ok(())
    }

    async fn close(&self, file: FileId) -> Result<(), Stop> {
        let closed = self.process.state().open.remove(&file.0);
        // One process may have made it, and another says that it is used no longer.
        let is_there = closed.is_some() || self.path(file).exists();
        if is_there { Ok(()) } else { Err(Stop::Refused { call: "close", errno: "EBADF" }) }
    }

    async fn remove_file(&self, file: FileId) -> Result<(), Stop> {
        self.process.state().open.remove(&file.0);
        let path = self.path(file);
        // A file on a mount is behind a link.
        if let Ok(target) = fs::read_link(&path) {
            fs::remove_file(target).map_err(|error| refused("unlink", error))?;
        }
        fs::remove_file(path).map_err(|error| refused("unlink", error))
    }
}
