//! Weights of weighted interleaving: /sys/kernel/mm/mempolicy/weighted_interleave/nodeN (6.9+), and `auto` beside them, by
//! which they follow from the bandwidth of each node (6.16+).
//!
//! Linux' Documentation/ABI/testing/sysfs-kernel-mm-mempolicy-weighted-interleave; "mm/mempolicy: Weighted Interleave
//! Auto-tuning" (2025).

use alloc::collections::BTreeMap;

use order9_units::{NodeId, NodeMask};

use crate::mempolicy::Mempolicies;
use crate::phys::PhysMem;
use crate::policy::MempolicyInterface;
use crate::space::Errno;

/// Sum of the weights that the bandwidth of all nodes comes to: large enough to be near the ratios, small enough that no node
/// gets many pages in a row (`weightiness`).
const WEIGHTINESS: u64 = 32;

/// For how many pages in a row a node is asked; 1 where nobody has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weights {
    in_force: BTreeMap<NodeId, u8>,
    /// The administrator has chosen weights, or chosen that they do not follow the bandwidth.
    manual: bool,
    /// Megabytes per second, as firmware has it.
    bandwidth: BTreeMap<NodeId, u64>,
}

impl Weights {
    pub(super) fn of(&self, node: NodeId) -> u8 {
        self.in_force.get(&node).copied().unwrap_or(1)
    }

    /// 0 means the default again.
    fn set(&mut self, node: NodeId, weight: u8) {
        self.manual = true;
        if weight == 0 {
            self.in_force.remove(&node);
        } else {
            self.in_force.insert(node, weight);
        }
    }

    /// The weights of these nodes follow from their bandwidth: as much of [`WEIGHTINESS`] as a node has of it, 1 where that is
    /// less or unknown, all divided by what they have in common.
    fn follow_bandwidth(&mut self, nodes: NodeMask) {
        let of = |node: NodeId| self.bandwidth.get(&node).copied().unwrap_or(0);
        let all: u64 = nodes.iter().map(of).sum();
        let weight = |node: NodeId| (WEIGHTINESS * of(node)).checked_div(all).unwrap_or(0).max(1);
        let common = nodes.iter().map(weight).fold(0, gcd).max(1);
        self.in_force =
            nodes.iter().map(|node| (node, u8::try_from(weight(node) / common).unwrap_or(u8::MAX))).collect();
    }
}

fn gcd(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { gcd(other, one % other) }
}

impl Mempolicies {
    /// Sets the bandwidth of nodes as firmware says it, in megabytes per second, each from the CPUs next to it; a node that is
    /// not
    /// named has none known. Weights of interleaving follow the bandwidth from 6.16 on.
    pub(crate) fn set_node_bandwidth(&mut self, bandwidth: impl IntoIterator<Item = (NodeId, u64)>, phys: &PhysMem) {
        self.weights.bandwidth = bandwidth.into_iter().filter(|&(_, rate)| rate > 0).collect();
        if phys.has_auto_weights() && !self.weights.manual {
            let nodes = phys.memory_nodes();
            self.weights.follow_bandwidth(nodes);
        }
    }

    /// `auto`: whether weights follow the bandwidth, in releases in which they can.
    #[must_use]
    pub fn weights_follow_bandwidth(&self) -> bool {
        !self.weights.manual
    }

    /// Sets `auto`. Weights stay as they are where it is turned off.
    pub(crate) fn set_weights_follow_bandwidth(&mut self, on: bool, phys: &PhysMem) -> Result<(), Errno> {
        let nodes = phys.memory_nodes();
        let weights = &mut self.weights;
        if on && weights.bandwidth.is_empty() {
            return Err(Errno::Enodev);
        }
        weights.manual = !on;
        if on {
            weights.follow_bandwidth(nodes);
        }
        Ok(())
    }

    /// The weight of a node: how many pages in a row weighted interleaving takes from it.
    #[must_use]
    pub fn interleave_weight(&self, node: NodeId) -> u8 {
        self.weights.of(node)
    }

    /// Sets the weight of a node, for pages from now on; 0 is the default again. Weights no longer follow the bandwidth.
    pub fn set_interleave_weight(&mut self, node: NodeId, weight: u8) {
        self.weights.set(node, weight);
    }
}

impl PhysMem {
    fn has_auto_weights(&self) -> bool {
        self.policy.mempolicy >= MempolicyInterface::AutoWeights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(bandwidth: &[u64]) -> alloc::vec::Vec<u8> {
        let nodes = (0..bandwidth.len()).map(|node| NodeId(node as u16));
        let mask: NodeMask = nodes.clone().collect();
        let known = nodes.clone().zip(bandwidth.iter().copied()).filter(|&(_, rate)| rate > 0);
        let mut weights = Weights { bandwidth: known.collect(), ..Weights::default() };
        weights.follow_bandwidth(mask);
        nodes.map(|node| weights.of(node)).collect()
    }

    #[test]
    fn weights_are_shares_of_the_bandwidth_in_lowest_terms() {
        assert_eq!(weights(&[143_100, 143_100, 19_500]), [7, 7, 1], "14, 14 and 2 of 32");
        assert_eq!(weights(&[100, 50]), [21, 10], "which is how 2 to 1 rounds");
        assert_eq!(weights(&[5, 5]), [1, 1]);
        assert_eq!(weights(&[1000, 1, 0]), [31, 1, 1], "at least 1, whatever is known");
        assert_eq!(weights(&[0, 0]), [1, 1]);
    }
}
