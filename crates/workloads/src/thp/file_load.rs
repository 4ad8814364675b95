//! Many small files, written page by page in turn and then read at random: page cache and inodes that interleave in memory
//! and stay in use. After the fio configuration of thpfioscale in mmtests.

use order9_units::{Bytes, PAGE_SIZE};

use crate::dice::Dice;
use crate::sys::{ChildKind, FileId, Flag, Shared, Stop, Sys};

/// Processes that write, and then processes that read.
const WORKERS: u64 = 4;
const FILE: Bytes = Bytes::new(64 << 10);
const PAGES: u64 = FILE.get() / PAGE_SIZE.get();
/// Reads of a file before a reader chooses another one.
const READS: u64 = 16;

/// Numbers of a worker's files.
#[derive(Clone)]
struct Files(Shared);

impl Files {
    fn ids(&self) -> Vec<FileId> {
        self.0.iter().map(|file| FileId(file as u32)).collect()
    }
}

/// Files that are there to be read.
pub(super) struct FileLoad {
    files: Vec<Files>,
}

/// A load whose readers run.
pub(super) struct Running<C> {
    files: Vec<Files>,
    readers: Vec<C>,
    over: Flag,
}

/// Writes files of `bytes` together, a page of each after the other, and syncs.
pub(super) async fn write<S: Sys>(sys: &S, bytes: Bytes) -> Result<FileLoad, Stop> {
    let each = bytes.get() / FILE.get() / WORKERS;
    let files = (0..WORKERS).map(|_| sys.share(each as usize).map(Files)).collect::<Result<Vec<_>, _>>()?;
    let mut writers = Vec::new();
    for own in &files {
        let own = own.clone();
        let body = move |sys: S| async move { write_files(&sys, each, &own).await };
        writers.push(sys.spawn(ChildKind::Process, "fio", body).await?);
    }
    for writer in writers {
        sys.wait(writer).await?.result?;
    }
    sys.sync().await?;
    Ok(FileLoad { files })
}

async fn write_files<S: Sys>(sys: &S, count: u64, files: &Files) -> Result<(), Stop> {
    let mut own = Vec::new();
    for page in 0..PAGES {
        for nth in 0..count as usize {
            if page == 0 {
                own.push(sys.create().await?);
            }
            sys.write(own[nth], Bytes::new(page * PAGE_SIZE.get()), PAGE_SIZE).await?;
        }
    }
    own.iter().enumerate().for_each(|(nth, file)| files.0.set(nth, file.0.into()));
    Ok(())
}

impl FileLoad {
    /// Starts the readers.
    pub(super) async fn read<S: Sys>(self, sys: &S) -> Result<Running<S::Child>, Stop> {
        let over = Flag::new(sys)?;
        let mut readers = Vec::new();
        for (worker, own) in self.files.iter().enumerate() {
            let (own, over) = (own.clone(), over.clone());
            let body = move |sys: S| async move { read_files(&sys, worker, &own, &over).await };
            readers.push(sys.spawn(ChildKind::Process, "fio", body).await?);
        }
        Ok(Running { files: self.files, readers, over })
    }
}

async fn read_files<S: Sys>(sys: &S, worker: usize, files: &Files, over: &Flag) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed(&format!("fio {worker}")));
    let files = files.ids();
    if files.is_empty() {
        return Ok(()); // A share of so little memory is smaller than a file.
    }
    while !over.is_up() {
        let file = files[dice.below(files.len() as u64) as usize];
        for _ in 0..READS {
            sys.read(file, Bytes::new(dice.below(PAGES) * PAGE_SIZE.get()), PAGE_SIZE).await?;
        }
    }
    Ok(())
}

impl<C: Copy + 'static> Running<C> {
    /// Ends the readers; the files stay.
    pub(super) async fn stop_reading<S: Sys<Child = C>>(&mut self, sys: &S) -> Result<(), Stop> {
        self.over.raise();
        for reader in std::mem::take(&mut self.readers) {
            sys.wait(reader).await?.result?;
        }
        Ok(())
    }

    /// Ends the readers and removes the files.
    pub(super) async fn stop<S: Sys<Child = C>>(mut self, sys: &S) -> Result<(), Stop> {
        self.stop_reading(sys).await?;
        for own in self.files {
            for file in own.ids() {
                sys.close(file).await?;
                sys.remove_file(file).await?;
            }
        }
        Ok(())
    }
}
