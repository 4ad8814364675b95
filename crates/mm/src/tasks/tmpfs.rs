//! System calls reach pages of files of tmpfs: from swap where they are there, and to holes where they write.

use order9_units::{Pages, Pfn};

use crate::page_cache::FileId;
use crate::shmem::{ShmemHole, ShmemPage};
use crate::tasks::slow_path::alloc_pages;
use crate::tasks::swap_in::read_from_swap;
use crate::tasks::{Stopped, UserTask};

/// A hole that was filled: index of its first page, and how many.
pub type Filled = (u64, Pages);

/// The page at `index` of a file of tmpfs, read back from swap if it is there; `None` for a hole.
///
/// # Errors
/// [`Stopped::NoMemory`].
pub async fn tmpfs_page<E: UserTask>(env: &E, file: FileId, index: u64) -> Result<Option<Pfn>, Stopped> {
    loop {
        match env.with(|mm| mm.shmem_page(file, index)) {
            ShmemPage::Present(pfn) => return Ok(Some(pfn)),
            ShmemPage::Hole => return Ok(None),
            ShmemPage::Swapped(slot) => {
                let request = env.with(|mm| mm.pages.file_request(env.identity(), file, index, env.cpu(), &mm.phys));
                let page = alloc_pages(env, &request).await.map_err(Stopped::NoMemory)?;
                read_from_swap(env, slot, &request).await;
                env.with(|mm| mm.shmem_swap_in(file, index, slot, page, env.cpu()));
            }
        }
    }
}

/// Sees to it that there is a page at `index` of a file of tmpfs, as whoever writes there does; the hole that had to be
/// filled for it, if there was one.
///
/// # Errors
/// [`Stopped::Refused`] where the mount has no room or the file no such page, [`Stopped::NoMemory`].
pub async fn tmpfs_page_to_write<E: UserTask>(env: &E, file: FileId, index: u64) -> Result<Option<Filled>, Stopped> {
    let mut filled = None;
    loop {
        if let Some(pfn) = tmpfs_page(env, file, index).await? {
            env.with(|mm| mm.mark_accessed(pfn));
            return Ok(filled);
        }
        let hole = env.with(|mm| mm.shmem_hole(env.identity(), file, index, env.cpu()));
        let (hole, page) = page_for_hole(env, hole.map_err(Stopped::Refused)?).await?;
        let done = env.with(|mm| {
            let done = mm.fill_shmem_hole(&hole, page, env.cpu());
            done.inspect_err(|_| mm.free(page, env.cpu()).expect("the page was just allocated"))
        });
        done.map_err(Stopped::Refused)?;
        filled = Some(hole.pages());
    }
}

/// Page for a hole, as large as can be had.
async fn page_for_hole<E: UserTask>(env: &E, mut hole: ShmemHole) -> Result<(ShmemHole, Pfn), Stopped> {
    loop {
        let request = env.with(|mm| mm.pages.hole_request(env.identity(), &hole, env.cpu(), &mm.phys));
        match alloc_pages(env, &request).await {
            Ok(page) => return Ok((hole, page)),
            Err(_) if hole.may_be_refused() => hole = env.with(|mm| mm.shmem_refused(&hole)),
            Err(error) => return Err(Stopped::NoMemory(error)),
        }
    }
}
