//! What the administrator says about NUMA balancing. Linux' Documentation/scheduler/sched-debug.rst and
//! admin-guide/sysctl/kernel.rst.

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::trace::Tracer;

/// `kernel.numa_balancing` and the settings of scans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumaBalancingSettings {
    pub(crate) on: bool,
    pub(crate) scan: NumaScanSettings,
}

/// How NUMA balancing scans: `kernel.numa_balancing_scan_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaScanSettings {
    /// How old a space is when it is first scanned.
    pub delay_ms: u64,
    /// The least CPU time in which a task scans all of its memory.
    pub period_min_ms: u64,
    /// The most.
    pub period_max_ms: u64,
    /// Memory that one scan takes the access from; at least 1.
    pub size_mb: u64,
}

impl Default for NumaScanSettings {
    fn default() -> Self {
        Self { delay_ms: 1000, period_min_ms: 1000, period_max_ms: 60_000, size_mb: 256 }
    }
}

impl<T: Tracer> PhysMem<T> {
    /// Whether `kernel.numa_balancing` is on.
    #[must_use]
    pub const fn numa_balancing(&self) -> bool {
        self.settings.numa_balancing.on
    }
}

impl UsedPages {
    /// Whether `kernel.numa_balancing` has ever been on.
    #[must_use]
    pub fn numa_balancing_was_on(&self) -> bool {
        self.balancing.was_on()
    }

    /// Sets `kernel.numa_balancing`. Accesses that are away when it is switched off come back one by one.
    pub(crate) fn set_numa_balancing(&mut self, on: bool, phys: &mut PhysMem<impl Tracer>) {
        phys.settings.numa_balancing.on = on;
        if on {
            self.balancing.make_room(phys.frames.table().len(), phys.frames.nodes().len());
        }
    }
}
