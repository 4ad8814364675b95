//! Many small files, written page by page in turn and then read at random: page cache and inodes that interleave in memory
//! and stay in use. After the fio configuration of thpfioscale in mmtests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use order9_units::{Bytes, PAGE_SIZE};

use crate::dice::Dice;
use crate::sys::{ChildKind, FileId, Stop, Sys};

/// Processes that write, and then processes that read.
const WORKERS: u64 = 4;
const FILE: Bytes = Bytes::new(64 << 10);
const PAGES: u64 = FILE.get() / PAGE_SIZE.get();
/// Reads of a file before a reader chooses another one.
const READS: u64 = 16;

/// Files of a worker, all open.
type Files = Arc<Mutex<Vec<FileId>>>;

/// Files that are there to be read.
pub(super) struct FileLoad {
    files: Vec<Files>,
}

/// A load whose readers run.
pub(super) struct Running<C> {
    files: Vec<Files>,
    readers: Vec<C>,
    over: Arc<AtomicBool>,
}

/// Writes files of `bytes` together, a page of each after the other, and syncs.
pub(super) async fn write<S: Sys>(sys: &S, bytes: Bytes) -> Result<FileLoad, Stop> {
    let each = bytes.get() / FILE.get() / WORKERS;
    let files: Vec<Files> = (0..WORKERS).map(|_| Files::default()).collect();
    let mut writers = Vec::new();
    for own in &files {
        let own = Arc::clone(own);
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
    *files.lock().expect("nobody panics with the lock") = own;
    Ok(())
}

impl FileLoad {
    /// Starts the readers.
    pub(super) async fn read<S: Sys>(self, sys: &S) -> Result<Running<S::Child>, Stop> {
        let over = Arc::new(AtomicBool::new(false));
        let mut readers = Vec::new();
        for (worker, own) in self.files.iter().enumerate() {
            let (own, over) = (Arc::clone(own), Arc::clone(&over));
            let body = move |sys: S| async move { read_files(&sys, worker, &own, &over).await };
            readers.push(sys.spawn(ChildKind::Process, "fio", body).await?);
        }
        Ok(Running { files: self.files, readers, over })
    }
}

async fn read_files<S: Sys>(sys: &S, worker: usize, files: &Files, over: &AtomicBool) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed(&format!("fio {worker}")));
    let files = files.lock().expect("nobody panics with the lock").clone();
    while !over.load(Ordering::Relaxed) {
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
        self.over.store(true, Ordering::Relaxed);
        for reader in std::mem::take(&mut self.readers) {
            sys.wait(reader).await?.result?;
        }
        Ok(())
    }

    /// Ends the readers and removes the files.
    pub(super) async fn stop<S: Sys<Child = C>>(mut self, sys: &S) -> Result<(), Stop> {
        self.stop_reading(sys).await?;
        for own in self.files {
            let files = own.lock().expect("nobody panics with the lock").clone();
            for file in files {
                sys.close(file).await?;
                sys.remove_file(file).await?;
            }
        }
        Ok(())
    }
}
