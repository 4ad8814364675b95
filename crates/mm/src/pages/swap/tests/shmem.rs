//! Swap of pages of tmpfs, which belong to a file whether or not anybody maps it.

use alloc::vec::Vec;

use super::*;
use crate::page_cache::FileId;
use crate::shmem::ShmemPage;
use crate::slab::tests::Random;
use crate::space::{Backing, Madvise, Place, Prot};

const PAGES: u64 = 40;

fn map(mm: &mut Mm, space: SpaceId, file: FileId, shared: bool) -> VirtAddr {
    let backing = Backing::File { file, offset: Pages::ZERO, shared };
    let length = mm.pages.cache.file_size(file).expect("it exists").bytes();
    let request = MmapRequest { place: Place::Anywhere, length, prot: Prot::RW, backing, locked: false };
    mm.mmap(space, &request, CPU).expect("there is room")
}

/// A file with [`PAGES`] pages, written by the program that maps it, and not used since.
fn shared_memory(mm: &mut Mm) -> (FileId, SpaceId, VirtAddr) {
    let file = mm.create_file(Pages::new(PAGES)).expect("it is the first");
    let space = mm.create_space().expect("it is the first");
    let start = map(mm, space, file, true);
    for at in 0..PAGES {
        assert_eq!(access(mm, space, page(start, at), Access::Write), FaultStep::Done);
    }
    forget_uses(mm);
    (file, space, start)
}

fn read(mm: &mut Mm, space: SpaceId, addr: VirtAddr) {
    assert!(matches!(access(mm, space, addr, Access::Read), FaultStep::Done | FaultStep::Hit));
    mm.check().expect("every law holds");
}

/// Makes the system call that needs a page of the file.
fn bring_in(mm: &mut Mm, file: FileId, index: u64) -> Option<Pfn> {
    loop {
        match mm.shmem_page(file, index) {
            ShmemPage::Present(pfn) => return Some(pfn),
            ShmemPage::Hole => return None,
            ShmemPage::Swapped(slot) => {
                let page =
                    mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
                mm.shmem_swap_in(file, index, slot, page, CPU);
            }
        }
    }
}

#[test]
fn pages_of_tmpfs_that_go_to_memory_are_free_in_the_same_pass() {
    let mut mm = boot(0);
    mm.swapon_in_memory(Pages::new(100));
    let (file, space, start) = shared_memory(&mut mm);
    let (freed, writes) = pass(&mut mm);
    assert_eq!((freed, writes.len(), mm.counters().pswpout), (40, 40, 40));
    written(&mut mm, &writes);
    assert_eq!((mm.pages.swap.swap_cached(), mm.pages.user_levels().shmem), (Pages::ZERO, 0));
    assert_eq!((mm.file_page(file, 0), mm.page_at(space, start)), (None, PageView::None));
    read(&mut mm, space, page(start, 7));
    assert!(mm.file_page(file, 7).is_some() && mm.pages.user_levels().shmem == 1);
}

#[test]
fn pages_of_tmpfs_leave_their_file_for_swap_and_come_back() {
    let mut mm = boot(100);
    let (file, space, start) = shared_memory(&mut mm);
    let (freed, writes) = pass(&mut mm);
    assert_eq!((freed, writes.len(), mm.counters().pswpout), (0, 40, 40));
    assert_eq!(
        (mm.pages.swap.swap_free(), mm.pages.swap.swap_cached(), mm.pages.user_levels().shmem),
        (Pages::new(60), Pages::new(40), 0)
    );
    assert_eq!((mm.file_page(file, 0), mm.page_at(space, start)), (None, PageView::None));
    written(&mut mm, &writes);
    assert_eq!((pass(&mut mm).0, mm.pages.swap.swap_cached()), (40, Pages::ZERO));
    read(&mut mm, space, page(start, 7));
    let counters = mm.counters();
    assert_eq!((counters.pswpin, counters.pgmajfault, mm.pages.swap.swap_free()), (1, 1, Pages::new(61)));
    assert!(mm.file_page(file, 7).is_some() && mm.pages.user_levels().shmem == 1);
    assert_eq!(counters.workingset_refault[0], 1);
}

#[test]
fn a_page_that_is_still_in_memory_is_the_files_again_without_a_read() {
    let mut mm = boot(100);
    let (file, space, start) = shared_memory(&mut mm);
    let (_, writes) = pass(&mut mm);
    written(&mut mm, &writes[20..]);
    for at in 0..PAGES {
        assert_eq!(access(&mut mm, space, page(start, at), Access::Write), FaultStep::Done);
    }
    assert_eq!((mm.counters().pswpin, mm.pages.user_levels().shmem), (0, 40));
    assert_eq!(
        (mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()),
        (Pages::new(80), Pages::new(20)),
        "20 are still being written"
    );
    written(&mut mm, &writes[..20]);
    assert_eq!((mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()), (Pages::new(100), Pages::ZERO));
    assert_eq!(mm.file(file).map(|file| file.pages()), Some(Pages::new(40)));
}

#[test]
fn truncation_and_holes_free_slots() {
    let mut mm = boot(100);
    let (file, space, start) = shared_memory(&mut mm);
    let (_, writes) = pass(&mut mm);
    mm.punch_hole(file, 3, Pages::new(2), CPU).expect("it is open");
    mm.check().expect("every law holds");
    written(&mut mm, &writes[..10]);
    read(&mut mm, space, page(start, 39)); // It is being written, and truncated at that.
    mm.truncate(file, Pages::new(20), CPU).expect("it is open");
    mm.check().expect("every law holds");
    written(&mut mm, &writes[10..]);
    assert_eq!(mm.pages.swap.swap_free(), Pages::new(100 - 18));
    assert_eq!((bring_in(&mut mm, file, 3), mm.shmem_page(file, 25)), (None, ShmemPage::Hole));
    mm.munmap(space, start, Pages::new(PAGES).bytes(), CPU).expect("it is mapped");
    mm.close_file(file, CPU).expect("it is open");
    mm.check().expect("every law holds");
    assert_eq!(
        (mm.pages.swap.swap_free(), mm.pages.swap.swap_cached()),
        (Pages::new(100), Pages::ZERO),
        "the file is gone"
    );
}

#[test]
fn all_who_map_a_page_lose_it_and_one_read_serves_them() {
    let mut mm = boot(100);
    let (file, first, start) = shared_memory(&mut mm);
    let second = mm.create_space().expect("there are few");
    let (shared, private) = (map(&mut mm, second, file, true), map(&mut mm, second, file, false));
    for at in 0..PAGES {
        read(&mut mm, second, page(shared, at));
        read(&mut mm, second, page(private, at));
    }
    access(&mut mm, second, page(private, 1), Access::Write);
    forget_uses(&mut mm);
    assert_eq!(swap_out(&mut mm), 41, "a copy of its own, too");
    for (space, addr) in [(first, start), (second, shared), (second, page(private, 1)), (second, private)] {
        assert_ne!(access(&mut mm, space, addr, Access::Read), FaultStep::Hit);
    }
    assert_eq!(mm.counters().pswpin, 2, "page 0 of the file, and the copy");
    let pfn = mm.file_page(file, 0).expect("it was read");
    assert_eq!(mm.pages.mapcount(pfn, &mm.phys), 3);
}

#[test]
fn system_calls_read_it_back() {
    let mut mm = boot(100);
    let (file, ..) = shared_memory(&mut mm);
    assert_eq!(swap_out(&mut mm), 40);
    let slot = match mm.shmem_page(file, 5) {
        ShmemPage::Swapped(slot) => slot,
        other => panic!("{other:?}"),
    };
    let pages = [0; 2].map(|_| mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("free"));
    let free = mm.phys.free_pages();
    mm.shmem_swap_in(file, 5, slot, pages[0], CPU);
    mm.shmem_swap_in(file, 5, slot, pages[1], CPU);
    mm.check().expect("every law holds");
    assert_eq!((mm.shmem_page(file, 5), mm.counters().pswpin), (ShmemPage::Present(pages[0]), 1));
    assert_eq!(mm.phys.free_pages(), free + Pages::new(1), "who came second has read in vain");
}

#[test]
fn without_slots_or_rights_pages_of_tmpfs_stay() {
    let mut mm = boot(10);
    let (file, ..) = shared_memory(&mut mm);
    let (_, writes) = pass(&mut mm);
    assert_eq!((writes.len(), mm.file(file).map(|file| file.pages())), (10, Some(Pages::new(30))));
    assert_eq!(mm.counters().pgactivate, 30, "where there is no slot they become active");
    written(&mut mm, &writes);
    let mut mm = boot(100);
    shared_memory(&mut mm);
    for without in [Gfp::FS, Gfp::IO | Gfp::FS] {
        let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, u64::MAX, ZoneKind::Movable);
        (control.priority, control.gfp) = (0, Gfp::GFP_KERNEL - without);
        let run = run(&mut mm, control);
        assert_eq!((run.writes.len(), mm.pages.user_levels().shmem, mm.pages.swap.swap_free().get()), (0, 40, 100));
    }
}

/// Two programs and system calls use one file while memory is reclaimed.
#[test]
fn nothing_of_a_file_is_lost_whatever_happens() {
    for seed in 1..5 {
        let mut mm = boot(60);
        let (file, first, start) = shared_memory(&mut mm);
        let second = mm.create_space().expect("there are few");
        let places =
            [(first, start), (second, map(&mut mm, second, file, true)), (second, map(&mut mm, second, file, false))];
        let (mut random, mut writes) = (Random(seed), Vec::new());
        for _ in 0..1500 {
            let (space, start) = places[random.below(3) as usize];
            let (index, addr) = (random.below(PAGES), VirtAddr::new(start.get() + 4096 * random.below(PAGES)));
            match random.below(12) {
                0..=2 => drop(access(&mut mm, space, addr, Access::Read)),
                3..=4 => drop(access(&mut mm, space, addr, Access::Write)),
                5 => drop(bring_in(&mut mm, file, index)),
                6 => mm.punch_hole(file, index, Pages::new(random.below(4)), CPU).expect("it is open"),
                7 if random.below(4) == 0 => {
                    let size = PAGES - random.below(8);
                    mm.truncate(file, Pages::new(size), CPU).expect("it is open");
                }
                8 => mm.madvise(space, addr, Pages::new(1).bytes(), Madvise::DontNeed, CPU).expect("it is mapped"),
                9 => {
                    forget_uses(&mut mm);
                    writes.extend(pass(&mut mm).1);
                }
                10 => {
                    for _ in 0..random.below(20).min(writes.len() as u64) {
                        let write = writes.swap_remove(random.below(writes.len() as u64) as usize);
                        mm.swap_written(write, CPU);
                    }
                }
                _ => drop(mm.shmem_page(file, index)),
            }
            mm.check().expect("every law holds");
        }
        let counters = mm.counters();
        assert!(counters.pswpin > 20 && counters.pswpout > 100, "{} {}", counters.pswpin, counters.pswpout);
        written(&mut mm, &writes);
        for space in [first, second] {
            mm.exit(space, CPU).expect("it lives");
        }
        mm.close_file(file, CPU).expect("it is open");
        mm.check().expect("every law holds");
        assert_eq!(
            (mm.pages.swap.swap_free().get(), mm.pages.swap.swap_cached().get(), mm.pages.user_levels().shmem),
            (60, 0, 0)
        );
    }
}
