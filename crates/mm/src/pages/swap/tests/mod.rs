//! Pages on their way to swap and back: what they hold survives, and slots come free.

mod shmem;

use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use crate::page_flags::PageFlag;
use crate::policy::{NewAnon, Policy};
use crate::reclaim::{PageWrite, ReclaimControl, ReclaimStep, Reclaimer};
use crate::space::{Access, FaultStep, MmapRequest, Need, PageView, SpaceId, TableStep, VirtAddr};
use crate::{Gfp, Layout, LruList, Mm, MmBuilder, NodeSpec, Request, SwapWrite, ZoneId, ZoneSpec};

const CPU: usize = 0;

fn boot(slots: u64) -> Mm {
    boot_under(Policy::default(), slots)
}

fn boot_under(mut policy: Policy, slots: u64) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(4096));
    let layout = Layout {
        nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
        zones: alloc::vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: alloc::vec![NodeId(0)],
        ..Layout::default()
    };
    policy.reclaim.new_anon = NewAnon::Inactive;
    let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").content_tags().boot();
    mm.pages.swap.swapon(Pages::new(slots));
    mm
}

fn page(start: VirtAddr, page: u64) -> VirtAddr {
    VirtAddr::new(start.get() + 4096 * page)
}

/// A program that has written `count` pages and has not used them since.
fn program(mm: &mut Mm, count: u64) -> (SpaceId, VirtAddr) {
    let space = mm.create_space().expect("there are few");
    let start = mm.mmap(space, &MmapRequest::anon(Pages::new(count).bytes()), CPU).expect("there is room");
    for at in 0..count {
        assert_eq!(access(mm, space, page(start, at), Access::Write), FaultStep::Done);
    }
    forget_uses(mm);
    (space, start)
}

fn forget_uses(mm: &mut Mm) {
    let pages: alloc::vec::Vec<Pfn> = mm.pages.lru.lru_list(ZoneId(0), LruList::InactiveAnon, &mm.phys).collect();
    for pfn in pages {
        mm.pages.take_uses(mm.phys.frames.at(pfn), &mut mm.phys);
    }
}

/// An access with all that a program's fault needs; the swap device takes no time.
fn access(mm: &mut Mm, space: SpaceId, addr: VirtAddr, access: Access) -> FaultStep {
    let mut step = mm.fault_begin(space, addr, access, CPU);
    while let FaultStep::NeedPage(fault) = step {
        let pfn = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
        step = mm.fault_finish(&fault, pfn, CPU);
        mm.check().expect("every law holds");
    }
    step
}

/// A pass over the lists; returns what it reclaimed and the writes it asks for.
fn pass(mm: &mut Mm) -> (u64, alloc::vec::Vec<SwapWrite>) {
    let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, u64::MAX, ZoneKind::Movable);
    control.priority = 0;
    let run = run(mm, control);
    let swap = run.writes.into_iter().map(|write| match write {
        PageWrite::Swap(write) => write,
        PageWrite::File(write) => panic!("{write:?} is of no file on disk"),
    });
    (run.nr_reclaimed, swap.collect())
}

fn run(mm: &mut Mm, control: ReclaimControl) -> ReclaimControl {
    let id = mm.begin_reclaim(control);
    mm.begin_lru_pass(id, ZoneId(0));
    while mm.reclaim_step(id, CPU) != ReclaimStep::Done {
        mm.check().expect("every law holds");
    }
    let run = mm.end_reclaim(id);
    mm.check().expect("every law holds");
    run
}

fn written(mm: &mut Mm, writes: &[SwapWrite]) {
    for &write in writes {
        mm.swap_written(write, CPU);
        mm.check().expect("every law holds");
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

/// Swaps out all unused pages and frees them.
fn swap_out(mm: &mut Mm) -> u64 {
    let (freed, writes) = pass(mm);
    written(mm, &writes);
    freed + pass(mm).0
}

#[test]
fn unused_pages_are_written_first_and_freed_once_that_is_done() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 40);
    let (freed, writes) = pass(&mut mm);
    assert_eq!((freed, writes.len(), mm.counters().pswpout, mm.counters().nr_vmscan_write), (0, 40, 40, 40));
    assert_eq!((mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()), (Pages::new(60), Pages::new(40)));
    assert_eq!(mm.page_at(space, start), PageView::Swapped);
    written(&mut mm, &writes);
    assert_eq!(mm.counters().pgrotated, 40);
    assert_eq!(pass(&mut mm), (40, alloc::vec![]));
    let living = mm.space(space).expect("it lives");
    assert_eq!(
        (living.swapped(), living.rss().anon_pages, mm.pages.swap.swap_cached()),
        (Pages::new(40), 0, Pages::ZERO)
    );
}

#[test]
fn pages_that_go_to_memory_are_free_in_the_same_pass() {
    let mut mm = boot(0);
    mm.swapon_in_memory(Pages::new(100));
    let (space, start) = program(&mut mm, 40);
    let (freed, writes) = pass(&mut mm);
    assert_eq!((freed, writes.len(), mm.counters().pswpout, mm.counters().pgrotated), (40, 40, 40, 0));
    assert_eq!((mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()), (Pages::new(60), Pages::ZERO));
    assert_eq!(mm.page_at(space, start), PageView::Swapped);
    assert_eq!(pass(&mut mm), (0, alloc::vec![]));
}

#[test]
fn pages_come_back_from_memory_alone_and_give_up_their_slots() {
    for alone in [true, false] {
        let mut policy = Policy::default();
        policy.reclaim.swap_in_alone = alone;
        let mut mm = boot_under(policy, 0);
        mm.swapon_in_memory(Pages::new(100));
        let (space, start) = program(&mut mm, 16);
        assert_eq!(pass(&mut mm).0, 16);
        let FaultStep::NeedPage(fault) = mm.touch(space, page(start, 9), Access::Read, CPU) else {
            panic!("it is in swap")
        };
        let Need::SwapIn(slot) = fault.need() else { panic!("{fault:?}") };
        assert_eq!(mm.pages.is_read_alone(&fault, slot, &mm.phys), alone);
        assert_eq!(access(&mut mm, space, page(start, 9), Access::Read), FaultStep::Done);
        let kept = u64::from(!alone);
        assert_eq!((mm.pages.swap.swap_cached(), mm.pages.swap.swap_free()), (Pages::new(kept), Pages::new(85 - kept)));
        mm.check().expect("every law holds");
        // Without a slot it has to be written again.
        forget_uses(&mut mm);
        assert_eq!(pass(&mut mm).1.len(), usize::from(alone));
    }
}

#[test]
fn a_page_that_a_child_has_too_comes_back_from_memory_with_its_slot() {
    let mut mm = boot(0);
    mm.swapon_in_memory(Pages::new(100));
    let (space, start) = program(&mut mm, 1);
    assert_eq!(pass(&mut mm).0, 1);
    let child = fork(&mut mm, space);
    assert_eq!(access(&mut mm, child, start, Access::Read), FaultStep::Done);
    assert_eq!((mm.pages.swap.swap_cached(), mm.counters().pswpin), (Pages::new(1), 1));
    assert_eq!(access(&mut mm, space, start, Access::Read), FaultStep::Done);
    assert_eq!(mm.counters().pswpin, 1, "the other finds it");
    mm.check().expect("every law holds");
}

#[test]
fn neighbours_are_read_ahead_and_count_when_they_are_used() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 16);
    assert_eq!(swap_out(&mut mm), 16);
    let FaultStep::NeedPage(fault) = mm.touch(space, page(start, 9), Access::Read, CPU) else {
        panic!("it is in swap")
    };
    let Need::SwapIn(slot) = fault.need() else { panic!("{fault:?}") };
    let ahead = mm.pages.swap.swap_readahead(slot, &mm.phys);
    assert!(ahead.len() == 7 && ahead.iter().all(|other| other.index() / 8 == slot.index() / 8), "{slot:?}: {ahead:?}");
    assert_eq!(access(&mut mm, space, page(start, 9), Access::Read), FaultStep::Done);
    for slot in ahead {
        let pfn = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
        mm.pages.finish_readahead(slot, pfn, CPU, &mut mm.phys);
        mm.check().expect("every law holds");
        // Somebody else has read it meanwhile.
        let pfn = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
        mm.pages.finish_readahead(slot, pfn, CPU, &mut mm.phys);
    }
    let counted = |mm: &Mm| (mm.counters().swap_ra, mm.counters().swap_ra_hit, mm.counters().pgmajfault);
    assert_eq!((counted(&mm), mm.counters().pswpin), ((7, 0, 1), 8));
    let found = (0..16).filter(|&at| mm.touch(space, page(start, at), Access::Read, CPU) == FaultStep::Done);
    assert_eq!(found.count(), 7);
    assert_eq!(counted(&mm), (7, 7, 1));
    mm.check().expect("every law holds");
}

#[test]
fn slots_that_nobody_needs_are_not_read_ahead() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 16);
    assert_eq!(swap_out(&mut mm), 16);
    let slot_of = |mm: &mut Mm, at| match mm.touch(space, page(start, at), Access::Read, CPU) {
        FaultStep::NeedPage(fault) => match fault.need() {
            Need::SwapIn(slot) => slot,
            need => panic!("{need:?}"),
        },
        step => panic!("{step:?}"),
    };
    let slot = slot_of(&mut mm, 9);
    let mut others: alloc::vec::Vec<_> = (0..16).filter(|&at| at != 9).map(|at| (slot_of(&mut mm, at), at)).collect();
    others.retain(|(other, _)| other.index() / 8 == slot.index() / 8);
    others.sort_unstable();
    for &(_, at) in &others[2..4] {
        mm.munmap(space, page(start, at), Pages::new(1).bytes(), CPU).expect("it is mapped");
    }
    let kept: alloc::vec::Vec<_> = others[..2].iter().chain(&others[4..]).map(|&(slot, _)| slot).collect();
    assert_eq!((others.len(), mm.pages.swap.swap_readahead(slot, &mm.phys)), (7, kept.clone()));
    // Now one of those beside it has come into memory, and another one is not needed any more when it has been read.
    let page_for = |mm: &mut Mm| {
        let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
        mm.alloc_fast(&request).expect("memory is free")
    };
    let near = kept.iter().copied().find(|other| other.index() / 4 == slot.index() / 4).expect("two of three are left");
    let pfn = page_for(&mut mm);
    mm.pages.finish_readahead(near, pfn, CPU, &mut mm.phys);
    assert!(!mm.pages.swap.swap_readahead(slot, &mm.phys).contains(&near));
    let &(late, at) = others[4..].iter().find(|(other, _)| *other != near).expect("three are left");
    let pfn = page_for(&mut mm);
    mm.munmap(space, page(start, at), Pages::new(1).bytes(), CPU).expect("it is mapped");
    mm.pages.finish_readahead(late, pfn, CPU, &mut mm.phys);
    mm.check().expect("every law holds");
    assert_eq!((mm.pages.swap.swap_cached(), mm.counters().swap_ra), (Pages::new(1), 1));
}

#[test]
fn readahead_can_be_turned_off() {
    let mut mm = boot(100);
    mm.tune(|tunables| tunables.page_cluster = 0);
    let (space, start) = program(&mut mm, 16);
    assert_eq!(swap_out(&mut mm), 16);
    let FaultStep::NeedPage(fault) = mm.touch(space, start, Access::Read, CPU) else { panic!("it is in swap") };
    let Need::SwapIn(slot) = fault.need() else { panic!("{fault:?}") };
    assert_eq!(mm.pages.swap.swap_readahead(slot, &mm.phys), []);
}

#[test]
fn pages_come_back_by_a_read_from_swap() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 4);
    assert_eq!(swap_out(&mut mm), 4);
    let FaultStep::NeedPage(fault) = mm.touch(space, start, Access::Read, CPU) else { panic!("swap is to be read") };
    assert!(matches!(fault.need(), Need::SwapIn(_)), "{fault:?}");
    assert_eq!(access(&mut mm, space, start, Access::Read), FaultStep::Done);
    assert_eq!((mm.counters().pswpin, mm.counters().pgmajfault), (1, 1));
    // It keeps its slot while it is only read, and goes again without a write.
    assert_eq!((mm.pages.swap.swap_cached(), mm.pages.swap.swap_free()), (Pages::new(1), Pages::new(96)));
    forget_uses(&mut mm);
    assert_eq!(pass(&mut mm), (1, alloc::vec![]));
    // Once written, it has to be written again.
    assert_eq!(access(&mut mm, space, start, Access::Write), FaultStep::Done);
    forget_uses(&mut mm);
    assert_eq!(pass(&mut mm).1.len(), 1);
}

#[test]
fn a_page_that_is_missed_before_it_is_gone_is_mapped_again() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 4);
    let (_, writes) = pass(&mut mm);
    assert_eq!(mm.touch(space, start, Access::Write, CPU), FaultStep::Done);
    mm.check().expect("every law holds");
    written(&mut mm, &writes);
    assert_eq!((mm.counters().pswpin, pass(&mut mm).0), (0, 3));
}

#[test]
fn a_full_swap_makes_anonymous_pages_unreclaimable() {
    let mut mm = boot(10);
    program(&mut mm, 40);
    let (freed, writes) = pass(&mut mm);
    assert_eq!((freed, writes.len(), mm.pages.swap.swap_free()), (0, 10, Pages::ZERO));
    assert_eq!(mm.counters().pgactivate, 30, "no slot, so active");
    written(&mut mm, &writes);
    let before = mm.counters().pgscan_direct.total();
    assert_eq!(pass(&mut mm), (0, alloc::vec![]));
    assert_eq!(mm.counters().pgscan_direct.total(), before, "not even looked at");
}

#[test]
fn slots_come_free_when_pages_are_written_and_slots_scarce() {
    let mut mm = boot(10);
    let (space, start) = program(&mut mm, 8);
    assert_eq!(swap_out(&mut mm), 8);
    for at in 0..8 {
        assert_eq!(access(&mut mm, space, page(start, at), Access::Write), FaultStep::Done);
    }
    // Given up one by one until half of the slots are free.
    assert_eq!((mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()), (Pages::new(5), Pages::new(5)));
}

#[test]
fn sharers_of_a_swapped_page_read_one_copy_and_write_their_own() {
    let mut mm = boot(100);
    let (parent, start) = program(&mut mm, 6);
    let child = fork(&mut mm, parent);
    forget_uses(&mut mm);
    assert_eq!(swap_out(&mut mm), 6);
    let grandchild = fork(&mut mm, child);
    mm.check().expect("every law holds");
    assert_eq!(mm.pages.swap.swap_free(), Pages::new(94), "three entries name each slot");
    for at in 0..3 {
        assert_eq!(access(&mut mm, parent, page(start, at), Access::Read), FaultStep::Done);
        assert_eq!(access(&mut mm, child, page(start, at), Access::Write), FaultStep::Done);
        assert_eq!(access(&mut mm, grandchild, page(start, at), Access::Read), FaultStep::Done);
    }
    assert_eq!(mm.counters().pswpin, 3);
    for space in [grandchild, parent, child] {
        mm.exit(space, CPU).expect("it lives");
        mm.check().expect("every law holds");
    }
    assert_eq!((mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()), (Pages::new(100), Pages::ZERO));
}

#[test]
fn a_program_that_ends_during_writes_leaves_nothing_behind() {
    let mut mm = boot(100);
    let (space, _) = program(&mut mm, 5);
    let (_, writes) = pass(&mut mm);
    mm.exit(space, CPU).expect("it lives");
    mm.check().expect("every law holds");
    assert_eq!(mm.pages.swap.swap_cached(), Pages::new(5), "a page being written stays");
    written(&mut mm, &writes);
    assert_eq!((mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()), (Pages::new(100), Pages::ZERO));
}

#[test]
fn pages_that_come_back_soon_start_active_and_cost_their_type() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 40);
    let evicted_once = mm.phys.frames.at(mm
        .pages
        .lru
        .lru_list(ZoneId(0), LruList::InactiveAnon, &mm.phys)
        .last()
        .expect("40 are there"));
    mm.phys.frames.set(evicted_once, mm.phys.frames.word(evicted_once).with(PageFlag::Workingset, true));
    assert_eq!(swap_out(&mut mm), 40);
    let (other, others) = program(&mut mm, 10);
    for at in 0..10 {
        let PageView::Present { pfn, .. } = mm.page_at(other, page(others, at)) else { panic!("it was just written") };
        mm.pages.lru.move_lru(mm.phys.frames.at(pfn), LruList::ActiveAnon, &mut mm.phys);
    }
    let started = |mm: &mut Mm, at| {
        assert_eq!(access(mm, space, page(start, at), Access::Read), FaultStep::Done);
        let PageView::Present { pfn, .. } = mm.page_at(space, page(start, at)) else { panic!("it was just read") };
        mm.phys.lru_of(pfn).expect("it is an LRU page")
    };
    // The first written is evicted last. With ten active pages, ten more inactive ones would have kept the last ten.
    assert_eq!(started(&mut mm, 10), LruList::InactiveAnon);
    assert_eq!(started(&mut mm, 9), LruList::ActiveAnon);
    let counted = |mm: &Mm| {
        let counters = mm.counters();
        (counters.workingset_refault[0], counters.workingset_activate[0], counters.workingset_restore[0])
    };
    assert_eq!(counted(&mm), (2, 1, 0));
    // The page that had been active was evicted last.
    assert_eq!(started(&mut mm, 0), LruList::ActiveAnon);
    assert_eq!(counted(&mm), (3, 2, 1));
}

#[test]
fn nothing_is_written_for_those_that_may_not_start_io() {
    let mut mm = boot(100);
    program(&mut mm, 40);
    let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, u64::MAX, ZoneKind::Movable);
    (control.priority, control.gfp) = (0, Gfp::GFP_KERNEL - Gfp::IO);
    let run = run(&mut mm, control);
    assert_eq!((run.nr_scanned, run.nr_reclaimed, run.writes.len(), mm.pages.swap.swap_free().get()), (40, 0, 0, 100));
}

#[test]
fn slots_remember_evictions_only_where_anonymous_pages_start_inactive() {
    for (new_anon, refaults) in [(NewAnon::Inactive, 1), (NewAnon::Active, 0)] {
        let mut mm = boot(100);
        let (space, start) = program(&mut mm, 4);
        mm.phys.policy.reclaim.new_anon = new_anon;
        assert_eq!(swap_out(&mut mm), 4);
        assert_eq!(access(&mut mm, space, start, Access::Read), FaultStep::Done);
        assert_eq!(mm.counters().workingset_refault[0], refaults, "{new_anon:?}");
    }
}

#[test]
fn a_swapped_page_that_another_program_has_too_is_copied_by_the_one_that_writes_it() {
    let mut mm = boot(100);
    let (parent, start) = program(&mut mm, 1);
    let child = fork(&mut mm, parent);
    forget_uses(&mut mm);
    assert_eq!(swap_out(&mut mm), 1);
    assert_eq!(access(&mut mm, parent, start, Access::Write), FaultStep::Done);
    assert_eq!(access(&mut mm, child, start, Access::Read), FaultStep::Done);
    let pfn_of = |space| match mm.page_at(space, start) {
        PageView::Present { pfn, .. } => pfn,
        other => panic!("{other:?} after an access"),
    };
    assert_ne!(pfn_of(parent), pfn_of(child));
}

#[test]
fn a_page_in_the_swap_cache_is_evictable_once_its_locked_mapping_is_gone() {
    let mut mm = boot(100);
    let (parent, start) = program(&mut mm, 1);
    fork(&mut mm, parent);
    forget_uses(&mut mm);
    assert_eq!(swap_out(&mut mm), 1);
    assert_eq!(access(&mut mm, parent, start, Access::Read), FaultStep::Done);
    mm.mlock(parent, start, Pages::new(1).bytes()).expect("it is mapped");
    assert_eq!(mm.pages.lru.lru_list(ZoneId(0), LruList::Unevictable, &mm.phys).count(), 1);
    mm.munmap(parent, start, Pages::new(1).bytes(), CPU).expect("it is mapped");
    assert_eq!(
        (mm.pages.swap.swap_cached(), mm.pages.lru.lru_list(ZoneId(0), LruList::Unevictable, &mm.phys).count()),
        (Pages::new(1), 0)
    );
}

#[test]
fn the_window_stays_open_while_what_was_read_ahead_is_used() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 16);
    assert_eq!(swap_out(&mut mm), 16);
    for window in 0..2 {
        let missing = (0..16).find_map(|at| match mm.touch(space, page(start, at), Access::Read, CPU) {
            FaultStep::NeedPage(fault) => Some((fault, at)),
            _ => None,
        });
        let (fault, at) = missing.expect("half of the pages are in swap");
        let Need::SwapIn(slot) = fault.need() else { panic!("{fault:?}") };
        let ahead = mm.pages.swap.swap_readahead(slot, &mm.phys);
        assert_eq!(ahead.len(), 7, "window {window}");
        assert_eq!(access(&mut mm, space, page(start, at), Access::Read), FaultStep::Done);
        for slot in ahead {
            let pfn = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
            mm.pages.finish_readahead(slot, pfn, CPU, &mut mm.phys);
        }
        for at in 0..16 {
            mm.touch(space, page(start, at), Access::Read, CPU);
        }
    }
}

#[test]
fn a_page_with_a_new_slot_has_to_be_written_there() {
    let mut mm = boot(100);
    let (space, start) = program(&mut mm, 1);
    let PageView::Present { pfn, .. } = mm.page_at(space, start) else { panic!("it was just written") };
    let idx = mm.phys.frames.at(pfn);
    mm.phys.frames.set(idx, mm.phys.frames.word(idx).with(PageFlag::Dirty, false));
    assert!(mm.pages.swap.add_to_swap(idx, &mut mm.phys));
    assert!(mm.phys.frames.word(idx).has(PageFlag::Dirty));
}
