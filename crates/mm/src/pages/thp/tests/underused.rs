//! Huge pages that are mostly zeros: who is looked at, who is split, and what becomes of the zeros.

use order9_units::{NodeId, Order, Pages, Pfn};

use super::khugepaged::{base_pages, pass, set};
use super::splits::{reclaim, shrink};
use super::{CPU, HUGE, access, at, boot, checked, fork, frame, is_huge, map, pages, program, read, write};
use crate::policy::{NewAnon, Policy};
use crate::space::{Access, Madvise, MmapRequest, PageView, Place, Prot, PteKind, SpaceId, VpnRange};
use crate::{Gfp, LruList, Mm, Request};

const NODE: NodeId = NodeId(0);

fn recent() -> Policy {
    let mut policy = Policy::default();
    (policy.thp.shrink_underused, policy.thp.queue_full_unmap) = (true, false);
    policy.thp.max_ptes_shared = true;
    policy.reclaim.new_anon = NewAnon::Inactive;
    policy
}

/// A program that has written to `count` pages of its first slot, on a machine that takes up to `zeros` zeros in a huge page.
fn sparse(count: u64, zeros: u64) -> (Mm, SpaceId) {
    let mut mm = boot(recent());
    set(&mut mm, "max_ptes_none", zeros);
    let space = program(&mut mm, HUGE);
    (0..count).for_each(|page| write(&mut mm, space, page));
    (mm, space)
}

/// Splits of underused pages, of pages at all, and pages in the queue.
fn found(mm: &Mm) -> (u64, u64, u64) {
    (mm.counters().thp_underused_split_page, mm.counters().thp_split_page, mm.pages.huge.deferred_splits(NODE))
}

fn free(mm: &Mm) -> u64 {
    mm.phys.frames.zones().iter().map(|zone| zone.free() + mm.phys.frames.pcp_pages(zone.id())).sum()
}

fn anon(mm: &Mm, space: SpaceId) -> u64 {
    mm.space(space).expect("it lives").rss().anon_pages
}

fn entry(mm: &mut Mm, space: SpaceId, page: u64) -> PteKind {
    mm.pages.spaces.living(space).table.get(at(page).vpn()).kind()
}

#[test]
fn new_huge_pages_are_looked_at_once_and_stay_huge_by_default() {
    let (mut mm, space) = sparse(1, 511);
    assert_eq!(
        (mm.pages.huge.deferred_splits(NODE), mm.counters().thp_deferred_split_page),
        (1, 0),
        "nothing of it was unmapped"
    );
    let work = mm.take_work();
    assert_eq!((shrink(&mut mm), found(&mm)), (0, (0, 0, 0)), "however little of it is used");
    assert!(is_huge(&mm, space, 0) && work.pages_compared == 0 && mm.take_work().pages_compared == 0);
    let mut old = recent();
    old.thp.shrink_underused = false;
    let mut mm = boot(old);
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    assert_eq!(mm.pages.huge.deferred_splits(NODE), 0, "6.12+");
}

#[test]
fn pages_with_more_zeros_than_khugepaged_fills_are_split_and_give_them_back() {
    let (mut mm, space) = sparse(12, 500);
    assert_eq!((shrink(&mut mm), found(&mm)), (0, (0, 0, 0)), "as many zeros as khugepaged fills");
    assert!(is_huge(&mm, space, 0));

    let (mut mm, space) = sparse(11, 500);
    let before = free(&mm);
    mm.take_work();
    assert_eq!((shrink(&mut mm), found(&mm)), (1, (1, 1, 0)));
    assert_eq!(mm.take_work().pages_compared, 501 + 501, "to find out, and to map");
    assert_eq!((anon(&mm, space), mm.pages.user_levels().anon, free(&mm)), (11, 11, before + 501));
    assert_eq!([10, 11].map(|page| entry(&mut mm, space, page)), [PteKind::Present, PteKind::Zero]);
    read(&mut mm, space, 300);
    write(&mut mm, space, 400);
    assert_eq!((anon(&mm, space), entry(&mut mm, space, 400)), (12, PteKind::Present), "a base page of its own");
}

#[test]
fn what_was_written_counts_however_it_was_written() {
    // A pass over part of a slot.
    let (mut mm, space) = sparse(1, 100);
    let mut range = VpnRange::new(at(0).vpn(), at(411).vpn());
    assert_eq!(mm.touch_mapped(space, &mut range, Access::Write).pages, Pages::new(411));
    let mut range = VpnRange::new(at(411).vpn(), at(512).vpn());
    mm.touch_mapped(space, &mut range, Access::Read);
    assert_eq!((shrink(&mut mm), found(&mm).0), (1, 1), "what is only read stays zero");
    assert_eq!(anon(&mm, space), 411);
    // By single entries of a huge page.
    let (mut mm, space) = sparse(1, 100);
    mm.madvise(space, at(0), pages(8), Madvise::HugePage, CPU).expect("it is mapped");
    assert!(!is_huge(&mm, space, 0));
    write(&mut mm, space, 200);
    let mut range = VpnRange::new(at(201).vpn(), at(210).vpn());
    mm.touch_mapped(space, &mut range, Access::Write);
    assert_eq!((shrink(&mut mm), anon(&mm, space)), (1, 11));
    assert_eq!(
        [199, 200, 209, 210].map(|page| entry(&mut mm, space, page) == PteKind::Present),
        [false, true, true, false]
    );
    checked(&mm);
}

#[test]
fn shrink_underused_is_for_pages_from_now_on() {
    let (mut mm, space) = sparse(1, 100);
    mm.tune(|tunables| tunables.thp_shrink_underused = false);
    map(&mut mm, space, 2 * HUGE, HUGE);
    write(&mut mm, space, 2 * HUGE);
    assert_eq!(mm.pages.huge.deferred_splits(NODE), 1, "the one from before");
    assert_eq!((shrink(&mut mm), is_huge(&mm, space, 0), is_huge(&mm, space, 2 * HUGE)), (1, false, true));
}

#[test]
fn a_page_that_is_unmapped_in_part_counts_as_such_and_keeps_its_place() {
    let (mut mm, space) = sparse(1, 511);
    map(&mut mm, space, 2 * HUGE, HUGE);
    write(&mut mm, space, 2 * HUGE);
    let first = frame(&mm, space, 0);
    mm.munmap(space, at(1), pages(1), CPU).expect("it is mapped");
    assert_eq!(mm.pages.huge.deferred_split_queue(NODE, &mm.phys).next(), Some(first));
    assert_eq!((mm.counters().thp_deferred_split_page, mm.pages.huge.deferred_splits(NODE)), (1, 2));
    mm.pin(first).expect("it is mapped");
    assert_eq!((shrink(&mut mm), found(&mm)), (0, (0, 0, 1)), "it goes on waiting, the other one is in use");
    mm.unpin(first).expect("it is pinned");
    assert_eq!((shrink(&mut mm), found(&mm)), (1, (0, 1, 0)), "split, but not for its zeros");
    assert_eq!(anon(&mm, space), 1 + HUGE, "which are freed all the same");
}

#[test]
fn pinned_pages_are_looked_at_once_and_mlocked_ones_keep_their_zeros() {
    let (mut mm, space) = sparse(1, 100);
    let head = frame(&mm, space, 0);
    mm.pin(head).expect("it is mapped");
    assert_eq!((shrink(&mut mm), found(&mm)), (0, (0, 0, 0)));
    assert_eq!(mm.counters().thp_split_page_failed, 1);
    mm.unpin(head).expect("it is pinned");
    assert_eq!((shrink(&mut mm), is_huge(&mm, space, 0)), (0, true), "nobody looks again");

    let mut mm = boot(recent());
    set(&mut mm, "max_ptes_none", 100);
    let space = mm.create_space().expect("it is the first");
    let request = MmapRequest { place: Place::Fixed(at(0)), locked: true, ..MmapRequest::anon(pages(HUGE)) };
    mm.mmap(space, &request, CPU).expect("there is room");
    write(&mut mm, space, 0);
    assert_eq!((shrink(&mut mm), anon(&mm, space)), (1, HUGE), "mlock promises pages");
    assert_eq!(mm.lru_pages(NODE, LruList::Unevictable), HUGE);
}

#[test]
fn zeros_are_no_more_accessible_than_they_were() {
    let (mut mm, space) = sparse(5, 100);
    mm.mprotect(space, at(0), pages(HUGE), Prot::NONE).expect("it is mapped");
    assert_eq!((shrink(&mut mm), anon(&mm, space)), (1, 5));
    assert_eq!(access(&mut mm, space, at(100), Access::Read, true), crate::space::FaultStep::Segv);
    mm.mprotect(space, at(0), pages(HUGE), Prot::RW).expect("it is mapped");
    write(&mut mm, space, 100);
    assert_eq!(anon(&mm, space), 6);
}

#[test]
fn zeros_of_a_shared_page_are_freed_once_nobody_has_them() {
    let (mut mm, parent) = sparse(20, 100);
    let child = fork(&mut mm, parent);
    let before = free(&mm);
    assert_eq!(shrink(&mut mm), 1);
    assert_eq!((anon(&mm, parent), anon(&mm, child), free(&mm)), (20, 20, before + 492));
    write(&mut mm, child, 100);
    assert_eq!([parent, child].map(|space| entry(&mut mm, space, 100)), [PteKind::Zero, PteKind::Present]);
}

#[test]
fn collapsed_pages_are_looked_at_as_well() {
    let (mut mm, spaces) = base_pages(recent(), &[3]);
    let used = anon(&mm, spaces[0]);
    pass(&mut mm, true);
    assert!(is_huge(&mm, spaces[0], 0) && anon(&mm, spaces[0]) > used);
    set(&mut mm, "max_ptes_none", 100);
    assert_eq!((shrink(&mut mm) > 0, anon(&mm, spaces[0])), (true, used), "what khugepaged added is taken back");
}

#[test]
fn a_page_that_moves_takes_its_zeros_and_its_place_in_the_queue_along() {
    let (mut mm, space) = sparse(5, 100);
    let head = mm.phys.frames.at(frame(&mm, space, 0));
    assert!(mm.pages.isolate_huge(head, &mut mm.phys));
    let target = mm.alloc_fast(&Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE)).expect("memory is free");
    mm.pages.migrate_huge(head, target, CPU, &mut mm.phys).expect("nobody pins it");
    checked(&mm);
    assert_eq!(mm.pages.huge.deferred_split_queue(NODE, &mm.phys).collect::<alloc::vec::Vec<Pfn>>(), [target]);
    assert_eq!((mm.counters().thp_deferred_split_page, shrink(&mut mm), anon(&mm, space)), (0, 1, 5));
}

#[test]
fn reclaim_swaps_what_was_written_and_frees_the_zeros() {
    let (mut mm, space) = sparse(30, 511);
    mm.pages.swap.swapon(Pages::new(4096));
    (0..6).for_each(|_| {
        reclaim(&mut mm);
    });
    assert_eq!((mm.counters().thp_split_page, mm.counters().pswpout, anon(&mm, space)), (1, 30, 0));
    assert_eq!([29, 30].map(|page| mm.page_at(space, at(page)) == PageView::Swapped), [true, false]);
    assert_eq!(mm.counters().thp_underused_split_page, 0, "it was split for another reason");
    let step = access(&mut mm, space, at(29), Access::Read, true);
    assert_eq!(step, crate::space::FaultStep::Done);
}
