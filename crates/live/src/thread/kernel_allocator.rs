//! Memory that the kernel takes for itself, as far as a program can make it: pages of pipes.
//!
//! A page that waits in a pipe is the kernel's own: unmovable, allocated with `GFP_HIGHUSER`. Blocks of a higher order, slab objects and
//! atomic requests cannot be had by system calls alone, and are refused; workloads that stand for drivers name a stand-in by their
//! parameter `driver`.

use std::fs;
use std::ops::Range;

use order9_units::Order;
use order9_workloads::{KernelAlloc, KernelAllocator, KernelSize, Stop};
use rustix::io::write;
use rustix::pipe::{PipeFlags, pipe_with};

use super::Thread;
use crate::errno::refused;

/// Files that are left for everything else.
const FILES_SPARE: u64 = 1024;

impl KernelAllocator for Thread {
    /// Place among the pipes of the process.
    type KernelMemory = usize;

    async fn kernel_alloc(&self, what: KernelAlloc) -> Result<Option<usize>, Stop> {
        let KernelAlloc { size, reclaimable, atomic, node } = what;
        if size != KernelSize::Block(Order::ZERO) || reclaimable || atomic || node.is_some() {
            let call = "memory of the kernel that is no single page (see the parameter driver)";
            return Err(Stop::Refused { call, errno: "EOPNOTSUPP" });
        }
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
        let mut state = self.process.state();
        let is_full =
            || fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64) + FILES_SPARE > limit;
        if state.pipes.len().is_multiple_of(256) && is_full() {
            return Ok(None);
        }
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).map_err(|error| refused("pipe2", error))?;
        write(&writer, &[1; 4096]).map_err(|error| refused("write", error))?;
        state.pipes.push(Some((reader, writer)));
        Ok(Some(state.pipes.len() - 1))
    }

    async fn kernel_free(&self, memory: usize) -> Result<(), Stop> {
        let pipe = self.process.state().pipes.get_mut(memory).and_then(Option::take);
        pipe.map(drop).ok_or(Stop::Refused { call: "close", errno: "EBADF" })
    }

    async fn kernel_free_pages(&self, memory: usize, pages: Range<u64>) -> Result<(), Stop> {
        if pages.contains(&0) { self.kernel_free(memory).await } else { Ok(()) }
    }
}
