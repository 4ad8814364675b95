//! Opening a file: its inode and dentry come into memory.

use order9_frames::{Gfp, Request};
use order9_units::Order;

use crate::fs_cache::FsStep;
use crate::page_cache::FileId;
use crate::tasks::slow_path::alloc_pages;
use crate::tasks::{Stopped, UserTask, placed};

/// Brings inode and dentry of a file on disk into memory and uses them; says whether the inode has to be read.
///
/// # Errors
/// [`Stopped::Open`].
pub async fn open_inode<E: UserTask>(env: &E, file: FileId) -> Result<bool, Stopped> {
    let request = placed(env, Request::new(Order::ZERO, Gfp::GFP_NOFS));
    let mut step = env.with(|mm| mm.fs_open_fast(file, &request));
    loop {
        match step {
            FsStep::Done { inode_missed } => {
                env.spend().await;
                return Ok(inode_missed);
            }
            FsStep::NeedPage(need) => {
                let answer = alloc_pages(env, &need.request()).await;
                step = env.with(|mm| mm.pages.fs_open_give(&need, answer, &mut mm.phys));
            }
            FsStep::Failed(error) => return Err(Stopped::Open(error)),
        }
    }
}
