//! Memory policies: call by call, and against a naive model.

mod errors;
mod files;
mod huge;
mod model;
mod moves;
mod places;

use alloc::vec::Vec;

use order9_units::{NodeId, NodeMask, Pages, Pfn, PfnRange, ZoneKind};

use super::{MempolicyArgs, Mode, SpaceTask};
use crate::migrate::tests::{World, address};
use crate::policy::{MempolicyInterface, Policy};
use crate::space::{Access, FaultStep, MmapRequest, PageView, Place, SpaceId, VirtAddr};
use crate::thp::HugeEnabled;
use crate::{Layout, Mm, NodeSpec, ZoneSpec};

const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);
/// Frames of a node: 8 MiB.
const NODE: u64 = 1 << 11;

fn mask(text: &str) -> NodeMask {
    NodeMask::parse(text).expect("a list of nodes")
}

fn args(mode: Mode, nodes: &str) -> MempolicyArgs {
    MempolicyArgs::new(mode, mask(nodes))
}

fn newest() -> Policy {
    Policy { mempolicy: MempolicyInterface::WeightedInterleave, ..Policy::default() }
}

/// A world of `count` nodes with memory and a CPU each, the further apart the more their numbers differ, and one more without
/// memory.
/// No huge pages.
fn nodes(count: u16) -> World {
    let distance = |from: u16, to: u16| 10 + 10 * u32::from(from.abs_diff(to));
    let zone = |node: u16| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + u64::from(node) * NODE), Pages::new(NODE)),
    };
    let spec = |from| NodeSpec { distances: (0..=count).map(|to| distance(from, to)).collect() };
    let layout = Layout {
        nodes: (0..=count).map(spec).collect(),
        zones: (0..count).map(zone).collect(),
        cpus: (0..=count).map(NodeId).collect(),
        ..Layout::default()
    };
    let world = World::of(&layout, newest());
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.phys.set_thp_enabled(HugeEnabled::Never);
    };
    {
        let mm = &mut *world.mm.borrow_mut();
        mm.phys.set_min_free_kbytes(128);
    };
    world
}

/// A program that has mapped so many pages at [`START`].
fn program(mm: &mut Mm, pages: u64) -> SpaceId {
    let space = mm.create_space().expect("there are few");
    map(mm, space, 0, pages);
    space
}

fn map(mm: &mut Mm, space: SpaceId, page: u64, pages: u64) {
    let place = Place::Fixed(address(START, page));
    mm.mmap(space, &MmapRequest { place, ..MmapRequest::anon(Pages::new(pages).bytes()) }, 0).expect("there is room");
}

fn write(mm: &mut Mm, task: impl Into<SpaceTask>, page: u64, cpu: usize) {
    let step = mm.touch(task, address(START, page), Access::Write, cpu);
    assert!(matches!(step, FaultStep::Done | FaultStep::Hit), "{step:?}");
}

/// Node of a page.
fn node(mm: &Mm, space: SpaceId, page: u64) -> Option<u16> {
    match mm.page_at(space, address(START, page)) {
        PageView::Present { pfn, .. } => Some(mm.phys.node_of_frame(pfn).0),
        _ => None,
    }
}

/// Nodes of pages that are written one after the other by a program on a CPU.
fn nodes_of(mm: &mut Mm, space: SpaceId, pages: core::ops::Range<u64>, cpu: usize) -> Vec<u16> {
    pages
        .map(|page| {
            write(mm, space, page, cpu);
            node(mm, space, page).expect("it was just written")
        })
        .collect()
}

fn bytes(pages: u64) -> order9_units::Bytes {
    Pages::new(pages).bytes()
}
