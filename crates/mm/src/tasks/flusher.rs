//! The flusher: writes back what is dirty for long, what is too much, and what reclaim asks for. Beside it `fsync` and `sync`,
//! which write back and wait.
//!
//! Files are written in the order in which they became dirty, a piece of each in turn, as long as the disk takes more. Inodes
//! follow their data, many with one transfer.

use alloc::vec::Vec;
use core::mem;

use order9_units::{Nanos, Pages};

use crate::env::{Disks, Env, FileWork, Stall, Until};
use crate::page_cache::{FileId, FileWrite};
use crate::tasks::open::place_inode;

/// Pages of a file that are written before the next one has its turn: 4 MiB.
const TURN: Pages = Pages::new(1024);
/// Inodes that are written with one transfer.
const INODES: usize = 128;
/// Longest single wait for the end of writes.
const WRITE_WAIT: Nanos = Nanos::new(100_000_000);

/// Writes back what is due, at every interval and whenever it is woken; never ends. To be run as a task of its own, and not
/// before `phase` at first.
pub async fn flusher<E: Stall>(env: &E, disks: &impl Disks, mut phase: Option<Nanos>) {
    loop {
        let every = env.with(|mm| mm.phys.dirty_writeback_interval());
        let timeout = phase.take().or(every);
        if !env.with(|mm| mm.pages.cache.take_flusher_wakeup()) {
            env.wait(Until::FlusherNeeded, timeout).await;
            env.with(|mm| mm.pages.cache.take_flusher_wakeup());
        }
        flush(env, disks).await;
    }
}

/// Writes back all that is due.
async fn flush<E: Stall>(env: &E, disks: &impl Disks) {
    let mut inodes = Vec::new();
    while let Some(file) = next_due(env) {
        let mut left = TURN;
        while let Some(write) = env.with(|mm| mm.pages.start_writeback(file, left, &mut mm.phys)) {
            write_back(env, disks, &write).await;
            env.with(|mm| mm.pages.cache.count_flushed(write.pages));
            left -= write.pages.min(left);
            if left == Pages::ZERO {
                break;
            }
        }
        if left == Pages::ZERO {
            let now = env.now();
            env.with(|mm| mm.pages.cache.requeue_dirty(file, now));
        } else {
            write_inode(env, disks, file, &mut inodes).await;
        }
        disks.wait_for_room().await;
    }
    env.with(|mm| mm.pages.cache.end_flush());
    write_inodes(disks, &mut inodes).await;
}

fn next_due<E: Stall>(env: &E) -> Option<FileId> {
    let now = env.now();
    env.with(|mm| mm.pages.next_due(now, &mm.phys))
}

async fn write_back<E: Env>(env: &E, disks: &impl Disks, write: &FileWrite) {
    let pages = env.with(|mm| mm.pages.cache.by_folio(write, &mm.phys));
    disks.write_pages(write);
    disks.work_on_files(FileWork::WriteBack(pages)).await;
}

/// Has the inode of a file written with others.
async fn write_inode<E: Env>(env: &E, disks: &impl Disks, file: FileId, inodes: &mut Vec<FileId>) {
    place_inode(env, file).await;
    if env.with(|mm| mm.pages.start_inode_write(file, &mm.phys)) {
        inodes.push(file);
    }
    if inodes.len() >= INODES {
        write_inodes(disks, inodes).await;
    }
}

async fn write_inodes(disks: &impl Disks, inodes: &mut Vec<FileId>) {
    if inodes.is_empty() {
        return;
    }
    let work = FileWork::WriteInodes(inodes.len() as u64);
    disks.write_inodes(mem::take(inodes));
    disks.work_on_files(work).await;
}

/// Writes back all of a file, and waits for it (`fsync`). What was changed while it was being written is written again after
/// that: hence twice.
pub async fn sync_file<E: Stall>(env: &E, disks: &impl Disks, file: FileId) {
    for _ in 0..2 {
        write_file_back(env, disks, file).await;
        while env.with(|mm| mm.pages.cache.is_being_written(file, &mm.phys)) {
            env.wait(Until::WriteEnded, Some(WRITE_WAIT)).await;
        }
    }
}

/// Writes back all that is dirty, and waits for it (`sync`); twice, as for one file.
pub async fn sync<E: Stall>(env: &E, disks: &impl Disks) {
    for _ in 0..2 {
        let begin = env.now();
        while let Some(file) = env.with(|mm| mm.pages.cache.next_dirty(Some(begin))) {
            write_file_back(env, disks, file).await;
        }
        while env.with(|mm| mm.write_pending(None).writeback) > 0 {
            env.wait(Until::WriteEnded, Some(WRITE_WAIT)).await;
        }
    }
}

/// Begins to write back all of a file.
async fn write_file_back<E: Env>(env: &E, disks: &impl Disks, file: FileId) {
    while let Some(write) = env.with(|mm| mm.pages.start_writeback(file, TURN, &mut mm.phys)) {
        write_back(env, disks, &write).await;
        disks.wait_for_room().await;
    }
    let mut inodes = Vec::new();
    write_inode(env, disks, file, &mut inodes).await;
    write_inodes(disks, &mut inodes).await;
}
