//! What the administrator says about NUMA balancing. Linux' Documentation/scheduler/sched-debug.rst and
//! admin-guide/sysctl/kernel.rst.

use crate::Mm;
use crate::sysctl::NumaScanFile;
use crate::trace::Tracer;

/// `kernel.numa_balancing` and the settings of scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumaBalancingSettings {
    pub(crate) on: bool,
    /// How old a space is when it is first scanned.
    pub(crate) scan_delay_ms: u64,
    /// The least CPU time in which a task scans all of its memory.
    pub(crate) scan_period_min_ms: u64,
    /// The most.
    pub(crate) scan_period_max_ms: u64,
    /// Memory that one scan takes the access from.
    pub(crate) scan_size_mb: u64,
}

impl Default for NumaBalancingSettings {
    fn default() -> Self {
        Self { on: false, scan_delay_ms: 1000, scan_period_min_ms: 1000, scan_period_max_ms: 60_000, scan_size_mb: 256 }
    }
}

impl NumaBalancingSettings {
    pub(crate) fn get(&self, file: NumaScanFile) -> u64 {
        let mut copy = *self;
        *copy.field(file)
    }

    pub(crate) fn set(&mut self, file: NumaScanFile, number: u64) {
        *self.field(file) = number;
    }

    const fn field(&mut self, file: NumaScanFile) -> &mut u64 {
        match file {
            NumaScanFile::DelayMs => &mut self.scan_delay_ms,
            NumaScanFile::PeriodMinMs => &mut self.scan_period_min_ms,
            NumaScanFile::PeriodMaxMs => &mut self.scan_period_max_ms,
            NumaScanFile::SizeMb => &mut self.scan_size_mb,
        }
    }
}

impl<T: Tracer> Mm<T> {
    /// Whether `kernel.numa_balancing` is on.
    #[must_use]
    pub const fn numa_balancing(&self) -> bool {
        self.settings.numa_balancing.on
    }

    /// Whether `kernel.numa_balancing` has ever been on.
    #[must_use]
    pub const fn numa_balancing_was_on(&self) -> bool {
        self.user.balancing.was_on()
    }

    /// Sets `kernel.numa_balancing`. Accesses that are away when it is switched off come back one by one.
    pub fn set_numa_balancing(&mut self, on: bool) {
        self.settings.numa_balancing.on = on;
        if on {
            self.user.balancing.make_room(self.frames.len(), self.nodes.len());
        }
    }
}
