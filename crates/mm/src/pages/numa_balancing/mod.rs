//! Automatic NUMA balancing: pages move to the node that uses them, and tasks to the node of their pages.
//!
//! Key types: [`NumaTask`] (who runs where), [`NumaTick`] (when a task scans), [`NumaScan`] (one scan). A running task takes
//! the access to a window of its memory away, entry by entry (`scan`, `spares`). The next access to each page faults and says
//! who uses it (`fault`). A page that is used from another node moves there (`misplaced`; how is [`crate::migrate`]'s
//! business), and what its faults tell about a task says how soon it scans again and which node it prefers (`placement`).
//! Never moves a task and keeps no time: who runs where and when is told by the caller. Behaviour and sources: docs/numa.md.

mod check;
mod fault;
mod misplaced;
mod period;
mod placement;
mod scan;
mod settings;
mod spares;
#[cfg(test)]
mod tests;
mod users;
mod vmas;

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use order9_units::{Nanos, NodeId};

pub(crate) use crate::settings::numa_balancing::NumaBalancingSettings;
pub use crate::settings::numa_balancing::NumaScanSettings;
pub use scan::{NumaScan, NumaTick};
pub use users::NumaBalancing;

use crate::space::Vpn;
use vmas::VmaScan;

/// A tick of 250 Hz, at which tasks look whether to scan.
const TICK: Nanos = Nanos::new(4_000_000);

/// A task has never so much CPU time.
const NEVER: Nanos = Nanos::new(u64::MAX);

const fn millis(ms: u64) -> Nanos {
    Nanos::new(ms.saturating_mul(1_000_000))
}

/// A task on its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumaTask {
    /// Number of the task, which no other task has.
    pub pid: u32,
    /// CPU that runs the task.
    pub cpu: usize,
    /// Threads of its process.
    pub threads: u64,
}

/// Facts about a space that balancing goes by.
#[derive(Clone, Debug)]
pub(crate) struct SpaceBalancing {
    /// No scan before this (`numa_next_scan`).
    next_scan: Nanos,
    /// Passes over the space so far (`numa_scan_seq`).
    pass: u32,
    /// Start of the next scan (`numa_scan_offset`).
    offset: Vpn,
    /// By number.
    tasks: BTreeMap<u32, TaskBalancing>,
    /// Mappings that were scanned, by their first page, where that is of interest.
    vmas: BTreeMap<Vpn, VmaScan>,
}

/// Facts about a task that balancing goes by.
#[derive(Clone, Debug)]
pub(crate) struct TaskBalancing {
    /// CPU time between two scans (`numa_scan_period`), in milliseconds.
    period_ms: u64,
    /// CPU time that the last scan was due at (`node_stamp`).
    stamp: Nanos,
    /// The pass that its faults were last looked at in (`numa_scan_seq`).
    pass: u32,
    /// The node that most of its faults are on (`numa_preferred_nid`).
    preferred: Option<NodeId>,
    /// Faults by node of the page, older ones counting less: shared and private ones.
    faults: Vec<[u64; 2]>,
    /// Faults since the last look.
    recent: Vec<[u64; 2]>,
    /// Faults since the last look: on other nodes, on the own node, and those whose page could not move
    /// (`numa_faults_locality`).
    locality: [u64; 3],
    /// When it may next try to move to its node (`numa_migrate_retry`).
    retry: Nanos,
}

impl SpaceBalancing {
    /// A space that exists since `now`.
    fn new(now: Nanos, settings: &NumaBalancingSettings) -> Self {
        let next_scan = now + millis(settings.scan.delay_ms);
        Self { next_scan, pass: 0, offset: Vpn::new(0), tasks: BTreeMap::new(), vmas: BTreeMap::new() }
    }

    /// The task `pid` of a machine with so many nodes.
    fn task(&mut self, pid: u32, nodes: usize, settings: &NumaBalancingSettings) -> &mut TaskBalancing {
        self.tasks.entry(pid).or_insert_with(|| TaskBalancing::new(nodes, settings))
    }
}

impl TaskBalancing {
    fn new(nodes: usize, settings: &NumaBalancingSettings) -> Self {
        Self {
            period_ms: settings.scan.delay_ms,
            stamp: Nanos::ZERO,
            pass: 0,
            preferred: None,
            faults: vec![[0; 2]; nodes],
            recent: vec![[0; 2]; nodes],
            locality: [0; 3],
            retry: Nanos::ZERO,
        }
    }
}
