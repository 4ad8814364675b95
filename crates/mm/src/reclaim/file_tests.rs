//! Passes over page cache: dirty pages, pages under writeback, and pages that come back.

use order9_units::{Nanos, NodeId, Order, Pages, ZoneKind};

use super::Pressure;
use super::{PageWrite, PassStats, ReclaimControl, ReclaimFlags, ReclaimStep, Reclaimer};
use crate::fs_cache::tests::{mounted, used};
use crate::page_cache::tests::{flush, read_pages, write_page};
use crate::page_flags::PageFlag;
use crate::policy::Policy;
use crate::{FileId, Gfp, LruList, Mm, ZoneId};

const CPU: usize = 0;
const ZONE: ZoneId = ZoneId(0);
const DIRTY: ReclaimFlags = ReclaimFlags { writeback: false, congested: false, dirty: true };
const WRITEBACK: ReclaimFlags = ReclaimFlags { writeback: true, congested: false, dirty: false };
const NOTHING: PassStats = PassStats::NONE;

fn control(by: Reclaimer) -> ReclaimControl {
    ReclaimControl { priority: 0, ..ReclaimControl::new(by, Order::ZERO, u64::MAX, ZoneKind::Movable) }
}

/// Runs a pass of `control`; every law holds after every step.
fn pass(mm: &mut Mm, control: ReclaimControl) -> ReclaimControl {
    let id = mm.begin_reclaim(control);
    mm.begin_lru_pass(id, ZONE);
    while mm.reclaim_step(id, CPU) != ReclaimStep::Done {
        mm.check().expect("every law holds");
    }
    mm.end_reclaim(id)
}

/// A machine with a file of 32 dirty pages, seen once since.
fn dirty() -> (Mm, FileId) {
    let mut mm = mounted(Policy::default()).with_content_tags();
    let file = used(&mut mm);
    (0..32).for_each(|index| write_page(&mut mm, file, index, 0));
    (mm, file)
}

fn make_inactive(mm: &mut Mm, file: FileId) {
    for index in 0..32 {
        let idx = mm.phys.frames.at(mm.file_page(file, index).expect("nothing was freed"));
        mm.pages.lru.move_lru(idx, LruList::InactiveFile, &mut mm.phys);
    }
}

fn lists(mm: &Mm) -> [u64; 2] {
    [LruList::InactiveFile, LruList::ActiveFile].map(|list| mm.pages.lru.zone_lru(ZONE).pages(list))
}

#[test]
fn dirty_pages_are_left_to_the_flushers() {
    for by in [Reclaimer::Direct, Reclaimer::Kswapd] {
        let (mut mm, _) = dirty();
        let run = pass(&mut mm, control(by));
        let all = PassStats { taken: 32, file_taken: 32, dirty: 32, unqueued_dirty: 32, ..NOTHING };
        assert_eq!((run.stats, run.wake_flushers, run.nr_reclaimed), (all, true, 0));
        assert_eq!((mm.counters().nr_vmscan_immediate_reclaim, lists(&mm)), (32, [0, 32]));
        assert_eq!(ReclaimFlags::default().after(&run.stats), DIRTY);
        flush(&mut mm, 0);
        assert_eq!((mm.counters().pgrotated, lists(&mm)), (32, [32, 0]), "they are next once they are written");
        assert_eq!(pass(&mut mm, control(by)).nr_reclaimed, 32);
    }
}

#[test]
fn kswapd_writes_pages_that_come_round_again_where_it_meets_nothing_else() {
    let (mut mm, file) = dirty();
    pass(&mut mm, control(Reclaimer::Kswapd));
    mm.reclaim.set_reclaim_flags(ZONE, DIRTY, &mm.phys);
    for not_allowed in [
        ReclaimControl { may_writepage: false, ..control(Reclaimer::Kswapd) },
        ReclaimControl { gfp: Gfp::GFP_NOFS, ..control(Reclaimer::Kswapd) },
    ] {
        make_inactive(&mut mm, file);
        let run = pass(&mut mm, not_allowed);
        assert_eq!((run.writes.len(), lists(&mm)), (0, [32, 0]), "kept");
    }
    let run = pass(&mut mm, control(Reclaimer::Kswapd));
    assert_eq!((run.writes.len(), mm.counters().nr_vmscan_write, mm.write_pending(None).writeback), (32, 32, 32));
    for write in run.writes {
        let PageWrite::File(write) = write else { panic!("{write:?} is of a file") };
        mm.file_written(&write, Nanos::ZERO, CPU);
        mm.check().expect("every law holds");
    }
    assert_eq!((mm.counters().pgrotated, pass(&mut mm, control(Reclaimer::Direct)).nr_reclaimed), (32, 32));
}

#[test]
fn pages_under_writeback_are_marked_once_and_then_stall_kswapd() {
    let (mut mm, file) = dirty();
    mm.pages.start_writeback(file, Pages::new(32), &mut mm.phys).expect("all are dirty");
    let run = pass(&mut mm, control(Reclaimer::Kswapd));
    let all = PassStats { taken: 32, file_taken: 32, dirty: 32, writeback: 32, ..NOTHING };
    assert_eq!((run.stats, ReclaimFlags::default().after(&run.stats)), (all, WRITEBACK));
    for (flags, again) in [
        (ReclaimFlags::default(), PassStats { congested: 32, ..all }),
        (WRITEBACK, PassStats { congested: 32, writeback: 0, immediate: 32, ..all }),
    ] {
        make_inactive(&mut mm, file);
        mm.reclaim.set_reclaim_flags(ZONE, flags, &mm.phys);
        let run = pass(&mut mm, control(Reclaimer::Kswapd));
        assert_eq!((run.stats, run.stats.stalls_kswapd()), (again, again.immediate > 0));
    }
    make_inactive(&mut mm, file);
    assert_eq!(pass(&mut mm, control(Reclaimer::Direct)).stats.immediate, 0, "a task does not wait for it here");
}

#[test]
fn a_congested_disk_makes_its_dirty_pages_congested() {
    let (mut mm, _) = dirty();
    mm.reclaim.set_congested(true);
    let run = pass(&mut mm, control(Reclaimer::Kswapd));
    assert_eq!((run.stats.congested, ReclaimFlags::default().after(&run.stats).congested), (32, true));
}

#[test]
fn pages_being_read_are_kept() {
    let mut mm = mounted(Policy::default());
    let file = used(&mut mm);
    let page = mm.alloc_fast(&crate::fs_cache::tests::KERNEL).expect("there is memory");
    mm.add_to_page_cache(file, 0, page, CPU).expect("the inode is in memory");
    assert_eq!((pass(&mut mm, control(Reclaimer::Direct)).nr_reclaimed, lists(&mm)), (0, [1, 0]));
    mm.end_page_read(file, 0, Pages::new(1), CPU);
    assert_eq!(pass(&mut mm, control(Reclaimer::Direct)).nr_reclaimed, 1);
}

#[test]
fn pages_that_come_back_within_the_active_list_start_active_and_age_it() {
    let mut mm = mounted(Policy::default());
    let [hot, cold] = [used(&mut mm), used(&mut mm)];
    read_pages(&mut mm, cold, 0, 8);
    assert_eq!(pass(&mut mm, control(Reclaimer::Kswapd)).nr_reclaimed, 8);
    read_pages(&mut mm, hot, 0, 3);
    for index in 0..3 {
        let idx = mm.phys.frames.at(mm.file_page(hot, index).expect("it was read"));
        mm.pages.lru.move_lru(idx, LruList::ActiveFile, &mut mm.phys);
    }
    // Evicted in the order they were read: three more inactive pages would have kept the last three.
    let refaulted = |mm: &Mm| (mm.counters().workingset_refault[1], mm.counters().workingset_activate[1]);
    read_pages(&mut mm, cold, 0, 5);
    assert_eq!((refaulted(&mm), lists(&mm)), ((5, 0), [5, 3]));
    read_pages(&mut mm, cold, 5, 3);
    assert_eq!((refaulted(&mm), lists(&mm)), ((8, 3), [5, 6]));
    // Three refaults: the next run ages the active list although the inactive one is long enough, the one after it not.
    let third = used(&mut mm);
    read_pages(&mut mm, third, 0, 8);
    for after in [[10, 3], [5, 3]] {
        pass(&mut mm, ReclaimControl { priority: 1, ..control(Reclaimer::Kswapd) });
        assert_eq!(lists(&mm), after);
    }
}

#[test]
fn pages_found_in_use_are_scanned_in_vain_and_cost_their_type() {
    let (mut mm, _) = dirty();
    pass(&mut mm, control(Reclaimer::Direct));
    // The cost of 32 is more than a quarter of the 32 pages there are, so half of it has faded.
    let pressure = Pressure { scanned: [0, 32], rotated: [0, 32], cost: [0, 16] };
    assert_eq!((mm.pages.lru.pressure[0], mm.phys.frames.watch().scanned_since_free.pages[0]), (pressure, 32));
}

#[test]
fn pages_that_come_round_again_are_left_to_the_flushers_unless_kswapd_meets_nothing_else() {
    for (by, flags) in [(Reclaimer::Kswapd, ReclaimFlags::default()), (Reclaimer::Direct, DIRTY)] {
        let (mut mm, file) = dirty();
        pass(&mut mm, control(by));
        make_inactive(&mut mm, file);
        mm.reclaim.set_reclaim_flags(ZONE, flags, &mm.phys);
        assert_eq!((pass(&mut mm, control(by)).writes.len(), lists(&mm)), (0, [0, 32]), "{by:?} {flags:?}");
    }
}

#[test]
fn kswapd_writes_no_pages_that_were_read_again() {
    let (mut mm, file) = dirty();
    pass(&mut mm, control(Reclaimer::Kswapd));
    make_inactive(&mut mm, file);
    mm.reclaim.set_reclaim_flags(ZONE, DIRTY, &mm.phys);
    for index in 0..32 {
        let idx = mm.phys.frames.at(mm.file_page(file, index).expect("nothing was freed"));
        mm.phys.frames.set(idx, mm.phys.frames.word(idx).with(PageFlag::Referenced, true));
    }
    assert_eq!((pass(&mut mm, control(Reclaimer::Kswapd)).writes.len(), lists(&mm)), (0, [32, 0]));
}

#[test]
fn a_page_that_is_written_again_is_not_what_reclaim_waits_for() {
    let (mut mm, file) = dirty();
    pass(&mut mm, control(Reclaimer::Direct));
    write_page(&mut mm, file, 3, 0);
    assert_eq!((mm.counters().nr_dirtied, mm.write_pending(None).dirty), (32, 32), "it was dirty already");
    flush(&mut mm, 0);
    assert_eq!((mm.counters().pgrotated, lists(&mm)), (31, [31, 1]));
}

#[test]
fn written_pages_that_reclaim_does_not_wait_for_stay_where_they_are() {
    let (mut mm, _) = dirty();
    flush(&mut mm, 0);
    assert_eq!((mm.counters().nr_written, mm.counters().pgrotated), (32, 0));
}

#[test]
fn a_reclaimer_that_waits_goes_on_once_files_have_written_more_than_a_chunk() {
    for (pages, written) in [(32, 0), (33, 1)] {
        let mut mm = mounted(Policy::default());
        let file = used(&mut mm);
        (0..pages).for_each(|index| write_page(&mut mm, file, index, 0));
        mm.phys.begin_writeback_wait(NodeId(0));
        flush(&mut mm, 0);
        assert_eq!(mm.take_wakeups().written, written, "{pages} pages");
    }
}

#[test]
fn folios_are_reclaimed_as_one_and_every_place_has_its_shadow() {
    let mut mm = mounted(Policy::default()).with_content_tags();
    let file = used(&mut mm);
    mm.pages.cache.files.grow(file, Pages::new(32));
    let order = Order::new(4).expect("it is one");
    let read = |mm: &mut Mm, index| {
        let block = mm.alloc_fast(&crate::Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE)).expect("there is memory");
        mm.add_to_page_cache(file, index, block, CPU).expect("it is open");
        mm.end_page_read(file, index, Pages::new(16), CPU);
    };
    read(&mut mm, 0);
    read(&mut mm, 16);
    mm.write_page(file, 20, Nanos::ZERO);
    let run = pass(&mut mm, control(Reclaimer::Direct));
    assert_eq!((run.nr_reclaimed, run.stats.taken, run.stats.dirty), (16, 32, 16), "a folio counts with all its pages");
    assert_eq!((mm.pages.user_levels().file, lists(&mm)), (16, [0, 16]));
    assert_eq!((mm.counters().nr_vmscan_immediate_reclaim, mm.phys.work.pages_uncached), (16, 1));
    assert_eq!(mm.phys.work.parts_uncached, 15);
    read_pages(&mut mm, file, 3, 1);
    assert_eq!(mm.counters().workingset_refault[1], 1);
    read_pages(&mut mm, file, 4, 1);
    assert_eq!(mm.counters().workingset_refault[1], 2, "each place has a shadow of its own");
    mm.check().expect("every law holds");
}
