//! Machines that tests run on, from a few pageblocks to 16 GiB.

use order9_mm::{Layout, NodeSpec, ZoneSpec};
use order9_units::{NodeId, Order, PAGEBLOCK_PAGES, Pages, Pfn, PfnRange, ZoneKind};

/// First frame of the machines that need no particular address: a multiple of the largest block.
pub const TINY_START: Pfn = Pfn::new(0x1000);

/// The machine of every worked number: one node with 3,840 managed pages in zone DMA, 779,264 in DMA32 and 3,358,720 in
/// Normal; zone Movable absent.
#[must_use]
pub fn machine_a(cpus: usize) -> Layout {
    let dma32 = PfnRange::new(Pfn::new(0x1000), Pfn::new(0x10_0000));
    let dma32_memory = PfnRange::of(dma32.start, Pages::new(779_264));
    let normal = PfnRange::of(dma32.end, Pages::new(3_358_720));
    Layout {
        nodes: nodes(1),
        zones: vec![
            zone(0, ZoneKind::Dma, PfnRange::new(Pfn::new(1), dma32.start)),
            zone(0, ZoneKind::Dma32, dma32),
            zone(0, ZoneKind::Normal, normal),
        ],
        holes: vec![PfnRange::new(dma32_memory.end, dma32.end)],
        reserved: vec![PfnRange::new(Pfn::new(1), Pfn::new(256))],
        cpus: vec![NodeId(0); cpus],
        ..Layout::default()
    }
}

/// One zone of `blocks` pageblocks. Below six of them, mobility grouping is off.
#[must_use]
pub fn tiny(blocks: u64, cpus: usize) -> Layout {
    Layout {
        nodes: nodes(1),
        zones: vec![zone(0, ZoneKind::Normal, pageblocks(TINY_START, blocks))],
        cpus: vec![NodeId(0); cpus],
        ..Layout::default()
    }
}

/// One node with small zones DMA, DMA32 and Movable and a zone Normal of `blocks` pageblocks, a quarter of them a contiguous
/// memory area. Zone edges lie inside a pageblock; there is a hole and a reserved page. Per-CPU lists of zone Normal are on
/// from 16 pageblocks on.
#[must_use]
pub fn ragged(blocks: u64, cpus: usize) -> Layout {
    let dma = PfnRange::new(Pfn::new(0x101), Pfn::new(0x800));
    let dma32 = pageblocks(Pfn::new(0x1000), 6);
    let whole_normal = pageblocks(Pfn::new(0x2000), blocks);
    let normal = PfnRange::new(whole_normal.start, whole_normal.end - Pages::new(0xcc));
    let movable = pageblocks(whole_normal.end.align_up(Order::MAX), 4);
    let cma = pageblocks(Pfn::new(0x2400), (blocks / 4).next_multiple_of(2));
    Layout {
        nodes: nodes(1),
        zones: vec![
            zone(0, ZoneKind::Dma, dma),
            zone(0, ZoneKind::Dma32, dma32),
            zone(0, ZoneKind::Normal, normal),
            zone(0, ZoneKind::Movable, movable),
        ],
        holes: vec![PfnRange::of(Pfn::new(0x1510), Pages::new(0x123))],
        reserved: vec![PfnRange::of(cma.end + Pages::new(0x205), Pages::new(1))],
        cma: vec![cma],
        cpus: vec![NodeId(0); cpus],
        ..Layout::default()
    }
}

/// Two nodes, DMA and DMA32 on node 0 alone, both with a zone Normal; CPUs alternate between them.
#[must_use]
pub fn two_nodes(cpus: usize) -> Layout {
    Layout {
        nodes: nodes(2),
        zones: vec![
            zone(0, ZoneKind::Dma, pageblocks(Pfn::new(0), 2)),
            zone(0, ZoneKind::Dma32, pageblocks(Pfn::new(0x1000), 4)),
            zone(0, ZoneKind::Normal, pageblocks(Pfn::new(0x2000), 8)),
            zone(1, ZoneKind::Normal, pageblocks(Pfn::new(0x4000), 8)),
        ],
        cpus: (0..cpus).map(|cpu| NodeId((cpu % 2) as u16)).collect(),
        ..Layout::default()
    }
}

fn nodes(count: usize) -> Vec<NodeSpec> {
    let distances = |from| (0..count).map(|to| if to == from { 10 } else { 20 }).collect();
    (0..count).map(|from| NodeSpec { distances: distances(from) }).collect()
}

fn zone(node: u16, kind: ZoneKind, span: PfnRange) -> ZoneSpec {
    ZoneSpec { node: NodeId(node), kind, span }
}

fn pageblocks(start: Pfn, count: u64) -> PfnRange {
    PfnRange::of(start, PAGEBLOCK_PAGES * count)
}
