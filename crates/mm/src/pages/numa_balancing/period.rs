//! CPU time between two scans of a task: little where its faults are remote, more where they are local.

use super::TaskBalancing;
use crate::numa_balancing::NumaBalancingSettings;
use crate::phys::PhysMem;
use crate::policy::ScanSlowsDown;
use crate::space::SpaceId;
use crate::space::Spaces;

/// The most that is scanned in a second, in MiB (`MAX_SCAN_WINDOW`).
const MIB_PER_SECOND_MAX: u64 = 2560;
/// A period is lengthened and shortened by tenths (`NUMA_PERIOD_SLOTS`).
const TENTHS: u64 = 10;
/// Tenths of the faults that count as most of them (`NUMA_PERIOD_THRESHOLD`).
const MOST: u64 = 7;

/// The least and the most milliseconds of CPU time between two scans of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Periods {
    min: u64,
    max: u64,
}

impl Periods {
    /// Of a space with so many pages in memory (`task_scan_min`, `task_scan_max`).
    pub(super) fn of(rss: u64, settings: &NumaBalancingSettings) -> Self {
        let windows = (rss >> 8).max(1).div_ceil(settings.scan.size_mb).max(1);
        let a_second = (MIB_PER_SECOND_MAX / settings.scan.size_mb).max(1);
        let min = (settings.scan.period_min_ms / windows).max(1000 / a_second);
        Self { min, max: (settings.scan.period_max_ms / windows).max(min) }
    }
}

/// Faults that a task has had since it was last looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecentFaults {
    pub(super) remote: u64,
    pub(super) local: u64,
    /// Faults whose pages could not move.
    pub(super) failed: u64,
    pub(super) shared: u64,
    pub(super) private: u64,
}

impl RecentFaults {
    /// Whether they tell nothing about where the task belongs: nothing is shared and nothing local, or nothing moves.
    pub(super) const fn tell_nothing(&self) -> bool {
        self.local + self.shared == 0 || self.failed > 0
    }

    /// The period after one of `period` (`update_task_scan_period`).
    pub(super) fn adapt(&self, period: u64, periods: Periods, rule: ScanSlowsDown) -> u64 {
        if self.tell_nothing() {
            return (2 * period).min(periods.max);
        }
        let tenths = |part: u64, rest: u64| (part * TENTHS).checked_div(part + rest).unwrap_or(0);
        let (local, private) = (tenths(self.local, self.remote), tenths(self.private, self.shared));
        let slot = period.div_ceil(TENTHS);
        let slower = |most: u64| period + (most - MOST).max(1) * slot;
        let adapted = match rule {
            ScanSlowsDown::LocalOrPrivate if private >= MOST => slower(private),
            _ if local >= MOST => slower(local),
            ScanSlowsDown::LocalOrPrivate => period.saturating_sub((MOST - local.max(private)) * slot),
            ScanSlowsDown::Local => {
                // Shared pages do not get better placed by more scans.
                let of_private = (self.private * TENTHS).div_ceil((self.private + self.shared).max(1));
                period.saturating_sub((MOST - local) * slot * of_private / TENTHS)
            }
        };
        adapted.clamp(periods.min, periods.max)
    }
}

impl TaskBalancing {
    /// Takes the faults of the own node and others since the last look.
    pub(super) fn take_locality(&mut self) -> RecentFaults {
        let [remote, local, failed] = core::mem::take(&mut self.locality);
        RecentFaults { remote, local, failed, ..RecentFaults::default() }
    }
}

impl Spaces {
    pub(super) fn scan_periods(&self, id: SpaceId, phys: &PhysMem) -> Periods {
        let rss = self.get(id).map_or(0, |space| space.rss.total().get());
        Periods::of(rss, &phys.settings.numa_balancing)
    }

    /// First scan period of a task, in milliseconds.
    pub(super) fn scan_period_start(&self, id: SpaceId, phys: &PhysMem) -> u64 {
        self.scan_periods(id, phys).min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: Periods = Periods { min: 1000, max: 60_000 };

    #[test]
    fn large_spaces_are_scanned_more_often_and_never_too_fast() {
        let settings = NumaBalancingSettings::default();
        let of = |mib: u64| Periods::of(mib << 8, &settings);
        assert_eq!((of(0), of(256)), (DEFAULT, DEFAULT));
        assert_eq!(of(1024), Periods { min: 250, max: 15_000 });
        assert_eq!(of(64 << 10), Periods { min: 100, max: 234 }, "2560 MiB a second are enough");
    }

    #[test]
    fn remote_faults_hurry_and_local_ones_slow_down() {
        let faults = |remote, local, shared, private| RecentFaults { remote, local, shared, private, failed: 0 };
        let after = |faults: RecentFaults, rule| faults.adapt(2000, DEFAULT, rule);
        let local = faults(0, 100, 100, 0);
        let remote = faults(100, 0, 100, 0);
        for rule in [ScanSlowsDown::Local, ScanSlowsDown::LocalOrPrivate] {
            assert_eq!(after(local, rule), 2600, "ten tenths are three slots above the seven that are most");
            assert_eq!(after(RecentFaults { failed: 1, ..local }, rule), 4000);
        }
        assert_eq!(after(remote, ScanSlowsDown::Local), 2000, "nothing of it is private");
        assert_eq!(after(remote, ScanSlowsDown::LocalOrPrivate), 1000, "seven slots, and no less than the least");
        let private = faults(99, 1, 0, 100);
        assert_eq!(after(private, ScanSlowsDown::Local), 1000);
        assert_eq!(after(private, ScanSlowsDown::LocalOrPrivate), 2600);
        assert_eq!(after(faults(100, 0, 0, 100), ScanSlowsDown::LocalOrPrivate), 4000, "nothing local, nothing shared");
    }
}
