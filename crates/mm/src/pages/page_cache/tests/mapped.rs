//! Files on disk that programs map.

use order9_units::{Nanos, Pages};

use super::{flush, page, read_pages, write_page};
use crate::Mm;
use crate::fs_cache::FsStep;
use crate::fs_cache::tests::{KERNEL, mounted};
use crate::page_cache::{Added, FileId};
use crate::policy::Policy;
use crate::space::{Access, Backing, Errno, FaultStep, MmapRequest, Place, Prot, Rss, SpaceId, VirtAddr};

/// A file of eight pages that is mapped as a whole and was closed since.
struct Mapped {
    mm: Mm,
    file: FileId,
    space: SpaceId,
    start: VirtAddr,
}

impl Mapped {
    fn new(shared: bool, prot: Prot) -> Self {
        let mut mm = mounted(Policy::default()).with_content_tags();
        let file = mm.fs_create(Pages::new(8)).expect("there is room");
        let space = mm.create_space().expect("it is the first");
        let length = Pages::new(8).bytes();
        let backing = Backing::File { file, offset: Pages::ZERO, shared };
        let request = MmapRequest { place: Place::Anywhere, length, prot, backing, locked: false };
        assert_eq!(mm.mmap(space, &request, 0), Err(Errno::Ebadf), "it is not open");
        assert!(matches!(mm.fs_open_fast(file, &KERNEL), FsStep::Done { .. }));
        let start = mm.mmap(space, &request, 0).expect("there is room");
        mm.pages.fs_close(file).expect("it is open");
        Self { mm, file, space, start }
    }

    fn addr(&self, index: u64) -> VirtAddr {
        VirtAddr::new(self.start.get() + Pages::new(index).bytes().get())
    }

    fn touch(&mut self, index: u64, access: Access) -> FaultStep {
        let step = self.mm.touch(self.space, self.addr(index), access, 0);
        self.mm.check().expect("every law holds");
        step
    }

    fn mkwrite(&mut self, index: u64, now: u64) -> FaultStep {
        self.mm.pages.page_mkwrite(self.space, self.addr(index), Nanos::new(now), 0, &mut self.mm.phys)
    }

    fn rss(&self) -> Rss {
        self.mm.space(self.space).expect("it lives").rss()
    }
}

#[test]
fn a_fault_waits_for_the_read_of_its_page() {
    let mut mapped = Mapped::new(false, Prot::READ);
    let file = mapped.file;
    let missing = || FaultStep::NeedRead { file, index: 3 };
    assert_eq!((mapped.touch(3, Access::Read), mapped.mm.counters().pgmajfault), (missing(), 1));
    let pfn = page(&mut mapped.mm);
    assert_eq!(mapped.mm.add_to_page_cache(file, 3, pfn, 0), Ok(Added::New(None)));
    assert_eq!((mapped.touch(3, Access::Read), mapped.mm.counters().pgmajfault), (missing(), 1), "it is being read");
    mapped.mm.end_page_read(file, 3, Pages::new(1), 0);
    read_pages(&mut mapped.mm, file, 5, 1);
    assert_eq!((mapped.touch(3, Access::Read), mapped.mm.counters().pgfault), (FaultStep::Done, 1));
    assert_eq!(
        (mapped.rss().file_pages, mapped.mm.pages.user_levels().mapped),
        (2, 2),
        "what is near is mapped with it"
    );
    assert_eq!(mapped.mm.pages.invalidate(file, 0, 0, &mut mapped.mm.phys), (0, None), "mapped pages stay");
}

#[test]
fn faults_are_counted_once_and_never_taken_back() {
    let mut mapped = Mapped::new(false, Prot::READ);
    let FaultStep::NeedPage(fault) = mapped.mm.fault_begin(mapped.space, mapped.addr(3), Access::Read, 0) else {
        panic!("the slot has no page table")
    };
    assert_eq!(mapped.mm.counters().pgfault, 0, "it may yet have to be repeated");
    let table = mapped.mm.alloc_fast(&fault.request(0)).expect("memory is free");
    assert_eq!(mapped.mm.fault_finish(&fault, table, 0), FaultStep::NeedRead { file: mapped.file, index: 3 });
    assert_eq!(mapped.mm.counters().pgfault, 0, "and so it is");
    read_pages(&mut mapped.mm, mapped.file, 3, 1);
    assert_eq!((mapped.touch(3, Access::Read), mapped.mm.counters().pgfault), (FaultStep::Done, 1));
}

#[test]
fn writes_through_shared_mappings_are_noticed_once_until_they_are_written() {
    let mut mapped = Mapped::new(true, Prot::RW);
    let file = mapped.file;
    read_pages(&mut mapped.mm, file, 0, 2);
    assert_eq!(mapped.touch(0, Access::Read), FaultStep::Done);
    for round in 1..3 {
        assert_eq!(mapped.touch(0, Access::Write), FaultStep::NeedMkwrite);
        assert_eq!(mapped.mkwrite(0, round), FaultStep::Done);
        assert_eq!((mapped.touch(0, Access::Write), mapped.mm.counters().nr_dirtied), (FaultStep::Hit, round));
        assert_eq!(mapped.mm.pages.cache.next_dirty(Some(Nanos::new(round))), Some(file));
        flush(&mut mapped.mm, round);
        assert_eq!(mapped.mm.pages.cache.next_dirty(None), None);
    }
    write_page(&mut mapped.mm, file, 1, 5);
    assert_eq!(mapped.touch(1, Access::Write), FaultStep::Done, "it is dirty already");
}

#[test]
fn private_copies_leave_the_file_clean() {
    let mut mapped = Mapped::new(false, Prot::RW);
    read_pages(&mut mapped.mm, mapped.file, 0, 1);
    assert_eq!(mapped.touch(0, Access::Write), FaultStep::Done);
    assert_eq!((mapped.rss().anon_pages, mapped.rss().file_pages), (1, 0));
    assert_eq!(mapped.mm.write_pending(None).total(), 0);
}

#[test]
fn mappings_hold_the_file_open_and_truncation_empties_them() {
    let mut mapped = Mapped::new(true, Prot::RW);
    let file = mapped.file;
    assert!(mapped.mm.fs_unlink(file, 0).is_err(), "it is mapped");
    read_pages(&mut mapped.mm, file, 0, 8);
    assert_eq!(mapped.touch(2, Access::Read), FaultStep::Done);
    mapped.mm.truncate(file, Pages::new(1), 0).expect("it is open");
    assert_eq!((mapped.touch(2, Access::Read), mapped.rss().file_pages), (FaultStep::Bus, 1));
    mapped.mm.munmap(mapped.space, mapped.start, Pages::new(8).bytes(), 0).expect("it is mapped");
    mapped.mm.check().expect("every law holds");
    mapped.mm.fs_unlink(file, 0).expect("nobody uses it");
    assert_eq!((mapped.mm.pages.user_levels().file, mapped.mm.pages.user_levels().mapped), (0, 0));
    mapped.mm.check().expect("every law holds");
}
