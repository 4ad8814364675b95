//! Huge pages that lose parts: truncation, holes, splits, swap.

use super::*;
use crate::policy::ShmemPunch;
use crate::reclaim::{PageWrite, ReclaimControl, ReclaimStep, Reclaimer};
use crate::{LruList, ZoneId};
use order9_units::ZoneKind;

/// A file with one huge page, written by a program at both ends and in the middle.
fn written(punch: ShmemPunch) -> (Mm, FileId, SpaceId) {
    let mut policy = Policy::default();
    policy.thp.shmem_punch = punch;
    let mut mm = boot(policy);
    mm.pages.swap.swapon(Pages::new(2000));
    let mount = mm.mount_tmpfs(ShmemHuge::Always).expect("the policy has it");
    let (file, space) = shared(&mut mm, mount, HUGE);
    [0, 250, 511].into_iter().for_each(|page| write(&mut mm, space, page));
    (mm, file, space)
}

#[test]
fn parts_that_are_punched_are_zeroed_or_freed_by_release() {
    for (punch, left) in [(ShmemPunch::Zero, HUGE), (ShmemPunch::Split, HUGE - 300)] {
        let (mut mm, file, space) = written(punch);
        mm.punch_hole(file, 200, Pages::new(300), CPU).expect("it is open");
        checked(&mm);
        assert_eq!((mm.pages.user_levels().shmem, mm.counters().thp_split_pmd), (left, 1));
        assert_eq!(mm.counters().thp_split_page, u64::from(punch == ShmemPunch::Split));
        [0, 250, 511].into_iter().for_each(|page| read(&mut mm, space, page));
        mm.punch_hole(file, 0, Pages::new(HUGE), CPU).expect("it is open");
        assert_eq!((mm.pages.user_levels().shmem, thps(&mm)), (0, (0, 0)), "all of it is freed");
        checked(&mm);
    }
}

#[test]
fn pinned_huge_pages_are_zeroed_in_part() {
    let (mut mm, file, _) = written(ShmemPunch::Split);
    mm.pin(mm.file_page(file, 3).expect("it is there")).expect("it is in use");
    mm.punch_hole(file, 0, Pages::new(100), CPU).expect("it is open");
    checked(&mm);
    assert_eq!((thps(&mm).0, mm.pages.user_levels().shmem, mm.counters().thp_split_page_failed), (1, HUGE, 1));
    let pinned = head(&mm, file, 0);
    mm.truncate(file, Pages::ZERO, CPU).expect("it is open");
    checked(&mm);
    let free = mm.phys.free_pages();
    mm.unpin(pinned).expect("it is pinned");
    assert_eq!((mm.phys.free_pages() - free, thps(&mm)), (Pages::new(HUGE), (0, 0)), "the pin kept the frame");
    checked(&mm);
}

#[test]
fn what_lies_beyond_the_end_never_comes_back_and_is_freed_when_memory_is_short() {
    let (mut mm, file, space) = written(ShmemPunch::Zero);
    mm.truncate(file, Pages::new(200), CPU).expect("it is open");
    assert_eq!((mm.pages.user_levels().shmem, mm.pages.cache.shmem_shrinkable()), (HUGE, 1));
    mm.truncate(file, Pages::new(HUGE), CPU).expect("it is open");
    [0, 250, 511].into_iter().for_each(|page| read(&mut mm, space, page));
    mm.truncate(file, Pages::new(200), CPU).expect("it is open");
    let pinned = head(&mm, file, 0);
    mm.pin(pinned).expect("it is in use");
    assert!(!mm.pages.shrink_shmem(CPU, &mut mm.phys) && mm.pages.cache.shmem_shrinkable() == 1, "a pin puts it off");
    mm.unpin(pinned).expect("it is pinned");
    assert!(mm.pages.shrink_shmem(CPU, &mut mm.phys));
    checked(&mm);
    assert_eq!((mm.pages.user_levels().shmem, thps(&mm), mm.pages.cache.shmem_shrinkable()), (200, (0, 0), 0));
    assert!(!mm.pages.shrink_shmem(CPU, &mut mm.phys));
}

#[test]
fn steps_of_a_truncation_end_at_a_huge_page_that_the_new_end_cuts() {
    for punch in [ShmemPunch::Zero, ShmemPunch::Split] {
        let (mut mm, file, _) = written(punch);
        let pinned = head(&mm, file, 0);
        mm.pin(pinned).expect("it is in use");
        let steps = (0..10).take_while(|_| mm.truncate_step(file, 200, CPU)).count();
        assert_eq!((steps, thps(&mm).0), (0, 1), "what stays is left to the truncation itself");
        mm.truncate(file, Pages::new(200), CPU).expect("it is open");
        assert_eq!(mm.pages.cache.file_size(file), Some(Pages::new(200)));
        mm.unpin(pinned).expect("it is pinned");
        checked(&mm);
    }
}

#[test]
fn a_split_needs_all_references_but_mappings_to_go() {
    let (mut mm, file, space) = written(ShmemPunch::Zero);
    let second = mm.create_space().expect("there are few");
    map_file(&mut mm, second, 0, file, 1, 100, true);
    write(&mut mm, second, 0);
    let page = head(&mm, file, 0);
    mm.pin(page).expect("it is in use");
    assert_eq!(mm.pages.split_huge_page(page, CPU, &mut mm.phys), Err(Errno::Ebusy));
    assert_eq!((thps(&mm), mm.counters().thp_split_page_failed), ((1, 1), 1));
    mm.unpin(page).expect("it is pinned");
    assert_eq!(mm.pages.split_huge_page(page, CPU, &mut mm.phys), Ok(()));
    checked(&mm);
    assert_eq!((thps(&mm), mm.pages.user_levels().mapped, mm.pages.user_levels().shmem), ((0, 0), 0, HUGE));
    assert_eq!(events(mm.counters())[2..], [1, 1, 1, 0], "all mappings went; nobody waits in the queue");
    [0, 250, 511].into_iter().for_each(|page| read(&mut mm, space, page));
}

#[test]
fn reclaim_splits_huge_pages_of_files_and_swaps_their_parts() {
    let (mut mm, file, space) = written(ShmemPunch::Zero);
    mm.truncate(file, Pages::new(500), CPU).expect("it is open");
    let first = head(&mm, file, 0);
    for _ in 0..2 {
        mm.pages.take_uses(mm.phys.frames.at(first), &mut mm.phys);
    }
    let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, 200, ZoneKind::Movable);
    control.priority = 0;
    let id = mm.begin_reclaim(control);
    mm.begin_lru_pass(id, ZoneId(0));
    while mm.reclaim_step(id, CPU) != ReclaimStep::Done {
        checked(&mm);
    }
    let run = mm.end_reclaim(id);
    assert_eq!((run.writes.len(), run.nr_reclaimed), (500, 12), "what lay beyond the end is free at once");
    assert_eq!(
        (thps(&mm), mm.pages.user_levels().shmem, mm.lru_pages(NodeId(0), LruList::Unevictable)),
        ((0, 0), 0, 0)
    );
    for write in run.writes {
        let PageWrite::Swap(write) = write else { panic!("{write:?} is of no file on disk") };
        mm.swap_written(write, CPU);
    }
    read(&mut mm, space, 250);
    assert_eq!(thps(&mm), (0, 0), "it comes back as a base page");
}

#[test]
fn whoever_moves_pages_splits_huge_ones_of_files_first() {
    let (mut mm, file, space) = written(ShmemPunch::Zero);
    let part = mm.file_page(file, 250).expect("it is there");
    mm.pin(part).expect("it is in use");
    assert_eq!(mm.follow_split(part, CPU), Err(Errno::Ebusy));
    mm.unpin(part).expect("it is pinned");
    assert_eq!((mm.follow_split(part, CPU), thps(&mm)), (Ok(()), (0, 0)));
    checked(&mm);
    [0, 250, 511].into_iter().for_each(|page| read(&mut mm, space, page));
}
