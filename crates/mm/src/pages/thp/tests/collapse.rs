//! Slots that `MADV_COLLAPSE` collapses, and slots that it leaves alone.

use alloc::vec::Vec;

use order9_units::{NodeId, Order, Pages};

use super::{
    CPU, HUGE, HugeEnabled, access, at, boot, checked, fork, frame, is_huge, map, pages, program, read, write,
};
use crate::policy::Policy;
use crate::space::{Access, Errno, FaultStep, Madvise, SpaceId};
use crate::thp::CollapseFailure;
use crate::{Mm, Request};

/// A machine whose faults get base pages.
fn base_pages() -> Mm {
    let mut policy = Policy::default();
    policy.thp.madvise_collapse = true;
    let mut mm = boot(policy);
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    mm
}

/// Collapses the slot of `page`.
fn collapse(mm: &mut Mm, space: SpaceId, page: u64) -> Result<(), CollapseFailure> {
    let Some(plan) = mm.collapse_scan(space, at(page))? else { return Ok(()) };
    let head = mm.alloc_fast(&plan.request(CPU)).map_err(|_| CollapseFailure::AllocHugePage);
    mm.phys.collapse_allocated(&plan, head.is_ok());
    let done = mm.collapse_finish(&plan, head?, CPU);
    checked(mm);
    done
}

/// Slots that the call is about, by page, and how it ends.
fn range(mm: &mut Mm, space: SpaceId, first: u64, count: u64) -> Result<(Vec<u64>, Result<(), Errno>), Errno> {
    let range = mm.pages.collapse_range(space, at(first), pages(count), &mut mm.phys)?;
    let slots = range.mappings.into_iter().flatten().map(|slot| (slot.get() - at(0).get()) / pages(1).get()).collect();
    Ok((slots, range.end))
}

#[test]
fn pages_move_and_holes_are_filled() {
    let mut mm = base_pages();
    let space = program(&mut mm, HUGE);
    for page in (0..HUGE).step_by(3) {
        write(&mut mm, space, page);
    }
    read(&mut mm, space, 100);
    mm.take_work();
    assert_eq!(collapse(&mut mm, space, 0), Ok(()));
    let work = mm.take_work();
    assert_eq!((work.pages_copied, work.huge_parts_cleared, work.tlb_flushes), (171, 341, 1));
    assert_eq!((work.ranges_collapsed, work.pages_collapsed, work.parts_collapsed), (1, 171, 0));
    assert!(is_huge(&mm, space, 0));
    let (living, levels) = (mm.space(space).unwrap(), mm.pages.user_levels());
    assert_eq!((living.rss().anon_pages, living.page_tables()), (512, 1));
    assert_eq!((levels.anon, levels.anon_thps), (512, 1));
    let counters = mm.counters();
    assert_eq!((counters.thp_collapse_alloc, counters.thp_collapse_alloc_failed, counters.thp_fault_alloc), (1, 0, 0));
    assert_eq!(counters.collapse_filled, 341, "what nobody had touched");
    let faults = mm.counters().pgfault;
    write(&mut mm, space, 511);
    assert_eq!(mm.counters().pgfault, faults, "the huge mapping can be written");
    mm.exit(space, CPU).unwrap();
    checked(&mm);
}

#[test]
fn what_is_huge_stays_and_what_was_never_touched_is_left_alone() {
    let mut mm = base_pages();
    let space = program(&mut mm, HUGE);
    assert_eq!(collapse(&mut mm, space, 0), Err(CollapseFailure::PmdNull));
    mm.phys.set_thp_enabled(HugeEnabled::Always);
    write(&mut mm, space, 0);
    let before = frame(&mm, space, 0);
    assert_eq!((collapse(&mut mm, space, 0), frame(&mm, space, 0)), (Ok(()), before));
    assert_eq!(mm.counters().thp_collapse_alloc, 0);
}

#[test]
fn pins_and_missing_rights_forbid_it() {
    let mut mm = base_pages();
    let space = program(&mut mm, HUGE);
    read(&mut mm, space, 0);
    assert_eq!(collapse(&mut mm, space, 0), Err(CollapseFailure::PageRo));
    write(&mut mm, space, 9);
    let pinned = frame(&mm, space, 9);
    mm.pin(pinned).unwrap();
    assert_eq!(collapse(&mut mm, space, 0), Err(CollapseFailure::PageCount));
    mm.unpin(pinned).unwrap();
    assert_eq!(mm.counters().thp_collapse_alloc, 0, "nothing is allocated in vain");
    assert_eq!(collapse(&mut mm, space, 0), Ok(()));
}

#[test]
fn what_changes_meanwhile_is_seen() {
    let mut mm = base_pages();
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 9);
    let plan = mm.collapse_scan(space, at(0)).unwrap().unwrap();
    let head = mm.alloc_fast(&plan.request(CPU)).unwrap();
    let free = mm.phys.free_pages();
    mm.pin(frame(&mm, space, 9)).unwrap();
    assert_eq!(mm.collapse_finish(&plan, head, CPU), Err(CollapseFailure::PageCount));
    checked(&mm);
    mm.phys.frames.drain_all();
    assert!(mm.phys.free_pages() >= free + Pages::new(HUGE), "the huge page is free again");
    assert!(!is_huge(&mm, space, 0));
}

#[test]
fn shared_pages_are_copied_and_stay_with_the_others() {
    let mut mm = base_pages();
    let parent = program(&mut mm, HUGE);
    (0..4).for_each(|page| write(&mut mm, parent, page));
    let child = fork(&mut mm, parent);
    write(&mut mm, child, 1);
    let shared = frame(&mm, parent, 0);
    assert_eq!(collapse(&mut mm, child, 0), Ok(()));
    assert!(is_huge(&mm, child, 0) && !is_huge(&mm, parent, 0));
    assert_eq!((frame(&mm, parent, 0), mm.pages.user_levels().anon), (shared, 512 + 4));
}

#[test]
fn a_split_mapping_of_a_huge_page_becomes_huge_again() {
    let mut mm = base_pages();
    mm.phys.set_thp_enabled(HugeEnabled::Always);
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    mm.madvise(space, at(0), pages(7), Madvise::DontNeed, CPU).unwrap();
    assert_eq!(mm.pages.huge.deferred_splits(NodeId(0)), 1);
    mm.take_work();
    assert_eq!(collapse(&mut mm, space, 0), Ok(()));
    let work = mm.take_work();
    assert_eq!((work.ranges_collapsed, work.pages_collapsed, work.parts_collapsed), (1, 0, 505));
    assert!(is_huge(&mm, space, 0));
    assert_eq!(
        (mm.pages.huge.deferred_splits(NodeId(0)), mm.pages.user_levels().anon_thps),
        (0, 1),
        "the old page is free"
    );
    assert_eq!(access(&mut mm, space, at(3), Access::Read, true), FaultStep::Hit);
}

#[test]
fn want_of_huge_pages_is_counted() {
    let mut mm = base_pages();
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    let plan = mm.collapse_scan(space, at(0)).unwrap().unwrap();
    let Request { order, node, .. } = plan.request(CPU);
    assert_eq!((order, node), (Order::PAGEBLOCK, NodeId(0)));
    while mm.alloc_fast(&plan.request(CPU)).is_ok() {}
    assert_eq!(collapse(&mut mm, space, 0), Err(CollapseFailure::AllocHugePage));
    assert_eq!((mm.counters().thp_collapse_alloc, mm.counters().thp_collapse_alloc_failed), (0, 1));
}

#[test]
fn ranges_are_rounded_inwards_and_end_at_what_may_not_be_huge() {
    let mut mm = base_pages();
    let space = program(&mut mm, 4 * HUGE);
    assert_eq!(range(&mut mm, space, 0, 4 * HUGE), Ok((alloc::vec![0, HUGE, 2 * HUGE, 3 * HUGE], Ok(()))));
    assert_eq!(range(&mut mm, space, 1, 2 * HUGE), Ok((alloc::vec![HUGE], Ok(()))));
    assert_eq!(range(&mut mm, space, 1, HUGE), Ok((Vec::new(), Ok(()))));
    assert_eq!(range(&mut mm, space, 3 * HUGE, 2 * HUGE), Ok((alloc::vec![3 * HUGE], Err(Errno::Enomem))));
    mm.madvise(space, at(2 * HUGE), pages(HUGE), Madvise::NoHugePage, CPU).unwrap();
    assert_eq!(range(&mut mm, space, 0, 4 * HUGE), Ok((alloc::vec![0, HUGE], Err(Errno::Einval))));
    map(&mut mm, space, 5 * HUGE, HUGE);
    let gap = range(&mut mm, space, 3 * HUGE, 3 * HUGE);
    assert_eq!(gap, Ok((alloc::vec![3 * HUGE, 5 * HUGE], Err(Errno::Enomem))));
    let mut old = boot(Policy::default());
    let space = program(&mut old, HUGE);
    assert_eq!(range(&mut old, space, 0, HUGE), Err(Errno::Einval), "before 6.1");
}

#[test]
fn failures_have_the_errors_of_madvise() {
    use CollapseFailure::{AllocHugePage, PageCount, PageLock, PageLru, PageRo, PmdNull, PteNonPresent, VmaCheck};
    assert_eq!(AllocHugePage.errno(), Errno::Enomem);
    assert!([PageLock, PageLru].iter().all(|failure| failure.errno() == Errno::Eagain));
    let invalid = [PmdNull, VmaCheck, PteNonPresent, PageRo, PageCount];
    assert!(invalid.iter().all(|failure| failure.errno() == Errno::Einval));
}
