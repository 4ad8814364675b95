//! The region that a program touches slot by slot: what its slots became, where they lie, and what using them costs.

use std::sync::{Arc, Mutex};

use order9_units::{Bytes, Nanos, NodeId};

use super::bind_to;
use crate::access::LOADS;
use crate::sys::{Advice, Area, ChildKind, Mapping, Stop, Sys};
use crate::unit::{UNIT, map_units, touch_unit};

/// Memory that base pages at home are judged by.
const SAMPLE: Bytes = Bytes::new(16 << 20);
/// Parts of a region whose latencies are told apart.
const PARTS: u64 = 8;
/// After how many million loads the region's whole cost is told.
const MILLIONS: [u64; 4] = [0, 1, 10, 100];

/// How a region is made.
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
    /// Slots by whether they are huge, and whether they are local.
    slots: [[u64; 2]; 2],
    /// Latencies of the slots of each part together, and how many slots it has.
    parts: [(Nanos, u64); PARTS as usize],
    /// Time of all faults, and of pinning.
    pub(super) time: Nanos,
}

/// Base pages of the own node, as they were before anything was measured.
#[derive(Clone, Copy)]
pub(super) struct BaseAtHome {
    /// Of touching a slot.
    slot: Nanos,
    /// Of a load, in ns.
    load: f64,
}

impl Region {
    /// Maps a region and touches it; records the latency of every slot.
    pub(super) async fn touch<S: Sys>(sys: &S, wanted: Wanted) -> Result<Self, Stop> {
        let slots = wanted.size.get() / UNIT.get();
        let advice = wanted.madvise.then_some(Advice::HugePage);
        let (_, area) = map_units(sys, Bytes::new(slots * UNIT.get()), advice).await?;
        let mut region = Self { area, slots: Default::default(), parts: Default::default(), time: Nanos::ZERO };
        for nth in 0..slots {
            let slot = area.part(Bytes::new(nth * UNIT.get()), UNIT);
            let touched = touch_unit(sys, slot).await?;
            sys.sample(if touched.huge { "fault-huge" } else { "fault-base" }, touched.latency);
            sys.sample("fault-both", touched.latency);
            region.slots[usize::from(touched.huge)][usize::from(touched.local)] += 1;
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

    /// Records what the slots became, under names that end with `suffix`.
    pub(super) fn report_slots<S: Sys>(&self, sys: &S, suffix: &str) {
        let all = self.slots.as_flattened().iter().sum::<u64>().max(1) as f64;
        for (size, huge) in [("huge", true), ("base", false)] {
            for (place, local) in [("local", true), ("remote", false)] {
                let of_kind = self.slots[usize::from(huge)][usize::from(local)];
                sys.percent(&format!("{size}-{place}{suffix}"), 100.0 * of_kind as f64 / all);
            }
        }
    }

    /// Records how latencies went along the region.
    pub(super) fn report_positions<S: Sys>(&self, sys: &S) {
        for (nth, &(time, slots)) in self.parts.iter().enumerate().filter(|(_, part)| part.1 > 0) {
            sys.mean(&format!("eighth-{}", nth + 1), time, slots);
        }
    }

    /// Uses the region, and records what a load takes, what it costs altogether, and when it has paid against `home`.
    pub(super) async fn report_use<S: Sys>(&self, sys: &S, home: Option<BaseAtHome>) -> Result<(), Stop> {
        let load = mean_load(sys, self.area).await?;
        sys.mean("access", Nanos::new((load * LOADS as f64) as u64), LOADS);
        for millions in MILLIONS {
            let total = self.time + Nanos::new((load * millions as f64 * 1e6) as u64);
            sys.sample(&format!("total-{millions}"), total);
        }
        if let Some(accesses) = home.and_then(|home| self.break_even(load, home)) {
            sys.count("break-even", accesses / 1e6);
        }
        Ok(())
    }

    /// Loads after which this region, a load of which takes `load` ns, has cost no more than base pages at home; `None` where
    /// it never comes to that.
    fn break_even(&self, load: f64, home: BaseAtHome) -> Option<f64> {
        let slots = self.slots.as_flattened().iter().sum::<u64>();
        let dearer = self.time.get() as f64 - (home.slot.get() * slots) as f64;
        match (dearer <= 0.0, load < home.load) {
            (true, _) if load <= home.load => Some(0.0),
            (_, true) => Some(dearer / (home.load - load)),
            _ => None,
        }
    }
}

impl BaseAtHome {
    /// Measures them in a process on `node`; `None` where that has none to give.
    pub(super) async fn measure<S: Sys>(sys: &S, node: NodeId) -> Result<Option<Self>, Stop> {
        let found = Arc::new(Mutex::new(None));
        let own = Arc::clone(&found);
        let body = move |sys: S| async move {
            bind_to(&sys, node).await?;
            let measured = Self::of_this_process(&sys).await?;
            *own.lock().expect("nobody panics with the lock") = measured;
            Ok(())
        };
        let child = sys.spawn(ChildKind::Process, "base-at-home", body).await?;
        sys.wait(child).await?.result?;
        let found = *found.lock().expect("nobody panics with the lock");
        Ok(found)
    }

    async fn of_this_process<S: Sys>(sys: &S) -> Result<Option<Self>, Stop> {
        let area = sys.mmap(Mapping::anon(SAMPLE)).await?;
        sys.madvise(area, Advice::NoHugePage).await?;
        let (mut time, mut all_local) = (Nanos::ZERO, true);
        let slots = SAMPLE.get() / UNIT.get();
        for nth in 0..slots {
            let touched = touch_unit(sys, area.part(Bytes::new(nth * UNIT.get()), UNIT)).await?;
            time += touched.latency;
            all_local &= touched.local;
        }
        let load = mean_load(sys, area).await?;
        Ok(all_local.then_some(Self { slot: Nanos::new(time.get() / slots), load }))
    }
}

/// What a load at random takes, in ns; 0 where nothing is in memory.
pub(super) async fn mean_load<S: Sys>(sys: &S, area: Area) -> Result<f64, Stop> {
    let loads = sys.load(area, LOADS).await?;
    Ok(loads.time.get() as f64 / loads.loads.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dearer_pays_by_faster_loads_or_never() {
        let area = Area { start: 0, length: UNIT };
        let region = |time| Region { area, slots: [[1, 0], [0, 1]], parts: Default::default(), time: Nanos::new(time) };
        let home = BaseAtHome { slot: Nanos::new(100), load: 50.0 };
        assert_eq!(region(1200).break_even(40.0, home), Some(100.0), "1000 ns at 10 ns a load");
        assert_eq!(region(1200).break_even(50.0, home), None);
        assert_eq!(region(150).break_even(50.0, home), Some(0.0), "it was cheaper at once, and is as fast");
        assert_eq!(region(150).break_even(60.0, home), None, "cheaper at first, but slower for ever");
    }
}
