//! Reads of pages of files, with readahead.

use alloc::vec::Vec;
use core::ops::Range;

use order9_frames::Gfp;
use order9_units::{Order, Pages, Pfn};

use super::{Stopped, UserTask, alive, folio, page};
use crate::env::{Disks as _, FileWork};
use crate::fs_cache::FsError;
use crate::page_cache::folio::order_at;
use crate::page_cache::{Added, CachedPage, FileId, FolioPages, ToRead};

/// Flags of pages for reads: without calls into the filesystem, which may be reading them.
pub(super) const READ: Gfp = Gfp::GFP_HIGHUSER_MOVABLE.without(Gfp::FS);

/// Has the page at `index` of a file on disk in memory, marks it as used, and reads ahead. The reader wants `wanted` pages from
/// there on; says how many of them its folio has.
///
/// # Errors
/// As [`wait_for_page`].
pub async fn read_page<E: UserTask>(env: &E, file: FileId, index: u64, wanted: u64) -> Result<u64, Stopped> {
    let ask = (wanted, env.disks().read_limits());
    if let Some(window) = env.with(|mm| mm.pages.cache.readahead(file, index, ask, &mm.phys)) {
        read_window(env, file, window).await;
    }
    if let Some(window) = env.with(|mm| mm.pages.cache.readahead_at_mark(file, index, ask, &mut mm.phys)) {
        read_window(env, file, window).await;
    }
    wait_for_page(env, file, index).await?;
    env.disks().work_on_files(FileWork::Found).await;
    Ok(env.with(|mm| {
        let CachedPage::Uptodate(page) = mm.pages.cache.find_page(file, index, &mm.phys) else { return 1 };
        let folio = mm.phys.folio(index, mm.phys.frames.at(page));
        let end = folio.end().min(index + wanted.max(1));
        if mm.pages.cache.note_read(file, index, end, &mm.phys) {
            mm.mark_accessed(mm.phys.frames.pfn(folio.head));
        }
        end - index
    }))
}

/// Brings a page into memory that a mapping of the file shows. Those around it are read too, as they are likely next, and those that follow
/// when a fault comes to a mark.
pub(super) async fn read_for_fault<E: UserTask>(env: &E, file: FileId, index: u64) -> Result<(), Stopped> {
    let limits = env.disks().read_limits();
    if let Some(window) = env.with(|mm| mm.pages.cache.readahead_for_fault(file, index, limits, &mut mm.phys)) {
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
            CachedPage::BeingRead(_) => {
                let places = env.with(|mm| mm.pages.cache.read_with(file, index, &mm.phys));
                env.disks().wait_for_read(file, places).await;
            }
            CachedPage::Missing => {
                if env.with(|mm| mm.pages.cache.file_size(file)).is_none() {
                    return Err(Stopped::Read(FsError::NoSuchFile(file)));
                }
                let page = page(env, READ).await?;
                env.disks().work_on_files(FileWork::Read(FolioPages::folio(1))).await;
                start_reading(env, file, &[Fresh { index, page, pages: 1 }]).map_err(Stopped::Read)?;
            }
        }
    }
}

/// Whether a file has pages in a range, or the read of one that it has lost is under way there.
fn has_pages<E: UserTask>(env: &E, file: FileId, places: Range<u64>) -> bool {
    env.with(|mm| {
        let is_there = |index| mm.pages.cache.find_page(file, index, &mm.phys) != CachedPage::Missing;
        places.into_iter().any(is_there)
    })
}

/// A page or large folio that was allocated for a place of a file.
struct Fresh {
    index: u64,
    page: Pfn,
    /// Number of its pages.
    pages: u64,
}

impl Fresh {
    const fn has(&self, index: u64) -> bool {
        self.index <= index && index < self.index + self.pages
    }
}

/// Begins to read pages that are not in memory; gives up where there is no memory for more.
async fn read_window<E: UserTask>(env: &E, file: FileId, window: ToRead) {
    let ToRead { start, pages, mark, mut order } = window;
    let size = env.with(|mm| mm.pages.cache.file_size(file)).unwrap_or_default();
    let gfp = READ | Gfp::NORETRY | Gfp::NOWARN;
    let mut fresh = Vec::new();
    let (mut index, end, mut to_read) = (start, (start + pages).min(size.get()), FolioPages::default());
    while index < end {
        if env.with(|mm| mm.pages.cache.find_page(file, index, &mm.phys)) != CachedPage::Missing {
            (index, order) = (index + 1, Order::ZERO);
            continue;
        }
        let fitting = order_at(index, end - index, order);
        let large = match fitting {
            Order::ZERO => None,
            _ if has_pages(env, file, index..index + fitting.pages().get()) => None,
            _ => folio(env, READ, fitting).await,
        };
        let (page, pages) = match large {
            Some(page) => (page, fitting.pages().get()),
            None => {
                // Where one folio cannot be had, the rest is read into base pages.
                order = if fitting > Order::ZERO { Order::ZERO } else { order };
                let Ok(page) = page(env, gfp).await else { break };
                (page, 1)
            }
        };
        fresh.push(Fresh { index, page, pages });
        to_read += FolioPages::folio(pages);
        index += pages;
    }
    env.disks().work_on_files(FileWork::Read(to_read)).await;
    // What cannot be read will be refused to whoever asks for it.
    let _ = start_reading(env, file, &fresh);
    if let Some(mark) = mark.filter(|&mark| fresh.iter().any(|fresh| fresh.has(mark))) {
        env.with(|mm| mm.pages.cache.mark_for_readahead(file, mark, &mut mm.phys));
    }
    env.spend().await;
}

/// Adds fresh pages and begins to read those that are new: nobody sees one that is being read by nobody.
fn start_reading<E: UserTask>(env: &E, file: FileId, fresh: &[Fresh]) -> Result<(), FsError> {
    let mut added: Vec<&Fresh> = Vec::with_capacity(fresh.len());
    let (mut result, cpu) = (Ok(()), env.cpu());
    env.with(|mm| {
        for new in fresh {
            match mm.add_to_page_cache(file, new.index, new.page, cpu) {
                Ok(Added::New(_)) => added.push(new),
                Ok(Added::Present) => {}
                Err(error) => {
                    result = Err(error);
                    mm.free(new.page, cpu).expect("the page was just allocated");
                }
            }
        }
    });
    for run in added.chunk_by(|before, next| before.index + before.pages == next.index) {
        let pages = run.iter().map(|new| new.pages).sum();
        env.disks().read_pages(file, run[0].index, Pages::new(pages));
    }
    result
}
