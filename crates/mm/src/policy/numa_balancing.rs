//! Differences between releases about automatic NUMA balancing, as data.

/// Switches of automatic NUMA balancing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaBalancingPolicy {
    /// Pages that keep their access although their mapping is scanned.
    pub spares: ScanSpares,
    /// Mappings that a scan enters.
    pub vmas: ScanVmas,
    /// Cause that lengthens the time between two scans.
    pub slows_down: ScanSlowsDown,
    /// In its first four passes a task has pages follow it that it has last used from another node. 4.19+.
    pub early_moves: bool,
    /// A node takes 128 MiB in 100 ms at most. Up to 4.18.
    pub rate_limit: bool,
    /// Huge pages that move count as `thp_migration_*`, since the common code moves them. 5.14+.
    pub counts_thp: bool,
    /// The settings are in /sys/kernel/debug instead of /proc/sys. 5.13+.
    pub debugfs: bool,
}

/// Pages that keep their access although their mapping is scanned. Each value includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ScanSpares {
    /// None. Up to 4.9.
    Nothing,
    /// Base pages on the node of a program with one thread. 4.10+.
    Home,
    /// Pages of private mappings that several map. 4.16+.
    Shared,
    /// Dirty pages of files. 4.17+.
    DirtyFiles,
}

/// Mappings that a scan enters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanVmas {
    /// Every one. Up to 6.3.
    All,
    /// Mappings that the task has lately had hint faults in, and each for its first two passes; new ones after a delay. 6.4+,
    /// with what was repaired up to 6.12.
    Accessed,
}

/// Cause that lengthens the time between two scans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanSlowsDown {
    /// Most hint faults are local. Up to 4.14.
    Local,
    /// Most hint faults are local, or to pages that the task alone uses. 4.15+.
    LocalOrPrivate,
}

impl Default for NumaBalancingPolicy {
    fn default() -> Self {
        Self {
            spares: ScanSpares::DirtyFiles,
            vmas: ScanVmas::All,
            slows_down: ScanSlowsDown::LocalOrPrivate,
            early_moves: true,
            rate_limit: false,
            counts_thp: false,
            debugfs: false,
        }
    }
}
