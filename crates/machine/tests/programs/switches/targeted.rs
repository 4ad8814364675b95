//! Programs that are each about one thing.

use order9_machine::Thread;
use order9_units::Order;
use order9_workloads::{Access, AddressSpace, KernelAlloc, KernelAllocator, KernelSize, Mapping, Stop};

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
