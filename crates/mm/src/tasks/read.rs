//! Reads of pages of files, with readahead.

use alloc::vec::Vec;

use order9_frames::Gfp;
use order9_units::{Pages, Pfn};

use super::{Stopped, UserTask, alive, page};
use crate::env::{Disks as _, FileWork};
use crate::fs_cache::FsError;
use crate::page_cache::{Added, CachedPage, FileId, ToRead};

/// Flags of pages for reads: without calls into the filesystem, which may be reading them.
pub(super) const READ: Gfp = Gfp::GFP_HIGHUSER_MOVABLE.without(Gfp::FS);

/// Has the page at `index` of a file on disk in memory, marks it as used, and reads ahead. The reader wants `wanted` pages from
/// there on.
///
/// # Errors
/// As [`wait_for_page`].
pub async fn read_page<E: UserTask>(env: &E, file: FileId, index: u64, wanted: u64) -> Result<(), Stopped> {
    if let Some(window) = env.with(|mm| mm.pages.cache.readahead(file, index, wanted, &mut mm.phys)) {
        read_window(env, file, window).await;
    }
    wait_for_page(env, file, index).await?;
    env.disks().work_on_files(FileWork::Found).await;
    env.with(|mm| {
        if let CachedPage::Uptodate(page) = mm.pages.cache.find_page(file, index, &mm.phys) {
            mm.mark_accessed(page);
        }
    });
    Ok(())
}

/// Brings a page into memory that a mapping of the file shows. Those around it are read too, as they are likely next, and those that follow
/// when a fault comes to a mark.
pub(super) async fn read_for_fault<E: UserTask>(env: &E, file: FileId, index: u64) -> Result<(), Stopped> {
    if let Some(window) = env.with(|mm| mm.pages.cache.readahead_for_fault(file, index, &mut mm.phys)) {
        read_window(env, file, window).await;
    }
    wait_for_page(env, file, index).await
}

/// Waits until the page at `index` of a file on disk is there, and reads it alone if nobody does.
///
/// # Errors
/// [`Stopped::Read`] where the file has no such page, [`Stopped::NoMemory`], [`Stopped::Killed`].
pub async fn wait_for_page<E: UserTask>(env: &E, file: FileId, index: u64) -> Result<(), Stopped> {
    loop {
        alive(env)?;
        match env.with(|mm| mm.pages.cache.find_page(file, index, &mm.phys)) {
            CachedPage::Uptodate(_) => return Ok(()),
            CachedPage::BeingRead(_) => env.disks().wait_for_read(file, index).await,
            CachedPage::Missing => {
                if env.with(|mm| mm.pages.cache.file_size(file)).is_none() {
                    return Err(Stopped::Read(FsError::NoSuchFile(file)));
                }
                let page = page(env, READ).await?;
                env.disks().work_on_files(FileWork::Read(Pages::new(1))).await;
                start_reading(env, file, &[(index, page)]).map_err(Stopped::Read)?;
            }
        }
    }
}

/// Begins to read pages that are not in memory; gives up where there is no memory for more.
async fn read_window<E: UserTask>(env: &E, file: FileId, window: ToRead) {
    let ToRead { start, pages, mark } = window;
    let size = env.with(|mm| mm.pages.cache.file_size(file)).unwrap_or_default();
    let gfp = READ | Gfp::NORETRY | Gfp::NOWARN;
    let mut fresh = Vec::new();
    for index in start..(start + pages).min(size.get()) {
        if env.with(|mm| mm.pages.cache.find_page(file, index, &mm.phys)) == CachedPage::Missing {
            let Ok(page) = page(env, gfp).await else { break };
            fresh.push((index, page));
        }
    }
    env.disks().work_on_files(FileWork::Read(Pages::new(fresh.len() as u64))).await;
    // What cannot be read will be refused to whoever asks for it.
    let _ = start_reading(env, file, &fresh);
    if let Some(mark) = mark.filter(|mark| fresh.iter().any(|(index, _)| index == mark)) {
        env.with(|mm| mm.pages.cache.mark_for_readahead(file, mark, &mut mm.phys));
    }
    env.spend().await;
}

/// Adds fresh pages and begins to read those that are new: nobody sees one that is being read by nobody.
fn start_reading<E: UserTask>(env: &E, file: FileId, fresh: &[(u64, Pfn)]) -> Result<(), FsError> {
    let mut added = Vec::with_capacity(fresh.len());
    let (mut result, cpu) = (Ok(()), env.cpu());
    env.with(|mm| {
        for &(index, page) in fresh {
            match mm.add_to_page_cache(file, index, page, cpu) {
                Ok(Added::New(_)) => added.push(index),
                Ok(Added::Present) => {}
                Err(error) => {
                    result = Err(error);
                    mm.free(page, cpu).expect("the page was just allocated");
                }
            }
        }
    });
    for run in added.chunk_by(|before, index| before + 1 == *index) {
        env.disks().read_pages(file, run[0], Pages::new(run.len() as u64));
    }
    result
}
