//! The region that a program touches slot by slot: what its slots became, where they lie, and what using them costs.

use order9_units::{Bytes, Nanos};

use super::worth::{BaseAtHome, Got, mean_load};
use crate::access::LOADS;
use crate::sys::{Advice, Area, Measuring, Stop, Sys};
use crate::thp::tally::Tally;
use crate::unit::{UNIT, map_units, touch_unit};

/// Parts of a region whose latencies are told apart.
const PARTS: u64 = 8;
/// Size, place and filling of a region to be made.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub(super) size: Bytes,
    pub(super) madvise: bool,
    /// Every slot is pinned for good as soon as it was touched.
    pub(super) pinned: bool,
}

/// A region that was touched.
pub(super) struct Region {
    pub(super) area: Area,
    /// Page size and place of its slots.
    pub(super) slots: Tally,
    /// Latencies of the slots of each part together, and how many slots it has.
    parts: [(Nanos, u64); PARTS as usize],
    /// Time of all faults, and of pinning.
    pub(super) time: Nanos,
}

impl Region {
    /// Maps a region and touches it; records the latency of every slot.
    pub(super) async fn touch<S: Sys>(sys: &S, wanted: Wanted) -> Result<Self, Stop> {
        let slots = wanted.size.get() / UNIT.get();
        let advice = wanted.madvise.then_some(Advice::HugePage);
        let (_, area) = map_units(sys, Bytes::new(slots * UNIT.get()), advice).await?;
        let mut region = Self { area, slots: Tally::new(sys)?, parts: Default::default(), time: Nanos::ZERO };
        for nth in 0..slots {
            let slot = area.part(Bytes::new(nth * UNIT.get()), UNIT);
            let touched = touch_unit(sys, slot).await?;
            sys.sample(if touched.huge { "fault-huge" } else { "fault-base" }, touched.latency);
            sys.sample("fault-both", touched.latency);
            region.slots.add(&touched);
            let part = &mut region.parts[(nth * PARTS / slots) as usize];
            *part = (part.0 + touched.latency, part.1 + 1);
            region.time += touched.latency;
            if wanted.pinned {
                let start = sys.now();
                sys.pin(slot).await?;
                region.time += sys.now() - start;
            }
        }
        Ok(region)
    }

    /// Records how latencies went along the region.
    pub(super) fn report_positions<S: Measuring>(&self, sys: &S) {
        for (nth, &(time, slots)) in self.parts.iter().enumerate().filter(|(_, part)| part.1 > 0) {
            sys.mean(&format!("eighth-{}", nth + 1), time, slots);
        }
    }

    /// Uses the region, and records what a load takes, what it costs altogether, and when it has paid against `home`.
    pub(super) async fn report_use<S: Sys>(&self, sys: &S, home: Option<BaseAtHome>) -> Result<(), Stop> {
        let load = mean_load(sys, self.area).await?;
        sys.mean("access", Nanos::new((load * LOADS as f64) as u64), LOADS);
        Got { slots: self.slots.all(), time: self.time, load }.report(sys, home);
        Ok(())
    }
}
