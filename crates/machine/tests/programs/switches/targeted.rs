//! Programs that are each about one thing.

use order9_machine::Thread;
use order9_units::{Bytes, Nanos, NodeId, NodeMask, Order};
use order9_workloads::{
    Access, AddressSpace, Administration, Advice, DropCaches, Files, KernelAlloc, KernelAllocator, KernelSize, Mapping,
    MemoryMode, Mempolicy, Nodes, Processes, Stop,
};

use crate::mib;

/// The kernel asks for blocks of eight pages where programs hold nearly all memory.
pub(super) async fn kernel_blocks(sys: Thread) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(mib(58))).await?;
    sys.touch(area, Access::Write).await?;
    let mut held = Vec::new();
    for order in [3, 4, 1, 3, 5, 3] {
        let order = Order::new(order).expect("it is small");
        for _ in 0..40 {
            held.extend(sys.kernel_alloc(KernelAlloc::new(KernelSize::Block(order))).await?);
        }
    }
    for memory in held {
        sys.kernel_free(memory).await?;
    }
    Ok(())
}

/// Goes twice over more memory than there is.
pub(super) async fn twice_over_more_than_memory(sys: Thread) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(mib(80))).await?;
    sys.touch(area, Access::Write).await?;
    sys.touch(area, Access::Read).await
}

/// Has huge pages and single pages swapped, gives half of each slot back, swaps further single pages, and then huge pages.
pub(super) async fn swapped_in_part(sys: Thread) -> Result<(), Stop> {
    let first = sys.mmap(Mapping::anon(mib(40))).await?;
    sys.madvise(first.part(mib(20), mib(20)), Advice::NoHugePage).await?;
    sys.touch(first, Access::Write).await?;
    let other = sys.mmap(Mapping::anon(mib(48))).await?;
    sys.touch(other, Access::Write).await?;
    sys.munmap(other).await?;
    for unit in 0..20 {
        sys.madvise(first.part(mib(2 * unit), mib(1)), Advice::DontNeed).await?;
    }
    let single = sys.mmap(Mapping::anon(mib(30))).await?;
    sys.madvise(single, Advice::NoHugePage).await?;
    sys.touch(single, Access::Write).await?;
    for _ in 0..2 {
        let huge = sys.mmap(Mapping::anon(mib(44))).await?;
        sys.touch(huge, Access::Write).await?;
    }
    Ok(())
}

/// Gives back half of each 64 KiB, has memory compacted, and uses more than there is.
pub(super) async fn half_of_each_64k(sys: Thread) -> Result<(), Stop> {
    let part = Bytes::new(64 << 10);
    let area = sys.mmap(Mapping::anon(mib(32))).await?;
    sys.touch(area, Access::Write).await?;
    for at in (0..area.length.get()).step_by(2 * part.get() as usize) {
        sys.madvise(area.part(Bytes::new(at), part), Advice::DontNeed).await?;
    }
    sys.compact(None).await?;
    let more = sys.mmap(Mapping::anon(mib(64))).await?;
    sys.touch(more, Access::Write).await
}

/// Gives memory back in base pages, a slot at a time, and uses it again as huge pages.
pub(super) async fn emptied_slots(sys: Thread) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(mib(16))).await?;
    sys.madvise(area, Advice::NoHugePage).await?;
    sys.touch(area, Access::Write).await?;
    sys.madvise(area, Advice::HugePage).await?;
    sys.madvise(area, Advice::DontNeed).await?;
    sys.touch(area, Access::Write).await
}

/// Reads memory that was never written, writes to some of it, gives it back, drops what the kernel keeps, and reads again.
pub(super) async fn zeros(sys: Thread) -> Result<(), Stop> {
    for _ in 0..2 {
        let area = sys.mmap(Mapping::anon(mib(12))).await?;
        sys.touch(area, Access::Read).await?;
        sys.touch(area.part(mib(4), mib(4)), Access::Write).await?;
        sys.munmap(area).await?;
        sys.drop_caches(DropCaches::Slab).await?;
    }
    Ok(())
}

/// Writes to memory, gives it back page by page, and rests.
pub(super) async fn rests(sys: Thread) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(mib(160))).await?;
    sys.touch(area, Access::Write).await?;
    sys.munmap(area).await?;
    sys.sleep(Nanos::new(3_000_000_000)).await
}

/// Reads a file into memory of node 1, and then wants as much memory as three nodes have.
pub(super) async fn near_and_far(sys: Thread) -> Result<(), Stop> {
    let file = sys.create_file(mib(56)).await?;
    sys.set_mempolicy(Mempolicy::new(MemoryMode::Bind, NodeMask::of(NodeId(1)))).await?;
    sys.read(file, Bytes::ZERO, mib(56)).await?;
    sys.set_mempolicy(Mempolicy::DEFAULT).await?;
    let area = sys.mmap(Mapping::anon(mib(120))).await?;
    sys.touch(area, Access::Write).await
}

/// Reads a file that fills a node, twice, and then wants memory.
pub(super) async fn page_cache(sys: Thread, file: Bytes, memory: Bytes) -> Result<(), Stop> {
    let id = sys.create_file(file).await?;
    for _ in 0..2 {
        sys.read(id, Bytes::ZERO, file).await?;
    }
    let area = sys.mmap(Mapping::anon(memory)).await?;
    sys.touch(area, Access::Write).await
}

/// Has cache of a node reclaimed on request.
pub(super) async fn node_file(sys: Thread) -> Result<(), Stop> {
    let id = sys.create_file(mib(16)).await?;
    sys.read(id, Bytes::ZERO, mib(16)).await?;
    sys.reclaim(NodeId(0), mib(4), None).await.map(drop)
}

/// Uses memory of the other node over and over.
pub(super) async fn far_memory(sys: Thread, memory: Bytes) -> Result<(), Stop> {
    sys.set_affinity(&sys.cpus_of(NodeId(0))).await?;
    let area = sys.mmap(Mapping::anon(memory)).await?;
    sys.set_mempolicy(Mempolicy::new(MemoryMode::Bind, NodeMask::of(NodeId(1)))).await?;
    sys.touch(area, Access::Write).await?;
    sys.set_mempolicy(Mempolicy::DEFAULT).await?;
    for _ in 0..200 {
        sys.touch(area, Access::Read).await?;
        sys.compute(Nanos::new(1_000_000)).await?;
    }
    Ok(())
}
