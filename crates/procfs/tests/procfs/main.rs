//! Text of /proc, /sys and the kernel's command line, from and to engines that hold a bit of everything.

mod command_line;
mod files;
mod huge_pages;
mod node_files;
mod numa_maps;
mod pools;
mod slabinfo;
mod sysctl;
mod weights;

use order9_mm::policy::Policy;
use order9_mm::space::{Access, FaultStep, MmapRequest, Place, TableStep, VirtAddr};
use order9_mm::{Gfp, Layout, Mm, MmBuilder, NodeSpec, Request, SpaceId, ZoneSpec};
use order9_units::{Bytes, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

const CPU: usize = 0;
/// Where tests map memory: the start of a slot.
const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);
/// Base pages of a huge page.
const HUGE: u64 = Order::PAGEBLOCK.pages().get();

/// A machine of 1 GiB on one node with two zones and two CPUs, with `cma` pages of contiguous memory area.
fn boot(policy: Policy, cma: Pages) -> Mm {
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

/// So many nodes with `size` pages and a CPU each.
fn boot_nodes(policy: Policy, nodes: u16, size: u64) -> Mm {
    let distances = |node| (0..nodes).map(|other| if node == other { 10 } else { 20 }).collect();
    let start = |node: u16| Pfn::new((1 << 20) + u64::from(node) * size);
    let zone = |node| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(start(node), Pages::new(size)),
    };
    let layout = Layout {
        nodes: (0..nodes).map(|node| NodeSpec { distances: distances(node) }).collect(),
        zones: (0..nodes).map(zone).collect(),
        cpus: (0..nodes).map(NodeId).collect(),
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}

fn pages(count: u64) -> Bytes {
    Pages::new(count).bytes()
}

/// The address of a page behind [`START`].
fn at(page: u64) -> VirtAddr {
    VirtAddr::new(START.get() + pages(page).get())
}

/// Maps `count` pages from page `first` behind [`START`] on.
fn map(mm: &mut Mm, space: SpaceId, first: u64, count: u64) {
    let request = MmapRequest { place: Place::Fixed(at(first)), ..MmapRequest::anon(pages(count)) };
    mm.mmap(space, &request, CPU).expect("there is room");
}

fn touch(mm: &mut Mm, space: SpaceId, start: VirtAddr, pages: std::ops::Range<u64>, access: Access) {
    for page in pages {
        let addr = VirtAddr::new(start.get() + Pages::new(page).bytes().get());
        assert!(matches!(mm.touch(space, addr, access, CPU), FaultStep::Done | FaultStep::Hit));
    }
}

fn fork(mm: &mut Mm, parent: SpaceId) -> SpaceId {
    let mut fork = mm.fork(parent).expect("the parent lives");
    loop {
        match mm.fork_step(&mut fork).expect("nobody interferes") {
            TableStep::Progress => {}
            TableStep::NeedTable(vpn) => {
                let table = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER)).expect("memory is free");
                mm.give_table(fork.child(), vpn, table, CPU);
            }
            TableStep::NeedCopy(_) => unreachable!("nothing is pinned"),
            TableStep::Done => return fork.child(),
        }
    }
}

fn rendered(render: impl FnOnce(&mut String) -> std::fmt::Result) -> String {
    let mut text = String::new();
    render(&mut text).expect("a string takes everything");
    text
}
