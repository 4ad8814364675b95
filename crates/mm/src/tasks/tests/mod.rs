//! Tasks of a program in a world whose disks write everything down and are done at once.

mod folios;
mod world;

use alloc::vec;

use order9_units::{Nanos, Pages};

use super::{
    Stopped, balance_dirty_pages, handle_fault, madvise_collapse, read_page, sync_file, write_page, write_pages,
};
use crate::env::run;
use crate::fs_cache::FsError;
use crate::page_cache::CachedPage;
use crate::policy::Policy;
use crate::space::{Access, Errno, MmapRequest, PageView, Place, VirtAddr, VpnRange};
use crate::thp::HugeEnabled;
use world::{FILE, Transfer, World};

#[test]
fn a_reader_gets_a_window_and_the_next_one_before_it_asks() {
    let world = World::boot(Policy::default());
    run(read_page(&world, world.file, 0, 1)).expect("the page is there");
    assert_eq!(world.transfers(), [Transfer::Read(0, 4)]);
    run(read_page(&world, world.file, 1, 1)).expect("the page is there");
    assert_eq!(world.transfers(), [Transfer::Read(4, 8)]);
    run(read_page(&world, world.file, 2, 1)).expect("the page is there");
    assert_eq!(world.transfers(), []);
    world.step(|mm| mm.pages.cache.forget_readahead(world.file));
    run(read_page(&world, world.file, 20, 2)).expect("the page is there");
    assert_eq!(world.transfers(), [Transfer::Read(20, 2)], "nobody knows that the reader will go on");
    let beyond = run(read_page(&world, world.file, FILE, 1));
    assert_eq!(beyond, Err(Stopped::Read(FsError::BeyondEnd(world.file, FILE))));
}

#[test]
fn a_fault_in_a_file_reads_around_the_page_and_maps_it() {
    let world = World::boot(Policy::default());
    run(handle_fault(&world, world.addr(20), Access::Read, None)).expect("the file has the page");
    assert_eq!(world.transfers(), [Transfer::Read(4, 32)], "as many pages before it as behind");
    assert!(matches!(world.step(|mm| mm.page_at(world.space, world.addr(20))), PageView::Present { .. }));
    world.step(|mm| mm.check().expect("every law holds"));
    run(handle_fault(&world, world.addr(21), Access::Read, None)).expect("the file has the page");
    assert_eq!(world.transfers(), []);
    assert_eq!(run(handle_fault(&world, VirtAddr::new(0), Access::Read, None)), Err(Stopped::Segv(VirtAddr::new(0))));
}

#[test]
fn faults_that_go_on_through_a_file_find_what_was_read_ahead() {
    let world = World::boot(Policy::default());
    let mut reads = vec![];
    for page in 0..FILE {
        if world.step(|mm| mm.page_at(world.space, world.addr(page))) == PageView::None {
            run(handle_fault(&world, world.addr(page), Access::Read, None)).expect("the file has the page");
        }
        reads.extend(world.transfers().into_iter().map(|read| (page, read)));
    }
    let expected = [(0, Transfer::Read(0, 32)), (24, Transfer::Read(32, 32)), (32, Transfer::Read(64, 32))];
    assert_eq!(reads, expected, "the mark is a quarter before the end at first, then where the window begins");
    assert_eq!(world.step(|mm| mm.counters().pgmajfault), 1);
    world.step(|mm| mm.check().expect("every law holds"));
}

#[test]
fn a_program_that_is_being_killed_waits_for_no_page() {
    let world = World::boot(Policy::default());
    world.killed.set(true);
    assert_eq!(run(handle_fault(&world, world.addr(20), Access::Read, None)), Err(Stopped::Killed));
    assert_eq!(run(read_page(&world, world.file, 0, 1)), Err(Stopped::Killed));
}

#[test]
fn part_of_a_page_is_written_after_the_page_was_read() {
    let world = World::boot(Policy::default());
    run(write_page(&world, world.file, 9)).expect("there is room");
    assert_eq!(world.transfers(), [Transfer::Read(9, 1)]);
    run(write_pages(&world, world.file, 10, 1)).expect("there is room");
    assert_eq!(world.transfers(), [], "nothing of it is left to be read");
    world.full.set(true);
    assert_eq!(run(write_pages(&world, world.file, 11, 1)), Err(Stopped::NoSpace));
    run(sync_file(&world, &world, world.file));
    assert_eq!(world.transfers(), [Transfer::Write(9, 2), Transfer::Inodes(1)]);
    assert_eq!(world.step(|mm| mm.write_pending(None).total()), 0);
}

#[test]
fn whoever_makes_many_pages_dirty_sleeps_and_wakes_the_flusher() {
    let world = World::boot(Policy::default());
    world.step(|mm| mm.tune(|tunables| (tunables.dirty.bytes, tunables.dirty.background_bytes) = (80 << 12, 40 << 12)));
    world.flushed_during.set(3);
    let mut sleepers = vec![];
    for index in 0..FILE {
        run(write_pages(&world, world.file, index, 1)).expect("there is room");
        let before = world.sleeps.get();
        run(balance_dirty_pages(&world)).expect("it lives");
        if world.sleeps.get() > before {
            sleepers.push((index, world.sleeps.get() - before));
        }
    }
    // After every 32 pages, from half way between the limits on: at 64 for a share of the time, at 96 until some are written.
    assert_eq!(sleepers, [(63, 1), (95, 2)]);
    assert!(world.step(|mm| mm.take_wakeups().flushers));
    assert!(world.slept.get() <= Nanos::new(600_000_000), "no pause is longer than 200 ms");
    assert!(matches!(world.step(|mm| mm.pages.cache.find_page(world.file, 0, &mm.phys)), CachedPage::Uptodate(_)));
}

#[test]
fn a_range_is_collapsed_slot_by_slot() {
    let mut policy = Policy::default();
    policy.thp.madvise_collapse = true;
    let world = World::boot(policy);
    let (start, length) = (VirtAddr::new(0x7e00_0000_0000), Pages::new(1024).bytes());
    world.step(|mm| {
        mm.phys.set_thp_enabled(HugeEnabled::Never);
        let request = MmapRequest { place: Place::Fixed(start), ..MmapRequest::anon(length) };
        mm.mmap(world.space, &request, 0).expect("there is room");
    });
    let huge = || {
        let range = VpnRange::of(start.vpn(), Pages::new(1024));
        world.step(|mm| mm.residence(world.space, range).iter().map(|of| of.huge).sum::<u64>())
    };
    for addr in [start, VirtAddr::new(start.get() + (2 << 20))] {
        run(handle_fault(&world, addr, Access::Write, None)).expect("it is mapped");
    }
    assert_eq!(huge(), 0);
    assert_eq!(run(madvise_collapse(&world, start, length)), Ok(()));
    assert_eq!(huge(), 2);
    let beyond = run(madvise_collapse(&world, start, Pages::new(1536).bytes()));
    assert_eq!(beyond, Err(Stopped::Refused(Errno::Enomem)), "nothing is mapped there");
    world.step(|mm| mm.check().expect("every law holds"));
}
