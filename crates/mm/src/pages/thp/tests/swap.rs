//! Huge pages that go to swap in one piece.

use super::splits::{reclaim, start_reclaim};
use super::*;
use crate::SwapWrite;
use crate::policy::NewAnon;
use crate::space::Errno;

fn policy(swap_whole: bool) -> Policy {
    let mut policy = Policy::default();
    policy.thp.swap_whole = swap_whole;
    policy.reclaim.new_anon = NewAnon::Inactive;
    policy
}

/// A machine with four clusters of swap, and a program that has written `slots` slots and does not use them.
fn unused(slots: u64) -> (Mm, SpaceId) {
    let mut mm = boot(policy(true));
    mm.swapon_solid_state(Pages::new(4 * HUGE));
    let space = program(&mut mm, slots * HUGE);
    (0..slots).for_each(|slot| write(&mut mm, space, slot * HUGE));
    (0..slots).for_each(|slot| forget_uses(&mut mm, space, slot * HUGE));
    (mm, space)
}

fn forget_uses(mm: &mut Mm, space: SpaceId, page: u64) {
    let head = mm.phys.compound_head(frame(mm, space, page));
    mm.pages.take_uses(mm.phys.frames.at(head), &mut mm.phys);
}

/// Reclaims until writes are under way, and leaves these so.
fn write_out(mm: &mut Mm) -> alloc::vec::Vec<SwapWrite> {
    let (reclaimed, writes) = start_reclaim(mm);
    assert_eq!(reclaimed, 0, "what has to be written first is not free");
    writes
}

/// Whole swap-outs, fallbacks, pages written, pages split.
fn swapped(mm: &Mm) -> [u64; 4] {
    let counters = mm.counters();
    [counters.thp_swpout, counters.thp_swpout_fallback, counters.pswpout, counters.thp_split_page]
}

#[test]
fn an_unused_huge_page_is_written_and_freed_in_one_piece() {
    let (mut mm, space) = unused(1);
    let head = frame(&mm, space, 0);
    let writes = write_out(&mut mm);
    let [write] = writes[..] else { panic!("{writes:?}") };
    assert_eq!((write.pfn, write.pages, write.slot.index() % HUGE), (head, Pages::new(HUGE), 0));
    assert_eq!((swapped(&mm), mm.counters().thp_split_pmd), ([1, 0, HUGE, 0], 1));
    assert_eq!((mm.space(space).unwrap().swapped(), mm.pages.swap.swap_cached()), (Pages::new(HUGE), Pages::new(HUGE)));
    assert_eq!(
        (mm.pages.total_mapcount(head, &mm.phys), mm.pages.huge_page_count(head, &mm.phys)),
        (Some(0), Some(HUGE)),
        "of the swap cache"
    );
    assert_eq!(mm.write_pending(None).writeback, HUGE);
    mm.swap_written(write, CPU);
    checked(&mm);
    let free = mm.phys.free_pages();
    assert_eq!(reclaim(&mut mm), HUGE);
    assert_eq!((mm.phys.free_pages() - free, mm.pages.swap.swap_cached()), (Pages::new(HUGE), Pages::ZERO));
    assert_ne!(mm.phys.frames.frame(head), crate::FrameState::Allocated { order: Order::PAGEBLOCK });
    [0, 5, 511].into_iter().for_each(|page| read(&mut mm, space, page));
    assert!(!is_huge(&mm, space, 0) && mm.counters().pswpin == 3, "what comes back are base pages");
    mm.exit(space, CPU).unwrap();
    checked(&mm);
    assert_eq!(mm.pages.swap.swap_free(), mm.pages.swap.swap_total());
}

#[test]
fn a_huge_page_that_goes_to_memory_is_free_in_the_same_pass() {
    let mut mm = boot(policy(true));
    mm.swapon_in_memory(Pages::new(4 * HUGE));
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    forget_uses(&mut mm, space, 0);
    let free = mm.phys.free_pages();
    assert_eq!((reclaim(&mut mm), swapped(&mm)), (HUGE, [1, 0, HUGE, 0]));
    assert_eq!((mm.phys.free_pages() - free, mm.pages.swap.swap_cached()), (Pages::new(HUGE), Pages::ZERO));
    assert_eq!((mm.space(space).unwrap().swapped(), mm.write_pending(None).writeback), (Pages::new(HUGE), 0));
}

#[test]
fn without_room_in_one_piece_it_is_split() {
    for solid in [false, true] {
        let mut mm = boot(policy(true));
        match solid {
            true => mm.swapon_solid_state(Pages::new(HUGE - 1 + 200)),
            false => mm.pages.swap.swapon(Pages::new(4 * HUGE)),
        }
        let space = program(&mut mm, 2 * HUGE);
        write(&mut mm, space, 0);
        mm.madvise(space, at(HUGE), pages(HUGE), crate::space::Madvise::NoHugePage, CPU).unwrap();
        write(&mut mm, space, HUGE);
        // The base page is the first to go, and begins the only cluster.
        [HUGE, 0].into_iter().for_each(|page| forget_uses(&mut mm, space, page));
        while mm.space(space).unwrap().swapped() < Pages::new(HUGE + 1) {
            reclaim(&mut mm);
        }
        assert_eq!(swapped(&mm), [u64::from(solid), u64::from(!solid), HUGE + 1, u64::from(!solid)], "{solid}");
    }
    let mut mm = boot(policy(true));
    mm.swapon_solid_state(Pages::new(HUGE - 1));
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    forget_uses(&mut mm, space, 0);
    reclaim(&mut mm);
    assert_eq!(swapped(&mm), [0, 1, HUGE - 1, 1], "as far as there are slots");
}

#[test]
fn up_to_4_13_it_is_split_and_nothing_counts() {
    let mut mm = boot(policy(false));
    mm.swapon_solid_state(Pages::new(4 * HUGE));
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    forget_uses(&mut mm, space, 0);
    reclaim(&mut mm);
    assert_eq!(swapped(&mm), [0, 0, HUGE, 1]);
}

#[test]
fn what_is_pinned_stays_and_what_is_mapped_singly_is_split() {
    let (mut mm, space) = unused(2);
    mm.pin(frame(&mm, space, 3)).unwrap();
    mm.mprotect(space, at(HUGE), pages(1), crate::space::Prot::READ).unwrap();
    forget_uses(&mut mm, space, HUGE);
    while mm.space(space).unwrap().swapped() < Pages::new(HUGE) {
        reclaim(&mut mm);
    }
    assert!(is_huge(&mm, space, 0));
    assert_eq!(swapped(&mm), [0, 0, HUGE, 1], "some parts may be free without a write");
}

#[test]
fn what_is_wanted_back_before_it_is_freed_is_mapped_by_single_entries() {
    let (mut mm, space) = unused(1);
    let head = frame(&mm, space, 0);
    let writes = write_out(&mut mm);
    write(&mut mm, space, 5);
    read(&mut mm, space, 6);
    assert_eq!((frame(&mm, space, 6), mm.counters().pswpin), (Pfn::new(head.get() + 6), 0));
    assert_eq!(mm.pages.split_huge_page(head, CPU, &mut mm.phys), Err(Errno::Ebusy), "it is being written");
    mm.swap_written(writes[0], CPU);
    checked(&mm);
    assert_eq!((mm.pages.total_mapcount(head, &mm.phys), mm.pages.user_levels().anon), (Some(2), 2));
    mm.munmap(space, at(6), pages(1), CPU).unwrap();
    checked(&mm);
    assert_eq!(
        (mm.pages.huge.deferred_splits(NodeId(0)), mm.pages.total_mapcount(head, &mm.phys)),
        (0, Some(1)),
        "it does not wait for a split"
    );
    // What was written meanwhile is written again, with the rest.
    forget_uses(&mut mm, space, 5);
    while mm.counters().thp_swpout < 2 {
        reclaim(&mut mm);
    }
    while mm.pages.swap.swap_cached() > Pages::ZERO {
        reclaim(&mut mm);
    }
    assert_eq!(swapped(&mm), [2, 0, 2 * HUGE, 0]);
    [5, 7].into_iter().for_each(|page| read(&mut mm, space, page));
}

#[test]
fn parts_of_a_page_split_in_the_swap_cache_have_its_slots() {
    let (mut mm, space) = unused(1);
    let head = frame(&mm, space, 0);
    let writes = write_out(&mut mm);
    mm.swap_written(writes[0], CPU);
    write(&mut mm, space, 5);
    mm.munmap(space, at(100), pages(1), CPU).unwrap();
    assert_eq!(mm.pages.split_huge_page(head, CPU, &mut mm.phys), Ok(()));
    checked(&mm);
    assert_eq!(
        (mm.pages.swap.swap_cached(), mm.pages.swap.swap_free()),
        (Pages::new(HUGE - 1), Pages::new(3 * HUGE + 1))
    );
    read(&mut mm, space, 7);
    assert_eq!((frame(&mm, space, 7), mm.counters().pswpin), (Pfn::new(head.get() + 7), 0));
    mm.exit(space, CPU).unwrap();
    checked(&mm);
    assert_eq!((mm.pages.swap.swap_cached(), mm.pages.swap.swap_free()), (Pages::ZERO, mm.pages.swap.swap_total()));
}

#[test]
fn several_programs_have_the_same_slots_and_a_write_copies() {
    let (mut mm, space) = unused(1);
    let child = fork(&mut mm, space);
    forget_uses(&mut mm, space, 0);
    let writes = write_out(&mut mm);
    assert_eq!(mm.counters().thp_split_pmd, 2);
    write(&mut mm, child, 5);
    read(&mut mm, space, 5);
    read(&mut mm, child, 6);
    write(&mut mm, space, 6);
    assert_ne!(frame(&mm, child, 5), frame(&mm, space, 5));
    assert_ne!(frame(&mm, child, 6), frame(&mm, space, 6));
    mm.exit(child, CPU).unwrap();
    checked(&mm);
    mm.exit(space, CPU).unwrap();
    checked(&mm);
    assert_eq!(mm.pages.swap.swap_cached(), Pages::new(HUGE), "it is being written");
    mm.swap_written(writes[0], CPU);
    checked(&mm);
    assert_eq!((mm.pages.swap.swap_cached(), mm.pages.swap.swap_free()), (Pages::ZERO, mm.pages.swap.swap_total()));
}
