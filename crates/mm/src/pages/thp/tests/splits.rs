//! Splits of huge mappings and pages, references, the deferred queue, reclaim.

use order9_units::{NodeId, Order, Pages, Pfn, ZoneKind};

use super::{CPU, HUGE, at, boot, checked, events, fork, frame, is_huge, pages, program, write};
use crate::policy::Policy;
use crate::reclaim::{PageWrite, ReclaimControl, ReclaimStep, Reclaimer};
use crate::shrinker::{LruScan, ShrinkControl, ShrinkSlab, ShrinkStep};
use crate::space::{Access, Errno, PageView, Prot};
use crate::{Gfp, LruList, Mm, SwapWrite, ZoneId};

fn counts(mm: &Mm, head: Pfn) -> (u64, u64, u64) {
    let page = mm.pages.huge.page(mm.phys.frames.at(head));
    (page.pmds.len() as u64, u64::from(page.ptes), mm.pages.huge_page_count(head, &mm.phys).unwrap())
}

pub(super) fn shrink(mm: &mut Mm) -> u64 {
    let control = ShrinkControl {
        node: NodeId(0),
        gfp: Gfp::GFP_KERNEL,
        priority: 0,
        lru: LruScan { scanned: 1000, eligible: 1000 },
        by: crate::reclaim::Reclaimer::Direct,
        cpu: CPU,
    };
    let mut run = ShrinkSlab::new(control);
    loop {
        let step = run.step(&mut mm.pages, &mut mm.phys);
        checked(mm);
        if let ShrinkStep::Done(shrunk) = step {
            return shrunk.objects;
        }
    }
}

#[test]
fn counts_follow_mappings_pins_and_splits() {
    let mut mm = boot(Policy::default());
    let a = program(&mut mm, HUGE);
    write(&mut mm, a, 0);
    let head = frame(&mm, a, 0);
    assert_eq!(counts(&mm, head), (1, 0, 1));
    let b = fork(&mut mm, a);
    assert_eq!(counts(&mm, head), (2, 0, 2));
    mm.mprotect(b, at(0), pages(HUGE / 2), Prot::READ).unwrap();
    assert_eq!(counts(&mm, head), (1, 512, 513));
    mm.munmap(b, at(200), pages(100), CPU).unwrap();
    checked(&mm);
    assert_eq!(
        (counts(&mm, head), mm.pages.huge.deferred_splits(NodeId(0))),
        ((1, 412, 413), 0),
        "the other maps all of it"
    );
    mm.exit(a, CPU).unwrap();
    checked(&mm);
    assert_eq!((counts(&mm, head), mm.pages.huge.deferred_splits(NodeId(0))), ((0, 412, 412), 1));
    assert_eq!((mm.pages.user_levels().anon, mm.pages.user_levels().anon_thps), (412, 0));
    let pinned = frame(&mm, b, 7);
    mm.pin(pinned).unwrap();
    assert_eq!(counts(&mm, head), (0, 412, 413));
    assert_eq!((shrink(&mut mm), mm.pages.huge.deferred_splits(NodeId(0))), (0, 1));
    assert_eq!(mm.pages.split_huge_page(head, CPU, &mut mm.phys), Err(Errno::Ebusy));
    assert_eq!(mm.unpin(pinned), Ok(true));
    let free = |mm: &Mm| mm.phys.frames.zone(ZoneId(0)).free() + mm.phys.frames.pcp_pages(ZoneId(0));
    let before = free(&mm);
    assert_eq!(shrink(&mut mm), 1);
    assert_eq!((mm.pages.total_mapcount(head, &mm.phys), free(&mm)), (None, before + 100));
    let work = mm.work();
    assert_eq!((work.huge_parts_split, work.huge_parts_remapped, work.huge_parts_freed), (512, 412, 100));
    let [_, _, split_pmd, split, failed, queued] = events(mm.counters());
    assert_eq!((split_pmd, split, queued), (1, 1, 1));
    assert!(failed >= 2, "each try counts");
}

#[test]
fn parts_of_a_split_page_take_its_place_on_the_list() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, 3 * HUGE);
    (0..3).for_each(|slot| write(&mut mm, space, slot * HUGE));
    let heads = [0, 1, 2].map(|slot| frame(&mm, space, slot * HUGE));
    assert_eq!(mm.lru_pages(NodeId(0), LruList::ActiveAnon), 1536);
    mm.take_work();
    mm.pages.split_huge_page(heads[1], CPU, &mut mm.phys).unwrap();
    assert_eq!(mm.take_work().huge_parts_split, 512);
    checked(&mm);
    let list: alloc::vec::Vec<Pfn> = mm.pages.lru.lru_list(ZoneId(0), LruList::ActiveAnon, &mm.phys).collect();
    assert_eq!((list.len(), list[0], list[513]), (514, heads[2], heads[0]));
    assert_eq!((list[512], list[1]), (heads[1], Pfn::new(heads[1].get() + 511)), "the first is the oldest");
    assert_eq!((events(mm.counters())[2], events(mm.counters())[3]), (1, 1));
    assert_eq!(
        mm.pages.split_huge_page(heads[1], CPU, &mut mm.phys),
        Err(Errno::Einval),
        "it is no huge page any more"
    );
}

#[test]
fn a_pinned_page_outlives_its_mappings_in_one_piece() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    let head = frame(&mm, space, 0);
    mm.pin(frame(&mm, space, 9)).unwrap();
    mm.exit(space, CPU).unwrap();
    checked(&mm);
    assert_eq!(mm.phys.frames.frame(head), crate::FrameState::Allocated { order: Order::PAGEBLOCK });
    assert_eq!(mm.unpin(Pfn::new(head.get() + 9)), Ok(true));
    checked(&mm);
    assert_ne!(mm.phys.frames.frame(head), crate::FrameState::Allocated { order: Order::PAGEBLOCK });
}

#[test]
fn freeing_the_rest_takes_a_page_off_the_queue() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    mm.munmap(space, at(0), pages(1), CPU).unwrap();
    let queue: alloc::vec::Vec<Pfn> = mm.pages.huge.deferred_split_queue(NodeId(0), &mm.phys).collect();
    assert_eq!(queue, [Pfn::new(frame(&mm, space, 1).get() - 1)]);
    mm.munmap(space, at(1), pages(HUGE - 1), CPU).unwrap();
    checked(&mm);
    assert_eq!((mm.pages.huge.deferred_splits(NodeId(0)), mm.counters().thp_deferred_split_page), (0, 1));
}

/// A thorough pass; returns pages reclaimed, and the writes that are to follow.
pub(super) fn start_reclaim(mm: &mut Mm) -> (u64, alloc::vec::Vec<SwapWrite>) {
    let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, u64::MAX, ZoneKind::Movable);
    control.priority = 0;
    let id = mm.begin_reclaim(control);
    mm.begin_lru_pass(id, ZoneId(0));
    while mm.reclaim_step(id, CPU) != ReclaimStep::Done {
        checked(mm);
    }
    let run = mm.end_reclaim(id);
    let swap = |write| if let PageWrite::Swap(write) = write { write } else { panic!("{write:?} is of no file") };
    (run.nr_reclaimed, run.writes.into_iter().map(swap).collect())
}

/// Reclaims with writes that take no time.
pub(super) fn reclaim(mm: &mut Mm) -> u64 {
    let (reclaimed, writes) = start_reclaim(mm);
    writes.into_iter().for_each(|write| mm.swap_written(write, CPU));
    checked(mm);
    reclaimed
}

#[test]
fn reclaim_splits_unused_huge_pages_and_swaps_their_parts() {
    let mut policy = Policy::default();
    policy.reclaim.new_anon = crate::policy::NewAnon::Inactive;
    let mut mm = boot(policy);
    mm.pages.swap.swapon(Pages::new(4096));
    let space = program(&mut mm, 2 * HUGE);
    write(&mut mm, space, 0);
    write(&mut mm, space, HUGE);
    mm.pin(frame(&mm, space, HUGE + 3)).unwrap();
    (0..4).for_each(|_| {
        reclaim(&mut mm);
    });
    let [_, _, split_pmd, split, ..] = events(mm.counters());
    assert_eq!((split_pmd, split, mm.counters().pswpout), (1, 1, 512));
    assert!(is_huge(&mm, space, HUGE), "a pinned page stays whole");
    assert_eq!(mm.page_at(space, at(5)), PageView::Swapped);
    assert_eq!(super::access(&mut mm, space, at(5), Access::Read, true), crate::space::FaultStep::Done);
    assert!(!is_huge(&mm, space, 0), "what comes back are base pages");
}

#[test]
fn pages_that_are_mapped_in_part_stand_first_where_reclaim_begins_with_them() {
    let queue = |partial_first: bool| {
        let mut policy = Policy::default();
        (policy.thp.shrink_underused, policy.thp.queue_full_unmap) = (true, false);
        policy.reclaim.partial_first = partial_first;
        let mut mm = boot(policy);
        let space = program(&mut mm, 3 * HUGE);
        (0..3).for_each(|slot| write(&mut mm, space, slot * HUGE));
        let heads = [0, 1, 2].map(|slot| frame(&mm, space, slot * HUGE));
        for slot in [2, 1] {
            mm.munmap(space, at(slot * HUGE), pages(HUGE / 2), CPU).expect("it is mapped");
            checked(&mm);
        }
        let place = |pfn| heads.iter().position(|&head| head == pfn).expect("it is one of them");
        let order: alloc::vec::Vec<usize> =
            mm.pages.huge.deferred_split_queue(NodeId(0), &mm.phys).map(place).collect();
        (mm, heads, order)
    };
    assert_eq!(queue(false).2, [0, 1, 2], "first come, first split");
    let (mut mm, heads, order) = queue(true);
    assert_eq!(order, [2, 1, 0]);
    mm.pin(heads[2]).expect("it is mapped");
    let split = |mm: &mut Mm| {
        let (freed, _) = mm.pages.split_partially_mapped(NodeId(0), &mut mm.phys);
        checked(mm);
        freed
    };
    assert_eq!(split(&mut mm), 0, "it is held");
    assert_eq!(split(&mut mm), HUGE, "the next has moved up; what is mapped of it is zeros");
    assert!(mm.pages.huge.has_split_that_frees(NodeId(0), &mm.phys));
    mm.unpin(heads[2]).expect("it is pinned");
    assert_eq!(split(&mut mm), HUGE);
    assert!(!mm.pages.huge.has_split_that_frees(NodeId(0), &mm.phys), "the last is mapped as a whole");
}
