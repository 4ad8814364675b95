//! On which node a policy looks for a page first, and which others may serve.
//!
//! Key type: [`NodeChoice`], which any allocation turns into a [`Request`]: the placement of huge pages starts from it, too.

use order9_frames::{NodeUse, Request};
use order9_units::{NodeId, NodeMask};

use super::{Mempolicy, Mode, Weights};

/// Nodes of the pages of one allocation, as far as a memory policy decides them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeChoice {
    /// The node to look on first; the others follow by their distance from it.
    pub node: NodeId,
    /// The only nodes that may serve, or that are asked first; `None` is all.
    pub nodes: Option<NodeMask>,
    /// Meaning of `nodes` and `node` to the allocator.
    pub uses: NodeUse,
}

impl NodeChoice {
    /// The choice without any policy: the node of the CPU, then every other.
    #[must_use]
    pub const fn local(node: NodeId) -> Self {
        Self { node, nodes: None, uses: NodeUse::Ordinary }
    }

    /// The choice of a policy for a task on `local`. `turn` says which of the nodes is next where they take turns.
    pub(super) fn of(policy: &Mempolicy, local: NodeId, turn: impl FnOnce(&Mempolicy) -> Option<NodeId>) -> Self {
        let home = policy.home().unwrap_or(local);
        match policy.mode() {
            Mode::Default | Mode::Local | Mode::NodeProximity => Self::local(local),
            Mode::Preferred => Self::local(policy.nodes().first().unwrap_or(local)),
            Mode::Bind => Self { node: home, nodes: Some(policy.nodes()), uses: NodeUse::Ordinary },
            Mode::PreferredMany => {
                Self { node: home, nodes: Some(policy.nodes()), uses: NodeUse::MaskFirst(NodeMask::ALL) }
            }
            Mode::Interleave | Mode::WeightedInterleave => {
                Self { node: turn(policy).unwrap_or(local), nodes: None, uses: NodeUse::Interleaved }
            }
        }
    }

    /// Whether huge pages are asked for once, in the order of the policy, wherever the placement of huge pages would look:
    /// where nodes take turns, are asked together, or do not include the one to look on first.
    #[must_use]
    pub fn bypasses_placement(&self) -> bool {
        self.uses != NodeUse::Ordinary || self.nodes.is_some_and(|nodes| !nodes.has(self.node))
    }

    /// The allocation `plain` as this choice has it, within the nodes `mems` of the task's cpuset. Both sets are without
    /// effect where they have no memory of the request's class, as `policy_zone` has it.
    pub(super) fn apply(&self, plain: Request, serves: NodeMask, mems: Option<NodeMask>) -> Request {
        let useful = |mask: NodeMask| Some(mask).filter(|&mask| !(mask & serves).is_empty());
        let mems = mems.and_then(useful);
        let within = |mask: NodeMask| mems.map(|mems| mask & mems).and_then(useful).unwrap_or(mask);
        let nodes = self.nodes.map(within).and_then(useful);
        let strict = plain.gfp.has(crate::Gfp::HARDWALL);
        let (nodemask, uses) = match (nodes, self.uses) {
            (Some(nodes), NodeUse::MaskFirst(_)) => (Some(nodes), NodeUse::MaskFirst(mems.unwrap_or(NodeMask::ALL))),
            (None, NodeUse::MaskFirst(_)) => (mems, NodeUse::Ordinary),
            (Some(nodes), uses) => (Some(nodes), uses),
            (None, NodeUse::Interleaved) => (mems.filter(|_| strict), NodeUse::Interleaved),
            // The cpuset binds memory of programs; the kernel's own may lie elsewhere once its nodes are short.
            (None, _) if mems.is_some() && !strict => (mems, NodeUse::FastPathMask),
            (None, uses) => (mems, uses),
        };
        Request { node: self.node, nodemask, uses, ..plain }
    }
}

/// The node whose turn it is for the page at place `index`: of a mapping, or of a file.
pub(super) fn turn_by_place(policy: &Mempolicy, index: u64, weights: &Weights) -> Option<NodeId> {
    let nodes = policy.nodes();
    if policy.mode() != Mode::WeightedInterleave {
        return nodes.nth(index % nodes.weight().max(1));
    }
    let total: u64 = nodes.iter().map(|node| u64::from(weights.of(node))).sum();
    let mut left = index % total.max(1);
    nodes.iter().find(|&node| {
        let weight = u64::from(weights.of(node));
        let here = left < weight;
        left = left.saturating_sub(weight);
        here
    })
}
