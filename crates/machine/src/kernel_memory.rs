//! Memory that the kernel takes for itself on behalf of programs: blocks of pages, and objects of the kmalloc caches, which
//! are made when they are first used.

use std::ops::Range;

use order9_mm::env::Env as _;
use order9_mm::slab::{CacheId, CacheSpec, Object, ObjectStep, SlabError};
use order9_mm::{AllocError, FrameState, Gfp, Request, alloc_pages};
use order9_units::{Bytes, Order, Pages, Pfn};
use order9_workloads::{KernelAlloc, KernelAllocator, KernelSize, Stop};

use crate::thread::Thread;

/// Memory that the kernel allocated for itself.
#[derive(Clone, Copy, Debug)]
pub enum KernelMemory {
    /// A block of pages: its first frame.
    Block(Pfn),
    /// An object of slab.
    Object(Object),
}

/// Caches by size: names and orders as /proc/slabinfo shows them on x86-64 with 16 and more CPUs; objects that a shrinker
/// can free lie in caches of their own.
const CACHES: [(u64, u8, [&str; 2]); 13] = [
    (8, 0, ["kmalloc-8", "kmalloc-rcl-8"]),
    (16, 0, ["kmalloc-16", "kmalloc-rcl-16"]),
    (32, 0, ["kmalloc-32", "kmalloc-rcl-32"]),
    (64, 0, ["kmalloc-64", "kmalloc-rcl-64"]),
    (96, 0, ["kmalloc-96", "kmalloc-rcl-96"]),
    (128, 0, ["kmalloc-128", "kmalloc-rcl-128"]),
    (192, 0, ["kmalloc-192", "kmalloc-rcl-192"]),
    (256, 1, ["kmalloc-256", "kmalloc-rcl-256"]),
    (512, 2, ["kmalloc-512", "kmalloc-rcl-512"]),
    (1024, 3, ["kmalloc-1k", "kmalloc-rcl-1k"]),
    (2048, 3, ["kmalloc-2k", "kmalloc-rcl-2k"]),
    (4096, 3, ["kmalloc-4k", "kmalloc-rcl-4k"]),
    (8192, 3, ["kmalloc-8k", "kmalloc-rcl-8k"]),
];

/// The caches that exist, as in [`CACHES`]: for each size of either kind.
#[derive(Default)]
pub(crate) struct Kmalloc([[Option<CacheId>; 2]; CACHES.len()]);

impl KernelAllocator for Thread {
    type KernelMemory = KernelMemory;

    async fn kernel_alloc(&self, what: KernelAlloc) -> Result<Option<KernelMemory>, Stop> {
        self.alive()?;
        let gfp = if what.atomic { Gfp::GFP_ATOMIC | Gfp::NOWARN } else { Gfp::GFP_KERNEL };
        let gfp = if what.reclaimable { gfp | Gfp::RECLAIMABLE } else { gfp };
        let gfp = if what.node.is_some() { gfp | Gfp::THISNODE | Gfp::NORETRY | Gfp::NOWARN } else { gfp };
        let asked = |order| {
            let placed = self.placed(Request::new(order, gfp));
            Request { node: what.node.unwrap_or(placed.node), ..placed }
        };
        let answer = match what.size {
            KernelSize::Block(order) => self.block(&asked(order)).await,
            KernelSize::Object(size) => match CACHES.iter().position(|(of, ..)| size.get() <= *of) {
                Some(at) => self.object(at, what.reclaimable, &asked(Order::ZERO)).await,
                None => self.block(&asked(order_of(size))).await,
            },
        };
        match answer {
            Ok(memory) => Ok(Some(memory)),
            Err(error) if may_fail(what, error) => self.alive().map(|()| None),
            Err(error) => Err(self.no_memory(error)),
        }
    }

    /// Frees, even for a process that is being killed.
    async fn kernel_free(&self, memory: KernelMemory) -> Result<(), Stop> {
        let cpu = self.cpu();
        self.kernel.with(|mm| match memory {
            KernelMemory::Block(pfn) => mm.free(pfn, cpu).expect("a program frees each block once"),
            KernelMemory::Object(object) => {
                mm.kmem_cache_free(object, cpu).expect("a program frees each object once");
            }
        });
        self.spend().await;
        self.alive()
    }

    /// Splits the block into single pages the first time.
    async fn kernel_free_pages(&self, memory: KernelMemory, pages: Range<u64>) -> Result<(), Stop> {
        let KernelMemory::Block(first) = memory else { unreachable!("an object of slab has no pages of its own") };
        let cpu = self.cpu();
        self.kernel.with(|mm| {
            if matches!(mm.frames().frame(first), FrameState::Allocated { order } if order > Order::ZERO) {
                mm.split_page(first).expect("a block that was allocated");
            }
            for page in pages {
                mm.free(Pfn::new(first.get() + page), cpu).expect("a program frees each page once");
            }
        });
        self.spend().await;
        self.alive()
    }
}

impl Thread {
    async fn block(&self, request: &Request) -> Result<KernelMemory, AllocError> {
        let gfp = if request.order > Order::ZERO { request.gfp | Gfp::COMP } else { request.gfp };
        alloc_pages(self, &Request { gfp, ..*request }).await.map(KernelMemory::Block)
    }

    async fn object(&self, at: usize, reclaimable: bool, asked: &Request) -> Result<KernelMemory, AllocError> {
        let cache = self.kmalloc_cache(at, reclaimable);
        let mut step = self.kernel.with(|mm| mm.kmem_cache_alloc(cache, asked));
        loop {
            match step {
                ObjectStep::Done(object) => {
                    self.spend().await;
                    return Ok(KernelMemory::Object(object));
                }
                ObjectStep::NeedPage(need) => {
                    let answer = alloc_pages(self, &need.request()).await;
                    step = self.kernel.with(|mm| mm.kmem_cache_give(&need, answer));
                }
                ObjectStep::Failed(SlabError::NoPage(error)) => return Err(error),
                ObjectStep::Failed(error) => unreachable!("a kmalloc cache exists: {error}"),
            }
        }
    }

    fn kmalloc_cache(&self, at: usize, reclaimable: bool) -> CacheId {
        let slot = &mut self.kernel.kmalloc.borrow_mut().0[at][usize::from(reclaimable)];
        *slot.get_or_insert_with(|| {
            let (size, order, names) = CACHES[at];
            let order = Order::new(order).expect("slabs of kmalloc caches have at most order 3");
            let name = names[usize::from(reclaimable)];
            let spec = CacheSpec { name, object_size: Bytes::new(size), order, reclaimable };
            self.kernel.with(|mm| mm.kmem_cache(spec)).expect("every size fits its order")
        })
    }
}

/// The smallest block that holds `size`.
fn order_of(size: Bytes) -> Order {
    let order = Pages::from_bytes_ceil(size).get().next_power_of_two().trailing_zeros();
    Order::new(order as u8).unwrap_or(Order::MAX)
}

/// Whether whoever asks can do without: who may not wait, who wants much at once, and who wants it from one node.
fn may_fail(what: KernelAlloc, error: AllocError) -> bool {
    let costly = matches!(error, AllocError::GaveUp { order, .. } if order.is_costly());
    what.atomic || what.node.is_some() || costly
}
