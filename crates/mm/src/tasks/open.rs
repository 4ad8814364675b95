//! Stages of a file's life: what the filesystem keeps of it comes into memory.

use order9_frames::{AllocFlags, Gfp, Mark, Request};
use order9_units::Order;

use crate::env::Env;
use crate::fs_cache::{FsStep, Stage};
use crate::page_cache::FileId;
use crate::tasks::slow_path::alloc_pages;
use crate::tasks::{Stopped, UserTask, placed};

/// Brings inode and dentry of a file on disk into memory and uses them; says whether the inode has to be read.
///
/// # Errors
/// [`Stopped::Open`].
pub async fn open_inode<E: UserTask>(env: &E, file: FileId) -> Result<bool, Stopped> {
    bring(env, file, Stage::Open).await
}

/// Opens a file that is being made, and takes what the filesystem needs to log it.
///
/// # Errors
/// [`Stopped::Open`].
pub async fn create_inode<E: UserTask>(env: &E, file: FileId) -> Result<(), Stopped> {
    bring(env, file, Stage::Open).await?;
    bring(env, file, Stage::Created).await.map(drop)
}

async fn bring<E: UserTask>(env: &E, file: FileId, stage: Stage) -> Result<bool, Stopped> {
    let request = placed(env, Request::new(Order::ZERO, Gfp::GFP_NOFS));
    let mut step = env.with(|mm| mm.fs_bring_fast(file, stage, &request));
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

/// Takes what the filesystem needs to log where the data of a file lie, for whoever writes them back. Writeback frees memory: it goes
/// down to the min mark, and does without where there is less.
pub(super) async fn place_inode<E: Env>(env: &E, file: FileId) {
    let cpu = env.cpu();
    env.with(|mm| {
        let asked = Request { node: mm.phys.node_of_cpu(cpu), cpu, ..Request::new(Order::ZERO, Gfp::GFP_NOFS) };
        let mut step = mm.fs_bring_fast(file, Stage::Placed, &asked);
        while let FsStep::NeedPage(need) = step {
            let answer = mm.alloc_with(&need.request(), AllocFlags { kswapd: true, ..AllocFlags::plain(Mark::Min) });
            step = mm.pages.fs_open_give(&need, answer, &mut mm.phys);
        }
    });
    env.spend().await;
}
