//! Mounts with `size=`, and what becomes of them when they are full.

use super::*;
use crate::shmem::{Statfs, TmpfsOptions, TmpfsSize};
use crate::space::Madvise;

fn size(count: u64) -> TmpfsSize {
    TmpfsSize::Bytes(pages(count))
}

/// A machine with a mount of so many pages, and whether that has huge ones.
fn limited(huge: ShmemHuge, count: u64) -> (Mm, MountId) {
    let (mut mm, _) = machine();
    let mount = mm.mount_tmpfs(TmpfsOptions::from(huge).sized(size(count))).expect("the policy has it");
    (mm, mount)
}

/// Pages that files may hold, and those that are free.
fn df(mm: &Mm, mount: MountId) -> (u64, u64) {
    let Statfs { blocks, free } = mm.pages.cache.statfs(mount).expect("it exists");
    (blocks.get(), free.get())
}

#[test]
fn a_mount_has_half_of_memory_and_the_one_of_the_kernel_no_limit() {
    let (mut mm, mount) = machine();
    let memory = mm.phys.managed_pages().get();
    assert_eq!(df(&mm, mount), (memory / 2, memory / 2));
    assert_eq!((df(&mm, MountId::INTERNAL), mm.pages.cache.statfs(MountId(9))), ((0, 0), None));
    let tenth = mm.mount_tmpfs(TmpfsSize::Percent(10)).expect("it is allowed");
    assert_eq!(df(&mm, tenth).0, (memory * 4096 / 10).div_ceil(4096));
}

#[test]
fn pages_count_in_memory_and_in_swap_until_they_leave_their_file() {
    let (mut mm, mount) = limited(ShmemHuge::Always, 3 * HUGE);
    let (file, space) = shared(&mut mm, mount, 2 * HUGE);
    write(&mut mm, space, 0);
    assert_eq!(df(&mm, mount), (3 * HUGE, 2 * HUGE), "a huge page counts 512");
    let first = mm.file_page(file, 0).expect("it is there");
    mm.pages.split_huge_page(first, CPU, &mut mm.phys).expect("nobody has it pinned");
    swap_out(&mut mm, first);
    assert_eq!(df(&mm, mount).1, 2 * HUGE, "in swap as well");
    read(&mut mm, space, 0);
    mm.punch_hole(file, 0, Pages::new(12), CPU).expect("it is open");
    assert_eq!(df(&mm, mount).1, 2 * HUGE + 12);
    mm.exit(space, CPU).expect("it lives");
    mm.close_file(file, CPU).expect("it is open");
    checked(&mm);
    assert_eq!(df(&mm, mount).1, 3 * HUGE);
}

/// Swaps out a page.
fn swap_out(mm: &mut Mm, page: Pfn) {
    let idx = mm.phys.frames.at(page);
    mm.pages.unmap_everywhere(idx, &mut mm.phys);
    assert!(mm.pages.shmem_to_swap(idx, &mut mm.phys), "there is room in swap");
    checked(mm);
}

#[test]
fn on_a_full_mount_calls_fail_and_faults_are_fatal() {
    let (mut mm, mount) = limited(ShmemHuge::Never, 3);
    let (file, space) = shared(&mut mm, mount, 10);
    (0..3).for_each(|page| write(&mut mm, space, page));
    let fault = mm.touch(space, at(3), Access::Read, CPU);
    assert_eq!((fault, df(&mm, mount)), (FaultStep::Bus, (3, 0)));
    assert_eq!(mm.shmem_hole(SpaceId::default(), file, 3, CPU), Err(Errno::Enospc));
    read(&mut mm, space, 2);
    mm.madvise(space, at(1), pages(1), Madvise::Remove, CPU).expect("it is shared and writable");
    write_call(&mut mm, file, 3, false);
    assert_eq!(df(&mm, mount), (3, 0));
}

#[test]
fn a_hole_is_refused_its_page_where_the_mount_is_full_by_then() {
    let (mut mm, mount) = limited(ShmemHuge::Always, HUGE);
    let (file, space) = shared(&mut mm, mount, 2 * HUGE);
    let hole = mm.shmem_hole(SpaceId::default(), file, 0, CPU).expect("there is room");
    let page = mm.alloc_fast(&hole.request(CPU)).expect("there is memory");
    write(&mut mm, space, HUGE);
    let free = mm.phys.free_pages();
    assert_eq!(mm.fill_shmem_hole(&hole, page, CPU), Ok(()));
    assert_eq!((mm.phys.free_pages() - free, mm.file_page(file, 0)), (Pages::new(HUGE), None));
    assert_eq!(
        mm.shmem_hole(SpaceId::default(), file, 0, CPU),
        Err(Errno::Enospc),
        "the caller sees it when it looks again"
    );
    checked(&mm);
}

#[test]
fn without_room_for_a_huge_page_there_are_base_pages_and_no_fallback() {
    let (mut mm, mount) = limited(ShmemHuge::Always, HUGE + 100);
    let (file, space) = shared(&mut mm, mount, 3 * HUGE);
    write(&mut mm, space, 0);
    write(&mut mm, space, HUGE);
    write_call(&mut mm, file, 2 * HUGE, true);
    assert_eq!((thps(&mm), file_events(&mm)), ((1, 1), [1, 0, 1]), "none was asked for");
    assert_eq!(df(&mm, mount).1, 98);
}

#[test]
fn a_full_mount_splits_huge_pages_that_reach_beyond_the_end() {
    let (mut mm, mount) = limited(ShmemHuge::Always, 2 * HUGE);
    let files = [100, 200].map(|count| shared(&mut mm, mount, count));
    let (other, space) = shared(&mut mm, mount, 2 * HUGE);
    files.iter().for_each(|&(_, space)| write(&mut mm, space, 0));
    assert_eq!((df(&mm, mount).1, thps(&mm).0), (0, 2));
    // The first one cannot be split, the second can.
    let pinned = head(&mm, files[0].0, 0);
    mm.pin(pinned).expect("it is in use");
    write(&mut mm, space, 0);
    assert_eq!((df(&mm, mount).1, thps(&mm).0), (HUGE - 200 - 1, 1));
    checked(&mm);
    (1..HUGE - 200).for_each(|page| write(&mut mm, space, page));
    let failed = mm.counters().thp_split_page_failed;
    assert_eq!(mm.shmem_hole(SpaceId::default(), other, HUGE, CPU), Err(Errno::Enospc));
    assert_eq!(mm.counters().thp_split_page_failed - failed, 5, "so many tries");
    mm.unpin(pinned).expect("it is pinned");
    write_call(&mut mm, other, HUGE, true);
    assert_eq!((df(&mm, mount).1, thps(&mm).0), (HUGE - 100 - 1, 0));
}

#[test]
fn other_mounts_are_left_alone_when_one_is_full() {
    let (mut mm, mount) = limited(ShmemHuge::Never, 1);
    let large = mm.mount_tmpfs(ShmemHuge::Always).expect("the policy has it");
    let (_, beyond) = shared(&mut mm, large, 100);
    write(&mut mm, beyond, 0);
    let (_, space) = shared(&mut mm, mount, 10);
    write(&mut mm, space, 0);
    assert_eq!(mm.touch(space, at(1), Access::Write, CPU), FaultStep::Bus);
    assert_eq!((thps(&mm).0, mm.pages.cache.shmem_shrinkable()), (1, 1));
}

#[test]
fn remounting_changes_the_size_but_not_below_what_is_used() {
    let (mut mm, mount) = limited(ShmemHuge::Always, 600);
    let (_, space) = shared(&mut mm, mount, HUGE);
    write(&mut mm, space, 0);
    assert_eq!(mm.remount_tmpfs(mount, size(511)), Err(Errno::Einval));
    let refused = mm.remount_tmpfs(mount, TmpfsOptions::from(ShmemHuge::Never).sized(size(511)));
    assert_eq!((refused, mm.pages.cache.tmpfs_huge(mount)), (Err(Errno::Einval), Some(ShmemHuge::Always)));
    assert_eq!((mm.remount_tmpfs(mount, size(512)), df(&mm, mount)), (Ok(()), (512, 0)));
    assert_eq!(mm.remount_tmpfs(mount, ShmemHuge::Never), Ok(()));
    assert_eq!(df(&mm, mount), (512, 0), "what is not said stays");
    assert_eq!((mm.remount_tmpfs(mount, size(0)), df(&mm, mount)), (Ok(()), (0, 0)));
    assert_eq!(mm.remount_tmpfs(mount, size(600)), Err(Errno::Einval), "what had no limit gets none");
}
