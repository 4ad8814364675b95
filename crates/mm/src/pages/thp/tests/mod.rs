//! Huge pages by rule, and in random order with everything else that programs and reclaim do.

mod collapse;
mod counters;
mod faults;
mod khugepaged;
mod lazy;
mod operations;
mod rights;
mod rows;
mod rules;
mod shmem;
mod sizes;
mod small;
mod splits;
mod swap;
mod underused;

use order9_units::{Bytes, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::{HugeDefrag, HugeEnabled, NR};
use crate::policy::Policy;
use crate::space::{Access, FaultStep, MmapRequest, Need, PageView, Place, SpaceId, TableStep, VirtAddr};
use crate::vmstat::Counters;
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, Request, ZoneSpec};

const CPU: usize = 0;
const HUGE: u64 = NR as u64;
/// Place where tests map memory: the start of a slot.
const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);

/// A node with 64 MiB in zone Normal, content tags, and huge pages for all.
fn boot(policy: Policy) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(16 << 10));
    let layout = Layout {
        nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
        zones: alloc::vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: alloc::vec![NodeId(0)],
        ..Layout::default()
    };
    let mut mm =
        MmBuilder::new(&layout, policy).expect("the layout is sound").content_tags().boot().with_compaction_account();
    mm.phys.set_thp_enabled(HugeEnabled::Always);
    mm.phys.set_thp_defrag(HugeDefrag::Madvise);
    mm.tune(|tunables| tunables.thp_use_zero_page = true);
    mm
}

fn pages(count: u64) -> Bytes {
    Pages::new(count).bytes()
}

fn at(page: u64) -> VirtAddr {
    VirtAddr::new(START.get() + pages(page).get())
}

/// Maps `count` pages from page `first` on.
fn map(mm: &mut Mm, space: SpaceId, first: u64, count: u64) {
    let request = MmapRequest { place: Place::Fixed(at(first)), ..MmapRequest::anon(pages(count)) };
    mm.mmap(space, &request, CPU).expect("there is room");
}

/// A program with `count` pages from [`START`] on.
fn program(mm: &mut Mm, count: u64) -> SpaceId {
    let space = mm.create_space().expect("there are few");
    map(mm, space, 0, count);
    space
}

fn checked(mm: &Mm) {
    mm.check().expect("every law holds");
}

/// An access with all that it needs; `huge` says whether there are huge pages.
fn access(mm: &mut Mm, space: SpaceId, addr: VirtAddr, access: Access, huge: bool) -> FaultStep {
    let mut step = mm.fault_begin(space, addr, access, CPU);
    while let FaultStep::NeedPage(fault) = &step {
        let page = match fault.need().may_be_refused() && !huge {
            true => None,
            false => mm.alloc_fast(&fault.request(CPU)).ok(),
        };
        step = match page {
            Some(page) => mm.fault_finish(fault, page, CPU),
            None if fault.need().may_be_refused() => mm.fault_refused(fault, CPU),
            None => break,
        };
        checked(mm);
    }
    checked(mm);
    step
}

fn write(mm: &mut Mm, space: SpaceId, page: u64) {
    assert!(matches!(access(mm, space, at(page), Access::Write, true), FaultStep::Done | FaultStep::Hit));
}

fn read(mm: &mut Mm, space: SpaceId, page: u64) {
    assert!(matches!(access(mm, space, at(page), Access::Read, true), FaultStep::Done | FaultStep::Hit));
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
            TableStep::NeedCopy(copy) => {
                let page =
                    mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
                mm.give_copy(&copy, page, CPU);
            }
            TableStep::Done => {
                checked(mm);
                return fork.child();
            }
        }
    }
}

fn frame(mm: &Mm, space: SpaceId, page: u64) -> Pfn {
    match mm.page_at(space, at(page)) {
        PageView::Present { pfn, .. } => pfn,
        other => panic!("{other:?} at page {page}"),
    }
}

fn is_huge(mm: &Mm, space: SpaceId, page: u64) -> bool {
    mm.pages.spaces.get(space).is_ok_and(|space| space.table.huge(at(page).vpn()).is_some())
}

/// Fault allocations and fallbacks, splits of mappings and pages, refused ones, pages queued.
fn events(counters: &Counters) -> [u64; 6] {
    [
        counters.thp_fault_alloc,
        counters.thp_fault_fallback,
        counters.thp_split_pmd,
        counters.thp_split_page,
        counters.thp_split_page_failed,
        counters.thp_deferred_split_page,
    ]
}

fn no_page(step: &FaultStep) -> Option<Need> {
    if let FaultStep::NeedPage(fault) = step { Some(fault.need()) } else { None }
}
