//! This host as the guard sees it, and what the guard does to it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use order9_guard::{Action, NodeSeen, Observation, Stalled, Took, Watch};
use order9_host::{Root, Totals, TotalsError, totals};
use order9_live::{Step, end_with_parent, step};
use order9_units::{Nanos, NodeId, Order, Pages};

use super::collapse::collapse;
use crate::failure::{Failure, io_sentence};

/// The host since the start of the guard.
pub(super) struct Host {
    begin: Instant,
}

impl Host {
    pub(super) fn new() -> Self {
        Self { begin: Instant::now() }
    }

    /// Looks at memory.
    pub(super) fn look(&self) -> Result<Observation, TotalsError> {
        let Totals { zones, vmstat, pressure } = totals(&Root::live())?;
        let mut nodes: BTreeMap<NodeId, NodeSeen> = BTreeMap::new();
        for zone in zones.iter().filter(|zone| zone.managed > Pages::ZERO) {
            let none = NodeSeen { node: zone.node, memory: Pages::ZERO, free: Pages::ZERO, huge: 0, low: Pages::ZERO };
            let node = nodes.entry(zone.node).or_insert(none);
            node.memory += zone.managed;
            node.free += zone.free;
            node.low += zone.watermarks.low;
            let first = usize::from(Order::PAGEBLOCK.get());
            node.huge +=
                (first..).zip(&zone.free_blocks[first..]).map(|(order, blocks)| blocks << (order - first)).sum::<u64>();
        }
        let micros = |micros: u64| Nanos::new(micros.saturating_mul(1000));
        Ok(Observation {
            at: self.now(),
            nodes: nodes.into_values().collect(),
            stalled: pressure
                .map(|pressure| Stalled { some: micros(pressure.some_us), full: micros(pressure.full_us) }),
            freed: Pages::new(vmstat.get("pgfree").copied().unwrap_or(0)),
        })
    }

    /// Acts, as long as `watch` says, and says what that took, and how it was done, in words that are empty where there is one way.
    pub(super) fn act(
        &self,
        action: Action,
        watch: impl FnMut(Nanos, &Observation) -> Watch,
    ) -> Result<(Took, String), Failure> {
        let stalled = self.stalled();
        let (mut took, how) = match action {
            Action::Compact { node, .. } => (self.compact(node, watch)?, String::new()),
            Action::Collapse { pages, at_most } => collapse(pages, at_most),
        };
        took.stalled = self.stalled().saturating_sub(stalled);
        Ok((took, how))
    }

    /// Has a process of its own compact a node.
    fn compact(&self, node: NodeId, mut watch: impl FnMut(Nanos, &Observation) -> Watch) -> Result<Took, Failure> {
        let mut command = Command::new("/proc/self/exe");
        command.args(["compact-node", &node.to_string()]);
        let (mut stop, mut failed) = (None, None);
        let step = step(command, |cpu| match self.look().map(|seen| watch(cpu, &seen)) {
            Ok(Watch::GoesOn { look_in }) => Some(look_in),
            Ok(Watch::Stops(reason)) => {
                stop = Some(reason);
                None
            }
            Err(error) => {
                failed = Some(Failure::Usage(error.to_string()));
                None
            }
        });
        let step =
            step.map_err(|error| Failure::file(&file_of(node), format!("cannot be written: {}", io_sentence(&error))))?;
        match failed {
            Some(failure) => Err(failure),
            None => {
                let Step { elapsed, cpu, .. } = step;
                Ok(Took { elapsed, cpu, stalled: Nanos::ZERO, broken_off: stop, collapsed: 0 })
            }
        }
    }

    fn now(&self) -> Nanos {
        Nanos::new(self.begin.elapsed().as_nanos() as u64)
    }

    /// Time in which some task waited for memory; a kernel that does not tell it has none.
    fn stalled(&self) -> Nanos {
        let pressure = totals(&Root::live()).ok().and_then(|totals| totals.pressure);
        pressure.map_or(Nanos::ZERO, |pressure| Nanos::new(pressure.some_us.saturating_mul(1000)))
    }
}

/// The file that compacts a node when it is written.
pub(super) fn file_of(node: NodeId) -> PathBuf {
    format!("/sys/devices/system/node/node{node}/compact").into()
}

/// The process that compacts a node: nothing else, until the guard kills it.
pub(crate) fn compact_node(node: u16) -> Result<(), Failure> {
    let path = file_of(NodeId(node));
    let failed = |error: std::io::Error| Failure::file(&path, format!("cannot be written: {}", io_sentence(&error)));
    end_with_parent().map_err(failed)?;
    fs::write(&path, "1").map_err(failed)
}
