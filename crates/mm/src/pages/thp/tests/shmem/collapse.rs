//! Collapse of ranges of files.

use super::*;
use crate::shmem::TmpfsSize;
use crate::thp::tests::khugepaged::pass;
use crate::thp::{CollapseFailure, KhugepagedStep};

/// A file whose pages from 0 to `count` are there, singly, written by the program that maps all of it.
fn base_pages(policy: Policy, count: u64) -> (Mm, MountId, FileId, SpaceId) {
    let mut mm = boot(policy);
    mm.pages.swap.swapon(Pages::new(2000));
    let mount = mm.mount_tmpfs(ShmemHuge::Never).expect("it is allowed");
    let (file, space) = shared(&mut mm, mount, HUGE);
    (0..count).for_each(|page| write(&mut mm, space, page));
    mm.remount_tmpfs(mount, ShmemHuge::Always).expect("it exists");
    (mm, mount, file, space)
}

fn newest() -> Policy {
    let mut policy = Policy::default();
    (policy.thp.madvise_collapse, policy.thp.shmem_retract, policy.thp.max_ptes_shared) = (true, true, true);
    policy
}

fn collapse(mm: &mut Mm, space: SpaceId, first: u64) -> Result<(), CollapseFailure> {
    let Some(plan) = mm.collapse_scan(space, at(first))? else { return Ok(()) };
    let page = mm.alloc_fast(&plan.request(CPU)).expect("memory is free");
    mm.phys.collapse_allocated(&plan, true);
    while let Some(swapped) = mm.pages.collapse_swapped(&plan, &mm.phys) {
        access(mm, space, swapped, Access::Read, true);
    }
    let end = mm.collapse_finish(&plan, page, CPU);
    checked(mm);
    end
}

#[test]
fn khugepaged_collapses_files_and_all_who_map_them_see_it() {
    let (mut mm, _, file, space) = base_pages(Policy::default(), 300);
    let second = mm.create_space().expect("there are few");
    map_file(&mut mm, second, 0, file, 0, HUGE, true);
    read(&mut mm, second, 0);
    mm.pages.huge.khugepaged_register(space, &mut mm.phys);
    let tables = mm.pages.user_levels().page_tables;
    mm.take_work();
    pass(&mut mm, true);
    let work = mm.take_work();
    assert_eq!((work.ranges_collapsed, work.pages_collapsed, work.parts_collapsed), (1, 300, 0));
    assert_eq!(
        (thps(&mm), mm.pages.huge.khugepaged_pages_collapsed(), mm.pages.user_levels().shmem),
        ((1, 0), 1, HUGE)
    );
    assert_eq!(mm.counters().thp_collapse_alloc, 1);
    assert_eq!(file_events(&mm), [0; 3]);
    assert_eq!(tables - mm.pages.user_levels().page_tables, 2, "both lose their page table");
    for program in [space, second] {
        read(&mut mm, program, 299);
        assert!(is_huge(&mm, program, 0), "the next access maps it");
    }
}

#[test]
fn a_look_at_a_file_ends_the_visit() {
    let (mut mm, mount, _, space) = base_pages(Policy::default(), 1);
    let second = file(&mut mm, mount, HUGE);
    map_file(&mut mm, space, HUGE, second, 0, HUGE, true);
    read(&mut mm, space, HUGE);
    mm.phys.settings.thp.khugepaged.max_ptes_none = 0;
    mm.pages.huge.khugepaged_register(space, &mut mm.phys);
    mm.pages.huge.khugepaged_begin_pass();
    let mut visits = 0;
    while let Some(visited) = mm.khugepaged_next() {
        assert_eq!((visited, mm.khugepaged_scan()), (space, KhugepagedStep::Leave));
        visits += 1;
    }
    assert_eq!(
        (visits, mm.pages.huge.khugepaged_full_scans()),
        (3, 1),
        "once for each slot, and once to see that nothing is left"
    );
}

#[test]
fn limits_on_holes_and_swap_hold_for_files() {
    let exceed = Some(CollapseFailure::ExceedNonePte);
    for (max_none, count, failure) in [(HUGE - 301, 300, exceed), (HUGE - 300, 300, None), (HUGE - 1, 0, exceed)] {
        let (mut mm, _, _, space) = base_pages(Policy::default(), count);
        mm.phys.settings.thp.khugepaged.max_ptes_none = max_none;
        mm.pages.huge.khugepaged_register(space, &mut mm.phys);
        let plan =
            mm.pages.collapse_scan_by(space, START.vpn(), crate::thp::rules::Collapser::Khugepaged, &mut mm.phys);
        assert_eq!(plan.err(), failure);
    }
    let (mut mm, _, file, space) = base_pages(newest(), 300);
    let first = mm.phys.frames.at(mm.file_page(file, 0).expect("it is there"));
    mm.pages.unmap_everywhere(first, &mut mm.phys);
    assert!(mm.pages.shmem_to_swap(first, &mut mm.phys));
    mm.phys.settings.thp.khugepaged.max_ptes_swap = 0;
    let plan = mm.pages.collapse_scan_by(space, START.vpn(), crate::thp::rules::Collapser::Khugepaged, &mut mm.phys);
    assert_eq!(plan.err(), Some(CollapseFailure::ExceedSwapPte));
    assert_eq!(collapse(&mut mm, space, 0), Ok(()), "the program may have it read back");
    assert_eq!((thps(&mm), mm.pages.swap.swap_free()), ((1, 0), mm.pages.swap.swap_total()));
}

#[test]
fn pins_and_holes_alone_forbid_it_and_leave_everything_as_it_was() {
    let (mut mm, _, file, space) = base_pages(newest(), 0);
    assert_eq!((collapse(&mut mm, space, 0), mm.file_page(file, 0)), (Err(CollapseFailure::Truncated), None));
    let (mut mm, _, file, space) = base_pages(newest(), 20);
    let pinned = mm.file_page(file, 7).expect("it is there");
    let plan = mm.collapse_scan(space, START).expect("it can be collapsed").expect("it is not huge");
    mm.pin(pinned).expect("it is in use");
    let page = mm.alloc_fast(&plan.request(CPU)).expect("memory is free");
    assert_eq!(mm.collapse_finish(&plan, page, CPU), Err(CollapseFailure::PageCount));
    checked(&mm);
    assert_eq!((thps(&mm), mm.pages.user_levels().shmem, mm.file_page(file, 7)), ((0, 0), 20, Some(pinned)));
    mm.unpin(pinned).expect("it is pinned");
    assert_eq!(collapse(&mut mm, space, 0), Ok(()));
}

#[test]
fn private_copies_stay_when_their_file_is_collapsed() {
    let (mut mm, _, file, space) = base_pages(newest(), 300);
    let second = mm.create_space().expect("there are few");
    map_file(&mut mm, second, 0, file, 0, HUGE, false);
    write(&mut mm, second, 9);
    read(&mut mm, second, 40);
    assert_eq!(collapse(&mut mm, space, 0), Ok(()));
    assert_eq!((mm.pages.user_levels().anon, thps(&mm)), (1, (1, 0)));
    read(&mut mm, second, 9);
    read(&mut mm, second, 40);
    assert!(!is_huge(&mm, second, 0), "its page table has to stay");
}

#[test]
fn huge_pages_shown_by_single_entries_are_mapped_anew_from_5_4_on() {
    for (retract, expected) in [(false, Err(CollapseFailure::PageCompound)), (true, Ok(None))] {
        let mut policy = newest();
        policy.thp.shmem_retract = retract;
        let (mut mm, mount, file, space) = base_pages(policy, 1);
        mm.punch_hole(file, 0, Pages::new(1), CPU).expect("it is open");
        mm.remount_tmpfs(mount, ShmemHuge::Always).expect("it exists");
        write(&mut mm, space, 3);
        assert_eq!(thps(&mm), (1, 0), "the slot has a page table");
        assert_eq!(mm.collapse_scan(space, START), expected);
        checked(&mm);
        read(&mut mm, space, 3);
        assert_eq!(thps(&mm), (1, u64::from(retract)));
    }
}

#[test]
fn collapse_needs_room_for_what_it_fills() {
    let (mut mm, mount, _, space) = base_pages(newest(), 1);
    let size = |count| TmpfsSize::Bytes(pages(count));
    mm.remount_tmpfs(mount, size(HUGE - 1)).expect("it holds less");
    assert_eq!(collapse(&mut mm, space, 0), Err(CollapseFailure::Fail));
    assert_eq!((thps(&mm).0, mm.pages.user_levels().shmem), (0, 1));
    mm.remount_tmpfs(mount, size(HUGE)).expect("it holds less");
    assert_eq!((collapse(&mut mm, space, 0), thps(&mm).0), (Ok(()), 1));
    assert_eq!(mm.pages.cache.statfs(mount).expect("it exists").free, Pages::ZERO);
}
