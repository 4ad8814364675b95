//! Writes to pages of files on disk.

use order9_frames::Gfp;
use order9_units::Pages;

use super::dirty::dirtying;
use super::read::{READ, wait_for_page};
use super::{Stopped, UserTask, page};
use crate::env::Disks as _;
use crate::page_cache::{Added, CachedPage, FileId};

/// Writes to the page at `index` of a file on disk: to all of it, or after it was read.
///
/// # Errors
/// [`Stopped::Write`] and [`Stopped::Read`] where the filesystem refuses, [`Stopped::NoSpace`], [`Stopped::NoMemory`],
/// [`Stopped::Killed`].
pub async fn write_page<E: UserTask>(env: &E, file: FileId, index: u64, all: bool) -> Result<(), Stopped> {
    loop {
        let now = env.now();
        match dirtying(env, |mm| mm.write_page(file, index, now)).await {
            CachedPage::Uptodate(_) => return Ok(()),
            CachedPage::BeingRead(_) => wait_for_page(env, file, index).await?,
            CachedPage::Missing if !all && is_within(env, file, index) => wait_for_page(env, file, index).await?,
            CachedPage::Missing => {
                leave_room(env, file, index)?;
                let page = page(env, READ | Gfp::WRITE).await?;
                let (now, cpu) = (env.now(), env.cpu());
                match dirtying(env, |mm| mm.pages.write_new_page(file, index, page, now, cpu, &mut mm.phys)).await {
                    Ok(Added::New(_)) => return Ok(()),
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

fn is_within<E: UserTask>(env: &E, file: FileId, index: u64) -> bool {
    env.with(|mm| mm.pages.cache.file_size(file)).is_some_and(|size| index < size.get())
}

/// Refuses a page that the disk has no room for; dirty pages may need a place each.
fn leave_room<E: UserTask>(env: &E, file: FileId, index: u64) -> Result<(), Stopped> {
    let dirty = env.with(|mm| mm.write_pending(None).dirty);
    if env.disks().has_room_for(file, index, Pages::new(dirty)) { Ok(()) } else { Err(Stopped::NoSpace) }
}
