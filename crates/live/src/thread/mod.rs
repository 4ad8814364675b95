//! A thread of a program: [`Thread`] answers every call of a workload by calls of Linux.

mod address_space;
mod administration;
mod files;
mod kernel_allocator;
mod measuring;
mod nodes;
mod processes;
mod tmpfs;

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use order9_workloads::streams;

use crate::system::Process;

/// A thread, as its own program sees it; a clone is the same thread's.
#[derive(Clone)]
pub(crate) struct Thread {
    process: Arc<Process>,
    /// Start of its random streams.
    key: u64,
}

impl Thread {
    /// The first thread of a process.
    pub(crate) fn first(process: Process, seed: u64) -> Self {
        let key = streams::task_key(seed, &process.name, 0);
        Self { process: Arc::new(process), key }
    }

    pub(crate) fn process(&self) -> &Process {
        &self.process
    }
}

/// Runs a program whose calls block, so that its future is ready when it is polled first.
///
/// # Panics
/// If the future waits for anything but its calls.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("a workload waits for nothing but its calls, and these block"),
    }
}
