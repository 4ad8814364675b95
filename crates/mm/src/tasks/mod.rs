//! Work of kernels in many steps, which may wait in between: on behalf of programs ([`handle_fault`], [`madvise_collapse`],
//! reads and
//! writes of files), and as daemons ([`khugepaged`], [`flusher`], [`kswapd`], [`kcompactd`]).
//!
//! Every task is a thin loop around bounded steps of [`Mm`](crate::Mm). Between two steps others act, so that each looks again
//! at what it needs. The world lends disks and the time ([`crate::env`]), and locks of address spaces
//! ([`UserTask`]). Never decides anything that a step could decide.

mod collapse;
pub(crate) mod compaction;
mod dirty;
mod drop_caches;
mod fault;
mod fill_tables;
mod flusher;
mod hugetlb;
mod khugepaged;
pub(crate) mod kswapd;
pub(crate) mod mempolicy;
pub(crate) mod migrate;
mod numa_scan;
mod open;
mod page_reporting;
mod read;
pub(crate) mod reclaim;
mod slow_path;
mod swap_in;
#[cfg(test)]
mod tests;
mod tmpfs;
mod user_task;
mod vmstat;
mod write;

use order9_frames::{Gfp, Request};
use order9_units::{Order, Pfn};

use crate::alloc_error::AllocError;
use crate::fs_cache::FsError;
use crate::space::{Errno, VirtAddr};

pub use collapse::madvise_collapse;
pub use compaction::{PROACTIVE_INTERVAL, compact_memory, compact_node, kcompactd, try_to_compact_pages};
pub use dirty::balance_dirty_pages;
pub use drop_caches::{drop_pagecache, drop_slab};
pub use fault::{finish_fault, handle_fault};
pub use fill_tables::fill_tables;
pub use flusher::{flusher, sync, sync_file};
pub use hugetlb::{PoolFailures, map_from_pools, resize_pools};
pub use khugepaged::{Visits, khugepaged};
pub use kswapd::kswapd;
pub use mempolicy::{mbind, migrate_space, move_pages, set_mems};
pub use migrate::{gather_pages, offline_pages};
pub use numa_scan::task_numa_work;
pub use open::{create_inode, open_inode};
pub use page_reporting::{REPORTING_DELAY, page_reporting};
pub use read::{read_page, wait_for_page};
pub use reclaim::{NodeReclaim, direct_reclaim, reclaim_node, reclaim_on_request};
pub use slow_path::{Effort, Pressure, alloc_pages, alloc_slow};
pub use tmpfs::{Filled, tmpfs_page, tmpfs_page_to_write};
pub use user_task::UserTask;
pub use vmstat::{STAT_INTERVAL, vmstat};
pub use write::{write_page, write_pages};

/// Why a task of a program cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The program is being killed.
    Killed,
    /// There is no memory.
    NoMemory(AllocError),
    /// The program gets `SIGSEGV` for an access to this address.
    Segv(VirtAddr),
    /// The program gets `SIGBUS` for an access to this address.
    Bus(VirtAddr),
    /// The call is refused.
    Refused(Errno),
    /// The filesystem refuses to open a file.
    Open(FsError),
    /// The filesystem refuses a read.
    Read(FsError),
    /// The filesystem refuses a write.
    Write(FsError),
    /// The disk has no room for a write.
    NoSpace,
}

/// An error where the program of the task is being killed.
fn alive(env: &impl UserTask) -> Result<(), Stopped> {
    if env.fatal_signal_pending() { Err(Stopped::Killed) } else { Ok(()) }
}

/// The allocation `plain` on behalf of the task, where its policy has it.
fn placed<E: UserTask>(env: &E, plain: Request) -> Request {
    let cpu = env.cpu();
    env.with(|mm| {
        let plain = Request { node: mm.phys.node_of_cpu(cpu), cpu, ..plain };
        mm.task_request(env.identity(), plain)
    })
}

/// One page, from wherever it can be had.
async fn page(env: &impl UserTask, gfp: Gfp) -> Result<Pfn, Stopped> {
    let request = placed(env, Request::new(Order::ZERO, gfp));
    alloc_pages(env, &request).await.map_err(Stopped::NoMemory)
}

/// A large folio for a file, if there is one without much effort.
async fn folio(env: &impl UserTask, gfp: Gfp, order: Order) -> Option<Pfn> {
    let request = placed(env, Request::new(order, gfp | Gfp::COMP | Gfp::NORETRY | Gfp::NOWARN));
    alloc_pages(env, &request).await.ok()
}
