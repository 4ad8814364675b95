//! Fate of files in memory: the outcomes that a scan may come to, in the forms of both releases.

use alloc::vec;

use order9_frames::Request;
use order9_units::{Nanos, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use super::{Filesystem, FsError, FsStep, ScanStep, Shrunk};
use crate::alloc_error::AllocError;
use crate::page_cache::tests::{read_pages, write_page};
use crate::page_cache::{CachedPage, FileId};
use crate::policy::{InodeCache, Policy};
use crate::slab::{CacheSpec, SlabError};
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

pub(crate) const KERNEL: Request = Request::new(Order::ZERO, Gfp::GFP_KERNEL);
const NODE: NodeId = NodeId(0);

/// A machine of 64 MiB with a filesystem.
pub(crate) fn mounted(policy: Policy) -> Mm {
    mounted_as(CacheSpec::EXT4_INODE, policy)
}

/// A machine of 64 MiB with a filesystem of this kind.
pub(super) fn mounted_as(kind: impl Into<Filesystem>, policy: Policy) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(1 << 14));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NODE, kind: ZoneKind::Normal, span }],
        cpus: vec![NODE],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, policy).expect("the layout is sound").boot();
    mm.mount(kind).expect("nothing is mounted");
    mm
}

fn keeping(inode_cache: InodeCache) -> Mm {
    let mut policy = Policy::default();
    policy.reclaim.inode_cache = inode_cache;
    mounted(policy)
}

fn open(mm: &mut Mm, id: FileId) -> bool {
    match mm.fs_open_fast(id, &KERNEL) {
        FsStep::Done { inode_missed } => inode_missed,
        other => panic!("{other:?}"),
    }
}

/// A file that was open once.
pub(crate) fn used(mm: &mut Mm) -> FileId {
    let id = mm.fs_create(Pages::new(8)).expect("there is room");
    assert!(open(mm, id), "it is new");
    mm.pages.fs_close(id).expect("it is open");
    id
}

/// Looks at up to so many dentries and inodes; the pages dropped with inodes, and the objects freed.
fn scan(mm: &mut Mm, dentries: u64, inodes: u64) -> (u64, u64) {
    let mut scan = super::FsScan { node: NODE, dentries, inodes, invalidating: None };
    let (mut pages, mut shrunk) = (0, Shrunk::default());
    while let ScanStep::Invalidated(dropped) = mm.pages.fs_scan(&mut scan, &mut shrunk, 0, &mut mm.phys) {
        pages += dropped;
    }
    mm.check().expect("every law holds");
    (pages, shrunk.objects)
}

fn unused(mm: &Mm) -> (u64, u64) {
    mm.pages.fs.as_ref().expect("it is mounted").unused(NODE)
}

#[test]
fn a_file_is_cached_by_its_first_use_and_stays_so() {
    let mut mm = keeping(InodeCache::DroppedWithInode);
    let id = used(&mut mm);
    assert_eq!((mm.pages.is_cached(id), unused(&mm)), (Some((true, true)), (1, 0)), "a dentry keeps its inode");
    assert!(!open(&mut mm, id), "it need not be read again");
    assert_eq!(scan(&mut mm, 1, 1), (0, 0), "a dentry in use");
    assert_eq!(unused(&mm), (0, 0), "leaves the list");
    mm.pages.fs_close(id).expect("it is open");
    assert_eq!(unused(&mm), (1, 0));
    assert_eq!(mm.pages.fs_close(id), Err(FsError::NotOpen(id)));
}

#[test]
fn dentries_used_since_they_were_listed_get_another_round() {
    let mut mm = keeping(InodeCache::DroppedWithInode);
    let (first, second) = (used(&mut mm), used(&mut mm));
    open(&mut mm, first);
    mm.pages.fs_close(first).expect("it is open");
    assert_eq!(scan(&mut mm, 2, 0), (0, 1), "the first is spared, the second is freed");
    assert_eq!((mm.pages.is_cached(first), mm.pages.is_cached(second)), (Some((true, true)), Some((true, false))));
    assert_eq!(unused(&mm), (1, 1));
    assert_eq!(scan(&mut mm, 1, 2), (0, 3), "and the inodes of both go with the dentries");
    assert_eq!((mm.pages.is_cached(first), unused(&mm)), (Some((false, false)), (0, 0)));
}

#[test]
fn page_cache_was_dropped_with_its_inode_up_to_5_15() {
    let mut mm = keeping(InodeCache::DroppedWithInode);
    let id = used(&mut mm);
    read_pages(&mut mm, id, 0, 3);
    assert_eq!(scan(&mut mm, 1, 0).1, 1);
    assert_eq!(unused(&mm), (0, 1), "pages keep no inode");
    assert_eq!(scan(&mut mm, 0, 1), (3, 0), "the inode itself stays");
    assert_eq!(scan(&mut mm, 0, 1), (0, 0), "it was marked as used");
    assert_eq!(scan(&mut mm, 0, 1), (0, 1));
}

#[test]
fn page_cache_keeps_its_inode_since_5_16() {
    let mut mm = keeping(InodeCache::KeepsInode);
    let id = used(&mut mm);
    read_pages(&mut mm, id, 0, 3);
    assert_eq!(scan(&mut mm, 1, 1), (0, 1), "only the dentry");
    assert_eq!(unused(&mm), (0, 0), "the inode is not even listed");
    mm.pages.invalidate(id, 0, 0, &mut mm.phys);
    assert_eq!(unused(&mm), (0, 1), "it returns when its last page goes");
    read_pages(&mut mm, id, 0, 1);
    assert_eq!((scan(&mut mm, 0, 1), unused(&mm)), ((0, 0), (0, 0)), "or leaves when it gets one");
}

#[test]
fn dirty_inodes_leave_the_list_until_they_are_clean() {
    for form in [InodeCache::DroppedWithInode, InodeCache::KeepsInode] {
        let mut mm = keeping(form);
        let id = used(&mut mm);
        scan(&mut mm, 1, 0);
        mm.pages.mark_inode_dirty(id, Nanos::ZERO).expect("it is cached");
        assert_eq!((scan(&mut mm, 0, 1), unused(&mm)), ((0, 0), (0, 0)));
        assert!(mm.pages.start_inode_write(id, &mm.phys) && !mm.pages.start_inode_write(id, &mm.phys));
        assert_eq!((scan(&mut mm, 0, 1), unused(&mm)), ((0, 0), (0, 0)), "nor while it is being written");
        mm.inode_written(id);
        assert_eq!((scan(&mut mm, 0, 1), unused(&mm)), ((0, 1), (0, 0)));
    }
}

#[test]
fn removed_files_are_gone_from_memory_and_for_good() {
    let mut mm = keeping(InodeCache::DroppedWithInode);
    let (id, open_one) = (used(&mut mm), used(&mut mm));
    open(&mut mm, open_one);
    assert_eq!(mm.fs_unlink(open_one, 0), Err(FsError::Open(open_one)));
    write_page(&mut mm, id, 0, 1);
    read_pages(&mut mm, id, 1, 1);
    mm.fs_unlink(id, 0).expect("nothing keeps it");
    assert_eq!((mm.pages.cache.find_page(id, 0, &mm.phys), mm.pages.user_levels().file), (CachedPage::Missing, 0));
    assert_eq!(
        (mm.pages.cache.next_dirty(None), mm.write_pending(None).total()),
        (None, 0),
        "nothing is written of it"
    );
    mm.check().expect("every law holds");
    assert_eq!(mm.pages.is_cached(id), None);
    assert_eq!(mm.fs_unlink(id, 0), Err(FsError::NoSuchFile(id)));
    assert_eq!(mm.pages.fs_open(id, &KERNEL, &mut mm.phys), FsStep::Failed(FsError::NoSuchFile(id)));
}

#[test]
fn two_tasks_that_open_a_file_at_once_cache_it_once() {
    let mut mm = keeping(InodeCache::DroppedWithInode);
    let id = mm.fs_create(Pages::new(8)).expect("there is room");
    let FsStep::NeedPage(first) = mm.pages.fs_open(id, &KERNEL, &mut mm.phys) else { panic!("nothing is cached") };
    open(&mut mm, id);
    let page = mm.alloc_fast(&first.request()).expect("there is memory");
    assert_eq!(mm.pages.fs_open_give(&first, Ok(page), &mut mm.phys), FsStep::Done { inode_missed: true });
    mm.check().expect("every law holds");
    assert_eq!(
        (mm.pages.fs_close(id), mm.pages.fs_close(id), mm.pages.fs_close(id)),
        (Ok(()), Ok(()), Err(FsError::NotOpen(id)))
    );
}

#[test]
fn an_opening_that_finds_no_memory_leaves_its_inode_to_the_shrinker() {
    let mut mm = keeping(InodeCache::DroppedWithInode);
    let id = mm.fs_create(Pages::new(8)).expect("there is room");
    let FsStep::NeedPage(inode) = mm.pages.fs_open(id, &KERNEL, &mut mm.phys) else { panic!("nothing is cached") };
    let page = mm.alloc_fast(&inode.request()).expect("there is memory");
    let FsStep::NeedPage(dentry) = mm.pages.fs_open_give(&inode, Ok(page), &mut mm.phys) else {
        panic!("the dentry is missing")
    };
    let failed = mm.pages.fs_open_give(&dentry, Err(AllocError::NoZone), &mut mm.phys);
    assert_eq!(failed, FsStep::Failed(FsError::Slab(SlabError::NoPage(AllocError::NoZone))));
    assert_eq!((mm.pages.is_cached(id), unused(&mm)), (Some((true, false)), (0, 1)));
    mm.check().expect("every law holds");
}

#[test]
fn a_batch_is_shared_out_by_what_is_unused() {
    let mut mm = keeping(InodeCache::DroppedWithInode);
    (0..400).for_each(|_| {
        used(&mut mm);
    });
    scan(&mut mm, 100, 0);
    assert_eq!(unused(&mm), (300, 100));
    let scan = mm.pages.fs.as_ref().expect("it is mounted").scan(NODE, 128);
    assert_eq!((scan.dentries, scan.inodes), (96, 32), "128 by 300 and 100 of 401, and one more of each");
}

#[test]
fn without_a_filesystem_there_are_no_files() {
    let mut mm = mounted(Policy::default());
    assert_eq!(mm.mount(CacheSpec::XFS_INODE), Err(FsError::Mounted));
    mm.pages.fs = None;
    assert_eq!(mm.fs_create(Pages::new(8)), Err(FsError::NotMounted));
    assert_eq!(mm.pages.fs_open(FileId(0), &KERNEL, &mut mm.phys), FsStep::Failed(FsError::NotMounted));
}
