//! Where programs get huge pages on two nodes, when their own has none free: under every rule of where faults look.
//!
//! The program runs on node 0, whose memory it fills with base pages; what remains spills over to node 1, of which half
//! stays free. Then it writes to advised memory.

use std::cell::RefCell;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use order9_machine::{Machine, Options, Outcome, Results, TraceKinds};
use order9_mm::policy::{HugePlacement, Policy, StallCounts, Withdrawn};
use order9_mm::thp::{HugeDefrag, HugeEnabled};
use order9_mm::trace::Event;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Order, PAGE_SIZE, Pages, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Advice, ChildKind, Mapping, Nodes, Processes, Stop};

use crate::{NORMAL, counter, disk, mib, prices};

/// Memory of a node.
const NODE: Bytes = mib(128);
/// Slots that are written to in the end.
const SLOTS: u64 = 16;
/// Until kswapd, which base pages have woken, sleeps again.
const REST: Nanos = Nanos::new(2_000_000_000);

/// What the memory of node 0 is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Near {
    /// Used up.
    Full,
    /// In small pieces, which compaction can put together.
    InPieces,
}

/// Where the slots ended up, and what it took.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    /// Slots that start on the node of the program, and on the other one.
    slots: [u64; 2],
    /// `thp_fault_alloc` and `thp_fault_fallback`.
    huge: u64,
    fallback: u64,
    /// Direct compactions, skipped ones as well.
    compacted: bool,
    /// A fault swapped something out itself.
    swapped: bool,
}

/// A policy that looks for huge pages like this.
pub(crate) fn policy(placement: HugePlacement) -> Policy {
    let mut policy = Policy::default();
    policy.thp.placement = placement;
    policy.slow_path.stall_counts = StallCounts::All;
    policy.slow_path.withdrawn = Withdrawn::SkippedOnly;
    policy
}

/// Two nodes, one CPU each, with swap; the program starts on node 0.
pub(crate) fn machine(policy: Policy, defrag: HugeDefrag) -> Machine {
    let pages = Pages::from_bytes_floor(NODE);
    let zone = |node: u8, start| ZoneSpec {
        node: NodeId(node.into()),
        kind: ZoneKind::Normal,
        span: PfnRange::of(start, pages),
    };
    let cpus = vec![NodeId(0), NodeId(1)];
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 20] }, NodeSpec { distances: vec![20, 10] }],
        zones: vec![zone(0, NORMAL), zone(1, NORMAL + pages)],
        cpus: cpus.clone(),
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("nodes are a layout").content_tags().boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
    mm.phys_mut().set_thp_defrag(defrag);
    // Less than huge pages raise it to: what is kept free has none.
    mm.phys_mut().set_min_free_kbytes(512);
    let trace = TraceKinds::NONE.with("mm_vmscan_wakeup_kswapd").expect("it exists");
    let options = Options {
        check_every: NonZeroU64::new(1 << 16),
        disks: vec![disk(Pages::new(1 << 16))],
        trace,
        trace_max: 1 << 20,
        ..Options::new(1)
    };
    Machine::new(mm.with_compaction_account(), cpus, prices(), &options).expect("there are CPUs")
}

/// Fills node 0, then writes to `SLOTS` advised slots.
fn run(placement: HugePlacement, near: Near) -> Found {
    run_mode(placement, near, Nanos::ZERO, HugeDefrag::Madvise, true).0
}

/// The same after a rest, under a mode of `defrag`, advised or not; says also whether kswapd was woken for a huge page.
fn run_mode(placement: HugePlacement, near: Near, rest: Nanos, defrag: HugeDefrag, advised: bool) -> (Found, bool) {
    let nodes = Rc::new(RefCell::new([0, 0]));
    let counts = Rc::clone(&nodes);
    let results = machine(policy(placement), defrag).run_program(
        "program",
        async move |sys: order9_machine::Thread| {
            // While kswapd has its CPU, it would go on at the other node.
            sys.set_affinity(&[0]).await?;
            let much = sys.mmap(Mapping::anon(NODE)).await?;
            sys.madvise(much, Advice::NoHugePage).await?;
            sys.touch(much, Access::Write).await?;
            if near == Near::InPieces {
                for page in (0..much.pages()).step_by(3) {
                    sys.madvise(much.part(Pages::new(page).bytes(), PAGE_SIZE), Advice::DontNeed).await?;
                }
            }
            sys.sleep(rest).await?;
            let huge = mib(2);
            let mapped = sys.mmap(Mapping::anon(mib(2 * (SLOTS + 1)))).await?;
            let start = Bytes::new(mapped.start.next_multiple_of(huge.get()) - mapped.start);
            let area = mapped.part(start, mib(2 * SLOTS));
            if advised {
                sys.madvise(area, Advice::HugePage).await?;
            }
            for slot in 0..SLOTS {
                let slot = area.part(mib(2 * slot), huge);
                sys.touch(slot, Access::Write).await?;
                let node = sys.page_node(slot).await?;
                counts.borrow_mut()[usize::from(node != sys.node())] += 1;
            }
            Ok(())
        },
        |_| (),
    );
    let is_for_huge_page =
        |event: &Event| matches!(event, Event::WakeupKswapd { order, .. } if *order == Order::PAGEBLOCK);
    let woken = results.events.iter().any(|traced| is_for_huge_page(&traced.event));
    (found(&results, *nodes.borrow()), woken)
}

fn found(results: &Results, slots: [u64; 2]) -> Found {
    assert_eq!(results.outcome, Outcome::Completed);
    Found {
        slots,
        huge: counter(results, "thp_fault_alloc"),
        fallback: counter(results, "thp_fault_fallback"),
        compacted: counter(results, "compact_stall") > 0,
        swapped: counter(results, "pgsteal_direct") > 0,
    }
}

#[test]
fn a_full_node_is_swapped_out_by_faults_that_look_nowhere_else() {
    let found = run(HugePlacement::ThisNode, Near::Full);
    assert!(found.swapped && found.huge > 0, "{found:?}");
    assert!(found.huge <= found.slots[0], "no huge page comes from the other node: {found:?}");
}

#[test]
fn what_was_swapped_out_of_a_full_node_comes_back_on_another_without_kswapd() {
    let results = machine(policy(HugePlacement::ThisNode), HugeDefrag::Madvise).run_program(
        "program",
        async |sys: order9_machine::Thread| {
            let much = sys.mmap(Mapping::anon(NODE)).await?;
            sys.touch(much, Access::Write).await?;
            let advised = sys.mmap(Mapping::anon(mib(2 * SLOTS))).await?;
            sys.madvise(advised, Advice::HugePage).await?;
            sys.touch(advised, Access::Write).await?;
            for _ in 0..3 {
                sys.touch(much, Access::Write).await?;
            }
            Ok(())
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    let [out, back, kswapd] = ["pswpout", "pswpin", "pageoutrun"].map(|name| counter(&results, name));
    assert!(back > 0 && back <= out, "{back} of {out} pages");
    // There may be a run for reasons of its own, but none for each page that comes back.
    assert!(kswapd * 100 < back, "the other node has room for {back} pages: {kswapd} runs");
}

#[test]
fn faults_without_retries_make_do_with_base_pages_of_another_node() {
    let base = Found { slots: [0, SLOTS], huge: 0, fallback: SLOTS, compacted: true, swapped: false };
    assert_eq!(run(HugePlacement::NoRetry, Near::Full), base);
}

#[test]
fn faults_that_may_look_further_take_huge_pages_of_another_node() {
    let there = |compacted| Found { slots: [0, SLOTS], huge: SLOTS, fallback: 0, compacted, swapped: false };
    assert_eq!(run(HugePlacement::Relax, Near::Full), there(false), "no attempt at its own node");
    assert_eq!(run(HugePlacement::TwoStepLocal, Near::Full), there(true), "its own node is asked first");
    assert_eq!(run(HugePlacement::TwoStep, Near::Full), there(true), "its own node is asked first");
}

#[test]
fn a_node_in_pieces_is_compacted_before_faults_look_further() {
    let here = Found { slots: [SLOTS, 0], huge: SLOTS, fallback: 0, compacted: true, swapped: false };
    for placement in [HugePlacement::ThisNode, HugePlacement::TwoStepLocal, HugePlacement::TwoStep] {
        assert_eq!(run(placement, Near::InPieces), here, "{placement:?}");
    }
    let hasty = run(HugePlacement::NoRetry, Near::InPieces);
    assert!(hasty.slots == [SLOTS, 0] && hasty.huge > SLOTS / 2, "not every first compaction is enough: {hasty:?}");
    // What its own node has free comes first: a page table would break it, if that came before.
    let there = Found { slots: [1, SLOTS - 1], huge: SLOTS, fallback: 0, compacted: false, swapped: false };
    assert_eq!(run(HugePlacement::Relax, Near::InPieces), there);
}

#[test]
fn faults_without_the_right_to_compact_never_take_huge_pages_of_another_node() {
    use HugePlacement::{NoRetry, Relax, ThisNode, TwoStep, TwoStepLocal};
    let base = Found { slots: [0, SLOTS], huge: 0, fallback: SLOTS, compacted: false, swapped: false };
    for placement in [ThisNode, Relax, NoRetry, TwoStepLocal, TwoStep] {
        let (found, _) = run_mode(placement, Near::Full, Nanos::ZERO, HugeDefrag::Madvise, false);
        assert_eq!(found, base, "{placement:?}");
    }
}

#[test]
fn only_who_may_compacts_or_wakes_the_daemons() {
    use HugeDefrag::{Always, Defer, DeferMadvise, Madvise, Never};
    // What advised faults do, and others: compact themselves, wake the daemons.
    let rights = [
        (Always, [(true, false), (true, false)]),
        (Defer, [(false, true), (false, true)]),
        (DeferMadvise, [(true, false), (false, true)]),
        (Madvise, [(true, false), (false, false)]),
        (Never, [(false, false), (false, false)]),
    ];
    for (defrag, expected) in rights {
        let does = [true, false].map(|advised| {
            let (found, woken) = run_mode(HugePlacement::ThisNode, Near::InPieces, REST, defrag, advised);
            (found.compacted, woken)
        });
        assert_eq!(does, expected, "{defrag:?}: advised, not advised");
    }
}

#[test]
fn pages_move_to_the_node_they_are_wanted_on() {
    let results = machine(policy(HugePlacement::ThisNode), HugeDefrag::Madvise).run_program(
        "program",
        async |sys: order9_machine::Thread| {
            let mapped = sys.mmap(Mapping::anon(mib(4))).await?;
            let start = Bytes::new(mapped.start.next_multiple_of(mib(2).get()) - mapped.start);
            let slot = mapped.part(start, mib(2));
            sys.madvise(slot, Advice::HugePage).await?;
            sys.touch(slot, Access::Write).await?;
            assert_eq!(sys.move_pages(slot, NodeId(1)).await?, 512);
            assert_eq!(sys.page_node(slot).await?, NodeId(1));
            let nowhere = sys.move_pages(slot, NodeId(7)).await;
            assert_eq!(nowhere, Err(Stop::Refused { call: "move_pages", errno: "ENODEV" }));
            sys.touch(slot, Access::Write).await
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!((counter(&results, "thp_migration_success"), counter(&results, "pgfault")), (1, 1));
}

#[test]
fn bound_programs_and_their_children_run_and_allocate_on_the_node_of_their_cpus() {
    let kernel_thread = Arc::new(Mutex::new(None));
    let seen = Arc::clone(&kernel_thread);
    let results = machine(Policy::default(), HugeDefrag::Never).run_program(
        "program",
        async move |sys: order9_machine::Thread| {
            assert_eq!((sys.node(), sys.cpus_of(NodeId(1)), sys.cpus_of(NodeId(7))), (NodeId(0), vec![1], vec![]));
            let refused = Stop::Refused { call: "sched_setaffinity", errno: "EINVAL" };
            assert_eq!(sys.set_affinity(&[]).await, Err(refused.clone()));
            assert_eq!(sys.set_affinity(&[2, 70_000]).await, Err(refused));
            sys.set_affinity(&[1, 2]).await?;
            assert_eq!(sys.node(), NodeId(1));
            let kernel = sys.spawn(ChildKind::Kernel, "kernel", async move |sys: order9_machine::Thread| {
                *seen.lock().expect("nobody panics with it") = Some(sys.node());
                Ok(())
            });
            let kernel = kernel.await?;
            for kind in [ChildKind::Thread, ChildKind::Process, ChildKind::Fork] {
                let child = sys.spawn(kind, "child", async |sys| {
                    let area = sys.mmap(Mapping::anon(mib(1))).await?;
                    sys.touch(area, Access::Write).await?;
                    assert_eq!((sys.node(), sys.page_node(area).await?), (NodeId(1), NodeId(1)));
                    Ok(())
                });
                let child = child.await?;
                sys.wait(child).await?.result?;
            }
            sys.wait(kernel).await?.result
        },
        |_| (),
    );
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(
        *kernel_thread.lock().expect("nobody panics with it"),
        Some(NodeId(0)),
        "CPU 0 was idle, and kernel threads are bound by themselves"
    );
}
