//! Nodes: their distances, and their zonelists by distance.

use alloc::vec;
use alloc::vec::Vec;

use order9_units::{NodeId, ZoneKind};

use crate::Mm;
use crate::trace::Tracer;
use crate::zone::{Zone, ZoneId};

/// A NUMA node.
#[derive(Clone, Debug)]
pub struct Node {
    pub(crate) id: NodeId,
    pub(crate) distances: Vec<u32>,
    pub(crate) fallback_list: Vec<ZoneRef>,
    pub(crate) this_node_list: Vec<ZoneRef>,
}

/// An entry of a zonelist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneRef {
    /// The zone.
    pub zone: ZoneId,
    /// Its kind, so that a walk skips it without looking at it.
    pub kind: ZoneKind,
    /// Its node.
    pub node: NodeId,
}

impl Node {
    /// Its number.
    #[must_use]
    pub const fn id(&self) -> NodeId {
        self.id
    }

    /// Distance to another node; 10 is local.
    #[must_use]
    pub fn distance(&self, to: NodeId) -> u32 {
        self.distances[to.index()]
    }

    /// Zones of all nodes, nearest node first, highest zone first within a node.
    #[must_use]
    pub fn fallback_list(&self) -> &[ZoneRef] {
        &self.fallback_list
    }

    /// The node's own zones, highest first.
    #[must_use]
    pub fn this_node_list(&self) -> &[ZoneRef] {
        &self.this_node_list
    }
}

impl<T: Tracer> Mm<T> {
    /// The node of every CPU.
    #[must_use]
    pub fn cpu_nodes(&self) -> &[NodeId] {
        &self.cpus
    }
}

/// Builds the zonelists of all nodes. `has_cpus` is by node.
pub(crate) fn build_zonelists(nodes: &mut [Node], zones: &[Zone], has_cpus: &[bool]) {
    let mut load = vec![0; nodes.len()];
    for local in 0..nodes.len() {
        let order = node_order(local, nodes, zones, has_cpus, &mut load);
        nodes[local].fallback_list = order.iter().flat_map(|&node| zones_of(node, zones)).collect();
        nodes[local].this_node_list = zones_of(local, zones).collect();
    }
}

/// Managed zones of a node, highest first.
fn zones_of(node: usize, zones: &[Zone]) -> impl Iterator<Item = ZoneRef> {
    let mut own: Vec<_> = zones
        .iter()
        .filter(|zone| zone.node.index() == node && zone.managed > 0)
        .map(|zone| ZoneRef { zone: zone.id, kind: zone.kind, node: zone.node })
        .collect();
    own.sort_by_key(|zone| core::cmp::Reverse(zone.kind));
    own.into_iter()
}

/// Nodes with memory by preference of `local`: near ones first; equally near ones rotate between different `local`s,
/// which the growing `load` of a node picked first in its distance group takes care of.
fn node_order(local: usize, nodes: &[Node], zones: &[Zone], has_cpus: &[bool], load: &mut [u64]) -> Vec<usize> {
    let has_memory = |node: usize| zones.iter().any(|zone| zone.node.index() == node && zone.managed > 0);
    let distance = |node: usize| u64::from(nodes[local].distances[node]);
    let mut left: Vec<usize> = (0..nodes.len()).filter(|&node| node != local && has_memory(node)).collect();
    let mut order = Vec::with_capacity(nodes.len());
    if has_memory(local) {
        order.push(local);
    }
    let scale = (nodes.len() * nodes.len()) as u64 + 1;
    let mut previous = local;
    while !left.is_empty() {
        let cost =
            |node: usize| (distance(node) + u64::from(node < local) + u64::from(has_cpus[node])) * scale + load[node];
        let (at, &best) = left.iter().enumerate().min_by_key(|&(_, &node)| cost(node)).expect("a node is left");
        if distance(best) != distance(previous) {
            load[best] += left.len() as u64;
        }
        left.remove(at);
        order.push(best);
        previous = best;
    }
    order
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

    /// The order in which each node's requests go to others, on a machine with these distances and CPUs.
    fn orders<const N: usize>(distances: [[u32; N]; N], cpus: &[u16]) -> [[u16; N]; N] {
        let span = |node: usize| PfnRange::of(Pfn::new((1 << 20) + ((node as u64) << 12)), Pages::new(1 << 12));
        let layout = Layout {
            nodes: distances.iter().map(|distances| NodeSpec { distances: distances.to_vec() }).collect(),
            zones: (0..N)
                .map(|node| ZoneSpec { node: NodeId(node as u16), kind: ZoneKind::Normal, span: span(node) })
                .collect(),
            cpus: cpus.iter().map(|&node| NodeId(node)).collect(),
            ..Layout::default()
        };
        let mm = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot();
        core::array::from_fn(|node| core::array::from_fn(|at| mm.nodes()[node].fallback_list()[at].node.0))
    }

    #[test]
    fn neighbours_go_to_different_nodes_of_the_next_distance() {
        let far = [[10, 11, 20, 20], [11, 10, 20, 20], [20, 20, 10, 11], [20, 20, 11, 10]];
        // From node 0 the far requests go to node 2 first, so that those of node 1 go to node 3.
        assert_eq!(orders(far, &[0, 1, 2, 3])[..2], [[0, 1, 2, 3], [1, 0, 3, 2]]);
    }

    #[test]
    fn of_nodes_equally_near_one_without_cpus_comes_first() {
        let equal = [[10, 20, 20], [20, 10, 20], [20, 20, 10]];
        assert_eq!(orders(equal, &[0, 1, 2])[0], [0, 1, 2]);
        assert_eq!(orders(equal, &[0, 1])[0], [0, 2, 1]);
    }
}
