//! Effect of operations on address spaces on huge mappings: whole slots, parts of them, and edges that cut them.

use super::{CPU, HUGE, at, boot, checked, events, fork, frame, is_huge, map, pages, program, read, write};
use crate::policy::{MmapAlign, Policy};
use crate::space::{
    Access, Madvise, MmapRequest, Mremap, MremapRequest, MremapTo, Place, Prot, SpaceId, TableStep, VirtAddr,
};
use crate::{Gfp, LruList, Mm, Request};
use order9_units::{NodeId, Order};

/// A program that has written to three slots.
fn three() -> (Mm, SpaceId) {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, 3 * HUGE);
    (0..3).for_each(|slot| write(&mut mm, space, slot * HUGE + slot));
    (mm, space)
}

/// Splits of mappings and pages queued by `operation` on two and a half slots from page `first` on.
fn deltas(operation: impl Fn(&mut Mm, SpaceId, VirtAddr)) -> [[u64; 2]; 2] {
    [0, HUGE / 2].map(|first| {
        let (mut mm, space) = three();
        let before = events(mm.counters());
        operation(&mut mm, space, at(first));
        checked(&mm);
        let after = events(mm.counters());
        assert_eq!((after[0], after[3], after[4]), (before[0], before[3], before[4]));
        [after[2] - before[2], after[5] - before[5]]
    })
}

const LENGTH: u64 = 2 * HUGE;

#[test]
fn operations_split_the_mappings_that_they_cut() {
    // Two slots, whole; then one slot between two halves. Every page that is unmapped in whole is queued, too, and freed.
    let unmap = deltas(|mm, space, start| mm.munmap(space, start, pages(LENGTH), CPU).unwrap());
    assert_eq!(unmap, [[0, 2], [2, 3]]);
    let discard = deltas(|mm, space, start| mm.madvise(space, start, pages(LENGTH), Madvise::DontNeed, CPU).unwrap());
    assert_eq!(discard, [[0, 2], [2, 3]]);
    let protect = deltas(|mm, space, start| mm.mprotect(space, start, pages(LENGTH), Prot::READ).unwrap());
    assert_eq!(protect, [[0, 0], [2, 0]]);
    let same = deltas(|mm, space, start| mm.mprotect(space, start, pages(LENGTH), Prot::RW).unwrap());
    assert_eq!(same, [[0, 0], [0, 0]], "nothing changes, so nothing is cut");
    for advice in [Madvise::HugePage, Madvise::NoHugePage] {
        let advise = deltas(|mm, space, start| mm.madvise(space, start, pages(LENGTH), advice, CPU).unwrap());
        assert_eq!(advise, [[0, 0], [2, 0]], "{advice:?}");
    }
    let lock = deltas(|mm, space, start| mm.mlock(space, start, pages(LENGTH)).unwrap());
    assert_eq!(lock, [[0, 0], [2, 0]]);
}

#[test]
fn only_pages_that_stay_mapped_in_part_are_queued_by_later_releases() {
    let mut policy = Policy::default();
    policy.thp.queue_full_unmap = false;
    let mut mm = boot(policy);
    let space = program(&mut mm, 2 * HUGE);
    write(&mut mm, space, 0);
    write(&mut mm, space, HUGE);
    mm.munmap(space, at(0), pages(HUGE), CPU).unwrap();
    assert_eq!(events(mm.counters())[5], 0);
    mm.munmap(space, at(HUGE), pages(1), CPU).unwrap();
    assert_eq!((events(mm.counters())[5], mm.pages.huge.deferred_splits(NodeId(0))), (1, 1));
    checked(&mm);
}

#[test]
fn up_to_4_4_a_page_is_split_with_its_mapping() {
    let mut policy = Policy::default();
    policy.thp.split_page_with_pmd = true;
    let mut mm = boot(policy);
    let space = program(&mut mm, 3 * HUGE);
    (0..3).for_each(|slot| write(&mut mm, space, slot * HUGE));
    let child = fork(&mut mm, space);
    mm.phys.frames.drain_all();
    let free = mm.phys.free_pages();
    mm.munmap(space, at(0), pages(HUGE / 2), CPU).unwrap();
    checked(&mm);
    assert!(!is_huge(&mm, space, HUGE - 1) && !is_huge(&mm, child, 0), "the page is split for all who map it");
    mm.munmap(child, at(0), pages(HUGE / 2), CPU).unwrap();
    checked(&mm);
    mm.phys.frames.drain_all();
    assert_eq!((mm.phys.free_pages() - free).get(), HUGE / 2, "what nobody maps is free at once");
    assert_eq!((mm.counters().thp_split_page, mm.pages.huge.deferred_splits(NodeId(0))), (1, 0));

    let held = frame(&mm, space, HUGE);
    mm.pin(held).unwrap();
    mm.mprotect(space, at(HUGE), pages(1), Prot::READ).unwrap();
    checked(&mm);
    assert!(!is_huge(&mm, space, HUGE) && is_huge(&mm, child, HUGE), "a pinned page stays whole");
    assert_eq!((mm.counters().thp_split_page, mm.counters().thp_split_page_failed), (1, 0));
}

#[test]
fn discarded_slots_fault_afresh_and_huge() {
    let (mut mm, space) = three();
    mm.madvise(space, at(HUGE), pages(HUGE), Madvise::DontNeed, CPU).unwrap();
    checked(&mm);
    assert_eq!((mm.space(space).unwrap().rss().anon_pages, mm.space(space).unwrap().page_tables()), (1024, 2));
    write(&mut mm, space, HUGE + 3);
    assert!(is_huge(&mm, space, HUGE));
}

#[test]
fn a_slot_of_base_pages_that_is_discarded_as_a_whole_faults_huge_from_6_14_on() {
    for frees in [false, true] {
        let mut policy = Policy::default();
        policy.thp.free_empty_tables = frees;
        let mut mm = boot(policy);
        let space = program(&mut mm, 2 * HUGE);
        mm.madvise(space, at(0), pages(2 * HUGE), Madvise::NoHugePage, CPU).unwrap();
        (0..2 * HUGE).for_each(|page| write(&mut mm, space, page));
        mm.madvise(space, at(0), pages(2 * HUGE), Madvise::HugePage, CPU).unwrap();
        mm.madvise(space, at(0), pages(HUGE + 511), Madvise::DontNeed, CPU).unwrap();
        checked(&mm);
        assert_eq!(
            mm.space(space).unwrap().page_tables(),
            if frees { 1 } else { 2 },
            "a page of the second slot is left"
        );
        // The call that empties a slot has to cover all of it.
        mm.madvise(space, at(2 * HUGE - 1), pages(1), Madvise::DontNeed, CPU).unwrap();
        [0, HUGE].into_iter().for_each(|page| write(&mut mm, space, page));
        checked(&mm);
        assert_eq!((is_huge(&mm, space, 0), is_huge(&mm, space, HUGE)), (frees, false));
    }
}

#[test]
fn protection_changes_in_the_huge_entry_and_a_write_gives_the_right_back() {
    let (mut mm, space) = three();
    let head = frame(&mm, space, 0);
    for prot in [Prot::NONE, Prot::READ, Prot::RW] {
        mm.mprotect(space, at(0), pages(3 * HUGE), prot).unwrap();
        checked(&mm);
    }
    assert_eq!(mm.fault_begin(space, at(9), Access::Write, CPU), crate::space::FaultStep::Done);
    assert!(is_huge(&mm, space, 0) && frame(&mm, space, 0) == head);
    assert_eq!(events(mm.counters()), [3, 0, 0, 0, 0, 0]);
}

pub(super) fn move_to(mm: &mut Mm, space: SpaceId, from: u64, count: u64, to: u64) {
    let moved = mm
        .mremap(
            space,
            &MremapRequest {
                addr: at(from),
                old_length: pages(count),
                new_length: pages(count),
                to: MremapTo::Fixed(at(to)),
            },
            CPU,
        )
        .unwrap();
    let Mremap::Moving(mut run) = moved else { panic!("{moved:?}") };
    loop {
        checked(mm);
        match mm.move_step(&mut run, CPU).unwrap() {
            TableStep::Progress => {}
            TableStep::NeedTable(vpn) => {
                let table = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER)).unwrap();
                mm.give_table(space, vpn, table, CPU);
            }
            TableStep::NeedCopy(_) => unreachable!("nothing is pinned"),
            TableStep::Done => break,
        }
    }
    checked(mm);
}

#[test]
fn aligned_moves_take_huge_mappings_along() {
    let (mut mm, space) = three();
    read(&mut mm, space, 0);
    let heads = [0, HUGE, 2 * HUGE].map(|page| frame(&mm, space, page));
    move_to(&mut mm, space, 0, 3 * HUGE, 8 * HUGE);
    assert_eq!(events(mm.counters())[2], 0);
    assert_eq!([8, 9, 10].map(|slot| frame(&mm, space, slot * HUGE)), heads);
    assert!(is_huge(&mm, space, 9 * HUGE));
    // Not aligned: every mapping is split, every page stays.
    move_to(&mut mm, space, 8 * HUGE, 3 * HUGE, 20 * HUGE + 1);
    assert_eq!((events(mm.counters())[2], events(mm.counters())[5]), (3, 0));
    assert_eq!(frame(&mm, space, 20 * HUGE + 1), heads[0]);
}

#[test]
fn the_page_of_zeros_moves_and_is_forked() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, HUGE);
    read(&mut mm, space, 0);
    move_to(&mut mm, space, 0, HUGE, 4 * HUGE);
    let child = fork(&mut mm, space);
    assert!(is_huge(&mm, space, 4 * HUGE) && is_huge(&mm, child, 4 * HUGE) && mm.pages.huge.huge_zero_users() == 2);
}

#[test]
fn forks_share_huge_pages_with_a_table_of_their_own() {
    let (mut mm, parent) = three();
    let child = fork(&mut mm, parent);
    let head = frame(&mm, parent, 0);
    assert_eq!((frame(&mm, child, 0), mm.pages.total_mapcount(head, &mm.phys)), (head, Some(2)));
    assert_eq!(
        (mm.pages.user_levels().anon, mm.pages.user_levels().anon_thps, mm.pages.user_levels().page_tables),
        (1536, 3, 6)
    );
    assert_eq!(mm.space(child).unwrap().rss().anon_pages, 1536);
    mm.exit(parent, CPU).unwrap();
    checked(&mm);
    write(&mut mm, child, 1);
    assert_eq!((events(mm.counters())[0], frame(&mm, child, 0)), (3, head), "it is alone now");
}

#[test]
fn a_huge_page_is_locked_as_a_whole_or_not_at_all() {
    let (mut mm, space) = three();
    mm.mlock(space, at(0), pages(2 * HUGE)).unwrap();
    checked(&mm);
    let head = frame(&mm, space, 0);
    assert_eq!(mm.phys.lru_of(head), Some(LruList::Unevictable));
    mm.munlock(space, at(0), pages(1)).unwrap();
    checked(&mm);
    assert_eq!(mm.phys.lru_of(head), Some(LruList::InactiveAnon), "the edge has split its mapping");
    mm.munlock(space, at(HUGE), pages(HUGE)).unwrap();
    checked(&mm);
    assert_eq!(mm.phys.lru_of(frame(&mm, space, HUGE)), Some(LruList::InactiveAnon));
}

#[test]
fn mappings_over_huge_ones_replace_them() {
    let (mut mm, space) = three();
    map(&mut mm, space, HUGE - 1, 2);
    checked(&mm);
    assert_eq!(events(mm.counters())[2], 2);
    assert_eq!(mm.space(space).unwrap().rss().anon_pages, 1534);
}

#[test]
fn forks_copy_pinned_pages_from_5_9_on() {
    for copies in [false, true] {
        let mut policy = Policy::default();
        policy.thp.fork_pin_copy = copies;
        let mut mm = boot(policy);
        let parent = program(&mut mm, 3 * HUGE);
        write(&mut mm, parent, 0);
        write(&mut mm, parent, HUGE);
        mm.phys.set_thp_enabled(crate::thp::HugeEnabled::Never);
        write(&mut mm, parent, 2 * HUGE);
        let pinned = [5, 2 * HUGE].map(|page| frame(&mm, parent, page));
        pinned.iter().for_each(|&pfn| mm.pin(pfn).unwrap());
        let child = fork(&mut mm, parent);
        assert_eq!((is_huge(&mm, parent, 0), is_huge(&mm, child, HUGE)), (!copies, true), "its mapping is split");
        for (page, pfn) in [5, 2 * HUGE].into_iter().zip(pinned) {
            assert_eq!(frame(&mm, child, page) == pfn, !copies);
            write(&mut mm, parent, page);
            assert_eq!(frame(&mm, parent, page) == pfn, copies, "what the device writes is what the parent reads");
        }
        assert_eq!(mm.counters().thp_split_pmd, u64::from(copies));
        pinned.iter().for_each(|&pfn| assert_eq!(mm.unpin(pfn), Ok(true)));
        checked(&mm);
    }
}

#[test]
fn new_mappings_start_at_slots_where_the_release_cares() {
    for (align, pages_mapped, at_slot) in [
        (MmapAlign::None, HUGE, false),
        (MmapAlign::Large, HUGE - 1, false),
        (MmapAlign::Large, HUGE + 5, true),
        (MmapAlign::Multiple, HUGE + 5, false),
        (MmapAlign::Multiple, 2 * HUGE, true),
    ] {
        let mut policy = Policy::default();
        policy.thp.mmap_align = align;
        let mut mm = boot(policy);
        let space = mm.create_space().unwrap();
        mm.mmap(space, &MmapRequest::anon(pages(1)), CPU).unwrap();
        let start = mm.mmap(space, &MmapRequest::anon(pages(pages_mapped)), CPU).unwrap();
        assert_eq!(start.vpn().slot().start == start.vpn(), at_slot, "{pages_mapped} pages at {start} with {align:?}");
        let hint = MmapRequest { place: Place::Hint(at(7)), ..MmapRequest::anon(pages(2 * HUGE)) };
        assert_eq!(mm.mmap(space, &hint, CPU), Ok(at(7)), "a place that was asked for is given");
        checked(&mm);
    }
}
