//! Faults that get a huge page, and faults that do not.

use order9_units::Order;

use super::{
    CPU, HUGE, HugeEnabled, access, at, boot, checked, events, fork, frame, is_huge, map, program, read, write,
};
use crate::policy::{HugeCow, Policy, ZeroWrite};
use crate::space::{Access, FaultStep, Madvise, Need, PageView, Prot};
use crate::{Gfp, Mm};

/// A machine of which a program has written a page of each of two slots, and its child has written to `child` of them.
fn shared(cow: HugeCow, huge: bool, child: u64) -> (Mm, crate::SpaceId, crate::SpaceId) {
    let mut policy = Policy::default();
    policy.thp.cow = cow;
    let mut mm = boot(policy);
    let parent = program(&mut mm, 2 * HUGE);
    (0..2).for_each(|slot| write(&mut mm, parent, slot * HUGE));
    let space = fork(&mut mm, parent);
    for slot in 0..child {
        assert_eq!(access(&mut mm, space, at(slot * HUGE + 5), Access::Write, huge), FaultStep::Done);
    }
    (mm, parent, space)
}

#[test]
fn the_first_write_to_a_slot_gets_a_huge_page() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, HUGE);
    mm.take_work();
    write(&mut mm, space, 100);
    let work = mm.take_work();
    assert_eq!((work.faults, work.huge_parts_cleared, work.ptes_set, work.page_tables_allocated), (1, 512, 1, 1));
    assert_eq!(events(mm.counters()), [1, 0, 0, 0, 0, 0]);
    let (living, levels) = (mm.space(space).unwrap(), mm.pages.user_levels());
    assert_eq!((living.rss().anon_pages, living.page_tables()), (512, 1));
    assert_eq!((levels.anon, levels.anon_thps, levels.page_tables), (512, 1, 1));
    assert!(frame(&mm, space, 0).is_aligned(Order::PAGEBLOCK));
    assert_eq!(frame(&mm, space, 511).get(), frame(&mm, space, 0).get() + 511);
    write(&mut mm, space, 511);
    assert_eq!((mm.take_work().faults, mm.counters().pgfault), (0, 1));
    mm.exit(space, CPU).unwrap();
    checked(&mm);
    assert_eq!(mm.pages.user_levels(), crate::space::UserLevels::default());
}

#[test]
fn slots_that_no_mapping_fills_are_not_eligible() {
    let mut mm = boot(Policy::default());
    let space = mm.create_space().unwrap();
    map(&mut mm, space, 1, HUGE - 1);
    write(&mut mm, space, 3);
    assert_eq!(events(mm.counters()), [0; 6], "that is no fallback");
    map(&mut mm, space, HUGE, HUGE + 1);
    write(&mut mm, space, 2 * HUGE);
    write(&mut mm, space, HUGE);
    assert!(!is_huge(&mm, space, 2 * HUGE) && is_huge(&mm, space, HUGE));
}

#[test]
fn enabled_and_advice_decide() {
    use HugeEnabled::{Always, Madvise as Advised, Never};
    for (enabled, advice, huge) in [
        (Always, None, true),
        (Always, Some(Madvise::NoHugePage), false),
        (Advised, None, false),
        (Advised, Some(Madvise::HugePage), true),
        (Advised, Some(Madvise::NoHugePage), false),
        (Never, Some(Madvise::HugePage), false),
    ] {
        let mut mm = boot(Policy::default());
        mm.phys.set_thp_enabled(enabled);
        let space = program(&mut mm, HUGE);
        if let Some(advice) = advice {
            mm.madvise(space, at(0), super::pages(HUGE), advice, CPU).unwrap();
        }
        write(&mut mm, space, 0);
        assert_eq!((is_huge(&mm, space, 0), events(mm.counters())[1]), (huge, 0), "{enabled:?}, {advice:?}");
    }
}

#[test]
fn a_fault_without_huge_page_takes_base_pages_and_the_next_slot_tries_again() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, 2 * HUGE);
    assert_eq!(access(&mut mm, space, at(7), Access::Write, false), FaultStep::Done);
    assert_eq!((events(mm.counters()), mm.space(space).unwrap().rss().anon_pages), ([0, 1, 0, 0, 0, 0], 1));
    write(&mut mm, space, 8);
    write(&mut mm, space, HUGE);
    assert_eq!(events(mm.counters()), [1, 1, 0, 0, 0, 0]);
    assert!(!is_huge(&mm, space, 0) && is_huge(&mm, space, HUGE));
    assert_eq!(mm.counters().pgfault, 3);
    mm.madvise(space, at(0), super::pages(HUGE), Madvise::DontNeed, CPU).unwrap();
    write(&mut mm, space, 0);
    assert!(!is_huge(&mm, space, 0), "the table stays");
    mm.munmap(space, at(0), super::pages(HUGE), CPU).unwrap();
    map(&mut mm, space, 0, HUGE);
    write(&mut mm, space, 0);
    assert!(is_huge(&mm, space, 0));
}

#[test]
fn a_slot_that_changed_meanwhile_is_looked_at_again() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, HUGE);
    let step = mm.fault_begin(space, at(0), Access::Write, CPU);
    let FaultStep::NeedPage(fault) = step else { panic!("{step:?}") };
    assert_eq!(fault.need(), Need::HugePage);
    let page = mm.alloc_fast(&fault.request(CPU)).unwrap();
    write(&mut mm, space, 3);
    let before = events(mm.counters());
    assert_eq!(mm.fault_finish(&fault, page, CPU), FaultStep::Retry);
    assert_eq!((mm.fault_refused(&fault, CPU), events(mm.counters())), (FaultStep::Retry, before));
    checked(&mm);
}

#[test]
fn reads_map_the_huge_page_of_zeros() {
    let mut mm = boot(Policy::default());
    let (one, two) = (program(&mut mm, 2 * HUGE), program(&mut mm, HUGE));
    for (space, page) in [(one, 0), (one, HUGE), (two, 9)] {
        read(&mut mm, space, page);
    }
    assert_eq!((mm.counters().thp_zero_page_alloc, mm.pages.huge.huge_zero_users()), (1, 2));
    assert_eq!((mm.pages.user_levels().anon_thps, mm.space(one).unwrap().rss().anon_pages), (0, 0));
    assert_eq!(mm.page_at(one, at(17)), PageView::Zero);
    mm.exit(one, CPU).unwrap();
    assert_eq!(mm.pages.shrink_huge_zero(CPU, &mut mm.phys), 0, "the other program holds it");
    mm.exit(two, CPU).unwrap();
    assert!(
        mm.pages.huge.has_huge_zero_page()
            && mm.pages.shrink_huge_zero(CPU, &mut mm.phys) == 512
            && !mm.pages.huge.has_huge_zero_page()
    );
    checked(&mm);
}

#[test]
fn up_to_4_8_the_page_of_zeros_is_held_by_the_slots_that_map_it() {
    let mut policy = Policy::default();
    policy.thp.zero_by_slot = true;
    let mut mm = boot(policy);
    let space = program(&mut mm, 4 * HUGE);
    (0..4).for_each(|slot| read(&mut mm, space, slot * HUGE));
    let child = fork(&mut mm, space);
    assert_eq!(mm.pages.huge.huge_zero_users(), 8);
    mm.exit(child, CPU).unwrap();
    write(&mut mm, space, 0);
    mm.mprotect(space, at(HUGE), super::pages(1), Prot::READ).unwrap();
    mm.madvise(space, at(2 * HUGE), super::pages(HUGE), Madvise::DontNeed, CPU).unwrap();
    checked(&mm);
    assert_eq!(
        (mm.pages.huge.huge_zero_users(), mm.pages.shrink_huge_zero(CPU, &mut mm.phys)),
        (1, 0),
        "a huge page, a table, nothing, and it"
    );
    mm.munmap(space, at(3 * HUGE), super::pages(HUGE), CPU).unwrap();
    assert_eq!(
        (mm.pages.huge.huge_zero_users(), mm.pages.shrink_huge_zero(CPU, &mut mm.phys)),
        (0, 512),
        "the program lives"
    );
    checked(&mm);
}

#[test]
fn without_the_page_of_zeros_reads_take_huge_pages() {
    let mut mm = boot(Policy::default());
    mm.tune(|tunables| tunables.thp_use_zero_page = false);
    let space = program(&mut mm, HUGE);
    mm.mprotect(space, at(0), super::pages(HUGE), Prot::READ).unwrap();
    read(&mut mm, space, 0);
    assert_eq!((events(mm.counters()), mm.pages.user_levels().anon_thps), ([1, 0, 0, 0, 0, 0], 1));
}

#[test]
fn where_there_is_no_page_of_zeros_reads_map_base_pages() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, HUGE);
    assert_eq!(access(&mut mm, space, at(0), Access::Read, false), FaultStep::Done);
    assert_eq!((events(mm.counters()), mm.counters().thp_zero_page_alloc_failed), ([0, 1, 0, 0, 0, 0], 1));
}

#[test]
fn a_write_to_the_page_of_zeros_gets_what_the_release_gives() {
    for (zero_write, huge, expected) in [
        (ZeroWrite::Huge, true, [1, 0, 0, 0, 0, 0]),
        (ZeroWrite::Huge, false, [0, 1, 1, 0, 0, 0]),
        (ZeroWrite::Split, true, [0, 0, 1, 0, 0, 0]),
    ] {
        let mut policy = Policy::default();
        policy.thp.zero_write = zero_write;
        let mut mm = boot(policy);
        let space = program(&mut mm, HUGE);
        read(&mut mm, space, 0);
        assert_eq!(access(&mut mm, space, at(3), Access::Write, huge), FaultStep::Done);
        assert_eq!(events(mm.counters()), expected, "{zero_write:?}, huge {huge}");
        let anon = mm.space(space).unwrap().rss().anon_pages;
        assert_eq!(anon, if expected[0] > 0 { 512 } else { 1 });
        assert_eq!(mm.page_at(space, at(4)) == PageView::Zero, expected[0] == 0);
    }
}

#[test]
fn a_write_to_a_shared_huge_page_copies_what_the_release_copies() {
    let (mm, parent, child) = shared(HugeCow::Huge, true, 2);
    assert_eq!((events(mm.counters()), mm.counters().thp_fault_alloc), ([4, 0, 0, 0, 0, 0], 4));
    assert!(is_huge(&mm, parent, 0) && is_huge(&mm, child, 0) && frame(&mm, parent, 0) != frame(&mm, child, 0));
    let (mm, parent, child) = shared(HugeCow::Split, true, 2);
    assert_eq!(events(mm.counters()), [2, 0, 2, 0, 0, 0]);
    assert!(is_huge(&mm, parent, 0) && frame(&mm, parent, 6) == frame(&mm, child, 6));
    assert_eq!(mm.pages.user_levels().anon, 1024 + 2, "a page for each write");
}

#[test]
fn where_a_huge_copy_cannot_be_had_all_base_pages_are_copied() {
    let (mut mm, parent, child) = shared(HugeCow::Huge, false, 1);
    assert_eq!(events(mm.counters()), [2, 1, 0, 0, 0, 0]);
    assert!(is_huge(&mm, parent, 0) && is_huge(&mm, child, HUGE));
    assert_eq!((mm.pages.user_levels().anon, mm.space(child).unwrap().rss().anon_pages), (1024 + 512, 1024));
    write(&mut mm, parent, 0);
    assert_eq!(events(mm.counters()), [2, 1, 0, 0, 0, 0], "the parent is alone with its page");
    write(&mut mm, child, 500);
}

#[test]
fn who_may_reclaim_for_a_huge_page_asks_so() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, 2 * HUGE);
    mm.madvise(space, at(HUGE), super::pages(HUGE), Madvise::HugePage, CPU).unwrap();
    for (page, direct) in [(0, false), (HUGE, true)] {
        let step = mm.fault_begin(space, at(page), Access::Write, CPU);
        let FaultStep::NeedPage(fault) = step else { panic!("{step:?}") };
        let request = fault.request(CPU);
        assert_eq!((request.order, request.gfp.has(Gfp::DIRECT_RECLAIM)), (Order::PAGEBLOCK, direct));
    }
    checked(&mm);
}
