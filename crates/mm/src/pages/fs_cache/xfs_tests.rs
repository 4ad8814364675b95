//! Objects and buffers that XFS keeps of files beside inodes and dentries, from their creation to their end.

use alloc::vec::Vec;

use order9_frames::ZoneId;
use order9_units::{Nanos, NodeId, Pages};

use super::tests::{KERNEL, mounted_as};
use super::{Buffers, Filesystem, FsStep, Shrunk, Stage};
use crate::Mm;
use crate::page_cache::FileId;
use crate::policy::Policy;

const NODE: NodeId = NodeId(0);
const BUFFERS: Buffers = Filesystem::XFS.buffers.expect("XFS has buffers");

fn bring(mm: &mut Mm, id: FileId, stage: Stage) {
    let step = mm.fs_bring_fast(id, stage, &KERNEL);
    assert!(matches!(step, FsStep::Done { .. }), "{step:?}");
    mm.check().expect("every law holds");
}

/// A machine with XFS, and files that were made and closed.
fn machine(files: u32) -> (Mm, Vec<FileId>) {
    let mut mm = mounted_as(Filesystem::XFS, Policy::default());
    let files = (0..files).map(|_| made(&mut mm)).collect();
    (mm, files)
}

fn made(mm: &mut Mm) -> FileId {
    let id = mm.fs_create(Pages::ZERO).expect("there is room");
    bring(mm, id, Stage::Open);
    bring(mm, id, Stage::Created);
    mm.pages.mark_inode_dirty(id, Nanos::ZERO).expect("it is cached");
    mm.pages.fs_close(id).expect("it is open");
    id
}

/// Writes the inode of a file back; its data have a place from then on.
fn write_back(mm: &mut Mm, id: FileId) {
    bring(mm, id, Stage::Placed);
    assert!(mm.pages.start_inode_write(id, &mm.phys));
    mm.inode_written(id);
    mm.check().expect("every law holds");
}

/// Live objects of these caches.
fn objects<const N: usize>(mm: &Mm, names: [&str; N]) -> [u64; N] {
    let of = |name| mm.pages.slab.slab_caches().find(|cache| cache.spec.name == name);
    names.map(|name| of(name).expect("XFS has this cache").objects)
}

/// Objects that the shrinker of buffers frees when it looks at so many.
fn shrink(mm: &mut Mm, count: u64) -> u64 {
    let mut shrunk = Shrunk::default();
    mm.pages.scan_buffers(NODE, count, &mut shrunk, 0, &mut mm.phys);
    mm.check().expect("every law holds");
    shrunk.objects
}

#[test]
fn a_file_has_log_items_from_its_creation_on_and_they_go_with_its_inode() {
    let caches = ["xfs_inode", "xfs_ili", "kmalloc-512", "kmalloc-1k", "kmalloc-16", "kmalloc-rcl-64", "dentry"];
    let (mut mm, files) = machine(1);
    assert_eq!(objects(&mm, caches), [1, 1, 1, 0, 0, 1, 1]);
    write_back(&mut mm, files[0]);
    assert_eq!(objects(&mm, caches), [1, 1, 0, 1, 1, 1, 1], "the larger buffer of the log replaces the smaller one");
    mm.fs_unlink(files[0], 0).expect("it is closed");
    mm.check().expect("every law holds");
    assert_eq!(objects(&mm, caches), [0; 7]);
}

#[test]
fn a_file_that_is_opened_needs_no_log_items() {
    let (mut mm, _) = machine(0);
    let id = mm.fs_create(Pages::new(8)).expect("there is room");
    bring(&mut mm, id, Stage::Placed);
    assert_eq!(objects(&mm, ["xfs_inode", "xfs_ili"]), [0, 0], "a file out of memory reaches no later stage");
    bring(&mut mm, id, Stage::Open);
    assert_eq!(objects(&mm, ["xfs_inode", "xfs_ili", "kmalloc-rcl-64", "xfs_buf"]), [1, 0, 1, 0]);
}

#[test]
fn inodes_share_a_buffer_which_is_held_until_all_are_written() {
    let (mut mm, files) = machine(BUFFERS.inodes + 1);
    assert_eq!(objects(&mm, ["xfs_buf"]), [2]);
    let (last, first) = files.split_last().expect("there are files");
    first[1..].iter().for_each(|&id| write_back(&mut mm, id));
    assert_eq!(mm.pages.buffers_freeable(NODE), 0);
    write_back(&mut mm, first[0]);
    assert_eq!(mm.pages.buffers_freeable(NODE), 1);
    write_back(&mut mm, *last);
    assert_eq!(mm.pages.buffers_freeable(NODE), 2);
}

#[test]
fn the_shrinker_passes_a_buffer_over_before_it_frees_its_pages() {
    let (mut mm, files) = machine(1);
    let free = |mm: &Mm| mm.frames().zones()[0].free() + mm.frames().pcp_pages(ZoneId(0));
    write_back(&mut mm, files[0]);
    let before = free(&mm);
    let rounds: Vec<u64> = (0..=BUFFERS.rounds).map(|_| shrink(&mut mm, 1)).collect();
    assert_eq!(rounds, [0, 0, 1]);
    assert_eq!(free(&mm) - before, u64::from(BUFFERS.inode_pages), "its head's slab stays");
    assert_eq!((objects(&mm, ["xfs_buf"]), shrink(&mut mm, 9)), ([0], 0));
}

#[test]
fn an_inode_that_is_removed_before_it_is_written_holds_no_buffer() {
    let (mut mm, files) = machine(2);
    mm.fs_unlink(files[0], 0).expect("it is closed");
    write_back(&mut mm, files[1]);
    assert_eq!(mm.pages.buffers_freeable(NODE), 1);
}

#[test]
fn directories_need_a_block_now_and_then() {
    let (mut mm, _) = machine(BUFFERS.files_per_block);
    let of_inodes = u64::from(BUFFERS.files_per_block.div_ceil(BUFFERS.inodes));
    assert_eq!((objects(&mm, ["xfs_buf"]), mm.pages.buffers_freeable(NODE)), ([of_inodes], 0));
    made(&mut mm);
    assert_eq!((objects(&mm, ["xfs_buf"]), mm.pages.buffers_freeable(NODE)), ([of_inodes + 1], 1));
}
