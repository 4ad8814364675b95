//! A machine of 1 GiB on one node with two zones, for tests from outside.

use order9_mm::policy::Policy;
use order9_mm::{Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{NodeId, Pages, Pfn, PfnRange, ZoneKind};

/// The machine, with `cma` pages of contiguous memory area.
pub(crate) fn boot(policy: Policy, cma: Pages) -> Mm {
    let range = |start, pages| PfnRange::of(Pfn::new(start), Pages::new(pages));
    let zone = |kind, span| ZoneSpec { node: NodeId(0), kind, span };
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![zone(ZoneKind::Dma32, range(0x1000, 1 << 16)), zone(ZoneKind::Normal, range(1 << 20, 3 << 16))],
        cma: if cma == Pages::ZERO { Vec::new() } else { vec![range(1 << 20, cma.get())] },
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}
