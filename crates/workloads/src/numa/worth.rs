//! Worth of the memory that a program got: what getting and using it comes to, and when that has paid against base pages of the
//! own node.

use order9_units::{Bytes, Nanos, NodeId};

use super::bind_to;
use crate::access::LOADS;
use crate::sys::{Advice, Area, Mapping, Measuring, Stop, Sys, found_by};
use crate::unit::{UNIT, touch_unit};

/// Memory that base pages at home are judged by.
const SAMPLE: Bytes = Bytes::new(16 << 20);
/// Numbers of loads, in millions, after which the whole cost is reported.
const MILLIONS: [u64; 4] = [0, 1, 10, 100];

/// Memory that a thread got.
#[derive(Clone, Copy)]
pub(crate) struct Got {
    pub(crate) slots: u64,
    /// Time of all faults, and of what else had to be done for each slot.
    pub(crate) time: Nanos,
    /// Time of a load, in ns.
    pub(crate) load: f64,
}

/// Base pages of the own node, as they were before anything was measured.
#[derive(Clone, Copy)]
pub(crate) struct BaseAtHome {
    /// Time of touching a slot, in ns.
    slot: Nanos,
    /// Time of a load, in ns.
    load: f64,
}

impl Got {
    /// Records what it costs altogether, and when it has paid against `home`.
    pub(crate) fn report<S: Measuring>(self, sys: &S, home: Option<BaseAtHome>) {
        for millions in MILLIONS {
            let total = self.time + Nanos::new((self.load * millions as f64 * 1e6) as u64);
            sys.sample(&format!("total-{millions}"), total);
        }
        if let Some(accesses) = home.and_then(|home| self.break_even(home)) {
            sys.count("break-even", accesses / 1e6);
        }
    }

    /// Loads after which it has cost no more than base pages at home; `None` where it never comes to that.
    fn break_even(self, home: BaseAtHome) -> Option<f64> {
        let dearer = self.time.get() as f64 - (home.slot.get() * self.slots) as f64;
        match (dearer <= 0.0, self.load < home.load) {
            (true, _) if self.load <= home.load => Some(0.0),
            (_, true) => Some(dearer / (home.load - self.load)),
            _ => None,
        }
    }
}

impl BaseAtHome {
    /// Measures them in a process on `node`; `None` where that has none to give.
    pub(crate) async fn measure<S: Sys>(sys: &S, node: NodeId) -> Result<Option<Self>, Stop> {
        let body = move |sys: S| async move {
            bind_to(&sys, node).await?;
            let measured = Self::of_this_process(&sys).await?;
            Ok(measured.map_or([0; 3], |Self { slot, load }| [1, slot.get(), load.to_bits()]))
        };
        let [is_there, slot, load] = found_by(sys, "base-at-home", body).await?;
        Ok((is_there == 1).then_some(Self { slot: Nanos::new(slot), load: f64::from_bits(load) }))
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

/// Mean time of a random load, in ns; 0 where nothing is in memory.
pub(super) async fn mean_load<S: Sys>(sys: &S, area: Area) -> Result<f64, Stop> {
    let loads = sys.load(area, LOADS).await?;
    Ok(loads.time.get() as f64 / loads.loads.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dearer_pays_by_faster_loads_or_never() {
        let got = |time, load| Got { slots: 2, time: Nanos::new(time), load };
        let home = BaseAtHome { slot: Nanos::new(100), load: 50.0 };
        assert_eq!(got(1200, 40.0).break_even(home), Some(100.0), "1000 ns at 10 ns a load");
        assert_eq!(got(1200, 50.0).break_even(home), None);
        assert_eq!(got(150, 50.0).break_even(home), Some(0.0), "it was cheaper at once, and is as fast");
        assert_eq!(got(150, 60.0).break_even(home), None, "cheaper at first, but slower for ever");
    }
}
