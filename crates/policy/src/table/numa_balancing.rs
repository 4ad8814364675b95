//! Switches of automatic NUMA balancing.

use order9_mm::policy::{ScanSlowsDown, ScanSpares, ScanVmas};

use crate::switch::{Case, Switch, Value, Values};

/// Switches of NUMA balancing, in the order of the fields of their group.
pub(super) static SWITCHES: &[Switch] = &[
    choice!(
        numa_balancing.spares,
        "Pages that keep their access although NUMA balancing scans their mapping",
        "a scan of NUMA balancing leaves the access to",
        ScanSpares::Nothing: "nothing",
            "no page that it comes by", "up to 4.9";
        ScanSpares::Home: "home",
            "base pages on the node of a process with one thread", "4.10 to 4.15";
        ScanSpares::Shared: "shared",
            "the same, and pages of private mappings that several map", "4.16";
        ScanSpares::DirtyFiles: "dirty_files",
            "the same, pages of private mappings that several map, and dirty pages of files", "4.17+";
    ),
    choice!(
        numa_balancing.vmas,
        "Mappings that a scan of NUMA balancing enters",
        "a scan of NUMA balancing enters",
        ScanVmas::All: "all",
            "every mapping", "up to 6.3";
        ScanVmas::Accessed: "accessed",
            "mappings that the task has lately had hint faults in, each for its first two passes and after a delay", "6.4+";
    ),
    choice!(
        numa_balancing.slows_down,
        "Events that lengthen the time between two scans of NUMA balancing",
        "NUMA balancing scans less often where most hint faults are",
        ScanSlowsDown::Local: "local",
            "local", "up to 4.14";
        ScanSlowsDown::LocalOrPrivate: "local_or_private",
            "local, or to pages that the task alone uses", "4.15+";
    ),
    flag!(
        numa_balancing.early_moves,
        "Whether pages follow a young task that changes its node at their first hint fault",
        off: "pages follow a task that changes its node at their second hint fault", "up to 4.18",
        on: "pages follow a task that changes its node at their first hint fault in its first four passes", "4.19+"
    ),
    flag!(
        numa_balancing.rate_limit,
        "Whether NUMA balancing limits how much it moves to a node in 100 ms",
        off: "NUMA balancing moves to a node as much as has room there", "4.19+",
        on: "NUMA balancing moves 128 MiB to a node in 100 ms at most", "up to 4.18"
    ),
    flag!(
        numa_balancing.counts_thp,
        "Whether huge pages that NUMA balancing moves count as thp_migration_*",
        off: "huge pages that NUMA balancing moves do not count as thp_migration_*", "up to 5.13",
        on: "huge pages that NUMA balancing moves count as thp_migration_*", "5.14+"
    ),
    flag!(
        numa_balancing.debugfs,
        "Folder of the settings of NUMA balancing",
        off: "the settings of NUMA balancing are kernel.numa_balancing_scan_*", "up to 5.12",
        on: "the settings of NUMA balancing are in /sys/kernel/debug/sched/numa_balancing", "5.13+"
    ),
];
