//! NUMA nodes: their distances, and their zonelists by distance.

use order9_units::{NodeId, ZoneKind};

use crate::storage::{Storage, Usual};
use crate::zone::{Zone, ZoneId};

/// An entry of a zonelist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneRef {
    /// The zone.
    pub zone: ZoneId,
    /// The kind of the zone, so that a walk skips it without looking at it.
    pub kind: ZoneKind,
    /// The node of the zone.
    pub node: NodeId,
}

impl ZoneRef {
    /// An entry that no list has.
    pub const NONE: Self = Self { zone: ZoneId(u8::MAX), kind: ZoneKind::Dma, node: NodeId(u16::MAX) };
}

/// Distances between nodes.
#[derive(Clone, Copy, Debug)]
pub struct Distances<'a> {
    rows: &'a [u32],
    nodes: usize,
}

impl Distances<'_> {
    /// Nodes, by number.
    pub fn nodes(self) -> impl ExactSizeIterator<Item = NodeId> {
        (0..self.nodes as u16).map(NodeId)
    }

    /// Distance between two nodes; 10 is local.
    #[inline]
    #[must_use]
    pub const fn between(self, from: NodeId, to: NodeId) -> u32 {
        self.rows[from.index() * self.nodes + to.index()]
    }
}

/// Zonelists of one node, by position in the table of all.
#[derive(Clone, Copy, Debug)]
pub struct Zonelists {
    fallback: (u32, u32),
    this_node: (u32, u32),
    /// By the highest zone that may serve: the first entry of `fallback` that may.
    preferred: [ZoneRef; ZoneKind::COUNT],
}

impl Zonelists {
    /// Lists of a node without memory near it, to fill tables with.
    pub const EMPTY: Self = Self { fallback: (0, 0), this_node: (0, 0), preferred: [ZoneRef::NONE; ZoneKind::COUNT] };
}

/// Distances and zonelists of all nodes.
#[derive(Clone, Debug)]
pub(crate) struct Nodes<S: Storage = Usual> {
    distances: S::Of<u32>,
    lists: S::Of<Zonelists>,
    entries: S::Of<ZoneRef>,
}

impl<S: Storage> Nodes<S> {
    /// Entries that the lists of so many nodes and zones need.
    pub(crate) const fn entries(nodes: usize, zones: usize) -> usize {
        nodes * zones + zones
    }

    pub(crate) const fn new(distances: S::Of<u32>, lists: S::Of<Zonelists>, entries: S::Of<ZoneRef>) -> Self {
        Self { distances, lists, entries }
    }

    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    #[inline]
    pub(crate) fn distances(&self) -> Distances<'_> {
        Distances { rows: &self.distances, nodes: self.lists.len() }
    }

    #[inline]
    pub(crate) fn fallback_list(&self, node: NodeId) -> &[ZoneRef] {
        let (start, len) = self.lists[node.index()].fallback;
        &self.entries[start as usize..][..len as usize]
    }

    #[inline]
    pub(crate) fn this_node_list(&self, node: NodeId) -> &[ZoneRef] {
        let (start, len) = self.lists[node.index()].this_node;
        &self.entries[start as usize..][..len as usize]
    }

    /// By the highest zone that may serve: the first zone of the node's list that may, or [`ZoneRef::NONE`]. `None` where there is no
    /// such node.
    #[inline]
    pub(crate) fn preferred(&self, node: NodeId) -> Option<&[ZoneRef; ZoneKind::COUNT]> {
        Some(&self.lists.get(node.index())?.preferred)
    }

    /// Bytes of metadata.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.distances) + size_of_val(&*self.lists) + size_of_val(&*self.entries)
    }

    /// Builds the zonelists of all nodes. `has_cpus` says whether a node has CPUs.
    pub(crate) fn build_zonelists(&mut self, zones: &[Zone], has_cpus: impl Fn(NodeId) -> bool) {
        let mut load = [0; NODES_MAX];
        let mut end = 0;
        for local in 0..self.len() {
            let local = NodeId(local as u16);
            let start = end;
            let mut order = NodeOrder::new(self, zones, &has_cpus, local);
            while let Some(node) = order.next(self, &mut load) {
                end = self.push_zones(node, zones, end);
            }
            let own = end;
            end = self.push_zones(local, zones, end);
            let fallback = &self.entries[start as usize..own as usize];
            let preferred =
                ZoneKind::ALL.map(|class| *fallback.iter().find(|zone| zone.kind <= class).unwrap_or(&ZoneRef::NONE));
            self.lists[local.index()] =
                Zonelists { fallback: (start, own - start), this_node: (own, end - own), preferred };
        }
    }

    /// Adds the managed zones of a node, highest first; returns where the next entry goes.
    fn push_zones(&mut self, node: NodeId, zones: &[Zone], start: u32) -> u32 {
        let own = zones.iter().filter(|zone| zone.node == node && zone.managed > 0);
        let mut end = start;
        for zone in own {
            self.entries[end as usize] = ZoneRef { zone: zone.id, kind: zone.kind, node };
            end += 1;
        }
        self.entries[start as usize..end as usize].sort_unstable_by_key(|zone| core::cmp::Reverse(zone.kind));
        end
    }
}

/// Nodes of a machine at most: sets of them are masks of 64 bits.
pub(crate) const NODES_MAX: usize = u64::BITS as usize;

/// Nodes with memory by preference of `local`: near ones first; equally near ones rotate between different `local`s,
/// which the growing load of a node picked first in its distance group takes care of.
struct NodeOrder<F> {
    local: NodeId,
    previous: NodeId,
    /// Nodes with memory that are not in the order yet, by bits.
    left: u64,
    has_cpus: F,
}

impl<F: Fn(NodeId) -> bool> NodeOrder<F> {
    fn new<S: Storage>(nodes: &Nodes<S>, zones: &[Zone], has_cpus: F, local: NodeId) -> Self {
        let has_memory = |node: usize| zones.iter().any(|zone| zone.node.index() == node && zone.managed > 0);
        let left = (0..nodes.len()).filter(|&node| has_memory(node)).fold(0, |left, node| left | 1 << node);
        Self { local, previous: local, left, has_cpus }
    }

    fn next<S: Storage>(&mut self, nodes: &Nodes<S>, load: &mut [u64; NODES_MAX]) -> Option<NodeId> {
        if self.left >> self.local.index() & 1 != 0 {
            self.left &= !(1 << self.local.index());
            return Some(self.local);
        }
        let scale = (nodes.len() * nodes.len()) as u64 + 1;
        let cost = |&node: &NodeId| {
            let distance = u64::from(nodes.distances().between(self.local, node));
            let malus = u64::from(node < self.local) + u64::from((self.has_cpus)(node));
            (distance + malus) * scale + load[node.index()]
        };
        let left = (0..nodes.len() as u16).map(NodeId).filter(|node| self.left >> node.index() & 1 != 0);
        let best = left.min_by_key(cost)?;
        if nodes.distances().between(self.local, best) != nodes.distances().between(self.local, self.previous) {
            load[best.index()] += u64::from(self.left.count_ones());
        }
        self.left &= !(1 << best.index());
        self.previous = best;
        Some(best)
    }
}

#[cfg(test)]
mod tests {
    use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

    use crate::ZoneSpec;
    use crate::policy::FramesPolicy;
    use crate::testing::{Layout, NodeSpec};

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
        let mm = layout.builder(FramesPolicy::default()).expect("the layout is sound").boot();
        core::array::from_fn(|node| core::array::from_fn(|at| mm.fallback_list(NodeId(node as u16))[at].node.0))
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
