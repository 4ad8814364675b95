//! Page cache of one file at a time.

mod mapped;
mod model;
mod nodes;

use order9_frames::Request;
use order9_units::{Nanos, NodeId, Order, Pages, Pfn};

use super::{Added, CachedPage, FileId, FileWrite, Shadow};
use crate::alloc_error::AllocError;
use crate::fs_cache::tests::KERNEL;
use crate::fs_cache::tests::{mounted, used};
use crate::fs_cache::{FsError, FsStep};
use crate::lru_list::LruList;
use crate::page_flags::PageFlag;
use crate::policy::Policy;
use crate::{Gfp, Mm};

fn page(mm: &mut Mm) -> Pfn {
    let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    mm.alloc_fast(&request).expect("there is memory")
}

/// Reads pages of a file whose inode is in memory, where they are missing.
pub(crate) fn read_pages(mm: &mut Mm, file: FileId, index: u64, pages: u64) {
    for index in index..index + pages {
        let page = page(mm);
        if let Added::New(_) = mm.add_to_page_cache(file, index, page, 0).expect("the inode is in memory") {
            mm.end_page_read(file, index, Pages::new(1), 0);
        }
    }
}

/// Writes a page of a file whose inode is in memory.
pub(crate) fn write_page(mm: &mut Mm, file: FileId, index: u64, now: u64) {
    let now = Nanos::new(now);
    if let CachedPage::Missing = mm.write_page(file, index, now) {
        let page = page(mm);
        mm.pages.write_new_page(file, index, page, now, 0, &mut mm.phys).expect("the inode is in memory");
    }
}

/// Writes everything back.
pub(crate) fn flush(mm: &mut Mm, now: u64) {
    while let Some(file) = mm.pages.cache.next_dirty(None) {
        while let Some(write) = mm.pages.start_writeback(file, Pages::new(1024), &mut mm.phys) {
            mm.file_written(&write, Nanos::new(now), 0);
        }
        if mm.pages.start_inode_write(file, &mm.phys) {
            mm.inode_written(file);
        }
    }
}

fn machine() -> (Mm, FileId) {
    let mut mm = mounted(Policy::default()).with_content_tags();
    let file = used(&mut mm);
    (mm, file)
}

fn write(file: FileId, index: u64, pages: u64) -> FileWrite {
    FileWrite { file, index, pages: Pages::new(pages) }
}

#[test]
fn a_page_is_read_once_and_locked_until_then() {
    let (mut mm, file) = machine();
    let pfn = page(&mut mm);
    assert_eq!(mm.add_to_page_cache(file, 9, pfn, 0), Err(FsError::BeyondEnd(file, 9)));
    assert_eq!(mm.pages.cache.find_page(file, 3, &mm.phys), CachedPage::Missing);
    assert_eq!(mm.add_to_page_cache(file, 3, pfn, 0), Ok(Added::New(None)));
    let second = page(&mut mm);
    assert_eq!(mm.add_to_page_cache(file, 3, second, 0), Ok(Added::Present));
    assert_eq!(
        (mm.pages.cache.find_page(file, 3, &mm.phys), mm.phys.lru_of(pfn)),
        (CachedPage::BeingRead(pfn), Some(LruList::InactiveFile))
    );
    assert_eq!(mm.write_page(file, 3, Nanos::ZERO), CachedPage::BeingRead(pfn), "it cannot be written yet");
    assert_eq!(mm.pages.invalidate(file, 0, 0, &mut mm.phys), (0, None), "nor dropped");
    mm.check().expect("every law holds");
    mm.end_page_read(file, 3, Pages::new(1), 0);
    assert_eq!(mm.pages.cache.find_page(file, 3, &mm.phys), CachedPage::Uptodate(pfn));
    assert_eq!(mm.pages.invalidate(file, 0, 0, &mut mm.phys), (1, None));
    assert!(mm.file(file).is_none() && mm.pages.user_levels().file == 0);
    mm.check().expect("every law holds");
}

#[test]
fn what_cannot_be_dropped_yet_is_the_next_that_reclaim_takes() {
    let (mut mm, file) = machine();
    (0..3).for_each(|index| write_page(&mut mm, file, index, 1));
    let first = mm.file_page(file, 0).expect("it was written");
    (0..2).for_each(|_| mm.pages.lru.mark_accessed(first, &mut mm.phys));
    assert_eq!(mm.phys.lru_of(first), Some(LruList::ActiveFile));
    assert_eq!(mm.pages.invalidate(file, 0, 0, &mut mm.phys), (0, None), "all are dirty");
    assert_eq!((mm.phys.lru_of(first), mm.counters().pgdeactivate), (Some(LruList::InactiveFile), 1));
    assert_eq!(mm.counters().pgrotated, 0, "they wait for their write");
    mm.check().expect("every law holds");
    write_page(&mut mm, file, 1, 1);
    flush(&mut mm, 4);
    assert_eq!(mm.counters().pgrotated, 2, "one was written to again");
    let pinned = mm.file_page(file, 2).expect("it is in its file");
    mm.pin(pinned).expect("it is a page");
    assert_eq!(mm.pages.invalidate(file, 0, 0, &mut mm.phys), (2, None));
    assert_eq!(mm.counters().pgrotated, 3, "clean, but in somebody's hands");
    mm.check().expect("every law holds");
}

#[test]
fn files_without_inode_in_memory_have_no_page_cache() {
    let (mut mm, _) = machine();
    let file = mm.fs_create(Pages::new(1)).expect("there is room");
    let pfn = page(&mut mm);
    assert_eq!(mm.add_to_page_cache(file, 0, pfn, 0), Err(FsError::NotCached(file)));
    assert_eq!(mm.pages.mark_inode_dirty(file, Nanos::ZERO), Err(FsError::NotCached(file)));
    let tmpfs = mm.create_file(Pages::new(1)).expect("there is room");
    assert_eq!(mm.pages.write_new_page(tmpfs, 0, pfn, Nanos::ZERO, 0, &mut mm.phys), Err(FsError::NoSuchFile(tmpfs)));
    assert_eq!(mm.pages.cache.file_size(file), Some(Pages::new(1)));
}

#[test]
fn writes_follow_each_other_and_are_bounded() {
    let (mut mm, file) = machine();
    for index in [0, 1, 2, 3, 5, 130] {
        write_page(&mut mm, file, index, 7);
    }
    assert_eq!((mm.write_pending(None).dirty, mm.counters().nr_dirtied), (6, 6));
    assert_eq!(mm.pages.cache.file_size(file), Some(Pages::new(131)), "the file grew");
    assert_eq!(
        (mm.pages.cache.next_dirty(Some(Nanos::new(6))), mm.pages.cache.next_dirty(Some(Nanos::new(7)))),
        (None, Some(file))
    );
    let two = Pages::new(2);
    let writes: [_; 5] = core::array::from_fn(|_| mm.pages.start_writeback(file, two, &mut mm.phys));
    let expected = [write(file, 0, 2), write(file, 2, 2), write(file, 5, 1), write(file, 130, 1)];
    assert_eq!(writes, [Some(expected[0]), Some(expected[1]), Some(expected[2]), Some(expected[3]), None]);
    assert_eq!(mm.pages.cache.next_dirty(None), Some(file), "the inode itself");
    assert!(mm.pages.start_inode_write(file, &mm.phys));
    assert_eq!((mm.pages.cache.next_dirty(None), mm.write_pending(None).writeback), (None, 6));
    mm.check().expect("every law holds");
    expected.iter().rev().for_each(|write| mm.file_written(write, Nanos::new(9), 0));
    mm.inode_written(file);
    assert_eq!((mm.write_pending(None).total(), mm.counters().nr_written), (0, 6));
    assert!(mm.file(file).is_some_and(|file| !file.is_dirty()));
    mm.check().expect("every law holds");
}

#[test]
fn a_page_changed_while_it_is_written_stays_dirty() {
    let (mut mm, file) = machine();
    write_page(&mut mm, file, 0, 1);
    let first = mm.pages.start_writeback(file, Pages::new(8), &mut mm.phys).expect("it is dirty");
    write_page(&mut mm, file, 0, 2);
    assert_eq!((mm.write_pending(None).dirty, mm.write_pending(None).writeback), (1, 1));
    assert_eq!(mm.pages.start_writeback(file, Pages::new(8), &mut mm.phys), None, "it waits for the first write");
    assert!(mm.pages.start_inode_write(file, &mm.phys));
    mm.inode_written(file);
    assert_eq!(
        (mm.pages.start_writeback(file, Pages::new(8), &mut mm.phys), mm.pages.cache.next_dirty(None)),
        (None, None)
    );
    mm.check().expect("every law holds");
    mm.file_written(&first, Nanos::new(3), 0);
    assert_eq!(mm.pages.cache.next_dirty(Some(Nanos::new(3))), Some(file), "it queues up again");
    flush(&mut mm, 4);
    mm.check().expect("every law holds");
    assert_eq!((mm.counters().nr_dirtied, mm.counters().nr_written), (2, 2));
}

#[test]
fn reclaim_waits_for_its_write_and_finds_the_page_first() {
    let (mut mm, file) = machine();
    (0..3).for_each(|index| write_page(&mut mm, file, index, 1));
    let pfn = mm.file_page(file, 2).expect("it was written");
    let write = mm.pages.start_page_write(pfn, &mut mm.phys).expect("it is dirty");
    assert_eq!((mm.pages.start_page_write(pfn, &mut mm.phys), mm.counters().nr_vmscan_write), (None, 1));
    mm.file_written(&write, Nanos::new(2), 0);
    let zone = mm.phys.frames.zone_of(pfn).expect("it is memory");
    assert_eq!(mm.pages.lru.lru_list(zone, LruList::InactiveFile, &mm.phys).last(), Some(pfn));
    assert_eq!(mm.counters().pgrotated, 1);
    mm.check().expect("every law holds");
}

#[test]
fn pages_lost_on_the_way_to_or_from_disk_are_freed_at_its_end() {
    let (mut mm, file) = machine();
    assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
    // The slab of nodes that this takes stays.
    read_pages(&mut mm, file, 0, 2);
    mm.truncate(file, Pages::ZERO, 0).expect("it is open");
    mm.truncate(file, Pages::new(8), 0).expect("it is open");
    let before =
        mm.phys.frames.zones()[0].free() + mm.phys.frames.pcp(order9_frames::ZoneId(0), 0).expect("a CPU").count();
    let read = page(&mut mm);
    assert_eq!(mm.add_to_page_cache(file, 0, read, 0), Ok(Added::New(None)));
    write_page(&mut mm, file, 1, 1);
    write_page(&mut mm, file, 2, 1);
    let first = mm.pages.start_writeback(file, Pages::new(1), &mut mm.phys).expect("it is dirty");
    mm.truncate(file, Pages::ZERO, 0).expect("it is open");
    assert_eq!((mm.write_pending(None).dirty, mm.write_pending(None).writeback), (0, 1), "the other is not written");
    mm.check().expect("every law holds");
    // Its place can be used again meanwhile, but for another transfer of the same kind.
    write_page(&mut mm, file, 1, 2);
    assert_eq!(mm.pages.start_writeback(file, Pages::new(1), &mut mm.phys), None);
    assert!(mm.pages.start_inode_write(file, &mm.phys));
    mm.inode_written(file);
    assert_eq!(mm.pages.start_writeback(file, Pages::new(1), &mut mm.phys), None);
    assert!(mm.pages.cache.is_being_written(file, &mm.phys), "who syncs the file waits for what it has lost");
    mm.check().expect("every law holds");
    mm.truncate(file, Pages::new(9), 0).expect("it is open");
    let again = page(&mut mm);
    assert_eq!(mm.add_to_page_cache(file, 0, again, 0), Ok(Added::Present));
    assert_eq!(mm.pages.cache.find_page(file, 0, &mm.phys), CachedPage::BeingRead(read), "who needs it waits");
    mm.check().expect("every law holds");
    mm.end_page_read(file, 0, Pages::new(1), 0);
    assert_eq!(mm.pages.cache.find_page(file, 0, &mm.phys), CachedPage::Missing);
    mm.file_written(&first, Nanos::new(2), 0);
    let second = mm.pages.start_writeback(file, Pages::new(1), &mut mm.phys).expect("it is dirty");
    mm.file_written(&second, Nanos::new(2), 0);
    mm.check().expect("every law holds");
    mm.pages.fs_close(file).expect("it is open");
    mm.fs_unlink(file, 0).expect("nobody uses it");
    mm.check().expect("every law holds");
    assert_eq!(
        mm.phys.frames.zones()[0].free() + mm.phys.frames.pcp(order9_frames::ZoneId(0), 0).expect("a CPU").count(),
        before
    );
}

#[test]
fn a_shadow_waits_for_its_page_and_goes_with_the_inode() {
    let (mut mm, file) = machine();
    read_pages(&mut mm, file, 4, 1);
    let idx = mm.phys.frames.at(mm.file_page(file, 4).expect("it was read"));
    mm.pages.reclaim_from_file(file, 4, Some(Shadow(77)), &mut mm.phys);
    mm.pages.disown(idx, 0, &mut mm.phys);
    mm.check().expect("every law holds");
    assert_eq!(mm.pages.cache.find_page(file, 4, &mm.phys), CachedPage::Missing);
    let again = page(&mut mm);
    assert_eq!(mm.add_to_page_cache(file, 4, again, 0), Ok(Added::New(Some(Shadow(77)))));
    mm.end_page_read(file, 4, Pages::new(1), 0);
    assert!(!mm.phys.frames.word(mm.phys.frames.at(again)).has(PageFlag::Locked));
    mm.pages.reclaim_from_file(file, 4, Some(Shadow(78)), &mut mm.phys);
    mm.pages.disown(mm.phys.frames.at(again), 0, &mut mm.phys);
    assert!(mm.file(file).is_some(), "a shadow is left");
    let mut drop = crate::shrinker::DropSlab::new(0, &mut mm.phys);
    while drop.step(&mut mm.pages, &mut mm.phys) == crate::shrinker::ShrinkStep::Progress {}
    assert_eq!((mm.pages.is_cached(file), mm.file(file).is_none()), (Some((false, false)), true));
    mm.check().expect("every law holds");
}

#[test]
fn large_files_end_in_steps() {
    let (mut mm, file) = machine();
    for index in (0..4_000).step_by(3) {
        write_page(&mut mm, file, index, 1);
    }
    let write = mm.pages.start_writeback(file, Pages::new(1), &mut mm.phys).expect("it is dirty");
    let steps = (0..).take_while(|_| mm.truncate_step(file, 1_000, 0)).count();
    mm.check().expect("every law holds");
    assert_eq!((steps, mm.pages.user_levels().file), (3, 334), "a thousand places each, and what lies below stays");
    mm.fs_unlink(file, 0).expect("nobody uses it");
    mm.file_written(&write, Nanos::new(2), 0);
    assert_eq!((mm.pages.user_levels().file, mm.write_pending(None).total()), (0, 0));
    mm.check().expect("every law holds");
}

#[test]
fn requests_for_pages_to_be_written_pass_over_nodes_that_have_their_share() {
    let (mut mm, file) = machine();
    let dirtied = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE | Gfp::WRITE);
    // The memory of the file's tree lowers the limit as the file grows.
    let limit = |mm: &Mm| mm.pages.lru.node_dirty_limit(NodeId(0), &mm.phys).get();
    let mut index = 0;
    while index <= limit(&mm) {
        assert!(mm.alloc_fast(&dirtied).is_ok_and(|page| mm.free(page, 0).is_ok()), "page {index} of {}", limit(&mm));
        write_page(&mut mm, file, index, 1);
        index += 1;
    }
    assert_eq!(mm.alloc_fast(&dirtied), Err(AllocError::NoneAboveWatermark), "the slow path does not mind");
    assert!(mm.alloc_fast(&Request { gfp: Gfp::GFP_HIGHUSER_MOVABLE, ..dirtied }).is_ok());
    flush(&mut mm, 2);
    assert!(mm.alloc_fast(&dirtied).is_ok());
}
