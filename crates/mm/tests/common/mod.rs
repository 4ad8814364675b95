//! A machine of 1 GiB on one node with two zones, for tests from outside.

use order9_mm::policy::Policy;
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

pub(crate) fn boot(policy: Policy) -> Mm {
    let zone =
        |kind, start, pages| ZoneSpec { node: NodeId(0), kind, span: PfnRange::of(Pfn::new(start), Pages::new(pages)) };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![zone(ZoneKind::Dma32, 0x1000, 1 << 16), zone(ZoneKind::Normal, 1 << 20, 3 << 16)],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}
