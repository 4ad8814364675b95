//! The fair class: shares of CPU time as virtual time, and its rules by release.
//!
//! A task that runs gains virtual time, the faster the less its weight. Who has the least has got the least of its share.
//! Each release turns that into three decisions: where in virtual time a task stands that comes to a CPU, whether it
//! preempts the task there at once, and when that has to make room for the next. Sources: the kernel's documents
//! sched-design-CFS, sched-eevdf and sched-nice-design, "An EEVDF CPU scheduler for Linux" and "Completing the EEVDF
//! scheduler" (LWN, 2023 and 2024), and the paper of Stoica and Abdel-Wahab (1995).

use order9_mm::policy::Scheduler;
use order9_units::Nanos;

/// Weight of a task with nice 0, in the kernel's units.
const NICE_0: u64 = 1024;

/// Units of virtual time in a nanosecond of a task with nice 0: so many that every weight has whole ones.
const SCALE: u64 = 1 << 20;

/// Latency and wake-up granularity of CFS in slices: 6 ms and 1 ms where the slice (`min_granularity_ns`) is 0.75 ms.
const LATENCY: u64 = 8;
const WAKEUP_GRANULARITY: (u64, u64) = (4, 3);

/// Place of a task in virtual time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entity {
    pub(crate) weight: u64,
    pub(crate) vruntime: i128,
    /// Virtual time at which its slice is used up. EEVDF alone.
    pub(crate) deadline: i128,
    /// Distance behind the average, while it is on no CPU and in no queue. EEVDF alone.
    pub(crate) lag: i128,
}

impl Entity {
    /// A task with a nice value, from -20 to 19: a step is worth a quarter of the CPU time of the next.
    pub(crate) fn new(nice: i8) -> Self {
        let weight = NICE_0 as f64 / 1.25_f64.powi(i32::from(nice));
        Self { weight: weight.round().max(1.0) as u64, vruntime: 0, deadline: 0, lag: 0 }
    }

    /// Virtual time of the task while it runs for `time`.
    pub(crate) fn scaled(&self, time: Nanos) -> i128 {
        i128::from(time.get()) * self.scale()
    }

    /// Time that the task has to run until its virtual time has grown by `span`; zero where that has passed.
    pub(crate) fn time_for(&self, span: i128) -> Nanos {
        let scale = self.scale();
        Nanos::new(u64::try_from((span.max(0) + scale - 1) / scale).unwrap_or(u64::MAX))
    }

    fn scale(&self) -> i128 {
        i128::from(SCALE * NICE_0 / self.weight)
    }
}

/// Virtual time of a task with nice 0 for `time`: that of spans which the kernel scales by no weight.
pub(crate) fn unscaled(time: Nanos) -> i128 {
    i128::from(time.get()) * i128::from(SCALE)
}

/// Average of virtual times by weight, exact: a sum of distances from a base, and the weights.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Average {
    base: i128,
    sum: i128,
    pub(crate) weight: u64,
}

impl Average {
    /// The average of nobody, which is `base`.
    pub(crate) const fn of_nobody(base: i128) -> Self {
        Self { base, sum: 0, weight: 0 }
    }

    /// With one more.
    pub(crate) fn with(mut self, entity: &Entity) -> Self {
        self.sum += (entity.vruntime - self.base) * i128::from(entity.weight);
        self.weight += entity.weight;
        self
    }

    /// The average, rounded down.
    pub(crate) fn value(&self) -> i128 {
        if self.weight == 0 { self.base } else { self.base + self.sum.div_euclid(i128::from(self.weight)) }
    }

    /// Whether a task at `vruntime` has not got more than its share.
    pub(crate) fn admits(&self, vruntime: i128) -> bool {
        self.sum >= (vruntime - self.base) * i128::from(self.weight)
    }
}

/// Rules of a release with the machine's slice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) scheduler: Scheduler,
    pub(crate) slice: Nanos,
    pub(crate) tick: Option<Nanos>,
}

impl Rules {
    /// CFS: time that a task of this weight may run where the tasks of its CPU, `tasks` with it, have `weight` together.
    pub(crate) fn share(&self, entity: &Entity, tasks: u64, weight: u64) -> Nanos {
        let period = u128::from(self.slice.get()) * u128::from(tasks.max(LATENCY));
        let share = period * u128::from(entity.weight) / u128::from(weight);
        Nanos::new(u64::try_from(share).unwrap_or(u64::MAX).max(1))
    }

    /// CFS: virtual time that a task has for its sleep, at most.
    pub(crate) fn credit(&self) -> i128 {
        unscaled(self.slice) * i128::from(LATENCY / 2)
    }

    /// CFS: virtual time by which a task must be ahead of `woken` to be preempted by it.
    pub(crate) fn wakeup_granularity(&self, woken: &Entity) -> i128 {
        let (of, parts) = WAKEUP_GRANULARITY;
        woken.scaled(self.slice) * i128::from(of) / i128::from(parts)
    }

    /// EEVDF: the largest lag that a task takes into its sleep, either way.
    pub(crate) fn lag_max(&self, entity: &Entity) -> i128 {
        let slices = Nanos::new(self.slice.get().saturating_mul(2));
        entity.scaled(slices.max(self.tick.unwrap_or(Nanos::ZERO)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_go_in_steps_of_a_quarter() {
        let weight = |nice: i8| Entity::new(nice).weight;
        assert_eq!((weight(0), weight(1), weight(19), weight(-20)), (1024, 819, 15, 88818));
    }

    #[test]
    fn an_average_is_by_weight_and_admits_those_behind_it() {
        let at = |nice, vruntime| Entity { vruntime, ..Entity::new(nice) };
        let average = Average::of_nobody(100).with(&at(0, 100)).with(&at(0, 201));
        assert_eq!(average.value(), 150);
        assert!(average.admits(150) && !average.admits(151));
        assert_eq!(Average::of_nobody(7).value(), 7);
        let light = Average::of_nobody(0).with(&at(0, 0)).with(&at(19, 1000));
        assert_eq!(light.value(), 14);
    }

    #[test]
    fn shares_of_cfs_shrink_to_the_slice() {
        let rules = Rules { scheduler: Scheduler::Cfs, slice: Nanos::new(750), tick: None };
        let share = |tasks: u64| rules.share(&Entity::new(0), tasks, 1024 * tasks).get();
        assert_eq!((share(1), share(2), share(8), share(20)), (6000, 3000, 750, 750));
        assert_eq!(rules.wakeup_granularity(&Entity::new(0)), unscaled(Nanos::new(1000)));
        assert_eq!(rules.credit(), unscaled(Nanos::new(3000)));
    }
}
