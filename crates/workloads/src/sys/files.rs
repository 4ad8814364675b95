//! Files of programs: [`Files`], on disk or, on a machine without a disk, on tmpfs.

use std::future::Future;

use order9_units::Bytes;

use super::stop::Stop;

/// System calls about files.
pub trait Files {
    /// Makes a file of `length` and writes all of it with what cannot be compressed: create, write, close.
    fn create_file(&self, length: Bytes) -> impl Future<Output = Result<FileId, Stop>>;

    /// `open` with `O_CREAT | O_TRUNC` of a name that is not taken: a new, empty file, open.
    fn create(&self) -> impl Future<Output = Result<FileId, Stop>>;

    /// `open` of a file that exists.
    fn open(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// One `pread`: how much was read, which is less than `length` where the file ends.
    fn read(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<Bytes, Stop>>;

    /// One `pwrite`; the file grows where it has to. `ENOSPC` where there is no room for all of it: what had room is written.
    fn write(&self, file: FileId, offset: Bytes, length: Bytes) -> impl Future<Output = Result<(), Stop>>;

    /// `fsync`.
    fn fsync(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// `sync`.
    fn sync(&self) -> impl Future<Output = Result<(), Stop>>;

    /// `close`.
    fn close(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;

    /// `unlink`: removes a file; mappings of it keep its pages.
    fn remove_file(&self, file: FileId) -> impl Future<Output = Result<(), Stop>>;
}

/// A file, by a number of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub u32);

/// Makes a file of `length` that lies on the disk and in the page cache: MMTests writes its incompressible files, then calls `sync`. A file
/// that is still dirty could not be dropped from the page cache.
pub(crate) async fn synced_file<S: Files>(sys: &S, length: Bytes) -> Result<FileId, Stop> {
    let file = sys.create_file(length).await?;
    sys.sync().await?;
    Ok(file)
}
