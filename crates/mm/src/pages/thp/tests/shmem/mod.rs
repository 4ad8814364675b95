//! Huge pages of tmpfs by rule.

mod collapse;
mod faults;
mod limits;
mod mounts;
mod operations;
mod punch;

use super::*;
use crate::page_cache::FileId;
use crate::shmem::{ShmemHuge, ShmemPage};
use crate::space::{Backing, Prot};
use crate::{Errno, MountId};

/// A machine with a mount of `huge=always`.
fn machine() -> (Mm, MountId) {
    let mut mm = boot(Policy::default());
    mm.pages.swap.swapon(Pages::new(2000));
    let mount = mm.mount_tmpfs(ShmemHuge::Always).expect("the default policy has it");
    (mm, mount)
}

fn file(mm: &mut Mm, mount: MountId, count: u64) -> FileId {
    mm.create_file_on(mount, Pages::new(count), None).expect("the mount exists")
}

/// Maps `count` pages of a file from its page `offset` on at page `first`.
fn map_file(mm: &mut Mm, space: SpaceId, first: u64, file: FileId, offset: u64, count: u64, shared: bool) {
    let backing = Backing::File { file, offset: Pages::new(offset), shared };
    let request = MmapRequest { place: Place::Fixed(at(first)), backing, ..MmapRequest::anon(pages(count)) };
    mm.mmap(space, &request, CPU).expect("there is room");
}

/// A program that maps all of a file of `count` pages from [`START`] on, shared.
fn shared(mm: &mut Mm, mount: MountId, count: u64) -> (FileId, SpaceId) {
    let file = file(mm, mount, count);
    let space = mm.create_space().expect("there are few");
    map_file(mm, space, 0, file, 0, count, true);
    (file, space)
}

/// Makes the system call that writes a page of a file; `huge` says whether there are huge pages.
fn write_call(mm: &mut Mm, file: FileId, index: u64, huge: bool) {
    let mut hole = match mm.shmem_page(file, index) {
        ShmemPage::Hole => mm.shmem_hole(SpaceId::default(), file, index, CPU).expect("the mount has room"),
        found => panic!("{found:?}"),
    };
    let page = loop {
        let refuse = hole.may_be_refused() && !huge;
        match mm.alloc_fast(&hole.request(CPU)).ok().filter(|_| !refuse) {
            Some(page) => break page,
            None => hole = mm.shmem_refused(&hole),
        }
    };
    mm.fill_shmem_hole(&hole, page, CPU).expect("the file is open");
    mm.write_page(file, index, order9_units::Nanos::ZERO);
    checked(mm);
}

/// Huge pages of tmpfs, and those mapped as such.
fn thps(mm: &Mm) -> (u64, u64) {
    (mm.pages.user_levels().shmem_thps, mm.pages.user_levels().shmem_pmdmapped)
}

/// Huge pages added, refused, and mapped.
fn file_events(mm: &Mm) -> [u64; 3] {
    let counters = mm.counters();
    [counters.thp_file_alloc, counters.thp_file_fallback, counters.thp_file_mapped]
}

fn head(mm: &Mm, file: FileId, index: u64) -> Pfn {
    mm.phys.compound_head(mm.file_page(file, index).expect("it is there"))
}
