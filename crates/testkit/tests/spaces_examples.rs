//! Address spaces by example: what Linux does in single situations, with the work it counts.

use order9_mm::policy::Policy;
use order9_mm::space::{
    Access, Backing, Errno, FaultStep, MAX_MAP_COUNT, Madvise, MmapRequest, Mremap, MremapRequest, MremapTo, Need,
    PageView, Place, Prot, TableStep, VirtAddr,
};
use order9_mm::{FileId, FreeError, Gfp, Mm, MmBuilder, Request, SpaceId, Work};
use order9_testkit::machines::tiny;
use order9_units::{Bytes, Order, PAGE_SIZE, Pages, Pfn};

const CPU: usize = 0;

fn boot() -> (Mm, SpaceId) {
    let builder = MmBuilder::new(&tiny(24, 1), Policy::default()).expect("the layout is sound");
    let mut mm = builder.content_tags().boot();
    let space = mm.create_space().expect("it is the first");
    (mm, space)
}

fn pages(count: u64) -> Bytes {
    Pages::new(count).bytes()
}

fn at(start: VirtAddr, page: u64) -> VirtAddr {
    VirtAddr::new(start.get() + pages(page).get())
}

fn map(mm: &mut Mm, space: SpaceId, count: u64) -> VirtAddr {
    mm.mmap(space, &MmapRequest::anon(pages(count)), CPU).expect("there is room")
}

fn touch(mm: &mut Mm, space: SpaceId, addr: VirtAddr, access: Access) -> FaultStep {
    let step = mm.touch(space, addr, access, CPU);
    mm.check().expect("every law holds");
    step
}

fn frame(mm: &Mm, space: SpaceId, addr: VirtAddr) -> Pfn {
    match mm.page_at(space, addr) {
        PageView::Present { pfn, .. } => pfn,
        other => panic!("{other:?} is mapped at {addr}"),
    }
}

fn fork(mm: &mut Mm, parent: SpaceId) -> SpaceId {
    let mut fork = mm.fork(parent).expect("the parent lives");
    loop {
        match mm.fork_step(&mut fork).expect("nobody interferes") {
            TableStep::Progress => {}
            TableStep::NeedTable(vpn) => {
                let table = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER)).expect("memory is free");
                mm.give_table(fork.child(), vpn, table, CPU);
            }
            TableStep::NeedCopy(_) => unreachable!("nothing is pinned"),
            TableStep::Done => return fork.child(),
        }
    }
}

#[test]
fn a_write_fault_takes_a_table_and_a_cleared_page() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 4);
    mm.take_work();
    assert_eq!(touch(&mut mm, space, start, Access::Write), FaultStep::Done);
    let work = mm.take_work();
    assert_eq!((work.faults, work.pages_cleared, work.ptes_set, work.page_tables_allocated), (1, 1, 1, 1));
    assert_eq!(touch(&mut mm, space, start, Access::Write), FaultStep::Hit);
    assert_eq!(mm.take_work(), Work::NONE);
    let living = mm.space(space).expect("it lives");
    assert_eq!((living.rss().anon_pages, living.page_tables()), (1, 1));
    assert_eq!(mm.counters().pgfault, 1);
}

#[test]
fn reads_share_the_page_of_zeros_until_written() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 2);
    assert_eq!(touch(&mut mm, space, start, Access::Read), FaultStep::Done);
    assert_eq!(mm.page_at(space, start), PageView::Zero);
    assert_eq!(mm.space(space).expect("it lives").rss().anon_pages, 0);
    assert_eq!(touch(&mut mm, space, start, Access::Write), FaultStep::Done);
    assert_eq!(mm.pages().mapcount(frame(&mm, space, start), mm.phys()), 1);
}

#[test]
fn only_the_first_writer_after_a_fork_copies() {
    let (mut mm, parent) = boot();
    let start = map(&mut mm, parent, 1);
    touch(&mut mm, parent, start, Access::Write);
    let page = frame(&mm, parent, start);
    let child = fork(&mut mm, parent);
    assert_eq!(mm.pages().mapcount(page, mm.phys()), 2);
    assert_eq!(mm.pages().mappings(page, mm.phys()), [(child, start), (parent, start)]);
    let before = mm.pages().read_tag(parent, start, mm.phys());
    mm.take_work();
    touch(&mut mm, child, start, Access::Write);
    assert_eq!((mm.take_work().pages_copied, mm.pages().mapcount(page, mm.phys())), (1, 1));
    assert_eq!(mm.pages().read_tag(parent, start, mm.phys()), before);
    touch(&mut mm, parent, start, Access::Write);
    assert_eq!((mm.take_work().pages_copied, frame(&mm, parent, start)), (0, page));
}

#[test]
fn a_pinned_page_survives_munmap_until_unpinned() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 1);
    touch(&mut mm, space, start, Access::Write);
    let page = frame(&mm, space, start);
    assert_eq!(mm.free(page, CPU), Err(FreeError::Owned(page)));
    mm.pin(page).expect("it is allocated");
    mm.munmap(space, start, PAGE_SIZE, CPU).expect("it is mapped");
    mm.check().expect("every law holds");
    let free = mm.frames().counters().pgfree;
    assert_eq!(mm.unpin(page), Ok(true));
    assert_eq!(mm.frames().counters().pgfree, free + 1);
    mm.check().expect("every law holds");
}

#[test]
fn shared_memory_is_one_page_for_parent_and_child() {
    let (mut mm, parent) = boot();
    let request = MmapRequest { backing: Backing::AnonShared, ..MmapRequest::anon(pages(3)) };
    let start = mm.mmap(parent, &request, CPU).expect("there is room");
    touch(&mut mm, parent, start, Access::Write);
    let child = fork(&mut mm, parent);
    assert_eq!(mm.page_at(child, start), PageView::None, "it can be had from the file again");
    touch(&mut mm, child, start, Access::Write);
    let page = frame(&mm, parent, start);
    assert_eq!((frame(&mm, child, start), mm.pages().mapcount(page, mm.phys())), (page, 2));
    assert_eq!(mm.pages().read_tag(parent, start, mm.phys()), mm.pages().read_tag(child, start, mm.phys()));
    mm.munmap(parent, start, pages(3), CPU).expect("it is mapped");
    mm.munmap(child, start, pages(3), CPU).expect("it is mapped");
    assert_eq!(mm.pages().user_levels().shmem, 0, "the last mapping takes the memory with it");
}

/// A private mapping of a new file of `count` pages without any.
fn private_file(mm: &mut Mm, space: SpaceId, count: u64) -> (FileId, VirtAddr) {
    let file = mm.create_file(Pages::new(count)).expect("few files exist");
    let backing = Backing::File { file, offset: Pages::ZERO, shared: false };
    let start = mm.mmap(space, &MmapRequest { backing, ..MmapRequest::anon(pages(count)) }, CPU).expect("free");
    (file, start)
}

#[test]
fn a_private_mapping_copies_what_it_writes() {
    let (mut mm, space) = boot();
    let (file, start) = private_file(&mut mm, space, 2);
    touch(&mut mm, space, start, Access::Read);
    let shown = frame(&mm, space, start);
    assert_eq!(mm.file_page(file, 0), Some(shown));
    mm.take_work();
    touch(&mut mm, space, start, Access::Write);
    let copy = frame(&mm, space, start);
    assert_eq!(
        (mm.take_work().pages_copied, mm.pages().mapcount(shown, mm.phys()), mm.pages().mapcount(copy, mm.phys())),
        (1, 0, 1)
    );
    assert_eq!(mm.file_page(file, 0), Some(shown), "the file is as it was");

    let tag = mm.pages().read_tag(space, start, mm.phys());
    mm.punch_hole(file, 0, Pages::new(2), CPU).expect("it is open");
    mm.check().expect("every law holds");
    assert_eq!(
        (mm.file_page(file, 0), mm.pages().read_tag(space, start, mm.phys())),
        (None, tag),
        "copies survive a hole"
    );
    mm.truncate(file, Pages::ZERO, CPU).expect("it is open");
    mm.check().expect("every law holds");
    assert_eq!(mm.page_at(space, start), PageView::None, "but not the end of the file");
}

#[test]
fn a_copy_whose_source_went_meanwhile_is_thrown_away() {
    let (mut mm, space) = boot();
    let (file, start) = private_file(&mut mm, space, 2);
    touch(&mut mm, space, at(start, 1), Access::Read);
    let page = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
    mm.add_file_page(file, 0, page, CPU).expect("the file is that large");
    let FaultStep::NeedPage(fault) = mm.fault_begin(space, start, Access::Write, CPU) else {
        panic!("it needs a copy")
    };
    assert_eq!(fault.need(), Need::CopyOf(page));
    let copy = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
    mm.punch_hole(file, 0, Pages::new(1), CPU).expect("it is open");
    assert_eq!(mm.fault_finish(&fault, copy, CPU), FaultStep::Retry);
    mm.check().expect("every law holds");
    assert_eq!(touch(&mut mm, space, start, Access::Write), FaultStep::Done);
}

#[test]
fn a_read_of_a_file_maps_what_lies_around() {
    let (mut mm, space) = boot();
    let file = mm.create_file(Pages::new(40)).expect("it is the first");
    for index in 0..40 {
        let page = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
        mm.add_file_page(file, index, page, CPU).expect("the file is that large");
    }
    let backing = Backing::File { file, offset: Pages::ZERO, shared: true };
    let place = Place::Fixed(VirtAddr::new(0x10_0000_0000));
    let start = mm.mmap(space, &MmapRequest { backing, place, ..MmapRequest::anon(pages(40)) }, CPU).expect("free");
    touch(&mut mm, space, at(start, 35), Access::Read);
    assert_eq!(mm.space(space).expect("it lives").rss().shmem_pages, 8, "pages 32 to 39");
    touch(&mut mm, space, at(start, 3), Access::Write);
    assert_eq!(mm.space(space).expect("it lives").rss().shmem_pages, 9, "writes map one page");
    mm.truncate(file, Pages::new(36), CPU).expect("it is open");
    assert_eq!(touch(&mut mm, space, at(start, 36), Access::Read), FaultStep::Bus);
    assert_eq!(mm.pages().user_levels().shmem, 36);
}

#[test]
fn discarding_keeps_tables_and_unmapping_frees_them() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 2);
    touch(&mut mm, space, start, Access::Write);
    mm.madvise(space, start, pages(2), Madvise::DontNeed, CPU).expect("it is mapped");
    assert_eq!((mm.page_at(space, start), mm.pages().user_levels().page_tables), (PageView::None, 1));
    mm.munmap(space, start, PAGE_SIZE, CPU).expect("it is mapped");
    assert_eq!(mm.pages().user_levels().page_tables, 1, "the other page is still mapped in the slot");
    mm.munmap(space, at(start, 1), PAGE_SIZE, CPU).expect("it is mapped");
    assert_eq!(mm.pages().user_levels().page_tables, 0);
}

#[test]
fn protection_splits_mappings_and_joins_them_again() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 9);
    let count = |mm: &Mm| mm.space(space).expect("it lives").vmas().count();
    mm.mprotect(space, at(start, 3), pages(3), Prot::READ).expect("it is mapped");
    assert_eq!(count(&mm), 3);
    assert_eq!(touch(&mut mm, space, at(start, 4), Access::Write), FaultStep::Segv);
    mm.mprotect(space, at(start, 3), pages(3), Prot::RW).expect("it is mapped");
    assert_eq!(count(&mm), 1);
    mm.madvise(space, start, pages(4), Madvise::HugePage, CPU).expect("it is mapped");
    mm.mlock(space, at(start, 8), PAGE_SIZE).expect("it is mapped");
    assert_eq!(count(&mm), 3);
    assert_eq!(mm.madvise(space, at(start, 8), PAGE_SIZE, Madvise::DontNeed, CPU), Err(Errno::Einval));
    assert_eq!(mm.mprotect(space, at(start, 7), pages(4), Prot::READ), Err(Errno::Enomem));
    assert_eq!(touch(&mut mm, space, at(start, 7), Access::Write), FaultStep::Segv, "the mapped part is protected");
}

#[test]
fn neighbours_join_when_the_gap_between_them_is_filled() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 3);
    mm.munmap(space, at(start, 1), PAGE_SIZE, CPU).expect("it is mapped");
    let request = MmapRequest { place: Place::FixedNoReplace(at(start, 1)), ..MmapRequest::anon(PAGE_SIZE) };
    mm.mmap(space, &request, CPU).expect("it is free");
    assert_eq!(mm.space(space).expect("it lives").vmas().count(), 1);
    assert_eq!(mm.mmap(space, &request, CPU), Err(Errno::Eexist));
}

#[test]
fn mappings_are_limited_in_number() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 2 * MAX_MAP_COUNT as u64);
    for page in 0..MAX_MAP_COUNT as u64 / 2 {
        let result = mm.mprotect(space, at(start, 2 * page + 1), PAGE_SIZE, Prot::READ);
        assert_eq!(result.is_ok(), 2 * page + 3 <= MAX_MAP_COUNT as u64);
    }
    let middle = at(start, MAX_MAP_COUNT as u64 + 100);
    assert_eq!(mm.munmap(space, middle, PAGE_SIZE, CPU), Err(Errno::Enomem), "a hole would make one mapping more");
    mm.check().expect("every law holds");
}

#[test]
fn a_mapping_grows_in_place_or_moves_with_its_pages() {
    let (mut mm, space) = boot();
    let top = map(&mut mm, space, 1);
    let low = map(&mut mm, space, 2);
    touch(&mut mm, space, low, Access::Write);
    let (page, tag) = (frame(&mm, space, low), mm.pages().read_tag(space, low, mm.phys()));
    mm.mprotect(space, top, PAGE_SIZE, Prot::READ).expect("it is mapped");
    let stay = mm.mremap(
        space,
        &MremapRequest { addr: low, old_length: pages(2), new_length: pages(4), to: MremapTo::InPlace },
        CPU,
    );
    assert_eq!(stay.err(), Some(Errno::Enomem), "the upper mapping is in the way");
    let Ok(Mremap::Moving(mut run)) = mm.mremap(
        space,
        &MremapRequest { addr: low, old_length: pages(2), new_length: pages(4), to: MremapTo::MayMove },
        CPU,
    ) else {
        panic!("it has to move");
    };
    let last = loop {
        let step = mm.move_step(&mut run, CPU).expect("nobody interferes");
        if step != TableStep::Progress {
            break step;
        }
    };
    assert_eq!(last, TableStep::Done, "old and new place share a page table");
    assert_eq!((frame(&mm, space, run.to()), mm.pages().read_tag(space, run.to(), mm.phys())), (page, tag));
    assert_eq!(
        (mm.page_at(space, low), mm.pages().mappings(page, mm.phys())),
        (PageView::None, vec![(space, run.to())])
    );
    let wrong = mm.mremap(
        space,
        &MremapRequest { addr: low, old_length: pages(1), new_length: pages(2), to: MremapTo::MayMove },
        CPU,
    );
    assert_eq!(wrong.err(), Some(Errno::Efault));
}

#[test]
fn a_moved_mapping_joins_its_new_neighbours() {
    let (mut mm, space) = boot();
    let start = map(&mut mm, space, 3);
    let middle = at(start, 1);
    let far = VirtAddr::new(0x10_0000_0000);
    for (from, to) in [(middle, far), (far, middle)] {
        let to = MremapTo::Fixed(to);
        let Ok(Mremap::Moving(mut run)) =
            mm.mremap(space, &MremapRequest { addr: from, old_length: PAGE_SIZE, new_length: PAGE_SIZE, to }, CPU)
        else {
            panic!("it has to move");
        };
        assert_eq!(mm.move_step(&mut run, CPU), Ok(TableStep::Done), "it has no pages");
    }
    assert_eq!(mm.space(space).expect("it lives").vmas().count(), 1);
}

#[test]
fn calls_refuse_what_linux_refuses() {
    let (mut mm, space) = boot();
    let odd = VirtAddr::new(0x1_0001);
    let anon = MmapRequest::anon(PAGE_SIZE);
    assert_eq!(mm.mmap(space, &MmapRequest::anon(Bytes::ZERO), CPU), Err(Errno::Einval));
    assert_eq!(mm.mmap(space, &MmapRequest::anon(Bytes::new(u64::MAX)), CPU), Err(Errno::Enomem));
    assert_eq!(mm.mmap(space, &MmapRequest { place: Place::Fixed(odd), ..anon }, CPU), Err(Errno::Einval));
    let low = VirtAddr::new(0x1000);
    assert_eq!(mm.mmap(space, &MmapRequest { place: Place::Fixed(low), ..anon }, CPU), Err(Errno::Eperm));
    assert_eq!(mm.munmap(space, odd, PAGE_SIZE, CPU), Err(Errno::Einval));
    assert_eq!(mm.munmap(space, low, Bytes::ZERO, CPU), Err(Errno::Einval));
    assert_eq!(mm.munmap(space, low, PAGE_SIZE, CPU), Ok(()), "nothing mapped is no error");
    assert_eq!(mm.mprotect(space, low, Bytes::ZERO, Prot::READ), Ok(()));
    assert_eq!(mm.mprotect(space, low, PAGE_SIZE, Prot::READ), Err(Errno::Enomem));
    assert_eq!(mm.madvise(space, odd, PAGE_SIZE, Madvise::HugePage, CPU), Err(Errno::Einval));
    assert_eq!(mm.mlock(space, low, PAGE_SIZE), Err(Errno::Enomem));
    assert_eq!(mm.create_file(Pages::new(u64::MAX)), Err(Errno::Efbig));
    assert_eq!(touch(&mut mm, space, low, Access::Read), FaultStep::Segv);
    assert_eq!(mm.counters().pgfault, 0);
    mm.exit(space, CPU).expect("it lives");
    assert_eq!(mm.mmap(space, &anon, CPU), Err(Errno::Esrch));
}
