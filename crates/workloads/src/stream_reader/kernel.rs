//! Memory that the kernel takes for itself beside the stream, in bursts: what fragments memory, since nobody can move it.

use std::collections::BTreeMap;

use order9_units::{Bytes, Nanos};

use super::SECOND;
use crate::dice::Dice;
use crate::sys::{KernelAlloc, KernelSize, Stop, Sys, sleep_until};

/// Time from the beginning of one burst to that of the next.
const PERIOD: Nanos = Nanos::new(60 * SECOND.get());
/// Allocations of a burst come evenly spread over this time.
const LENGTH: Nanos = Nanos::new(10 * SECOND.get());
/// Mean time for which a block is kept, exponentially distributed.
const KEPT_MEAN: Nanos = Nanos::new(20 * SECOND.get());

/// Takes `burst` and gives it back, a burst after the other, until `end`.
pub(super) async fn run<S: Sys>(sys: S, burst: Bytes, end: Nanos) -> Result<(), Stop> {
    let mut dice = Dice::new(sys.seed("stream-reader kernel"));
    // By the time of their end; of equals, the first comes first.
    let mut held = BTreeMap::new();
    let mut begin = sys.now();
    while begin < end {
        let mut taken = Bytes::ZERO;
        while taken < burst && sys.now() < end {
            let order = dice.block_order();
            let due = u128::from(LENGTH.get()) * u128::from(taken.get()) / u128::from(burst.get());
            free_until(&sys, &mut held, begin + Nanos::new(due as u64)).await?;
            taken += order.pages().bytes();
            if let Some(block) = sys.kernel_alloc(KernelAlloc::new(KernelSize::Block(order))).await? {
                held.insert((sys.now() + dice.exponential(KEPT_MEAN), taken), block);
            }
        }
        begin += PERIOD;
        free_until(&sys, &mut held, begin.min(end)).await?;
    }
    for block in held.into_values() {
        sys.kernel_free(block).await?;
    }
    Ok(())
}

/// Sleeps until `time`; what ends before is freed when it does.
async fn free_until<S: Sys>(
    sys: &S,
    held: &mut BTreeMap<(Nanos, Bytes), S::KernelMemory>,
    time: Nanos,
) -> Result<(), Stop> {
    while let Some(entry) = held.first_entry().filter(|entry| entry.key().0 <= time) {
        sleep_until(sys, entry.key().0).await?;
        sys.kernel_free(entry.remove()).await?;
    }
    sleep_until(sys, time).await
}
