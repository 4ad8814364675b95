//! Passes over lists with pages in known states. Pages of a tmpfs file play those of a file on disk.

use alloc::vec::Vec;

use order9_frames::FrameEvent;
use order9_units::{NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

use crate::page_flags::PageFlag;
use crate::policy::{NewAnon, Policy};
use crate::reclaim::{PageWrite, PassStats, ReclaimControl, ReclaimStep, Reclaimer};
use crate::space::{Access, Backing, FaultStep, MmapRequest, PageView, Prot, SpaceId, VirtAddr};
use crate::trace::Event;
use crate::{FileId, Gfp, Layout, LruList, LruType, Mm, MmBuilder, NodeSpec, Request, ZoneId, ZoneSpec};

const CPU: usize = 0;

/// A node with 16 MiB in zone DMA32 and 16 MiB in Normal.
pub(crate) fn boot() -> Mm {
    let zone = |kind, start| ZoneSpec { node: NodeId(0), kind, span: PfnRange::of(Pfn::new(start), Pages::new(4096)) };
    let layout = Layout {
        nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
        zones: alloc::vec![zone(ZoneKind::Dma32, 4096), zone(ZoneKind::Normal, 1 << 20)],
        cpus: alloc::vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot()
}

/// A mapped file with `count` pages on `list`, accessed by nobody since.
pub(crate) struct Mapped {
    pub(crate) space: SpaceId,
    start: VirtAddr,
    file: FileId,
    pub(crate) pages: Vec<Pfn>,
}

pub(crate) fn mapped(mm: &mut Mm, count: u64, list: LruList, prot: Prot) -> Mapped {
    let file = mm.create_file(Pages::new(count)).expect("there are few");
    let space = mm.create_space().expect("there are few");
    let backing = Backing::File { file, offset: Pages::ZERO, shared: true };
    let request = MmapRequest { backing, prot, ..MmapRequest::anon(Pages::new(count).bytes()) };
    let start = mm.mmap(space, &request, CPU).expect("there is room");
    let mut file_mapped = Mapped { space, start, file, pages: Vec::new() };
    for page in 0..count {
        assert_eq!(touch(mm, &file_mapped, page), FaultStep::Done);
        let idx = mm.phys.frames.at(mm.file_page(file, page).expect("it was just touched"));
        mm.pages.lru.move_lru(idx, list, &mut mm.phys);
        mm.pages.take_uses(idx, &mut mm.phys);
        file_mapped.pages.push(mm.phys.frames.pfn(idx));
    }
    file_mapped
}

fn touch(mm: &mut Mm, mapped: &Mapped, page: u64) -> FaultStep {
    mm.touch(mapped.space, VirtAddr::new(mapped.start.get() + 4096 * page), Access::Read, CPU)
}

/// Runs a pass of `control` over the node; every law holds after every step.
fn pass(mm: &mut Mm, control: ReclaimControl) -> ReclaimControl {
    let id = mm.begin_reclaim(control);
    mm.begin_lru_pass(id, ZoneId(1));
    while mm.reclaim_step(id, CPU) != ReclaimStep::Done {
        mm.check().expect("every law holds");
    }
    mm.check().expect("every law holds");
    mm.end_reclaim(id)
}

fn control(priority: u8) -> ReclaimControl {
    ReclaimControl { priority, ..ReclaimControl::new(Reclaimer::Kswapd, Order::ZERO, u64::MAX, ZoneKind::Movable) }
}

fn sizes(mm: &Mm) -> [u64; LruList::COUNT] {
    LruList::ALL.map(|list| mm.lru_pages(NodeId(0), list))
}

#[test]
fn what_reclaim_frees_for_huge_pages_behind_the_free_scanner_is_counted() {
    for (order, counts) in [(Order::PAGEBLOCK, true), (Order::new(8).expect("a small order"), false)] {
        let mut mm = boot();
        let mapped = mapped(&mut mm, 700, LruList::InactiveFile, Prot::READ);
        let mut pages = mapped.pages.clone();
        pages.sort_unstable();
        let cursor = pages[350].align_down(Order::PAGEBLOCK);
        let zone = mm.phys.frames.zones().iter().find(|zone| zone.span().contains(cursor)).expect("it has a zone");
        let (span, of) = (zone.span(), &mut mm.compaction.zones[zone.id().index()]);
        of.reset_cached(span);
        of.advance_free(cursor);
        let behind = pages.iter().filter(|pfn| span.contains(**pfn) && pfn.get() >= cursor.get() + 512).count();
        assert!(behind > 0 && behind < 700, "{behind} pages");
        let id = mm.begin_reclaim(ReclaimControl { order, ..control(0) });
        mm.begin_lru_pass(id, ZoneId(1));
        while mm.reclaim_step(id, CPU) != ReclaimStep::Done {}
        assert_eq!(mm.end_reclaim(id).nr_reclaimed, 700);
        let found = (mm.phys.counters.huge_reclaimed, mm.phys.counters.huge_reclaimed_behind);
        assert_eq!(found, if counts { (700, behind as u64) } else { (0, 0) });
    }
}

#[test]
fn unused_pages_go_and_used_ones_stay() {
    let mut mm = boot();
    let mapped = mapped(&mut mm, 100, LruList::InactiveFile, Prot::READ);
    touch(&mut mm, &mapped, 3); // Once: another round.
    mm.mark_accessed(mapped.pages[4]);
    touch(&mut mm, &mapped, 4); // Twice: active.
    mm.mark_accessed(mapped.pages[5]); // Once, and clean: goes.
    mm.pin(mapped.pages[6]).expect("it is allocated");
    let run = pass(&mut mm, control(0));
    assert_eq!((run.nr_scanned, run.nr_reclaimed), (100, 97));
    assert_eq!(sizes(&mm), [0, 0, 2, 1, 0]);
    let counters = mm.counters();
    assert_eq!((counters.pgscan_kswapd.total(), counters.pgsteal_kswapd.total(), counters.pgactivate), (100, 97, 1));
    assert_eq!(
        mm.pages.lru.lru_list(ZoneId(1), LruList::InactiveFile, &mm.phys).collect::<Vec<_>>(),
        [mapped.pages[6], mapped.pages[3]]
    );
    assert_eq!((mm.file(mapped.file).unwrap().pages().get(), mm.pages.user_levels().mapped), (3, 3));
}

#[test]
fn translations_are_flushed_once_for_a_chunk() {
    let mut mm = boot();
    mapped(&mut mm, 100, LruList::InactiveFile, Prot::READ);
    let before = mm.phys.work.tlb_flushes;
    assert_eq!(pass(&mut mm, control(0)).nr_reclaimed, 100);
    assert_eq!(mm.phys.work.tlb_flushes - before, 4, "three chunks of 32 pages and one of 4");
}

#[test]
fn whoever_waits_for_writes_goes_on_after_a_chunk_for_each() {
    let mut mm = boot();
    let page = mapped(&mut mm, 1, LruList::InactiveFile, Prot::READ).pages[0];
    let idx = mm.phys.frames.at(page);
    mm.phys.note_written(idx, 1000);
    mm.phys.begin_writeback_wait(NodeId(0));
    mm.phys.begin_writeback_wait(NodeId(0));
    mm.phys.note_written(idx, 64);
    assert_eq!(mm.take_wakeups().written, 0, "what was written before does not count");
    mm.phys.note_written(idx, 1);
    assert_eq!(mm.take_wakeups().written, 1);
}

#[test]
fn a_run_that_may_not_unmap_frees_nothing_that_is_mapped() {
    let mut mm = boot();
    mapped(&mut mm, 40, LruList::InactiveFile, Prot::READ);
    let run = pass(&mut mm, ReclaimControl { may_unmap: false, ..control(0) });
    assert_eq!((run.nr_scanned, run.nr_reclaimed, sizes(&mm)), (40, 0, [0, 0, 40, 0, 0]));
}

#[test]
fn pages_of_higher_zones_are_passed_over_once() {
    let mut mm = boot();
    let mapped = mapped(&mut mm, 40, LruList::InactiveFile, Prot::READ);
    let run = pass(&mut mm, ReclaimControl { reclaim_idx: ZoneKind::Dma32, ..control(0) });
    assert_eq!((run.nr_reclaimed, mm.counters().pgsteal_kswapd.total()), (0, 0));
    // Two chunks, each of which goes round the list.
    assert_eq!((mm.counters().pgskip[ZoneKind::Normal.index()], run.nr_scanned), (80, 80));
    let newest_first = mapped.pages.iter().rev().copied();
    assert!(
        mm.pages.lru.lru_list(ZoneId(1), LruList::InactiveFile, &mm.phys).eq(newest_first),
        "all have moved, so none has"
    );
}

#[test]
fn active_pages_are_aged_while_inactive_ones_are_few() {
    let mut mm = boot();
    let executable = mapped(&mut mm, 64, LruList::ActiveFile, Prot::READ | Prot::EXEC);
    touch(&mut mm, &executable, 0);
    let run = pass(&mut mm, control(0));
    // The first chunk makes 31 inactive and keeps the page that runs; the second finds enough inactive.
    assert_eq!((mm.counters().pgrefill.total(), mm.counters().pgdeactivate, run.nr_reclaimed), (64, 63, 0));
    assert_eq!(sizes(&mm), [0, 0, 63, 1, 0]);
}

#[test]
fn active_pages_are_left_alone_while_inactive_ones_are_many_unless_that_is_forced() {
    let mut mm = boot();
    let inactive = mapped(&mut mm, 64, LruList::InactiveFile, Prot::READ);
    inactive.pages.iter().for_each(|&page| mm.pin(page).expect("it is allocated"));
    mapped(&mut mm, 40, LruList::ActiveFile, Prot::READ);
    let run = pass(&mut mm, control(0));
    assert!(run.skipped_deactivate);
    assert_eq!((mm.counters().pgdeactivate, run.nr_reclaimed), (0, 0));
    let forced = pass(&mut mm, ReclaimControl { force_deactivate: true, ..control(0) });
    assert!(!forced.skipped_deactivate);
    assert_eq!(mm.counters().pgdeactivate, 40);
}

#[test]
fn anonymous_pages_are_left_alone_without_swap() {
    let mut mm = boot();
    let space = mm.create_space().expect("there are few");
    let start = mm.mmap(space, &MmapRequest::anon(Pages::new(50).bytes()), CPU).expect("there is room");
    for page in 0..50 {
        mm.touch(space, VirtAddr::new(start.get() + 4096 * page), Access::Write, CPU);
    }
    let run = pass(&mut mm, control(0));
    assert_eq!((run.nr_scanned, mm.counters().pgrefill.total(), sizes(&mm)), (0, 0, [0, 50, 0, 0, 0]));
}

#[test]
fn pages_dropped_while_isolated_are_freed_and_count() {
    let mut mm = boot();
    let mapped = mapped(&mut mm, 32, LruList::InactiveFile, Prot::READ);
    let id = mm.begin_reclaim(control(0));
    mm.begin_lru_pass(id, ZoneId(1));
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::Scanned);
    assert_eq!(mm.pages.lru.zone_lru(ZoneId(1)).isolated(LruType::File), 32);
    mm.truncate(mapped.file, Pages::new(8), CPU).expect("it is open");
    mm.check().expect("every law holds");
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::Reclaimed(Pages::new(32)));
    mm.check().expect("every law holds");
    assert_eq!((mm.end_reclaim(id).nr_reclaimed, sizes(&mm)), (32, [0; 5]));
}

#[test]
fn a_run_that_ends_early_gives_its_pages_back() {
    let mut mm = boot();
    mapped(&mut mm, 40, LruList::InactiveFile, Prot::READ);
    let id = mm.begin_reclaim(control(0));
    mm.begin_lru_pass(id, ZoneId(1));
    mm.reclaim_step(id, CPU);
    mm.end_reclaim(id);
    mm.check().expect("every law holds");
    assert_eq!(sizes(&mm), [0, 0, 40, 0, 0]);
}

#[test]
fn a_pass_scans_by_priority_and_stops_at_its_goal() {
    let mut mm = boot();
    mapped(&mut mm, 200, LruList::InactiveFile, Prot::READ);
    let run = pass(&mut mm, control(2));
    assert_eq!((run.nr_scanned, run.nr_reclaimed), (50, 50));
    let run = pass(&mut mm, ReclaimControl { nr_to_reclaim: 32, ..control(0) });
    assert_eq!((run.nr_scanned, run.nr_reclaimed), (32, 32));
}

#[test]
fn a_task_waits_once_for_isolated_pages_and_then_gives_up_the_chunk() {
    let mut mm = boot();
    mapped(&mut mm, 80, LruList::InactiveFile, Prot::READ);
    let other = mm.begin_reclaim(control(0));
    mm.begin_lru_pass(other, ZoneId(1));
    assert_eq!(mm.reclaim_step(other, CPU), ReclaimStep::Scanned);
    // 32 are isolated, 48 inactive: more than an eighth.
    let direct = || ReclaimControl { by: Reclaimer::Direct, ..control(1) };
    let id = mm.begin_reclaim(direct());
    mm.begin_lru_pass(id, ZoneId(1));
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::TooManyIsolated);
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::Done, "24 pages in one chunk, which it gave up");
    assert_eq!(mm.end_reclaim(id).nr_scanned, 0);
    let id = mm.begin_reclaim(direct());
    mm.begin_lru_pass(id, ZoneId(1));
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::TooManyIsolated);
    assert_eq!(mm.reclaim_step(other, CPU), ReclaimStep::Reclaimed(Pages::new(32)));
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::Scanned, "it goes on where it was");
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::Reclaimed(Pages::new(24)));
    mm.check().expect("every law holds");
}

#[test]
fn a_pass_tells_what_it_does() {
    let mut mm = boot().traced();
    let file = mm.create_file(Pages::new(40)).expect("there are few");
    for page in 0..40 {
        let pfn = mm.alloc_fast(&Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE)).expect("memory is free");
        mm.add_file_page(file, page, pfn, CPU).expect("it is open");
        mm.pages.lru.move_lru(mm.phys.frames.at(pfn), LruList::InactiveFile, &mut mm.phys);
    }
    mm.phys.events_mut().clear();
    let id = mm.begin_reclaim(control(0));
    mm.begin_lru_pass(id, ZoneId(1));
    while mm.reclaim_step(id, CPU) != ReclaimStep::Done {}
    let is_free = |event: &&Event| matches!(event, Event::Frame(_) | Event::PageFreeBatched { .. });
    let told: Vec<_> = mm.phys.events_mut().iter().filter(|event| !is_free(event)).copied().collect();
    let isolate = |pages| Event::LruIsolate {
        class: ZoneKind::Movable,
        order: Order::ZERO,
        requested: pages,
        scanned: pages,
        skipped: 0,
        taken: pages,
        list: LruList::InactiveFile,
    };
    let shrink = |pages| Event::LruShrinkInactive {
        node: NodeId(0),
        scanned: pages,
        reclaimed: pages,
        stats: PassStats { taken: pages, file_taken: pages, ..PassStats::default() },
        activated: 0,
        referenced: 0,
        priority: 0,
        of: LruType::File,
    };
    let [is_low @ Event::InactiveListIsLow { of: LruType::Anon, .. }] = told[told.len() - 1..] else {
        panic!("in the end anonymous lists are compared: {told:?}")
    };
    assert_eq!(told, [isolate(32), shrink(32), isolate(8), shrink(8), is_low]);
}

/// Pages of `mm_page_free` and of `mm_page_free_batched` since the last call.
fn freed(mm: &mut Mm) -> [Vec<Pfn>; 2] {
    let events = core::mem::take(mm.phys.events_mut());
    let one = |event: &Event| match event {
        Event::Frame(FrameEvent::PageFree { pfn, order: Order::ZERO }) => Some(*pfn),
        _ => None,
    };
    let batched = |event: &Event| match event {
        Event::PageFreeBatched { pfn } => Some(*pfn),
        _ => None,
    };
    [events.iter().filter_map(one).collect(), events.iter().filter_map(batched).collect()]
}

#[test]
fn pages_of_lists_are_freed_together_and_others_one_by_one() {
    let mut mm = boot().traced();
    let taken = mapped(&mut mm, 32, LruList::InactiveFile, Prot::READ);
    mm.phys.events_mut().clear();
    assert_eq!(pass(&mut mm, control(0)).nr_reclaimed, 32);
    let [one, batched] = freed(&mut mm);
    assert_eq!((one.len(), &one), (32, &batched), "reclaim");

    mm.exit(taken.space, CPU).expect("it lives");
    let [one, batched] = freed(&mut mm);
    assert!(!one.is_empty() && batched.is_empty(), "page tables: {one:?}, {batched:?}");

    let space = mm.create_space().expect("there are few");
    let start = mm.mmap(space, &MmapRequest::anon(Pages::new(20).bytes()), CPU).expect("there is room");
    for page in 0..20 {
        assert_eq!(mm.touch(space, VirtAddr::new(start.get() + 4096 * page), Access::Write, CPU), FaultStep::Done);
    }
    mm.phys.events_mut().clear();
    mm.munmap(space, start, Pages::new(20).bytes(), CPU).expect("it is mapped");
    let [one, batched] = freed(&mut mm);
    assert_eq!(batched.len(), 20, "memory of a program");
    assert!(batched.iter().all(|pfn| one.contains(pfn)), "what is freed in a batch is freed");
}

#[test]
fn writes_and_pages_that_come_back_are_what_a_type_costs() {
    let mut mm = boot();
    mm.phys.policy.reclaim.new_anon = NewAnon::Inactive;
    mm.pages.swap.swapon(Pages::new(1000));
    let space = mm.create_space().expect("there are few");
    let start = mm.mmap(space, &MmapRequest::anon(Pages::new(420).bytes()), CPU).expect("there is room");
    let at = |page: u64| VirtAddr::new(start.get() + 4096 * page);
    let pages: Vec<Pfn> = (0..420)
        .map(|page| {
            assert_eq!(mm.touch(space, at(page), Access::Write, CPU), FaultStep::Done);
            let PageView::Present { pfn, .. } = mm.page_at(space, at(page)) else { panic!("it was just written") };
            mm.pages.take_uses(mm.phys.frames.at(pfn), &mut mm.phys);
            pfn
        })
        .collect();
    // Many in use, so that twenty others are few; one of these had been in use before.
    let in_use = |mm: &mut Mm| {
        pages[..400]
            .iter()
            .for_each(|&pfn| mm.pages.lru.move_lru(mm.phys.frames.at(pfn), LruList::ActiveAnon, &mut mm.phys));
    };
    let last = mm.phys.frames.at(pages[419]);
    mm.phys.frames.set(last, mm.phys.frames.word(last).with(PageFlag::Workingset, true));
    let cost = |mm: &Mm| mm.pages.lru.pressure[0].cost;
    in_use(&mut mm);
    let run = pass(&mut mm, control(0));
    assert_eq!((run.writes.len(), run.nr_reclaimed, cost(&mm)), (20, 0, [20, 0]), "each write costs");
    for write in run.writes {
        let PageWrite::Swap(write) = write else { panic!("{write:?} is of no file on disk") };
        mm.swap_written(write, CPU);
    }
    in_use(&mut mm);
    assert_eq!((pass(&mut mm, control(0)).nr_reclaimed, cost(&mm)), (20, [20, 0]));
    in_use(&mut mm);
    let mut comes_back = |page| {
        let FaultStep::NeedPage(fault) = mm.touch(space, at(page), Access::Read, CPU) else { panic!("it is in swap") };
        let pfn = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
        assert_eq!(mm.fault_finish(&fault, pfn, CPU), FaultStep::Done);
        mm.check().expect("every law holds");
        (mm.counters().workingset_activate[0], mm.counters().workingset_restore[0], cost(&mm))
    };
    assert_eq!(comes_back(418), (1, 0, [20, 0]), "it was not in use before");
    assert_eq!(comes_back(419), (2, 1, [21, 0]));
}

/// Makes a program with `count` inactive pages that it has not used since it wrote them, and enough swap.
fn unused_anon(mm: &mut Mm, count: u64) {
    mm.phys.policy.reclaim.new_anon = NewAnon::Inactive;
    mm.pages.swap.swapon(Pages::new(1000));
    let space = mm.create_space().expect("there are few");
    let start = mm.mmap(space, &MmapRequest::anon(Pages::new(count).bytes()), CPU).expect("there is room");
    for page in 0..count {
        let at = VirtAddr::new(start.get() + 4096 * page);
        assert_eq!(mm.touch(space, at, Access::Write, CPU), FaultStep::Done);
        let PageView::Present { pfn, .. } = mm.page_at(space, at) else { panic!("it was just written") };
        mm.pages.take_uses(mm.phys.frames.at(pfn), &mut mm.phys);
    }
}

#[test]
fn anonymous_pages_that_a_pass_takes_are_not_counted_as_those_of_files() {
    let mut mm = boot();
    unused_anon(&mut mm, 20);
    let stats = pass(&mut mm, control(0)).stats;
    assert_eq!((stats.taken, stats.file_taken), (20, 0));
}

#[test]
fn a_run_that_may_not_swap_gives_its_pages_no_slots() {
    let mut mm = boot();
    unused_anon(&mut mm, 20);
    let id = mm.begin_reclaim(control(0));
    mm.begin_lru_pass(id, ZoneId(1));
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::Scanned);
    mm.reclaim_mut(id).may_swap = false;
    assert_eq!(mm.reclaim_step(id, CPU), ReclaimStep::Reclaimed(Pages::ZERO));
    assert_eq!(
        (mm.end_reclaim(id).writes.len(), mm.pages.swap.swap_free(), sizes(&mm)),
        (0, Pages::new(1000), [20, 0, 0, 0, 0])
    );
}

#[test]
fn a_pass_tells_how_many_pages_it_kept_since_they_were_in_use() {
    let mut mm = boot();
    let mapped = mapped(&mut mm, 5, LruList::InactiveFile, Prot::READ);
    touch(&mut mm, &mapped, 1);
    touch(&mut mm, &mapped, 3);
    let mut mm = mm.traced();
    let id = mm.begin_reclaim(control(0));
    mm.begin_lru_pass(id, ZoneId(1));
    while mm.reclaim_step(id, CPU) != ReclaimStep::Done {}
    let told = mm.phys.events_mut().iter().find_map(|event| match event {
        Event::LruShrinkInactive { reclaimed, referenced, .. } => Some((*reclaimed, *referenced)),
        _ => None,
    });
    assert_eq!(told, Some((3, 2)));
}

#[test]
fn aged_pages_are_marked_as_having_been_active_and_take_the_lock_twice() {
    let mut mm = boot();
    let mapped = mapped(&mut mm, 32, LruList::ActiveFile, Prot::READ);
    mm.take_work();
    pass(&mut mm, control(0));
    assert_eq!((mm.settle_work(|done| done.lru.sections), sizes(&mm)), (2, [0, 0, 32, 0, 0]));
    assert!(mapped.pages.iter().all(|&pfn| mm.phys.frames.word(mm.phys.frames.at(pfn)).has(PageFlag::Workingset)));
}
