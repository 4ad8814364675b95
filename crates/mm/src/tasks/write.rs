//! Writes to pages of files on disk.

use order9_frames::Gfp;
use order9_units::{Order, Pages, Pfn};

use super::dirty::dirtying;
use super::read::{READ, wait_for_page};
use super::{Stopped, UserTask, folio, page};
use crate::Mm;
use crate::env::Disks as _;
use crate::page_cache::folio::{ORDER_MAX, order_at};
use crate::page_cache::{Added, CachedPage, FileId};

/// Writes to part of the page at `index` of a file on disk, which is read first if it is within the file.
///
/// # Errors
/// As [`write_pages`].
pub async fn write_page<E: UserTask>(env: &E, file: FileId, index: u64) -> Result<(), Stopped> {
    write(env, file, index, 1, false).await.map(drop)
}

/// Writes to all of the page at `index` of a file on disk, and to those behind it as far as its folio and `pages` reach; a hole is
/// filled with a folio as large as can be had. Says how many pages were written.
///
/// # Errors
/// [`Stopped::Write`] and [`Stopped::Read`] where the filesystem refuses, [`Stopped::NoSpace`], [`Stopped::NoMemory`],
/// [`Stopped::Killed`].
pub async fn write_pages<E: UserTask>(env: &E, file: FileId, index: u64, pages: u64) -> Result<u64, Stopped> {
    write(env, file, index, pages, true).await
}

async fn write<E: UserTask>(env: &E, file: FileId, index: u64, pages: u64, all: bool) -> Result<u64, Stopped> {
    loop {
        let now = env.now();
        let (found, written) = dirtying(env, |mm| mm.pages.write_pages(file, index, pages, now, &mut mm.phys)).await;
        match found {
            CachedPage::Uptodate(_) => return Ok(written),
            CachedPage::BeingRead(_) => wait_for_page(env, file, index).await?,
            CachedPage::Missing if !all && is_within(env, file, index) => wait_for_page(env, file, index).await?,
            CachedPage::Missing => {
                let (page, order) = page_to_fill(env, file, index, pages).await?;
                let (now, cpu) = (env.now(), env.cpu());
                match dirtying(env, |mm| mm.pages.write_new_page(file, index, page, now, cpu, &mut mm.phys)).await {
                    Ok(Added::New(_)) => return Ok(order.pages().get()),
                    Ok(Added::Present) => {}
                    Err(error) => {
                        env.with(|mm| mm.free(page, env.cpu())).expect("the page was just allocated");
                        return Err(Stopped::Write(error));
                    }
                }
            }
        }
    }
}

/// A page for a hole, or a folio where several pages are written: of the largest order that fits and that there is a block of.
async fn page_to_fill<E: UserTask>(env: &E, file: FileId, index: u64, pages: u64) -> Result<(Pfn, Order), Stopped> {
    if !has_room(env, file, index, 1) {
        return Err(Stopped::NoSpace);
    }
    let most = env.with(|mm| hole_order(mm, file, index, pages)).get();
    let most = if has_room(env, file, index, 1 << most) { most } else { 0 };
    for order in (1..=most).rev().filter_map(Order::new) {
        if let Some(page) = folio(env, READ | Gfp::WRITE, order).await {
            return Ok((page, order));
        }
    }
    Ok((page(env, READ | Gfp::WRITE).await?, Order::ZERO))
}

/// Order of the folio that may fill a hole for a write of `pages`.
fn hole_order(mm: &Mm, file: FileId, index: u64, pages: u64) -> Order {
    if !mm.phys.policy.thp.file_large {
        return Order::ZERO;
    }
    let cache = &mm.pages.cache;
    let has_pages = |end| cache.file(file).is_ok_and(|file| file.first_page(index, end).is_some());
    let largest = order_at(index, pages, ORDER_MAX).get();
    let orders = (0..=largest).rev().filter_map(Order::new);
    orders.into_iter().find(|order| !has_pages(index + order.pages().get())).unwrap_or(Order::ZERO)
}

fn is_within<E: UserTask>(env: &E, file: FileId, index: u64) -> bool {
    env.with(|mm| mm.pages.cache.file_size(file)).is_some_and(|size| index < size.get())
}

/// Whether the disk has room for pages; dirty pages may need a place each.
fn has_room<E: UserTask>(env: &E, file: FileId, index: u64, pages: u64) -> bool {
    let dirty = env.with(|mm| mm.write_pending(None).dirty);
    env.disks().has_room_for(file, index..index + pages, Pages::new(dirty))
}
