//! The aggressor: pages of the kernel at a steady rate, most of which live for a while and some for ever.

use std::collections::BTreeMap;

use order9_units::{Nanos, Order};

use crate::dice::Dice;
use crate::parameters::Parameters;
use crate::sys::{KernelAlloc, KernelSize, Stop, Sys};

pub(super) const ALLOCATED: &str = "Pages allocated";
pub(super) const KEPT: &str = "Pages kept";

/// Allocations come in groups at this distance: what a timer or a network interrupt brings.
const TICK: Nanos = Nanos::new(1_000_000);

pub(super) async fn run<S: Sys>(sys: &S, parameters: &Parameters, end: Nanos) -> Result<(), Stop> {
    let rate = parameters.count("rate") as f64;
    let kept_share = parameters.count("kept_percent") as f64 / 100.0;
    let lifetime = parameters.time("lifetime");
    let mut dice = Dice::new(sys.seed("frag-mix aggressor"));
    let mut due: BTreeMap<(Nanos, u64), S::KernelMemory> = BTreeMap::new();
    let (begin, mut allocated, mut kept) = (sys.now(), 0_u64, 0_u64);
    while sys.now() < end && rate > 0.0 {
        let elapsed = (sys.now() - begin).get() as f64 / 1e9;
        while (allocated as f64) < elapsed * rate {
            allocated += 1;
            let Some(memory) = sys.kernel_alloc(KernelAlloc::new(KernelSize::Block(Order::ZERO))).await? else {
                continue;
            };
            if dice.chance(kept_share) {
                kept += 1;
            } else {
                due.insert((sys.now() + dice.exponential(lifetime), allocated), memory);
            }
        }
        while let Some(entry) = due.first_entry()
            && entry.key().0 <= sys.now()
        {
            sys.kernel_free(entry.remove()).await?;
        }
        sys.sleep(TICK).await?;
    }
    sys.count(ALLOCATED, allocated as f64);
    sys.count(KEPT, kept as f64);
    Ok(())
}
