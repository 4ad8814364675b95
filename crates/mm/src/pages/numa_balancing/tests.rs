//! NUMA balancing, rule by rule.

use alloc::vec::Vec;

use order9_units::{Nanos, NodeId, NodeMask, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::{NumaTask, NumaTick};
use crate::mempolicy::{MempolicyArgs, Mode};
use crate::policy::{MempolicyInterface, Policy, ScanSpares, ScanVmas};
use crate::space::{Access, Backing, FaultStep, MmapRequest, PageView, Place, Prot, SpaceId, VirtAddr, Vpn, VpnRange};
use crate::thp::HugeEnabled;
use crate::{Errno, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

const START: VirtAddr = VirtAddr::new(0x7f00_0000_0000);
/// Frames of a node: 16 MiB.
const NODE: u64 = 1 << 12;
/// More than any delay or period.
const LATER: Nanos = Nanos::new(1_000_000_000_000);

/// Tasks on the CPU of either node.
const HERE: NumaTask = NumaTask { pid: 7, cpu: 0, threads: 1 };
const THERE: NumaTask = NumaTask { pid: 7, cpu: 1, threads: 1 };
const OTHER_THERE: NumaTask = NumaTask { pid: 8, cpu: 1, threads: 2 };

struct World {
    mm: Mm,
    space: SpaceId,
    clock: Nanos,
}

/// Two nodes with a CPU each, and a program with 1024 pages. Every page is asked about, wherever it lies.
fn world_of(policy: Policy) -> World {
    let zone = |node: u16| ZoneSpec {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + u64::from(node) * NODE), Pages::new(NODE)),
    };
    let layout = Layout {
        nodes: [[10, 21], [21, 10]].map(|row| NodeSpec { distances: row.to_vec() }).to_vec(),
        zones: [0, 1].map(zone).to_vec(),
        cpus: [NodeId(0), NodeId(1)].to_vec(),
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").content_tags().boot();
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    mm.phys.set_min_free_kbytes(128);
    mm.set_numa_balancing(true);
    let space = mm.create_space().expect("it is the first");
    let place = Place::Fixed(START);
    mm.mmap(space, &MmapRequest { place, ..MmapRequest::anon(Pages::new(1024).bytes()) }, 0).expect("there is room");
    mm.numa_tick(space, HERE, Nanos::ZERO, Nanos::ZERO);
    World { mm, space, clock: Nanos::ZERO }
}

fn policy(spares: ScanSpares) -> Policy {
    let mut policy = Policy { mempolicy: MempolicyInterface::BindBalancing, ..Policy::default() };
    policy.numa_balancing.spares = spares;
    policy
}

fn world() -> World {
    world_of(policy(ScanSpares::Nothing))
}

fn at(page: u64) -> VirtAddr {
    VirtAddr::new(START.get() + Pages::new(page).bytes().get())
}

impl World {
    fn write(&mut self, pages: core::ops::Range<u64>, cpu: usize) {
        for page in pages {
            let step = self.mm.touch(self.space, at(page), Access::Write, cpu);
            assert!(matches!(step, FaultStep::Done | FaultStep::Hit), "page {page}: {step:?}");
        }
    }

    /// One scan, whenever it is due; the pages that have lost their access by it.
    fn scan(&mut self, task: NumaTask) -> u64 {
        self.clock += LATER;
        let before = self.mm.counters().numa_pte_updates;
        self.mm.numa_tick(self.space, task, self.clock, self.clock);
        let mut run = self.mm.numa_scan_begin(self.space, task, self.clock).expect("it is due");
        while self.mm.numa_scan_step(&mut run) {}
        self.mm.check().expect("the laws hold");
        self.mm.counters().numa_pte_updates - before
    }

    /// An access by a task; whether it was a hint fault.
    fn access(&mut self, page: u64, task: NumaTask) -> bool {
        let asked = self.mm.touch(self.space, at(page), Access::Read, task.cpu) == FaultStep::NumaHint;
        if asked {
            self.mm.numa_hint_fault(self.space, at(page), task, self.clock);
            self.mm.check().expect("the laws hold");
        }
        assert_eq!(self.mm.touch(self.space, at(page), Access::Read, task.cpu), FaultStep::Hit);
        asked
    }

    fn node(&self, page: u64) -> u16 {
        match self.mm.page_at(self.space, at(page)) {
            PageView::Present { pfn, .. } => self.mm.phys.node_of_frame(pfn).0,
            view => panic!("page {page} is {view:?}"),
        }
    }

    fn moved(&self) -> u64 {
        self.mm.counters().numa_pages_migrated
    }
}

#[test]
fn a_page_follows_its_first_user_and_after_that_who_comes_twice_from_a_node() {
    let mut world = world();
    world.write(0..1, 0);
    let tag = world.mm.pages.read_tag(world.space, at(0), &world.mm.phys);
    assert_eq!(world.scan(HERE), 1);
    assert!(world.access(0, OTHER_THERE), "nobody had used it before");
    assert_eq!((world.node(0), world.moved()), (1, 1));
    world.scan(HERE);
    world.access(0, HERE);
    assert_eq!(world.node(0), 1, "it was used from there last");
    world.scan(HERE);
    world.access(0, HERE);
    assert_eq!((world.node(0), world.moved()), (0, 2));
    assert_eq!(world.mm.pages.read_tag(world.space, at(0), &world.mm.phys), tag, "it keeps what it holds");
    let counters = world.mm.counters();
    assert_eq!((counters.numa_hint_faults, counters.numa_hint_faults_local), (3, 0));
    assert_eq!(counters.pgmigrate_success, 2);
}

#[test]
fn pages_follow_a_young_task_that_changes_its_node_at_once() {
    for early_moves in [true, false] {
        let mut policy = policy(ScanSpares::Nothing);
        policy.numa_balancing.early_moves = early_moves;
        let mut world = world_of(policy);
        world.write(0..1, 0);
        world.scan(HERE);
        world.access(0, HERE);
        world.scan(THERE);
        world.access(0, THERE);
        assert_eq!(world.node(0), u16::from(early_moves));
    }
}

#[test]
fn a_huge_page_moves_whole() {
    let mut world = world();
    world.mm.phys.set_thp_enabled(HugeEnabled::Always);
    world.write(0..1, 0);
    assert_eq!(world.scan(HERE), 512);
    assert!(world.access(100, THERE));
    let counters = world.mm.counters();
    assert_eq!((counters.numa_huge_pte_updates, counters.numa_hint_faults, world.moved()), (1, 1, 512));
    assert_eq!((world.node(0), world.node(511), world.mm.pages.user_levels().anon_thps), (1, 1, 1));
    assert_eq!(counters.thp_migration_success, 0, "as up to 5.13");
}

#[test]
fn a_huge_page_without_a_place_stays_whole() {
    let mut world = world();
    world.mm.phys.set_thp_enabled(HugeEnabled::Always);
    world.write(0..1, 0);
    // No huge page is left on the other node, though there are base pages enough.
    let request =
        crate::Request { node: NodeId(1), cpu: 1, ..crate::Request::new(Order::ZERO, crate::Gfp::GFP_KERNEL) };
    let pages: Vec<Pfn> = (0..3000).map(|_| world.mm.alloc_fast(&request).expect("there is room")).collect();
    for pfn in pages.iter().filter(|pfn| pfn.get() % 512 != 0) {
        world.mm.free(*pfn, 1).expect("it is in use");
    }
    let more =
        crate::Request { node: NodeId(1), ..crate::Request::new(Order::PAGEBLOCK, crate::Gfp::GFP_TRANSHUGE_LIGHT) };
    while world.mm.alloc_fast(&more).is_ok_and(|pfn| world.mm.phys.node_of_frame(pfn) == NodeId(1)) {}
    world.scan(HERE);
    world.access(0, THERE);
    assert_eq!((world.node(0), world.moved(), world.mm.pages.user_levels().anon_thps), (0, 0, 1));
}

#[test]
fn a_scan_takes_its_size_and_the_next_one_goes_on() {
    let mut world = world();
    world.mm.tune(|tunables| tunables.numa_scan.size_mb = 2);
    world.write(0..1024, 0);
    assert_eq!(world.scan(HERE), 512);
    world.access(3, HERE);
    assert_eq!(world.scan(HERE), 512, "it leaves alone what it could begin with");
    assert_eq!(world.scan(HERE), 1, "it begins anew, and passes over what is asked about");
}

#[test]
fn scans_are_rare_and_by_one_task_at_a_time() {
    let mut world = world();
    world.write(0..1, 0);
    let ms = |ms: u64| Nanos::new(ms * 1_000_000);
    let tick = |world: &mut World, task, ran: u64, now: u64| world.mm.numa_tick(world.space, task, ms(ran), ms(now));
    assert_eq!(tick(&mut world, HERE, 0, 0), NumaTick { scan: false, ask_after: ms(1000) });
    assert!(!tick(&mut world, HERE, 1000, 1000).scan, "a second of CPU time is not over");
    assert!(tick(&mut world, HERE, 1001, 1001).scan);
    assert!(tick(&mut world, OTHER_THERE, 1001, 1001).scan);
    assert!(world.mm.numa_scan_begin(world.space, HERE, ms(1001)).is_some());
    assert!(world.mm.numa_scan_begin(world.space, OTHER_THERE, ms(1001)).is_none(), "somebody has just begun");
    assert!(!tick(&mut world, HERE, 1900, 1900).scan, "the next period is not over");
    world.mm.set_numa_balancing(false);
    assert!(!tick(&mut world, HERE, 9000, 9000).scan);
}

#[test]
fn pages_at_home_and_shared_ones_are_spared_by_later_releases() {
    let asked = |spares| {
        let mut world = world_of(policy(spares));
        world.write(0..4, 0);
        world.write(4..8, 1);
        let mut fork = world.mm.fork(world.space).expect("it lives");
        let child = fork.child();
        loop {
            match world.mm.fork_step(&mut fork).expect("nobody interferes") {
                crate::space::TableStep::Done => break,
                crate::space::TableStep::NeedTable(vpn) => {
                    let request = crate::Request::new(Order::ZERO, crate::Gfp::GFP_PGTABLE_USER);
                    let page = world.mm.alloc_fast(&request).expect("there is room");
                    world.mm.give_table(child, vpn, page, 0);
                }
                _ => {}
            }
        }
        world.write(0..1, 0);
        world.write(4..5, 1);
        [world.scan(HERE), world.scan(OTHER_THERE)]
    };
    assert_eq!(asked(ScanSpares::Nothing)[0], 8);
    assert_eq!(asked(ScanSpares::Home)[0], 4, "those on the other node");
    assert_eq!(asked(ScanSpares::Shared)[0], 1, "of those the one that was written since");
}

#[test]
fn mappings_that_belong_to_everybody_or_must_stay_are_passed_over() {
    let mut world = world();
    let file = world.mm.create_file(Pages::new(8)).expect("there is room");
    let mut map = |page: u64, prot, backing| {
        let place = Place::Fixed(at(page));
        let request = MmapRequest { place, prot, backing, ..MmapRequest::anon(Pages::new(8).bytes()) };
        world.mm.mmap(world.space, &request, 0).expect("there is room");
    };
    map(2000, Prot::RW, Backing::File { file, offset: Pages::ZERO, shared: true });
    world.write(2000..2008, 0);
    assert_eq!(world.scan(HERE), 0, "a file of tmpfs has no policy that lets pages move");
    world.write(0..8, 0);
    world.mm.mprotect(world.space, at(0), Pages::new(8).bytes(), Prot::NONE).expect("it is mapped");
    assert_eq!(world.scan(HERE), 0, "nobody may access them");
    world.mm.mprotect(world.space, at(0), Pages::new(8).bytes(), Prot::RW).expect("it is mapped");
    let bind = |balances| MempolicyArgs { balances, ..MempolicyArgs::new(Mode::Bind, NodeMask::from_bits(3)) };
    world.mm.set_mempolicy(world.space, &bind(false)).expect("both nodes are there");
    assert_eq!(world.scan(HERE), 0, "the program has said where they are to be");
    world.mm.set_mempolicy(world.space, &bind(true)).expect("both nodes are there");
    assert_eq!(world.scan(HERE), 8);
    world.access(0, THERE);
    assert_eq!(world.node(0), 1, "it moves within the nodes of the policy");
    let only = MempolicyArgs { balances: true, ..MempolicyArgs::new(Mode::Bind, NodeMask::of(NodeId(0))) };
    world.mm.set_mempolicy(world.space, &only).expect("the node is there");
    world.access(1, THERE);
    assert_eq!(world.node(1), 0, "and not beyond");
    let refused = world.mm.mbind(world.space, at(0), Pages::new(8).bytes(), &only, false);
    assert_eq!(refused, Err(Errno::Einval), "mbind does not take the flag");
}

#[test]
fn an_entry_that_is_changed_is_not_asked_about_any_more() {
    let mut world = world();
    world.write(0..4, 0);
    world.scan(HERE);
    world.mm.mprotect(world.space, at(0), Pages::new(1).bytes(), Prot::READ).expect("it is mapped");
    assert!(!world.access(0, HERE));
    assert!(world.access(1, HERE));
    let range = VpnRange::of(START.vpn(), Pages::new(4));
    assert_eq!(
        world.mm.pages.spaces.hinting_pages(world.space, range),
        [(Vpn::new(START.vpn().get() + 2), Order::ZERO), (Vpn::new(START.vpn().get() + 3), Order::ZERO)]
    );
    world.mm.munmap(world.space, at(2), Pages::new(2).bytes(), 0).expect("it is mapped");
    world.mm.check().expect("the laws hold");
    world.mm.exit(world.space, 0).expect("it lives");
    world.mm.check().expect("the laws hold");
}

#[test]
fn a_pinned_page_stays_and_is_counted() {
    let mut world = world();
    world.write(0..1, 0);
    let PageView::Present { pfn, .. } = world.mm.page_at(world.space, at(0)) else { panic!("it was written") };
    world.mm.pin(pfn).expect("it is in use");
    world.scan(HERE);
    assert!(world.access(0, THERE));
    let counters = world.mm.counters();
    assert_eq!((world.node(0), counters.numa_pages_migrated, counters.pgmigrate_fail), (0, 0, 1));
    world.mm.unpin(pfn).expect("it is pinned");
}

#[test]
fn a_node_that_is_nearly_full_takes_nothing() {
    let mut world = world();
    world.write(0..1, 0);
    let request =
        crate::Request { node: NodeId(1), cpu: 1, ..crate::Request::new(Order::ZERO, crate::Gfp::GFP_KERNEL) };
    while world.mm.alloc_fast(&request).is_ok_and(|pfn| world.mm.phys.node_of_frame(pfn) == NodeId(1)) {}
    world.scan(HERE);
    world.access(0, THERE);
    assert_eq!((world.node(0), world.moved(), world.mm.counters().pgmigrate_fail), (0, 0, 0));
}

#[test]
fn earlier_releases_move_128_mib_in_a_tenth_of_a_second() {
    let mut rates = super::NumaBalancing::default();
    rates.make_room(1, 2);
    let now = Nanos::new(1_000_000_000);
    let mut admitted = 0;
    while rates.admit(NodeId(1), 512, now) {
        admitted += 512;
    }
    assert_eq!(admitted, (128 << 8) + 512, "the one that goes beyond is the last");
    assert!(rates.admit(NodeId(0), 1, now), "each node by itself");
    assert!(rates.admit(NodeId(1), 1, now + Nanos::new(100_000_000)));
}

#[test]
fn a_task_goes_where_most_of_its_pages_are() {
    let mut world = world();
    world.write(0..8, 0);
    world.mm.mprotect(world.space, at(0), Pages::new(1024).bytes(), Prot::RW).expect("it is mapped");
    for page in 0..8 {
        let PageView::Present { pfn, .. } = world.mm.page_at(world.space, at(page)) else { panic!("it was written") };
        world.mm.pin(pfn).expect("it is in use"); // So that the task is the one that has to move.
    }
    let mut wanted = None;
    for _ in 0..3 {
        world.scan(THERE);
        for page in 0..8 {
            if world.mm.touch(world.space, at(page), Access::Read, 1) == FaultStep::NumaHint {
                let asked = world.mm.numa_hint_fault(world.space, at(page), THERE, world.clock + LATER);
                wanted = wanted.or(asked);
            }
        }
        world.clock += LATER;
    }
    assert_eq!(wanted, Some(NodeId(0)));
}

#[test]
fn later_releases_scan_what_a_task_uses() {
    let mut policy = policy(ScanSpares::Nothing);
    policy.numa_balancing.vmas = ScanVmas::Accessed;
    let mut world = world_of(policy);
    world.mm.munmap(world.space, at(512), Pages::new(1).bytes(), 0).expect("it is mapped");
    world.write(0..1, 0);
    world.write(513..514, 0);
    let in_passes: Vec<u64> = (0..4)
        .map(|_| {
            let asked = world.scan(HERE);
            world.access(0, HERE);
            world.access(513, OTHER_THERE);
            asked
        })
        .collect();
    assert_eq!(in_passes, [2, 2, 1, 2], "two passes over all, then what it uses, and the rest if nobody else has");
}
