//! The copy of a host's memory that answers are tried on.

use std::sync::Arc;

use order9_lab::scenario::{Scenario, ScenarioError, policy_for};
use order9_lab::{Plan, PlanError};
use order9_snapshot::Snapshot;
use order9_units::{Bytes, NodeId};
use order9_workloads::Workload;

/// A copy of a host's memory, and choices about the kernel and the prices that it is tried with.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Name of the copy in messages.
    pub name: String,
    /// The copy.
    pub snapshot: Arc<Snapshot>,
    /// Policy of the kernel; `None` is that of the host.
    pub policy: Option<String>,
    /// Machine whose prices the copy has; `None` leaves it to the lab, with what was measured on the host.
    pub prices: Option<String>,
    /// Number of runs, each with another seed.
    pub seeds: u64,
    /// Notes on the host that a reader of answers needs, one sentence each.
    pub notes: Vec<String>,
    /// Command line that asked.
    pub command: Vec<String>,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AdviseError {
    /// A choice that the lab refuses.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A run that cannot start.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A node that the host does not have, or that has no memory.
    #[error("--node {node}: no such node with memory, expected {}", list(.nodes))]
    NoNode {
        /// The node that was asked for.
        node: NodeId,
        /// Nodes with memory.
        nodes: Vec<NodeId>,
    },
    /// A size below that of a huge page.
    #[error("{0} bytes are less than a huge page, expected 2M at least")]
    TooSmall(u64),
    /// A node without room for a huge page.
    #[error("--node {0}: nothing is left there that a program could have without swapping")]
    NoRoom(NodeId),
    /// A map whose frames contradict its zones.
    #[error("{name}: {problem}")]
    Map {
        /// Name of the copy.
        name: String,
        /// The contradiction.
        problem: String,
    },
}

fn list(nodes: &[NodeId]) -> String {
    nodes.iter().map(NodeId::to_string).collect::<Vec<_>>().join(", ")
}

impl Trial {
    /// A scenario of this workload that starts from the copy.
    pub(crate) fn scenario(&self, workload: Workload) -> Result<Scenario, ScenarioError> {
        let mut scenario = Scenario::of(workload).on_map(&self.name, Arc::clone(&self.snapshot));
        scenario.argument("--seeds", &self.seeds.to_string())?;
        if let Some(prices) = &self.prices {
            scenario.argument("--prices", prices)?;
        }
        Ok(scenario)
    }

    /// The policy that the copy runs under.
    pub(crate) fn policy(&self) -> &str {
        self.policy.as_deref().unwrap_or_else(|| policy_for(&self.snapshot))
    }

    /// Memory of the copy.
    pub(crate) fn memory(&self) -> Bytes {
        self.snapshot.zones.iter().map(|zone| zone.present.bytes()).sum()
    }
}

/// Words for whose prices a plan has.
pub(crate) fn prices(plan: &Plan) -> String {
    match plan.machine.measured_over() {
        Some(base) => {
            format!(
                "copying, clearing, scanning and waits for the hypervisor as measured on the host of the copy, all else as on {base}"
            )
        }
        None => format!("those of {}", plan.machine.name),
    }
}
