//! Memory that the kernel takes for itself: [`KernelAllocator`], for workloads that stand for drivers and other parts of it.

use std::future::Future;
use std::ops::Range;

use order9_units::{Bytes, NodeId, Order};

use super::stop::Stop;

/// Allocations of the kernel, on behalf of this thread.
pub trait KernelAllocator {
    /// Handle of memory that the kernel allocated for itself.
    type KernelMemory: Copy + Send + 'static;

    /// The kernel allocates for itself, on behalf of this thread. `None` where it would have to go without: an atomic request,
    /// one of an order above 3, or one for a node alone, that memory has no room for. What is not freed outlives the process.
    fn kernel_alloc(&self, what: KernelAlloc) -> impl Future<Output = Result<Option<Self::KernelMemory>, Stop>>;

    /// The kernel frees what it allocated.
    fn kernel_free(&self, memory: Self::KernelMemory) -> impl Future<Output = Result<(), Stop>>;

    /// The kernel frees some pages of a block, by their place in it (`split_page`, then each by itself); the rest of the block
    /// is freed by other calls of this.
    fn kernel_free_pages(
        &self,
        memory: Self::KernelMemory,
        pages: Range<u64>,
    ) -> impl Future<Output = Result<(), Stop>>;
}

/// A request of the kernel for memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelAlloc {
    /// Size of the memory.
    pub size: KernelSize,
    /// Whether a shrinker can free it (`__GFP_RECLAIMABLE`); unmovable otherwise.
    pub reclaimable: bool,
    /// Must not wait (`GFP_ATOMIC`), as in an interrupt; `GFP_KERNEL` otherwise.
    pub atomic: bool,
    /// The only node from which the memory may come (`__GFP_THISNODE | __GFP_NORETRY`); `None` leaves the node to the
    /// policy of the thread.
    pub node: Option<NodeId>,
}

impl KernelAlloc {
    /// Unmovable and able to wait.
    #[must_use]
    pub const fn new(size: KernelSize) -> Self {
        Self { size, reclaimable: false, atomic: false, node: None }
    }
}

/// Size of memory that the kernel allocates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelSize {
    /// Pages in one block.
    Block(Order),
    /// An object of slab (`kmalloc`); whole pages where it is larger than 8 KiB.
    Object(Bytes),
}
