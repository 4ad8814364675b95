//! Settings of NUMA balancing by the administrator. Linux' Documentation/scheduler/sched-debug.rst and
//! admin-guide/sysctl/kernel.rst.

/// `kernel.numa_balancing` and the settings of scans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NumaBalancingSettings {
    pub(crate) on: bool,
    pub(crate) scan: NumaScanSettings,
}

/// Settings of the scans of NUMA balancing: `kernel.numa_balancing_scan_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaScanSettings {
    /// Age of a space at its first scan.
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
