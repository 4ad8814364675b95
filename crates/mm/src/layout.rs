//! What memory a machine has: its nodes, zones, holes and CPUs, and which of that no machine can have.
//!
//! Key types: [`Layout`], [`BuildError`]. [`crate::MmBuilder`] makes an engine of it.

use alloc::vec::Vec;
use core::fmt;

use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

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

/// A zone of a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneSpec {
    /// Its node.
    pub node: NodeId,
    /// Which zone.
    pub kind: ZoneKind,
    /// First to last frame, holes included.
    pub span: PfnRange,
}

/// Why a layout or a frame's state was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// There is no zone, or an empty one.
    NoMemory,
    /// More zones than an engine keeps apart (255).
    TooManyZones(usize),
    /// More nodes than an engine keeps apart (64).
    TooManyNodes(usize),
    /// The frames between the first and the last do not fit 32 bits.
    SpanTooLarge(Pages),
    /// A zone or CPU names a node that does not exist.
    NoSuchNode(NodeId),
    /// The distances of a node are not one per node.
    Distances(NodeId),
    /// Two zones overlap or share a pageblock, here.
    ZonesMeet(Pfn),
    /// A node has two zones of a kind.
    ZoneTwice(NodeId, ZoneKind),
    /// A contiguous memory area is not made of whole pageblocks of one zone.
    Cma(PfnRange),
    /// The frame is outside the zones, a hole, reserved, or was given a state already.
    Taken(Pfn),
    /// The block is not aligned to its order.
    Misaligned(Pfn, Order),
}

/// Nodes of a machine: sets of them are masks of 64 bits.
const NODES_MAX: usize = u64::BITS as usize;

impl Layout {
    /// Refuses what no machine has.
    pub(crate) fn validate(&self) -> Result<(), BuildError> {
        if self.zones.is_empty() || self.zones.iter().any(|zone| zone.span.is_empty()) {
            return Err(BuildError::NoMemory);
        }
        if self.zones.len() > usize::from(u8::MAX) {
            return Err(BuildError::TooManyZones(self.zones.len()));
        }
        if self.nodes.len() > NODES_MAX {
            return Err(BuildError::TooManyNodes(self.nodes.len()));
        }
        let mut owners = self.zones.iter().map(|zone| zone.node).chain(self.cpus.iter().copied());
        if let Some(node) = owners.find(|node| node.index() >= self.nodes.len()) {
            return Err(BuildError::NoSuchNode(node));
        }
        if let Some(at) = self.nodes.iter().position(|node| node.distances.len() != self.nodes.len()) {
            return Err(BuildError::Distances(NodeId(at as u16)));
        }
        let mut spans: Vec<_> = self.zones.iter().map(|zone| zone.span).collect();
        spans.sort_unstable();
        for pair in spans.windows(2) {
            if pair[1].start.align_down(Order::PAGEBLOCK) < pair[0].end {
                return Err(BuildError::ZonesMeet(pair[1].start));
            }
        }
        for (at, zone) in self.zones.iter().enumerate() {
            if self.zones[..at].iter().any(|other| (other.node, other.kind) == (zone.node, zone.kind)) {
                return Err(BuildError::ZoneTwice(zone.node, zone.kind));
            }
        }
        for &area in &self.cma {
            let whole = area.start.is_aligned(Order::PAGEBLOCK) && area.end.is_aligned(Order::PAGEBLOCK);
            if !whole || !spans.iter().any(|&span| span.intersect(area) == area) {
                return Err(BuildError::Cma(area));
            }
        }
        Ok(())
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory => f.write_str("there is no zone, or one without frames"),
            Self::TooManyNodes(nodes) => write!(f, "{nodes} nodes: at most {NODES_MAX} are kept apart"),
            Self::TooManyZones(zones) => write!(f, "{zones} zones: at most 255 are kept apart"),
            Self::SpanTooLarge(frames) => {
                write!(f, "memory spans {} frames: at most 2^32 are kept apart", frames.get())
            }
            Self::NoSuchNode(node) => write!(f, "a zone or CPU belongs to node {node}, which does not exist"),
            Self::Distances(node) => write!(f, "node {node} needs one distance to every node"),
            Self::ZonesMeet(pfn) => write!(f, "the zone that starts at {pfn:?} shares a pageblock with another"),
            Self::ZoneTwice(node, kind) => write!(f, "node {node} has zone {kind} twice"),
            Self::Cma(range) => {
                write!(f, "the CMA area {}-{} is not made of whole pageblocks of one zone", range.start, range.end)
            }
            Self::Taken(pfn) => write!(f, "{pfn:?} is no frame of a zone that still needs a state"),
            Self::Misaligned(pfn, order) => write!(f, "{pfn:?} is no start of a block of {order:?}"),
        }
    }
}

impl core::error::Error for BuildError {}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::MmBuilder;
    use crate::policy::Policy;

    fn zone(node: u16, kind: ZoneKind, start: u64, pages: u64) -> ZoneSpec {
        ZoneSpec { node: NodeId(node), kind, span: PfnRange::of(Pfn::new(start), Pages::new(pages)) }
    }

    /// As many nodes, a zone of a pageblock on each.
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
