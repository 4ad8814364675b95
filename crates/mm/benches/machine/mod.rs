//! A machine with one zone and one CPU.

use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, NodeId, Pages, Pfn, PfnRange, ZoneKind};

/// First frame of the zone.
pub(crate) const START: Pfn = Pfn::new(1 << 20);

/// Builder of a machine with one CPU and one zone of `memory`, none of whose frames has a state yet.
pub(crate) fn builder(memory: Bytes, policy: Policy) -> MmBuilder {
    let span = PfnRange::of(START, Pages::from_bytes_floor(memory));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("one zone is a valid layout")
}
