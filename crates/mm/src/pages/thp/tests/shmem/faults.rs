//! Pages that faults and system calls find and make.

use super::*;
use crate::space::Need;

#[test]
fn the_first_access_makes_all_of_a_range_huge_and_maps_it_at_once() {
    for access in [Access::Read, Access::Write] {
        let (mut mm, mount) = machine();
        let (file, space) = shared(&mut mm, mount, 2 * HUGE);
        let tables = mm.pages.user_levels().page_tables;
        super::access(&mut mm, space, at(77), access, true);
        assert_eq!((thps(&mm), file_events(&mm)), ((1, 1), [1, 0, 1]));
        let levels = mm.pages.user_levels();
        assert_eq!((levels.shmem, levels.mapped, levels.page_tables), (HUGE, HUGE, tables), "no table is kept");
        assert_eq!(mm.space(space).expect("it lives").rss().shmem_pages, HUGE);
        assert_eq!(mm.fault_begin(space, at(500), Access::Write, CPU), FaultStep::Hit);
        assert_eq!(head(&mm, file, 500), mm.file_page(file, 0).expect("it is huge"));
        let second = mm.create_space().expect("there are few");
        map_file(&mut mm, second, 0, file, 0, HUGE, true);
        read(&mut mm, second, 3);
        assert_eq!(
            (thps(&mm), file_events(&mm), mm.pages.mapcount(head(&mm, file, 0), &mm.phys)),
            ((1, 1), [1, 0, 2], 2)
        );
        let levels = mm.pages.user_levels();
        assert_eq!((levels.shmem_thps, levels.shmem_pmdmapped, levels.mapped), (1, 1, HUGE));
    }
}

#[test]
fn where_something_is_there_already_pages_are_single() {
    let (mut mm, mount) = machine();
    let (file, space) = shared(&mut mm, mount, 2 * HUGE);
    mm.remount_tmpfs(mount, ShmemHuge::Never).expect("it exists");
    write_call(&mut mm, file, 100, true);
    mm.remount_tmpfs(mount, ShmemHuge::Always).expect("it exists");
    write(&mut mm, space, 0);
    write(&mut mm, space, 100);
    assert_eq!((thps(&mm), file_events(&mm)), ((0, 0), [0; 3]), "and that is no fallback");
    write(&mut mm, space, HUGE);
    assert_eq!((thps(&mm), file_events(&mm)), ((1, 1), [1, 0, 1]));
}

#[test]
fn without_huge_page_there_is_a_base_page_and_a_count() {
    let (mut mm, mount) = machine();
    let (file, space) = shared(&mut mm, mount, 2 * HUGE);
    assert_eq!(access(&mut mm, space, at(5), Access::Write, false), FaultStep::Done);
    assert_eq!((thps(&mm), file_events(&mm)), ((0, 0), [0, 1, 0]));
    assert!(mm.file_page(file, 5).is_some() && mm.file_page(file, 4).is_none());
    write_call(&mut mm, file, HUGE, false);
    assert_eq!(file_events(&mm), [0, 2, 0]);
    assert_eq!(mm.pages.user_levels().shmem, 2);
}

#[test]
fn a_hole_that_was_filled_meanwhile_is_looked_at_again() {
    let (mut mm, mount) = machine();
    let (file, space) = shared(&mut mm, mount, HUGE);
    let FaultStep::NeedPage(fault) = mm.fault_begin(space, at(9), Access::Write, CPU) else {
        panic!("a page is needed")
    };
    assert_eq!(fault.need(), Need::HugeFilePage(file, 9));
    let page = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
    let free = mm.phys.free_pages();
    mm.remount_tmpfs(mount, ShmemHuge::Never).expect("it exists");
    write_call(&mut mm, file, 3, true);
    let step = mm.fault_finish(&fault, page, CPU);
    assert!(mm.phys.free_pages() > free, "the huge page is free again");
    assert_eq!(no_page(&step), Some(Need::PageTable), "and the fault goes on without");
    checked(&mm);
}

#[test]
fn what_is_not_congruent_is_mapped_page_by_page() {
    let (mut mm, mount) = machine();
    let (file, space) = shared(&mut mm, mount, 3 * HUGE);
    let second = mm.create_space().expect("there are few");
    map_file(&mut mm, second, 0, file, 1, 2 * HUGE, true);
    write(&mut mm, second, 16);
    assert_eq!((thps(&mm), file_events(&mm)), ((1, 0), [1, 0, 0]), "it is huge nevertheless");
    assert_eq!(mm.space(second).expect("it lives").rss().shmem_pages, 1, "a write maps one page");
    read(&mut mm, second, 33);
    assert_eq!(mm.space(second).expect("it lives").rss().shmem_pages, 17, "a read maps those around it");
    assert_eq!(mm.pages.user_levels().mapped, 17);
    write(&mut mm, space, 0);
    assert_eq!((thps(&mm), mm.pages.user_levels().mapped), ((1, 1), HUGE), "whoever is congruent maps it as a whole");
    assert_eq!(mm.pages.mapcount(mm.file_page(file, 17).expect("it is there"), &mm.phys), 2);
    mm.munmap(space, START, pages(3 * HUGE), CPU).expect("it is mapped");
    assert_eq!((thps(&mm), mm.pages.user_levels().mapped), ((1, 0), 17));
    checked(&mm);
}

#[test]
fn slots_with_a_page_table_show_huge_pages_by_single_entries() {
    let (mut mm, mount) = machine();
    let (_, space) = shared(&mut mm, mount, HUGE);
    access(&mut mm, space, at(0), Access::Write, false);
    mm.punch_hole(FileId::new(0), 0, Pages::new(1), CPU).expect("it is open");
    write(&mut mm, space, 7);
    assert_eq!((thps(&mm), file_events(&mm)), ((1, 0), [1, 1, 0]));
}

#[test]
fn system_calls_make_huge_pages_too() {
    let (mut mm, mount) = machine();
    let file = file(&mut mm, mount, 0);
    mm.truncate(file, Pages::new(600), CPU).expect("it is open");
    write_call(&mut mm, file, 10, true);
    write_call(&mut mm, file, 599, true);
    assert_eq!((thps(&mm), file_events(&mm), mm.pages.user_levels().shmem), ((2, 0), [2, 0, 0], 2 * HUGE));
    assert!(matches!(mm.shmem_page(file, 300), ShmemPage::Present(_)));
    let hole = mm.shmem_hole(SpaceId::default(), file, 599, CPU).expect("there is room");
    assert!(!hole.may_be_refused(), "the range is no longer empty");
}

#[test]
fn a_private_write_copies_one_page_and_unmaps_the_huge_one() {
    let (mut mm, mount) = machine();
    let file = file(&mut mm, mount, HUGE);
    let space = mm.create_space().expect("there are few");
    map_file(&mut mm, space, 0, file, 0, HUGE, false);
    read(&mut mm, space, 0);
    assert_eq!((thps(&mm), file_events(&mm)), ((1, 1), [1, 0, 1]), "a private mapping maps it as well");
    write(&mut mm, space, 5);
    assert_eq!((thps(&mm), mm.counters().thp_split_pmd, mm.pages.user_levels().anon), ((1, 0), 1, 1));
    let rss = mm.space(space).expect("it lives").rss();
    assert_eq!((rss.anon_pages, rss.shmem_pages), (1, 0));
    assert_ne!(mm.file_page(file, 5), Some(frame(&mm, space, 5)));
}

#[test]
fn addresses_are_congruent_to_places_in_the_file() {
    let (mut mm, mount) = machine();
    let file = file(&mut mm, mount, 4 * HUGE);
    let space = mm.create_space().expect("there are few");
    let start = |mm: &mut Mm, offset: u64, count: u64| {
        let backing = Backing::File { file, offset: Pages::new(offset), shared: true };
        let request = MmapRequest { backing, prot: Prot::RW, ..MmapRequest::anon(pages(count)) };
        let start = mm.mmap(space, &request, CPU).expect("there is room");
        checked(mm);
        start.vpn().get() % HUGE
    };
    assert_eq!([start(&mut mm, 0, 513), start(&mut mm, 3, 1021), start(&mut mm, 515, 1600)], [0, 3, 3]);
    assert_ne!(start(&mut mm, 3, 1020), 3, "no room for a huge page");
    assert_ne!(start(&mut mm, 0, 511), 0, "nor here");
    mm.remount_tmpfs(mount, ShmemHuge::Never).expect("it exists");
    assert_ne!(start(&mut mm, 0, 512), 0, "there will be none");
}
