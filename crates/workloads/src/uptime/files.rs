//! Files: read by popularity all day, all of them once at night; logs that grow and are rotated.

use std::sync::Arc;

use order9_units::{Bytes, Nanos, PAGE_SIZE};

use super::agenda::Arrivals;
use super::{HOUR, Server};
use crate::dice::{Dice, Zipf};
use crate::sys::{DropCaches, FileId, Stop, Sys, sleep_until};

/// Files in the order of their directory.
pub(super) type FileSet = Arc<Vec<FileId>>;

const FILE: Bytes = Bytes::new(64 << 10);
/// 500 pages, a file at a time.
const FILES_PER_SECOND: f64 = 500.0 / (FILE.get() / PAGE_SIZE.get()) as f64;
const POPULARITY: f64 = 0.9;
const BACKUP: Nanos = HOUR;
const PAGES_PER_SECOND: f64 = 50.0;
const LOGS: u64 = 8;
/// A log is rotated away when it has this share of memory.
const LOG_SHARE: u64 = 64;

/// Makes files of `size` in all. None of them is cached afterwards.
pub(super) async fn make<S: Sys>(sys: &S, size: Bytes) -> Result<FileSet, Stop> {
    let mut files = Vec::new();
    for _ in 0..(size.get() / FILE.get()).max(1) {
        files.push(sys.create_file(FILE).await?);
    }
    sys.sync().await?;
    sys.drop_caches(DropCaches::All).await?;
    Ok(Arc::new(files))
}

/// Reads files by popularity, which has nothing to do with where they are in their directory.
pub(super) async fn read<S: Sys>(sys: S, server: Server, files: FileSet) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed("uptime files"));
    let mut by_popularity = files.to_vec();
    dice.shuffle(&mut by_popularity);
    let popularity = Zipf::new(by_popularity.len(), POPULARITY);
    let mut arrivals = Arrivals::daily(&server, FILES_PER_SECOND);
    loop {
        let next = arrivals.draw(&server, &mut dice);
        if next >= server.end {
            return Ok(());
        }
        sleep_until(&sys, next).await?;
        read_file(&sys, by_popularity[popularity.rank(&mut dice)]).await?;
    }
}

/// Reads every file once a day.
pub(super) async fn back_up<S: Sys>(sys: S, server: Server, files: FileSet) -> Result<(), Stop> {
    for day in 0..server.days {
        sleep_until(&sys, server.at(day, BACKUP)).await?;
        for &file in files.iter() {
            read_file(&sys, file).await?;
        }
    }
    Ok(())
}

async fn read_file<S: Sys>(sys: &S, file: FileId) -> Result<(), Stop> {
    sys.open(file).await?;
    sys.read(file, Bytes::ZERO, FILE).await?;
    sys.close(file).await
}

/// Appends to logs, a page at a time to any of them.
pub(super) async fn append<S: Sys>(sys: S, server: Server) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed("uptime logs"));
    let mut arrivals = Arrivals::steady(&server, PAGES_PER_SECOND);
    let most = Bytes::new(server.memory.get() / LOG_SHARE).max(PAGE_SIZE);
    let mut logs = Vec::new();
    for _ in 0..LOGS {
        logs.push((sys.create().await?, Bytes::ZERO));
    }
    loop {
        let next = arrivals.draw(&server, &mut dice);
        if next >= server.end {
            return Ok(());
        }
        sleep_until(&sys, next).await?;
        let (file, length) = &mut logs[dice.below(LOGS) as usize];
        if *length >= most {
            sys.close(*file).await?;
            sys.remove_file(*file).await?;
            (*file, *length) = (sys.create().await?, Bytes::ZERO);
        }
        sys.write(*file, *length, PAGE_SIZE).await?;
        *length += PAGE_SIZE;
    }
}
