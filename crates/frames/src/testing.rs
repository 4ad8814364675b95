//! Machines for unit tests.

use alloc::vec::Vec;

use order9_units::{NodeId, PfnRange};

use crate::policy::FramesPolicy;
use crate::{BuildError, FramesBuilder, ZoneSpec};

/// A node and its distance to every node.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeSpec {
    pub(crate) distances: Vec<u32>,
}

/// A [`crate::Layout`] that owns its tables.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) nodes: Vec<NodeSpec>,
    pub(crate) zones: Vec<ZoneSpec>,
    pub(crate) holes: Vec<PfnRange>,
    pub(crate) reserved: Vec<PfnRange>,
    pub(crate) deferred: Vec<PfnRange>,
    pub(crate) cma: Vec<PfnRange>,
    pub(crate) cpus: Vec<NodeId>,
}

impl Layout {
    /// A builder of the machine.
    pub(crate) fn builder(&self, policy: FramesPolicy) -> Result<FramesBuilder, BuildError> {
        let distances: Vec<u32> = self.nodes.iter().flat_map(|node| node.distances.iter().copied()).collect();
        let layout = crate::Layout {
            distances: &distances,
            zones: &self.zones,
            holes: &self.holes,
            reserved: &self.reserved,
            deferred: &self.deferred,
            cma: &self.cma,
            cpus: &self.cpus,
        };
        FramesBuilder::new(&layout, policy, ())
    }
}
