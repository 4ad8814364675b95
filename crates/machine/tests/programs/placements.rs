//! Where programs get huge pages under each placement, by the state of their node and of the others.
//!
//! A program on node 0 writes to advised memory. Nodes are free, full of pages that could be swapped out, full but for holes
//! that compaction can join, or shattered: nearly free, with something that stays in every pageblock.

use std::cell::RefCell;
use std::rc::Rc;

use order9_machine::{Machine, Options, Outcome};
use order9_mm::policy::HugePlacement;
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_mm::{AllocFlags, Gfp, Layout, Mark, Mm, MmBuilder, NodeSpec, Request, Reserve, ZoneSpec};
use order9_units::{Bytes, NodeId, Order, PAGE_SIZE, Pages, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Advice, Mapping, Nodes};

use crate::placement::policy;
use crate::{NORMAL, counter, disk, mib, prices};
use HugePlacement as P;

/// Memory of a node.
const NODE: Bytes = mib(128);
/// Slots that are written to.
const SLOTS: u64 = 12;

/// What the memory of node 0 is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Shattered,
    Full,
    InPieces,
}

/// What a run came to.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Slots by node.
    slots: Vec<u64>,
    /// Slots that are huge.
    huge: u64,
    /// Anything was compacted, or should have been.
    compacted: bool,
    /// A fault swapped something out itself.
    swapped: bool,
}

/// Leaves a node nearly free, with something that stays in every pageblock.
fn shatter(mm: &mut Mm, node: NodeId) {
    let request =
        Request { node, cpu: usize::MAX, ..Request::new(Order::new(4).expect("a small order"), Gfp::THISNODE) };
    let flags = AllocFlags {
        mark: Mark::Min,
        no_watermarks: true,
        reserve: Reserve::default(),
        cma: false,
        nofragment: false,
        kswapd: false,
    };
    let mut taken = Vec::new();
    while let Ok(pfn) = mm.alloc_with(&request, flags) {
        taken.push(pfn);
    }
    for pfn in taken.into_iter().filter(|pfn| !pfn.get().is_multiple_of(512)) {
        mm.free(pfn, usize::MAX).expect("it is allocated");
    }
}

/// Two nodes, or two sockets of two, of which these are shattered.
fn machine(placement: HugePlacement, nodes: u16, shattered: &[u16]) -> Machine {
    let pages = Pages::from_bytes_floor(NODE);
    let mut start = NORMAL;
    let mut zones = Vec::new();
    for node in 0..nodes {
        zones.push(ZoneSpec { node: NodeId(node), kind: ZoneKind::Normal, span: PfnRange::of(start, pages) });
        start += pages;
    }
    let distance = |from: u16, to: u16| match (from == to, from / 2 == to / 2) {
        (true, _) => 10,
        (_, true) => 16,
        (..) => 32,
    };
    let row = |from| NodeSpec { distances: (0..nodes).map(|to| distance(from, to)).collect() };
    // One, so that the program stays where it is.
    let cpus = vec![NodeId(0)];
    let layout = Layout { nodes: (0..nodes).map(row).collect(), zones, cpus: cpus.clone(), ..Layout::default() };
    let mut policy = policy(placement);
    policy.thp.near = if nodes > 2 { 16 } else { 10 };
    let mut mm = MmBuilder::new(&layout, policy).expect("nodes are a layout").content_tags().boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
    mm.phys_mut().set_thp_defrag(HugeDefrag::Madvise);
    mm.phys_mut().set_min_free_kbytes(512);
    shattered.iter().for_each(|&node| shatter(&mut mm, NodeId(node)));
    let options = Options { disks: vec![disk(Pages::new(1 << 15))], ..Options::new(1) };
    Machine::new(mm.with_compaction_account(), cpus, prices(), &options).expect("there are CPUs")
}

fn run(placement: HugePlacement, home: Home, nodes: u16, shattered: &[u16]) -> Found {
    let slots = Rc::new(RefCell::new(vec![0; usize::from(nodes)]));
    let counts = Rc::clone(&slots);
    let results = machine(placement, nodes, shattered).run_program(
        "program",
        async move |sys: order9_machine::Thread| {
            if home != Home::Shattered {
                let much = sys.mmap(Mapping::anon(NODE)).await?;
                sys.madvise(much, Advice::NoHugePage).await?;
                sys.touch(much, Access::Write).await?;
                for page in (0..much.pages()).step_by(3).filter(|_| home == Home::InPieces) {
                    sys.madvise(much.part(Pages::new(page).bytes(), PAGE_SIZE), Advice::DontNeed).await?;
                }
            }
            let mapped = sys.mmap(Mapping::anon(mib(2 * (SLOTS + 1)))).await?;
            let start = Bytes::new(mapped.start.next_multiple_of(mib(2).get()) - mapped.start);
            let area = mapped.part(start, mib(2 * SLOTS));
            sys.madvise(area, Advice::HugePage).await?;
            for slot in 0..SLOTS {
                let slot = area.part(mib(2 * slot), mib(2));
                sys.touch(slot, Access::Write).await?;
                let node = sys.page_node(slot).await?;
                counts.borrow_mut()[node.index()] += 1;
            }
            Ok(())
        },
        |tick| tick.engine.check().expect("every law holds"),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    let [huge, base, compactions, swapped] =
        ["thp_fault_alloc", "thp_fault_fallback", "compact_stall", "pgsteal_direct"]
            .map(|name| counter(&results, name));
    assert_eq!(huge + base, SLOTS, "{placement:?}: a slot is one or the other");
    Found { slots: slots.take(), huge, compacted: compactions > 0, swapped: swapped > 0 }
}

fn found(slots: &[u64], huge: u64, compacted: bool, swapped: bool) -> Found {
    Found { slots: slots.to_vec(), huge, compacted, swapped }
}

/// Placements that never leave the node of the program for a huge page.
const STAY: [HugePlacement; 5] = [P::ThisNode, P::NoRetry, P::CompactOnly, P::CompactOnlyWmark, P::LocalBaseFirst];
/// Placements that take what is free anywhere before they do anything for it.
const TAKE: [HugePlacement; 6] = [P::Relax, P::AnyNode, P::MadvLocal, P::ForceLocal, P::MpolProximity, P::Estimate];
/// Placements that work for it at home first.
const WORK: [HugePlacement; 4] = [P::TwoStepLocal, P::TwoStep, P::TwoStepStrict, P::TwoStepThisNode];

#[test]
fn every_placement_is_of_some_kind() {
    let others = [P::Proximity, P::MultiOrder, P::MultiOrderGuest];
    assert_eq!(STAY.len() + TAKE.len() + WORK.len() + others.len(), HugePlacement::ALL.len());
}

#[test]
fn from_a_shattered_node_some_go_and_some_stay_with_base_pages() {
    let run = |placement| run(placement, Home::Shattered, 2, &[0]);
    let here = || found(&[SLOTS, 0], 0, true, false);
    let there = |compacted| found(&[0, SLOTS], SLOTS, compacted, false);
    STAY.into_iter().for_each(|placement| assert_eq!(run(placement), here(), "{placement:?}"));
    TAKE.into_iter().for_each(|placement| assert_eq!(run(placement), there(false), "{placement:?}"));
    WORK.into_iter().for_each(|placement| assert_eq!(run(placement), there(true), "{placement:?}"));
    assert_eq!(run(P::MultiOrder), here(), "a base page here before a huge page there");
    assert_eq!(run(P::MultiOrderGuest), there(true), "a huge page there before a base page here");
    assert_eq!(run(P::Proximity), there(true), "what is free on far nodes");
}

#[test]
fn from_a_full_node_nobody_swaps_but_who_insists_on_it() {
    let run = |placement| run(placement, Home::Full, 2, &[]);
    let there = |huge, compacted| found(&[0, SLOTS], huge, compacted, false);
    for placement in [P::ThisNode, P::Proximity, P::LocalBaseFirst] {
        let found = run(placement);
        // What they gain by it depends on the disk; but one of them never looks elsewhere.
        let strays = placement != P::ThisNode || found.slots[0] >= found.huge;
        assert!(found.swapped && strays, "{placement:?}: {found:?}");
    }
    TAKE.into_iter().for_each(|placement| assert_eq!(run(placement), there(SLOTS, false), "{placement:?}"));
    for placement in WORK.into_iter().chain([P::CompactOnlyWmark, P::MultiOrder, P::MultiOrderGuest]) {
        assert_eq!(run(placement), there(SLOTS, true), "{placement:?}");
    }
    for placement in [P::NoRetry, P::CompactOnly] {
        assert_eq!(run(placement), there(0, true), "{placement:?}: base pages, and those of the other node");
    }
}

#[test]
fn where_every_node_is_shattered_all_end_with_base_pages_at_home() {
    for &placement in HugePlacement::ALL {
        let asks = placement != P::Estimate;
        assert_eq!(run(placement, Home::Shattered, 2, &[0, 1]), found(&[SLOTS, 0], 0, asks, false), "{placement:?}");
    }
}

#[test]
fn a_node_in_pieces_is_put_together_by_who_works_for_it() {
    let run = |placement| run(placement, Home::InPieces, 2, &[]);
    for placement in [P::ThisNode, P::Proximity, P::LocalBaseFirst, P::TwoStepLocal, P::TwoStep] {
        assert_eq!(run(placement), found(&[SLOTS, 0], SLOTS, true, false), "{placement:?}");
    }
    for placement in [P::NoRetry, P::CompactOnly, P::CompactOnlyWmark, P::MultiOrder] {
        let found = run(placement);
        assert!(found.slots[0] == SLOTS && found.huge > SLOTS / 2 && !found.swapped, "{placement:?}: {found:?}");
    }
    for placement in [P::TwoStepStrict, P::TwoStepThisNode, P::MultiOrderGuest] {
        let found = run(placement);
        assert!(found.slots[0] > SLOTS / 2 && found.huge == SLOTS && !found.swapped, "{placement:?}: {found:?}");
    }
    // On this machine a page costs as much here as there, but moving pages costs something.
    for placement in TAKE {
        assert_eq!(run(placement), found(&[0, SLOTS], SLOTS, false, false), "{placement:?}");
    }
}

#[test]
fn of_several_nodes_the_nearest_that_has_any_is_taken() {
    let run = |placement, shattered: &[u16]| run(placement, Home::Shattered, 4, shattered);
    let on = |node: usize, huge, compacted| {
        let slots: Vec<u64> = (0..4).map(|at| if at == node { SLOTS } else { 0 }).collect();
        found(&slots, huge, compacted, false)
    };
    let go = |placement: &HugePlacement| !STAY.contains(placement) && *placement != P::MultiOrder;
    for &placement in HugePlacement::ALL.iter().filter(|placement| go(placement)) {
        let asks = !TAKE.contains(&placement);
        assert_eq!(run(placement, &[0]), on(1, SLOTS, asks), "{placement:?}");
        // A guest's second choice is a base page at home.
        let expected = if placement == P::MultiOrderGuest { on(0, 0, true) } else { on(2, SLOTS, asks) };
        assert_eq!(run(placement, &[0, 1]), expected, "{placement:?}");
    }
    for placement in STAY.into_iter().chain([P::MultiOrder]) {
        assert_eq!(run(placement, &[0, 1]), on(0, 0, true), "{placement:?}");
    }
}
