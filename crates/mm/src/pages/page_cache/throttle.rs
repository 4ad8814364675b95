//! Throttling of writers to the speed of the disk.
//!
//! Key types: [`Throttle`] (what is known of the speed of the disk and of the writers), [`DirtyPause`]. A writer that has made
//! some pages dirty looks at how many are; beyond half way between the background limit and the hard one it sleeps as long as
//! the disk takes for its share. Source: "IO-less dirty throttling" (LKML, 2011).

use order9_units::{Nanos, PAGE_SIZE, Pages};

use super::PosRatio;
use crate::pages::UsedPages;
use crate::phys::PhysMem;

/// The longest pause of a writer.
const PAUSE_MAX: Nanos = Nanos::new(200_000_000);
/// Interval between two looks at the speed of the disk.
const INTERVAL: Nanos = Nanos::new(200_000_000);
/// Pages per second that a disk is taken to write before it has been seen to: 100 MB/s.
const BANDWIDTH: u64 = (100 << 20) / PAGE_SIZE.get();
/// 1 in units of a [`PosRatio`].
const ONE: u64 = 1024;
const SECOND: u64 = 1_000_000_000;

/// Speed of the disk, and rate at which a writer may make pages dirty, in pages per second.
#[derive(Clone)]
pub(crate) struct Throttle {
    bandwidth: u64,
    rate: u64,
    /// The last look: when, `nr_written` and `nr_dirtied` then.
    looked: (Nanos, u64, u64),
}

/// A pause of a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirtyPause {
    pub(crate) time: Nanos,
    /// The writer may go on after it; else it looks again.
    pub(crate) suffices: bool,
}

impl Default for Throttle {
    fn default() -> Self {
        Self { bandwidth: BANDWIDTH, rate: BANDWIDTH, looked: (Nanos::ZERO, 0, 0) }
    }
}

impl Throttle {
    /// Takes in what was written and dirtied up to `now`, while writers were held to `ratio` of their rate: the rate moves to
    /// where as much would have been dirtied as was written.
    fn look(&mut self, now: Nanos, written: u64, dirtied: u64, ratio: u64) {
        let (then, written_before, dirtied_before) = self.looked;
        let passed = (now - then).get();
        if passed < INTERVAL.get() {
            return;
        }
        self.looked = (now, written, dirtied);
        let per_second = |pages: u64| (u128::from(pages) * u128::from(SECOND) / u128::from(passed)) as u64;
        if passed > 5 * INTERVAL.get() {
            return; // Nobody was held back: nothing can be learnt.
        }
        let written = per_second(written - written_before);
        if written > 0 {
            self.bandwidth = (7 * self.bandwidth + written) / 8;
        }
        let dirtied = per_second(dirtied - dirtied_before).max(1);
        let balanced = u128::from(self.rate * ratio / ONE) * u128::from(self.bandwidth) / u128::from(dirtied);
        let balanced = (balanced as u64).clamp(1, self.bandwidth);
        self.rate = ((self.rate + balanced) / 2).max(1);
    }

    /// Pause of a writer for `pages`, at `ratio` of its rate.
    fn pause(&self, pages: u64, ratio: u64) -> Nanos {
        let rate = self.rate * ratio / ONE;
        Nanos::new((pages * SECOND).checked_div(rate).unwrap_or(u64::MAX)).min(PAUSE_MAX)
    }
}

impl UsedPages {
    /// The pause that a program has to make after it made `dirtied` pages dirty; `None` where it need not wait. The flusher is
    /// woken where there is too much dirty.
    pub(crate) fn dirty_pause(&mut self, dirtied: u64, now: Nanos, phys: &mut PhysMem) -> Option<DirtyPause> {
        let (limits, pending) = (self.lru.dirty_limits(phys), self.cache.write_pending(None, phys));
        if pending.dirty > limits.background.get() {
            self.cache.wake_flusher(phys);
        }
        let ratio = limits.pos_ratio(Pages::new(pending.total())).map(|PosRatio(ratio)| ratio);
        let throttle = &mut self.cache.throttle;
        throttle.look(now, phys.counters.nr_written, phys.counters.nr_dirtied, ratio.unwrap_or(ONE));
        ratio.map(|ratio| DirtyPause { time: throttle.pause(dirtied, ratio), suffices: ratio > 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writers_come_to_the_speed_of_the_disk() {
        let mut throttle = Throttle::default();
        let (mut written, mut dirtied) = (0, 0);
        // Four writers on a disk of 10,000 pages per second, held to the rate as it is.
        for tick in 1..200 {
            written += 2000;
            dirtied += 4 * throttle.rate / 5;
            throttle.look(Nanos::new(tick * 200_000_000), written, dirtied, ONE);
        }
        assert!(throttle.bandwidth.abs_diff(10_000) < 100, "{}", throttle.bandwidth);
        assert!(throttle.rate.abs_diff(2500) < 100, "{}", throttle.rate);
    }

    #[test]
    fn pauses_are_as_long_as_the_share_of_the_disk_takes_but_bounded() {
        let throttle = Throttle { bandwidth: 1000, rate: 1000, looked: (Nanos::ZERO, 0, 0) };
        assert_eq!(throttle.pause(10, ONE), Nanos::new(10_000_000));
        assert_eq!(throttle.pause(10, ONE / 2), Nanos::new(20_000_000));
        assert_eq!((throttle.pause(10, 0), throttle.pause(1000, ONE)), (PAUSE_MAX, PAUSE_MAX));
    }
}
