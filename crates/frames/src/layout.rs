//! The memory of a machine: its nodes, zones, holes and CPUs, and which of that no machine can have.
//!
//! Key types: [`Layout`], [`BuildError`]. [`crate::FramesBuilder`] makes an engine of it.

use core::fmt;

use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use crate::nodes::NODES_MAX;

/// The memory of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout<'a> {
    /// Distances between nodes, row by row: 10 is local. There are as many nodes as rows.
    pub distances: &'a [u32],
    /// Zones, none overlapping another or sharing a pageblock with it.
    pub zones: &'a [ZoneSpec],
    /// Frames in zones that do not exist.
    pub holes: &'a [PfnRange],
    /// Frames kept from the allocator at boot.
    pub reserved: &'a [PfnRange],
    /// Frames whose pages are not initialised yet, which are given to the allocator when it needs them: at most one range in a
    /// zone, without holes.
    pub deferred: &'a [PfnRange],
    /// Contiguous memory areas, in whole pageblocks.
    pub cma: &'a [PfnRange],
    /// Node of every CPU; without CPUs there are no per-CPU lists.
    pub cpus: &'a [NodeId],
}

/// A zone of a [`Layout`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneSpec {
    /// The node that the zone belongs to.
    pub node: NodeId,
    /// The kind of zone.
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
    /// A table, or the sizes of tables, are not those of the layout.
    Table(&'static str),
}

impl Layout<'_> {
    /// Nodes of the machine.
    #[must_use]
    pub const fn nodes(&self) -> usize {
        self.distances.len().isqrt()
    }

    /// Refuses what no machine has.
    pub(crate) fn validate(&self) -> Result<(), BuildError> {
        if self.zones.is_empty() || self.zones.iter().any(|zone| zone.span.is_empty()) {
            return Err(BuildError::NoMemory);
        }
        if self.zones.len() > usize::from(u8::MAX) {
            return Err(BuildError::TooManyZones(self.zones.len()));
        }
        let nodes = self.nodes();
        if nodes > NODES_MAX {
            return Err(BuildError::TooManyNodes(nodes));
        }
        if nodes * nodes != self.distances.len() {
            return Err(BuildError::Distances(NodeId(nodes as u16)));
        }
        let mut owners = self.zones.iter().map(|zone| zone.node).chain(self.cpus.iter().copied());
        if let Some(node) = owners.find(|node| node.index() >= nodes) {
            return Err(BuildError::NoSuchNode(node));
        }
        for (at, zone) in self.zones.iter().enumerate() {
            let shared = |other: &&ZoneSpec| {
                let (low, high) =
                    if other.span < zone.span { (other.span, zone.span) } else { (zone.span, other.span) };
                high.start.align_down(Order::PAGEBLOCK) < low.end
            };
            if let Some(other) = self.zones[..at].iter().find(shared) {
                return Err(BuildError::ZonesMeet(other.span.start.max(zone.span.start)));
            }
        }
        for (at, zone) in self.zones.iter().enumerate() {
            if self.zones[..at].iter().any(|other| (other.node, other.kind) == (zone.node, zone.kind)) {
                return Err(BuildError::ZoneTwice(zone.node, zone.kind));
            }
        }
        for &area in self.cma {
            let whole = area.start.is_aligned(Order::PAGEBLOCK) && area.end.is_aligned(Order::PAGEBLOCK);
            if !whole || !self.zones.iter().any(|zone| zone.span.intersect(area) == area) {
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
            Self::Table(name) => write!(f, "the table {name} is not as long as the layout needs"),
            Self::Misaligned(pfn, order) => write!(f, "{pfn:?} is no start of a block of {order:?}"),
        }
    }
}

impl core::error::Error for BuildError {}
