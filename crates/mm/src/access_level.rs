//! Distance of memory from a CPU, as prices tell it apart: here, on the nearest other nodes, further away, or at a distance
//! that has prices of its own.
//!
//! Key type: [`AccessLevels`]. The levels are numbers from 0 on, so that an owner of prices keeps them in an array of
//! [`AccessLevels::COUNT`]. Never knows what a price is.

use order9_frames::Distances;
use order9_units::NodeId;

/// Distances that have prices of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccessLevels {
    /// In the order of their levels; 0 where there are fewer.
    apart: [u32; Self::APART],
}

impl AccessLevels {
    /// Memory of the own node.
    pub const LOCAL: usize = 0;
    /// Memory of the nearest other nodes.
    pub const NEAR: usize = 1;
    /// Memory of nodes further away.
    pub const FAR: usize = 2;
    /// No distance has prices of its own.
    pub const NONE_APART: Self = Self { apart: [0; Self::APART] };
    /// Most distances that have prices of their own.
    pub const APART: usize = 5;
    /// Number of levels.
    pub const COUNT: usize = 3 + Self::APART;

    /// Levels where `distances` are the first ones that have prices of their own.
    #[must_use]
    pub fn new(distances: impl IntoIterator<Item = u32>) -> Self {
        let mut apart = [0; Self::APART];
        apart.iter_mut().zip(distances).for_each(|(place, distance)| *place = distance);
        Self { apart }
    }

    /// The level of memory of `to` for CPUs of `from`.
    #[must_use]
    pub fn of(&self, distances: Distances<'_>, from: NodeId, to: NodeId) -> usize {
        if to == from {
            return Self::LOCAL;
        }
        let distance = distances.between(from, to);
        if let Some(nth) = self.apart.iter().position(|&apart| apart == distance) {
            return Self::FAR + 1 + nth;
        }
        let is_nearer = |other: NodeId| other != from && distances.between(from, other) < distance;
        if distances.nodes().any(is_nearer) { Self::FAR } else { Self::NEAR }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use order9_units::{Pages, Pfn, PfnRange, ZoneKind};

    use super::*;
    use crate::policy::Policy;
    use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

    #[test]
    fn what_is_priced_apart_is_told_from_the_nearest_and_the_others() {
        let rows = [vec![10, 16, 32, 40], vec![16, 10, 32, 40], vec![32, 32, 10, 16], vec![40, 40, 16, 10]];
        let zone = |node: u64| ZoneSpec {
            node: NodeId(node as u16),
            kind: ZoneKind::Normal,
            span: PfnRange::of(Pfn::new((1 << 20) + (node << 13)), Pages::new(1 << 13)),
        };
        let layout = Layout {
            nodes: rows.into_iter().map(|distances| NodeSpec { distances }).collect(),
            zones: (0..4).map(zone).collect(),
            cpus: vec![NodeId(0), NodeId(1)],
            ..Layout::default()
        };
        let mm = MmBuilder::new(&layout, Policy::default()).expect("a layout").boot();
        let row = |levels: AccessLevels, from| -> Vec<usize> {
            (0..4).map(|to| levels.of(mm.phys.frames.distances(), NodeId(from), NodeId(to))).collect()
        };
        assert_eq!(row(AccessLevels::default(), 0), [0, 1, 2, 2]);
        assert_eq!(row(AccessLevels::default(), 3), [2, 2, 1, 0]);
        assert_eq!(row(AccessLevels::new([32, 40]), 0), [0, 1, 3, 4]);
        assert_eq!(row(AccessLevels::new([16]), 1), [3, 0, 2, 2], "what is nearest stays so");
    }
}
