//! Pools by rule: sizes, promises, faults, forks.

use alloc::vec::Vec;

use order9_units::{Bytes, NodeId, NodeMask, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::{HugetlbPool, PoolResize, PoolSize, PoolStep};
use crate::mempolicy::{MempolicyArgs, Mode, SpaceTask};
use crate::policy::{MempolicyInterface, Policy};
use crate::space::{
    Access, Backing, Errno, FaultStep, HugeAdvice, Madvise, MmapRequest, Mremap, MremapRequest, MremapTo, Need,
    PageView, Place, Prot, SpaceId, TableStep, VirtAddr,
};
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

const CPU: usize = 0;
const HUGE: Bytes = Bytes::new(2 << 20);
const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);

/// `nodes` nodes with 32 MiB each, a CPU each, content tags, nothing mapped.
fn boot(nodes: u16, policy: Policy) -> Mm {
    let distances = |node| (0..nodes).map(|other| if other == node { 10 } else { 20 }).collect();
    let zone = |node| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + (u64::from(node) << 13)), Pages::new(8 << 10)),
    };
    let layout = Layout {
        nodes: (0..nodes).map(|node| NodeSpec { distances: distances(node) }).collect(),
        zones: (0..nodes).map(zone).collect(),
        cpus: (0..nodes).map(NodeId).collect(),
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").content_tags().boot()
}

fn with_pool(pages: u64) -> Mm {
    let mut mm = boot(1, Policy::default());
    mm.set_nr_hugepages(PoolSize::all(pages));
    checked(&mm);
    mm
}

fn checked(mm: &Mm) {
    mm.check().expect("every law holds");
}

/// Total, free, reserved, surplus.
fn pool(mm: &Mm) -> (u64, u64, u64, u64) {
    let HugetlbPool { total, free, reserved, surplus } = mm.pages.hugetlb.hugetlb_pool();
    (total, free, reserved, surplus)
}

fn addr(huge: u64) -> VirtAddr {
    VirtAddr::new(START.get() + huge * HUGE.get())
}

fn length(huge: u64) -> Bytes {
    Bytes::new(huge * HUGE.get())
}

fn map(mm: &mut Mm, space: SpaceId, huge: u64, shared: bool, reserves: bool) -> Result<VirtAddr, Errno> {
    let (place, backing) = (Place::Fixed(START), Backing::Hugetlb { shared, reserves });
    let request = MmapRequest { place, backing, ..MmapRequest::anon(length(huge)) };
    let mapped = mm.mmap(space, &request, CPU);
    checked(mm);
    mapped
}

fn touch(mm: &mut Mm, space: SpaceId, huge: u64, access: Access) -> FaultStep {
    let step = mm.touch(space, VirtAddr::new(addr(huge).get() + 5 * 4096), access, CPU);
    checked(mm);
    step
}

fn fork(mm: &mut Mm, parent: SpaceId) -> SpaceId {
    let mut fork = mm.fork(parent).expect("the parent lives");
    while let TableStep::Progress = mm.fork_step(&mut fork).expect("nobody interferes") {}
    checked(mm);
    fork.child()
}

fn frame(mm: &Mm, space: SpaceId, huge: u64) -> Pfn {
    match mm.page_at(space, addr(huge)) {
        PageView::Present { pfn, .. } => pfn,
        other => panic!("{other:?}"),
    }
}

#[test]
fn pools_grow_and_shrink_to_the_number_written() {
    let mut mm = with_pool(3);
    assert_eq!(pool(&mm), (3, 3, 0, 0));
    assert_eq!((mm.counters().htlb_buddy_alloc_success, mm.counters().htlb_buddy_alloc_fail), (3, 0));
    let free = mm.phys.free_pages();
    mm.set_nr_hugepages(PoolSize::all(1));
    checked(&mm);
    assert_eq!((pool(&mm), mm.phys.free_pages().get()), ((1, 1, 0, 0), free.get() + 1024), "they go back whole");
    mm.set_nr_hugepages(PoolSize::all(1000));
    checked(&mm);
    let (total, ..) = pool(&mm);
    assert!((5..16).contains(&total), "{total}: the pool is as large as it could be made");
    assert_eq!(mm.counters().htlb_buddy_alloc_fail, 1);
    mm.set_nr_hugepages(PoolSize::all(0));
    checked(&mm);
    assert_eq!(pool(&mm), (0, 0, 0, 0));
}

#[test]
fn pages_are_asked_for_node_by_node_with_all_effort() {
    let mut policy = Policy::default();
    policy.thp.hugetlb_noretry = true;
    let mut mm = boot(2, policy);
    let mut resize = PoolResize::new(PoolSize::all(3), &mm.pages, &mm.phys);
    let mut asked = Vec::new();
    // Node 1 has none the first time, then one.
    while let PoolStep::NeedPage(request) = resize.step(CPU, &mut mm.pages, &mut mm.phys) {
        assert!(request.gfp.has(Gfp::THISNODE | Gfp::RECLAIM | Gfp::COMP) && request.order == Order::PAGEBLOCK);
        asked.push((request.node.0, request.gfp.has(Gfp::RETRY_MAYFAIL)));
        let page = if asked.len() == 2 { None } else { mm.alloc_fast(&request).ok() };
        resize.give(page, &mut mm.pages, &mut mm.phys);
    }
    assert_eq!(asked, [(0, true), (1, true), (0, true), (1, false)], "who had none is not pressed again");
    assert_eq!(
        (mm.pages.hugetlb.hugetlb_pool_of(NodeId(0)).total, mm.pages.hugetlb.hugetlb_pool_of(NodeId(1)).total),
        (2, 1)
    );
    assert_eq!((mm.counters().htlb_buddy_alloc_success, mm.counters().htlb_buddy_alloc_fail), (3, 1));
}

#[test]
fn older_releases_press_every_node_again() {
    let mut mm = boot(1, Policy::default());
    let mut resize = PoolResize::new(PoolSize::all(1), &mm.pages, &mm.phys);
    let PoolStep::NeedPage(request) = resize.step(CPU, &mut mm.pages, &mut mm.phys) else {
        panic!("the pool is to grow")
    };
    assert!(request.gfp.has(Gfp::RETRY_MAYFAIL));
    resize.give(None, &mut mm.pages, &mut mm.phys);
    assert_eq!(
        (resize.step(CPU, &mut mm.pages, &mut mm.phys), pool(&mm)),
        (PoolStep::Done, (0, 0, 0, 0)),
        "no node had any"
    );
}

#[test]
fn a_node_has_a_pool_of_its_own() {
    let mut mm = boot(2, Policy::default());
    mm.set_nr_hugepages(PoolSize::all(4));
    assert_eq!([0, 1].map(|node| mm.pages.hugetlb.hugetlb_pool_of(NodeId(node)).total), [2, 2], "round robin");
    mm.set_nr_hugepages(PoolSize { pages: 5, node: Some(NodeId(1)) });
    let found = [0, 1].map(|node| mm.pages.hugetlb.hugetlb_pool_of(NodeId(node)));
    assert_eq!(found.map(|pool| (pool.total, pool.free)), [(2, 2), (5, 5)]);
    mm.set_nr_hugepages(PoolSize { pages: 0, node: Some(NodeId(0)) });
    checked(&mm);
    assert_eq!([0, 1].map(|node| mm.pages.hugetlb.hugetlb_pool_of(NodeId(node)).total), [0, 5]);
}

#[test]
fn pools_grow_and_shrink_on_the_nodes_of_the_writers_policy() {
    let mut mm = boot(3, Policy { mempolicy: MempolicyInterface::WeightedInterleave, ..Policy::default() });
    let space = mm.create_space().unwrap();
    let resize = |mm: &mut Mm, pages, task: SpaceTask, local| {
        let mut resize = PoolResize::by_policy(pages, task, NodeId(local), &mm.pages, &mm.phys);
        while let PoolStep::NeedPage(request) = resize.step(CPU, &mut mm.pages, &mut mm.phys) {
            let page = mm.alloc_fast(&request).ok();
            resize.give(page, &mut mm.pages, &mut mm.phys);
        }
        checked(mm);
        [0, 1, 2].map(|node| mm.pages.hugetlb.hugetlb_pool_of(NodeId(node)).total)
    };
    let chosen = |mm: &mut Mm, task: SpaceTask, mode, nodes| {
        let nodes = NodeMask::parse(nodes).unwrap();
        mm.set_mempolicy(task, &MempolicyArgs::new(mode, nodes)).unwrap();
    };
    let task = SpaceTask::from(space);
    assert_eq!(resize(&mut mm, 3, task, 0), [1, 1, 1], "without a policy as nr_hugepages");
    chosen(&mut mm, task, Mode::Bind, "1-2");
    assert_eq!(resize(&mut mm, 7, task, 0), [1, 3, 3], "the size is that of all nodes");
    chosen(&mut mm, task, Mode::Preferred, "0-2");
    assert_eq!(resize(&mut mm, 9, task, 2), [3, 3, 3], "the lowest of them");
    chosen(&mut mm, task, Mode::Local, "");
    assert_eq!(resize(&mut mm, 11, task, 2), [3, 3, 5], "the node of the CPU");
    chosen(&mut mm, task, Mode::WeightedInterleave, "0,2");
    assert_eq!(resize(&mut mm, 6, task, 0), [0, 3, 3], "it shrinks there as well");
    assert_eq!(resize(&mut mm, 0, task, 0), [0, 3, 0], "and leaves others");
    let thread = mm.pages.spaces.start_thread(task).unwrap();
    chosen(&mut mm, thread, Mode::Bind, "1");
    let room = resize(&mut mm, 1000, thread, 0);
    assert!(room[1] > 3 && room[0] == 0 && room[2] == 0, "what the node has not is not had elsewhere: {room:?}");
    assert_eq!(resize(&mut mm, 0, thread, 0), [0, 0, 0]);
}

#[test]
fn mappings_reserve_their_pages_and_find_them() {
    let mut mm = with_pool(3);
    let (a, b) = (mm.create_space().unwrap(), mm.create_space().unwrap());
    map(&mut mm, a, 2, false, true).unwrap();
    assert_eq!(pool(&mm), (3, 3, 2, 0));
    assert_eq!(map(&mut mm, b, 2, false, true), Err(Errno::Enomem), "one page is promised to nobody");
    map(&mut mm, b, 2, false, false).unwrap();
    assert_eq!(touch(&mut mm, b, 0, Access::Write), FaultStep::Done);
    assert_eq!(touch(&mut mm, b, 1, Access::Write), FaultStep::Bus, "what is free is promised");
    assert_eq!(pool(&mm), (3, 2, 2, 0));
    assert_eq!(touch(&mut mm, a, 0, Access::Write), FaultStep::Done);
    assert_eq!(touch(&mut mm, a, 1, Access::Read), FaultStep::Done);
    assert_eq!(touch(&mut mm, a, 1, Access::Write), FaultStep::Done, "a page that was only read is noticed");
    assert_eq!(touch(&mut mm, a, 1, Access::Write), FaultStep::Hit);
    assert_eq!(pool(&mm), (3, 0, 0, 0));
    let space = mm.space(a).unwrap();
    assert_eq!(
        (space.hugetlb(), space.rss().total()),
        (Pages::new(1024), Pages::ZERO),
        "they do not count as resident"
    );
    mm.munmap(a, addr(0), HUGE, CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (3, 1, 0, 0));
    mm.exit(a, CPU).unwrap();
    mm.exit(b, CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (3, 3, 0, 0));
}

#[test]
fn promises_end_with_the_mapping() {
    let mut mm = with_pool(4);
    let a = mm.create_space().unwrap();
    map(&mut mm, a, 4, false, true).unwrap();
    touch(&mut mm, a, 3, Access::Write);
    mm.munmap(a, addr(1), length(2), CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (4, 3, 1, 0), "the first page is still promised");
    mm.munmap(a, addr(0), length(4), CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (4, 4, 0, 0));
}

#[test]
fn what_is_in_use_or_promised_turns_surplus_and_goes_when_it_is_free() {
    let mut mm = with_pool(4);
    let a = mm.create_space().unwrap();
    map(&mut mm, a, 2, false, true).unwrap();
    touch(&mut mm, a, 0, Access::Write);
    mm.set_nr_hugepages(PoolSize::all(0));
    checked(&mm);
    assert_eq!((pool(&mm), mm.pages.hugetlb.hugetlb_pool().persistent()), ((2, 1, 1, 2), 0));
    mm.set_nr_hugepages(PoolSize::all(1));
    assert_eq!(
        (pool(&mm), mm.pages.hugetlb.hugetlb_pool().persistent()),
        ((2, 1, 1, 1), 1),
        "surplus pages are taken over first"
    );
    mm.exit(a, CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (1, 1, 0, 0));
}

#[test]
fn the_pool_grows_on_demand_as_far_as_overcommit_allows() {
    let mut mm = with_pool(1);
    mm.tune(|tunables| tunables.nr_overcommit_hugepages = 2);
    let a = mm.create_space().unwrap();
    while let Some(request) = mm.pages.hugetlb.hugetlb_shortfall(length(3), NodeId(0), CPU) {
        assert!(request.gfp.has(Gfp::RETRY_MAYFAIL) && !request.gfp.has(Gfp::THISNODE));
        let page = mm.alloc_fast(&request).ok();
        mm.pages.hugetlb_give_surplus(page, &mut mm.phys);
    }
    map(&mut mm, a, 3, false, true).unwrap();
    assert_eq!(pool(&mm), (3, 3, 3, 2));
    assert_eq!(mm.pages.hugetlb.hugetlb_shortfall(length(1), NodeId(0), CPU), None, "two are all");
    mm.munmap(a, addr(0), length(3), CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (1, 1, 0, 0));
    map(&mut mm, a, 3, false, false).unwrap();
    touch(&mut mm, a, 0, Access::Write);
    let surplus = |mm: &mut Mm, huge| {
        let FaultStep::NeedPool(fault) = mm.fault_begin(a, addr(huge), Access::Write, CPU) else {
            panic!("a page is needed")
        };
        let FaultStep::NeedPage(fault) = mm.hugetlb_fault(&fault, NodeId(0), CPU) else { panic!("none is free") };
        fault
    };
    let fault = surplus(&mut mm, 1);
    assert_eq!(fault.need(), Need::Surplus);
    let page = mm.alloc_fast(&fault.request(CPU)).unwrap();
    assert_eq!(mm.fault_finish(&fault, page, CPU), FaultStep::Done);
    checked(&mm);
    assert_eq!(pool(&mm), (2, 0, 0, 1));
    let fault = surplus(&mut mm, 2);
    assert_eq!((mm.fault_refused(&fault, CPU), mm.counters().htlb_buddy_alloc_fail), (FaultStep::Bus, 1));
    mm.pages.hugetlb_trim(CPU, &mut mm.phys);
    checked(&mm);
}

#[test]
fn surplus_pages_that_a_mapping_did_not_take_go_back() {
    let mut mm = with_pool(0);
    mm.tune(|tunables| tunables.nr_overcommit_hugepages = 1);
    let request = mm.pages.hugetlb.hugetlb_shortfall(HUGE, NodeId(0), CPU).unwrap();
    let page = mm.alloc_fast(&request).ok();
    mm.pages.hugetlb_give_surplus(page, &mut mm.phys);
    mm.pages.hugetlb_trim(CPU, &mut mm.phys);
    checked(&mm);
    assert_eq!(pool(&mm), (0, 0, 0, 0));
}

#[test]
fn children_share_private_pages_until_one_writes() {
    let mut mm = with_pool(2);
    let parent = mm.create_space().unwrap();
    map(&mut mm, parent, 1, false, true).unwrap();
    touch(&mut mm, parent, 0, Access::Write);
    let child = fork(&mut mm, parent);
    assert_eq!(frame(&mm, parent, 0), frame(&mm, child, 0));
    assert_eq!(touch(&mut mm, child, 0, Access::Write), FaultStep::Done);
    assert_ne!(frame(&mm, parent, 0), frame(&mm, child, 0), "the child has a copy");
    assert_eq!(touch(&mut mm, parent, 0, Access::Write), FaultStep::Done);
    assert_eq!(pool(&mm), (2, 0, 0, 0));
}

#[test]
fn without_a_page_the_child_loses_and_the_owner_writes_in_place() {
    let mut mm = with_pool(1);
    let parent = mm.create_space().unwrap();
    map(&mut mm, parent, 1, false, true).unwrap();
    touch(&mut mm, parent, 0, Access::Write);
    let child = fork(&mut mm, parent);
    assert_eq!(touch(&mut mm, child, 0, Access::Write), FaultStep::Bus);
    let before = frame(&mm, parent, 0);
    assert_eq!(touch(&mut mm, parent, 0, Access::Write), FaultStep::Done);
    assert_eq!((frame(&mm, parent, 0), mm.page_at(child, addr(0))), (before, PageView::None));
    assert_eq!(touch(&mut mm, child, 0, Access::Read), FaultStep::Bus, "it must not read zeros");
    mm.exit(parent, CPU).unwrap();
    checked(&mm);
    assert_eq!(touch(&mut mm, child, 0, Access::Read), FaultStep::Bus);
}

#[test]
fn shared_mappings_show_the_same_pages() {
    let mut mm = with_pool(2);
    let parent = mm.create_space().unwrap();
    map(&mut mm, parent, 2, true, true).unwrap();
    touch(&mut mm, parent, 0, Access::Write);
    let child = fork(&mut mm, parent);
    assert_eq!(touch(&mut mm, child, 0, Access::Write), FaultStep::Hit);
    assert_eq!(touch(&mut mm, child, 1, Access::Write), FaultStep::Done, "the promise is the mapping's");
    assert_eq!(touch(&mut mm, parent, 1, Access::Write), FaultStep::Done);
    assert_eq!((frame(&mm, parent, 1), pool(&mm)), (frame(&mm, child, 1), (2, 0, 0, 0)));
    mm.exit(parent, CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (2, 0, 0, 0), "the child keeps them");
    mm.exit(child, CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (2, 2, 0, 0));
}

#[test]
fn pins_keep_a_page_out_of_the_pool() {
    let mut mm = with_pool(1);
    let a = mm.create_space().unwrap();
    map(&mut mm, a, 1, false, true).unwrap();
    touch(&mut mm, a, 0, Access::Write);
    let pfn = frame(&mm, a, 0);
    mm.pin(pfn).unwrap();
    mm.exit(a, CPU).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (1, 0, 0, 0));
    mm.unpin(pfn).unwrap();
    checked(&mm);
    assert_eq!(pool(&mm), (1, 1, 0, 0));
}

#[test]
fn operations_take_whole_pages_or_refuse() {
    let mut mm = with_pool(3);
    let a = mm.create_space().unwrap();
    map(&mut mm, a, 3, false, true).unwrap();
    touch(&mut mm, a, 1, Access::Write);
    let half = VirtAddr::new(addr(1).get() + HUGE.get() / 2);
    assert_eq!(mm.munmap(a, half, HUGE, CPU), Err(Errno::Einval));
    assert_eq!(mm.mprotect(a, addr(1), Bytes::new(4096), Prot::READ), Err(Errno::Einval));
    for advice in [Madvise::DontNeed, Madvise::Free, Madvise::HugePage, Madvise::NoHugePage] {
        assert_eq!(mm.madvise(a, addr(1), HUGE, advice, CPU), Err(Errno::Einval));
    }
    let moved = mm.mremap(
        a,
        &MremapRequest { addr: addr(1), old_length: HUGE, new_length: length(2), to: MremapTo::MayMove },
        CPU,
    );
    assert!(matches!(moved, Err(Errno::Einval)) && !matches!(moved, Ok(Mremap::Done(_))));
    mm.mprotect(a, addr(1), HUGE, Prot::READ).unwrap();
    assert_eq!(touch(&mut mm, a, 1, Access::Write), FaultStep::Segv);
    mm.mprotect(a, addr(1), HUGE, Prot::RW).unwrap();
    assert_eq!(touch(&mut mm, a, 1, Access::Write), FaultStep::Done);
    mm.mlock(a, addr(0), length(3)).unwrap();
    assert!(!mm.space(a).unwrap().vma_at(addr(0)).unwrap().locked, "they stay in memory anyway");
    let odd = MmapRequest {
        place: Place::Fixed(half),
        backing: Backing::Hugetlb { shared: false, reserves: false },
        ..MmapRequest::anon(HUGE)
    };
    assert_eq!(mm.mmap(a, &odd, CPU), Err(Errno::Einval));
    let short = MmapRequest { place: Place::Anywhere, ..odd };
    let start = mm.mmap(a, &MmapRequest { length: Bytes::new(1), ..short }, CPU).unwrap();
    let vma = mm.space(a).unwrap().vma_at(start).unwrap();
    assert_eq!((start.get() % HUGE.get(), vma.range.len(), vma.advice), (0, Pages::new(512), HugeAdvice::None));
    checked(&mm);
}

#[test]
fn pages_of_a_pool_are_neither_movable_nor_split() {
    let mut mm = with_pool(2);
    let a = mm.create_space().unwrap();
    map(&mut mm, a, 1, false, true).unwrap();
    touch(&mut mm, a, 0, Access::Write);
    let pfn = frame(&mm, a, 0);
    assert!(
        !mm.phys.has_movable_content(pfn) && mm.pages.split_huge_page(pfn, CPU, &mut mm.phys) == Err(Errno::Einval)
    );
    assert_eq!(mm.page_at(a, addr(0)), PageView::Present { pfn, writable: true, young: true, dirty: true });
}

#[test]
fn a_node_that_has_pages_again_ends_the_row_of_failures_and_is_asked_with_all_effort() {
    let mut policy = Policy::default();
    policy.thp.hugetlb_noretry = true;
    let mut mm = boot(2, policy);
    let mut resize = PoolResize::new(PoolSize::all(6), &mm.pages, &mm.phys);
    let mut asked = Vec::new();
    // Node 1 has none twice, but node 0 has one in between.
    while let PoolStep::NeedPage(request) = resize.step(CPU, &mut mm.pages, &mut mm.phys) {
        asked.push((request.node.0, request.gfp.has(Gfp::RETRY_MAYFAIL)));
        let page = if [2, 4].contains(&asked.len()) { None } else { mm.alloc_fast(&request).ok() };
        resize.give(page, &mut mm.pages, &mut mm.phys);
    }
    let first = [(0, true), (1, true), (0, true), (1, false)];
    let then = [(0, true), (1, false), (0, true), (1, true)];
    assert_eq!(asked, [first, then].concat());
    assert_eq!(pool(&mm), (6, 6, 0, 0));
}
