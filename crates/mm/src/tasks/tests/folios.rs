//! Large folios of files, as tasks make them: sizes and places against those that a live 6.18 wrote and read on ext4.

use alloc::vec;
use alloc::vec::Vec;

use order9_frames::{AllocFlags, Mark};
use order9_units::{Order, Pages, Pfn};

use super::world::{FILE, Transfer, World};
use crate::env::run;
use crate::page_cache::DropPagecache;
use crate::page_flags::PageFlag;
use crate::policy::Policy;
use crate::space::{Access, PageView};
use crate::tasks::{Stopped, handle_fault, read_page, sync_file, write_pages};
use crate::{Gfp, Mm, Request};

fn world() -> World {
    let mut policy = Policy::default();
    policy.thp.file_large = true;
    World::boot(policy)
}

/// Places and orders of the folios of the file, in its order.
fn folios(world: &World) -> Vec<(u64, u8)> {
    world.step(|mm| {
        mm.check().expect("every law holds");
        let size = mm.pages.cache.file_size(world.file).map_or(0, Pages::get);
        let first = |&index: &u64| mm.pages.cache.folio_at(world.file, index, &mm.phys);
        let folios = (0..size).filter_map(|index| first(&index).filter(|folio| folio.index == index));
        folios.map(|folio| (folio.index, folio.pages.ilog2() as u8)).collect()
    })
}

/// Writes so many pages in one call.
fn write(world: &World, index: u64, pages: u64) {
    let mut at = index;
    while at < index + pages {
        at += run(write_pages(world, world.file, at, index + pages - at)).expect("there is room");
    }
}

#[test]
fn writes_make_folios_of_the_sizes_of_a_live_kernel() {
    // 16 MiB by calls of 4, 12, 64 and 100 KiB, 1 and 4 MiB.
    for (pages, calls, orders) in [
        (1, 4096, &[(0, 4096)][..]),
        (3, 1365, &[(0, 1365), (1, 1365)]),
        (16, 256, &[(4, 256)]),
        (25, 163, &[(0, 163), (1, 164), (2, 162), (3, 163), (4, 102)]),
        (256, 16, &[(8, 16)]),
        (1024, 4, &[(9, 8)]),
    ] {
        let world = world();
        (0..calls).for_each(|call| write(&world, call * pages, pages));
        let found = folios(&world);
        for &(order, count) in orders {
            assert_eq!(found.iter().filter(|&&(_, of)| of == order).count(), count, "{pages} pages: order {order}");
        }
        assert_eq!(found.iter().map(|&(_, order)| 1_u64 << order).sum::<u64>(), calls * pages);
        assert_eq!(world.step(|mm| mm.write_pending(None).dirty), calls * pages);
        run(sync_file(&world, &world, world.file));
        assert_eq!(world.step(|mm| (mm.write_pending(None).total(), mm.counters().nr_written)), (0, calls * pages));
        folios(&world);
    }
}

#[test]
fn readahead_makes_folios_of_the_sizes_of_a_live_kernel() {
    let world = world();
    for index in 0..FILE {
        run(read_page(&world, world.file, index, 1)).expect("the page is there");
    }
    let live = [(4, 2), (8, 2), (12, 2), (16, 3), (24, 3), (32, 4), (48, 4), (64, 5)];
    assert_eq!(folios(&world)[..4], [(0, 0), (1, 0), (2, 0), (3, 0)]);
    assert_eq!(folios(&world)[4..], live);
}

#[test]
fn calls_for_much_read_on_while_their_first_window_comes() {
    let world = world();
    write(&world, FILE, 600 - FILE);
    run(sync_file(&world, &world, world.file));
    world.step(|mm| {
        let mut drop = DropPagecache::new(0, &mut mm.phys);
        while drop.step(&mut mm.pages, &mut mm.phys).is_none() {}
        mm.pages.cache.forget_readahead(world.file);
    });
    world.transfers();
    let mut index = 0;
    while index < 512 {
        index += run(read_page(&world, world.file, index, 512 - index)).expect("the page is there");
    }
    // The disk reads 64 pages with one request; 6.18 grows the folios as it does for calls of 1 MiB.
    let sizes: Vec<u8> = [0, 64, 128, 192, 256, 320, 384, 448]
        .map(|index| folios(&world).iter().find(|&&(at, _)| at == index).map_or(99, |&(_, order)| order))
        .to_vec();
    assert_eq!(sizes, [0, 2, 4, 6, 6, 6, 6, 6]);
}

#[test]
fn a_folio_is_read_once_by_who_goes_on_in_it() {
    let world = world();
    (0..64).for_each(|index| {
        run(read_page(&world, world.file, index, 1)).expect("the page is there");
    });
    assert_eq!(run(read_page(&world, world.file, 64, 32)), Ok(32), "all of a folio by one step");
    let forget = |mm: &mut Mm| {
        let folio = mm.pages.cache.folio_at(world.file, 64, &mm.phys).expect("it was read");
        let was_used = mm.phys.frames.word(folio.head).has(PageFlag::Referenced);
        mm.phys.frames.reflag(folio.head, PageFlag::Referenced, false);
        was_used
    };
    assert!(world.step(forget));
    for index in [0, 66] {
        run(read_page(&world, world.file, index, 4)).expect("the page is there");
    }
    assert!(world.step(forget), "somebody who comes from elsewhere uses it");
    run(read_page(&world, world.file, 70, 4)).expect("the page is there");
    assert!(!world.step(forget), "who goes on in it has used it already");
}

#[test]
fn what_is_there_already_ends_the_folios_of_a_window() {
    let world = world();
    write(&world, 9, 1);
    for index in [0, 1] {
        run(read_page(&world, world.file, index, 1)).expect("the page is there");
    }
    let expected = [(4, 2), (8, 0), (9, 0), (10, 0), (11, 0)];
    assert_eq!(folios(&world)[4..], expected, "the rest of the window is base pages");
}

#[test]
fn without_blocks_files_have_base_pages() {
    let world = world();
    // Every other frame is somebody's.
    world.step(|mm| {
        let request = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
        let flags = AllocFlags { no_watermarks: true, ..AllocFlags::plain(Mark::Min) };
        let pages: Vec<Pfn> = core::iter::from_fn(|| mm.alloc_with(&request, flags).ok()).collect();
        pages.into_iter().filter(|pfn| pfn.get() % 2 == 0).for_each(|pfn| mm.free(pfn, 0).expect("it is ours"));
        mm.phys.drain_all();
    });
    write(&world, 0, 16);
    assert_eq!(folios(&world), (0..16).map(|index| (index, 0)).collect::<Vec<_>>());
}

#[test]
fn faults_map_pages_of_folios_and_find_the_mark_of_one() {
    let world = world();
    for page in 0..FILE {
        if world.step(|mm| mm.page_at(world.space, world.addr(page))) == PageView::None {
            run(handle_fault(&world, world.addr(page), Access::Read, None)).expect("the file has the page");
        }
    }
    assert_eq!(world.step(|mm| mm.counters().pgmajfault), 1);
    let after = folios(&world);
    assert_eq!(after[32..40], [(32, 2), (36, 2), (40, 2), (44, 2), (48, 2), (52, 2), (56, 2), (60, 2)]);
    assert_eq!(after[40..], [(64, 4), (80, 4)]);
    // A write by a mapping has all of its folio written, one by a call only what it wrote; all of it counts as dirty either way.
    for (by_mapping, written) in [(true, Transfer::Write(64, 16)), (false, Transfer::Write(70, 1))] {
        match by_mapping {
            true => run(handle_fault(&world, world.addr(70), Access::Write, None)).expect("the file has the page"),
            false => write(&world, 70, 1),
        }
        assert_eq!(world.step(|mm| mm.write_pending(None).dirty), 16);
        world.transfers();
        run(sync_file(&world, &world, world.file));
        assert_eq!(world.transfers()[0], written);
        folios(&world);
    }
    world.step(|mm| mm.exit(world.space, 0)).expect("it lives");
    folios(&world);
}

#[test]
fn a_fault_maps_all_of_a_folio_that_its_mapping_shows() {
    for access in [Access::Read, Access::Write] {
        let world = world();
        write(&world, 0, 64);
        write(&world, 64, 32);
        run(handle_fault(&world, world.addr(5), access, None)).expect("the file has the page");
        let shown = |world: &World| {
            let is_shown = |&page: &u64| world.step(|mm| mm.page_at(world.space, world.addr(page))) != PageView::None;
            (0..FILE).filter(is_shown).count()
        };
        assert_eq!(shown(&world), 64, "{access:?}");
        let uses = |mm: &mut Mm| {
            let folio = mm.pages.cache.folio_at(world.file, 5, &mm.phys).expect("it was written");
            mm.pages.take_uses(folio.head, &mut mm.phys).young
        };
        assert_eq!(
            [world.step(uses), world.step(uses)],
            [1, 0],
            "a mapping counts once, however much of it shows the folio"
        );
        run(handle_fault(&world, world.addr(70), access, None)).expect("the file has the page");
        // 6.18 maps the last folio of a file to read as far as 64 KiB around the fault.
        assert_eq!(shown(&world), if access == Access::Read { 80 } else { 96 });
        folios(&world);
    }
}

#[test]
fn nothing_is_mapped_beyond_the_end_of_a_file() {
    for access in [Access::Read, Access::Write] {
        let world = world();
        write(&world, 0, 64);
        // The folio is dirty, so it stays, with places beyond the end.
        world.step(|mm| mm.truncate(world.file, Pages::new(5), 0)).expect("it is open");
        run(handle_fault(&world, world.addr(0), access, None)).expect("the file has the page");
        let is_shown = |&page: &u64| world.step(|mm| mm.page_at(world.space, world.addr(page))) != PageView::None;
        let shown: Vec<u64> = (0..64).filter(is_shown).collect();
        assert!(shown.contains(&0) && shown.iter().all(|&page| page < 5), "{access:?}: {shown:?}");
        assert!(access == Access::Read || shown.len() == 5, "a write maps all of the folio that is there: {shown:?}");
        let beyond = run(handle_fault(&world, world.addr(9), access, None));
        assert_eq!(beyond, Err(Stopped::Bus(world.addr(9))));
        folios(&world);
    }
}

#[test]
fn folios_that_are_locked_in_part_stay_and_whole_ones_come_apart_evictable() {
    let world = world();
    write(&world, 0, 64);
    write(&world, 64, 32);
    run(sync_file(&world, &world, world.file));
    world.step(|mm| mm.mlock(world.space, world.addr(0), Pages::new(4).bytes())).expect("it is mapped");
    run(handle_fault(&world, world.addr(0), Access::Read, None)).expect("the file has the page");
    world.step(|mm| {
        let folio = mm.pages.cache.folio_at(world.file, 0, &mm.phys).expect("it was written");
        assert!(mm.pages.take_uses(folio.head, &mut mm.phys).locked_in_part);
        mm.pages.split_huge_page(mm.phys.frames.pfn(folio.head), 0, &mut mm.phys).expect("it is clean");
    });
    assert_eq!(folios(&world)[..64], (0..64).map(|index| (index, 0)).collect::<Vec<_>>());
}

#[test]
fn a_file_ends_in_steps_without_a_cut_through_its_folios() {
    let world = world();
    (0..8).for_each(|call| write(&world, 512 * call, 512));
    write(&world, 4096, 512);
    run(sync_file(&world, &world, world.file));
    let splits = |mm: &mut Mm| mm.counters().thp_split_page;
    let before = world.step(splits);
    while world.step(|mm| mm.truncate_step(world.file, 5, 0)) {
        folios(&world);
    }
    assert_eq!((world.step(splits), folios(&world)), (before, vec![(0, 9)]));
    world.step(|mm| mm.truncate(world.file, Pages::new(5), 0)).expect("it is open");
    assert_eq!(folios(&world), (0..5).map(|index| (index, 0)).collect::<Vec<_>>());
}
