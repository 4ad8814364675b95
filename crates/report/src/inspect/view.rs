//! An analysed snapshot: what inspections, maps and pages are made of.

use order9_snapshot::Snapshot;
use order9_snapshot::census::Census;
use order9_snapshot::classify::LayoutError;
use order9_snapshot::inspection::Inspection;
use order9_snapshot::limits::{self, Shortage};
use order9_snapshot::prices::Prices;
use order9_units::{Bytes, NodeId};

use super::only_node;
use crate::map::MemoryMap;

/// An analysed snapshot.
#[derive(Clone, Debug)]
pub struct View {
    /// Findings about the snapshot.
    pub inspection: Inspection,
    /// The map; `None` where the snapshot holds none.
    pub map: Option<MemoryMap>,
    /// Counts of every pageblock of the map.
    pub census: Option<Census>,
}

/// A snapshot that cannot be analysed.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// A map that is larger than this host can analyse.
    #[error("analysing this map {0}")]
    Shortage(#[from] Shortage),
    /// Zones that contradict each other.
    #[error(transparent)]
    Layout(LayoutError),
    /// A node that the machine does not have.
    #[error("no such node, expected {expected}")]
    NoSuchNode {
        /// Numbers of the nodes that there are.
        expected: String,
    },
}

impl View {
    /// Analyses `snapshot`, or `node` of it alone, in at most `available` memory of this host.
    ///
    /// # Errors
    /// Too little memory, zones that contradict each other, a node that there is not.
    pub fn of(snapshot: &Snapshot, node: Option<NodeId>, available: Bytes) -> Result<Self, ViewError> {
        let spanned = snapshot.zones.iter().map(|zone| zone.span.len()).sum();
        Shortage::check(limits::to_analyse(spanned), available)?;
        let mut census = match Census::of(snapshot) {
            Ok(census) => Some(census),
            Err(LayoutError::NoMap) => None,
            Err(error) => return Err(ViewError::Layout(error)),
        };
        let mut inspection = Inspection::of(snapshot, census.as_ref(), &Prices::of(snapshot));
        let mut map = census.as_ref().map(MemoryMap::of);
        if let Some(node) = node {
            only_node(&mut inspection, node).map_err(|nodes| no_such_node(&nodes))?;
            map.iter_mut().for_each(|map| map.strips.retain(|strip| strip.node == node));
            census.iter_mut().for_each(|census| census.zones.retain(|zone| zone.node == node));
        }
        Ok(Self { inspection, map, census })
    }
}

fn no_such_node(nodes: &[NodeId]) -> ViewError {
    let nodes: Vec<_> = nodes.iter().map(NodeId::to_string).collect();
    ViewError::NoSuchNode { expected: nodes.join(", ") }
}
