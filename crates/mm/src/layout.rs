//! Memory of a machine: nodes, zones, holes and CPUs.
//!
//! Key type: [`Layout`]. [`crate::MmBuilder`] makes an engine of it.

use alloc::vec::Vec;

use order9_frames::{BuildError, ZoneSpec};
use order9_units::{NodeId, PfnRange};

/// The memory of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Nodes, by number.
    pub nodes: Vec<NodeSpec>,
    /// Zones, none overlapping another or sharing a pageblock with it.
    pub zones: Vec<ZoneSpec>,
    /// Frames in zones that do not exist.
    pub holes: Vec<PfnRange>,
    /// Frames kept from the allocator at boot.
    pub reserved: Vec<PfnRange>,
    /// Frames whose pages are not initialised yet, which are given to the allocator when it needs them: at most one range in a
    /// zone, without holes.
    pub deferred: Vec<PfnRange>,
    /// Contiguous memory areas, in whole pageblocks.
    pub cma: Vec<PfnRange>,
    /// Node of every CPU; without CPUs there are no per-CPU lists.
    pub cpus: Vec<NodeId>,
}

/// A node of a [`Layout`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSpec {
    /// Distance to every node; 10 is local.
    pub distances: Vec<u32>,
}

impl Layout {
    /// Distances of all nodes, row by row.
    pub(crate) fn distances(&self) -> Result<Vec<u32>, BuildError> {
        let of_every_node = |node: &NodeSpec| node.distances.len() == self.nodes.len();
        match self.nodes.iter().position(|node| !of_every_node(node)) {
            Some(at) => Err(BuildError::Distances(NodeId(at as u16))),
            None => Ok(self.nodes.iter().flat_map(|node| node.distances.iter().copied()).collect()),
        }
    }

    /// The layout as the allocator sees it, with `distances` row by row.
    pub(crate) fn frames<'a>(&'a self, distances: &'a [u32]) -> order9_frames::Layout<'a> {
        order9_frames::Layout {
            distances,
            zones: &self.zones,
            holes: &self.holes,
            reserved: &self.reserved,
            deferred: &self.deferred,
            cma: &self.cma,
            cpus: &self.cpus,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use order9_units::{Pages, Pfn, ZoneKind};

    use super::*;
    use crate::MmBuilder;
    use crate::policy::Policy;

    fn zone(node: u16, kind: ZoneKind, start: u64, pages: u64) -> ZoneSpec {
        ZoneSpec { node: NodeId(node), kind, span: PfnRange::of(Pfn::new(start), Pages::new(pages)) }
    }

    /// A layout of `count` nodes, with a zone of a pageblock on each.
    fn nodes(count: u16) -> Layout {
        let zones = (0..count).map(|node| zone(node, ZoneKind::Normal, 1024 * u64::from(node), 512));
        let distances: Vec<u32> = vec![10; usize::from(count)];
        Layout { nodes: vec![NodeSpec { distances }; usize::from(count)], zones: zones.collect(), ..Layout::default() }
    }

    fn refusal(layout: &Layout) -> Option<BuildError> {
        MmBuilder::new(layout, Policy::default()).err()
    }

    #[test]
    fn no_more_nodes_than_a_mask_has_bits() {
        assert_eq!(refusal(&nodes(64)), None);
        assert_eq!(refusal(&nodes(65)), Some(BuildError::TooManyNodes(65)));
        assert_eq!(BuildError::TooManyNodes(65).to_string(), "65 nodes: at most 64 are kept apart");
    }

    #[test]
    fn layouts_that_make_no_sense_are_refused() {
        let (normal, one) = (ZoneKind::Normal, nodes(1));
        let with = |zones: &[ZoneSpec]| refusal(&Layout { zones: zones.to_vec(), ..one.clone() });
        assert_eq!(with(&[]), Some(BuildError::NoMemory));
        assert_eq!(with(&[zone(0, normal, 0, 0)]), Some(BuildError::NoMemory));
        assert_eq!(with(&vec![zone(0, normal, 0, 512); 256]), Some(BuildError::TooManyZones(256)));
        assert_eq!(with(&[zone(1, normal, 0, 512)]), Some(BuildError::NoSuchNode(NodeId(1))));
        let meeting = [zone(0, ZoneKind::Dma32, 0, 600), zone(0, normal, 700, 512)];
        assert_eq!(with(&meeting), Some(BuildError::ZonesMeet(Pfn::new(700))));
        let twice = [zone(0, normal, 0, 512), zone(0, normal, 1024, 512)];
        assert_eq!(with(&twice), Some(BuildError::ZoneTwice(NodeId(0), normal)));
        let far = Layout { nodes: vec![NodeSpec { distances: vec![10, 20] }], ..one.clone() };
        assert_eq!(refusal(&far), Some(BuildError::Distances(NodeId(0))));
        let area = PfnRange::of(Pfn::new(0), Pages::new(511));
        assert_eq!(refusal(&Layout { cma: vec![area], ..one }), Some(BuildError::Cma(area)));
    }
}
