//! Faults row by row, and operations range by range, each with everything it counts; and what a refusal leaves alone.

use alloc::vec::Vec;

use order9_units::{NodeId, Pfn};

use super::counters::{adds, recent};
use super::khugepaged::{base_pages, pass};
use super::operations::move_to;
use super::{
    CPU, HUGE, HugeEnabled, access, at, boot, checked, fork, frame, is_huge, map, pages, program, read, write,
};
use crate::policy::Policy;
use crate::space::{Access, Errno, FaultStep, Madvise, Need, PageView, Prot, SpaceId};
use crate::thp::{CollapseFailure, KhugepagedStep};
use crate::{Gfp, Mm, Request};

/// Preparation that makes a fault come to one row of the table.
type Prepare = fn(&mut Mm, SpaceId);
type Counts = &'static [(&'static str, u64)];

/// The page that is accessed: of the second slot, which is mapped as a whole.
const PAGE: u64 = HUGE + 7;

fn advise(mm: &mut Mm, space: SpaceId, advice: Madvise) {
    mm.madvise(space, at(HUGE), pages(HUGE), advice, CPU).expect("it is mapped");
}

/// Row, what comes before the fault, the access, whether there are huge pages, what is counted, whether it maps a huge page.
const FAULTS: [(&str, Prepare, Access, bool, Counts, bool); 16] = [
    (
        "1: a table",
        |mm, space| {
            access(mm, space, at(PAGE + 1), Access::Write, false);
        },
        Access::Write,
        true,
        &[],
        false,
    ),
    (
        "1: an emptied table",
        |mm, space| {
            access(mm, space, at(PAGE + 1), Access::Write, false);
            advise(mm, space, Madvise::DontNeed);
        },
        Access::Write,
        true,
        &[],
        false,
    ),
    ("2: never", |mm, _| mm.phys.set_thp_enabled(HugeEnabled::Never), Access::Write, true, &[], false),
    ("2: never, read", |mm, _| mm.phys.set_thp_enabled(HugeEnabled::Never), Access::Read, true, &[], false),
    (
        "2: never, advised",
        |mm, space| {
            advise(mm, space, Madvise::HugePage);
            mm.phys.set_thp_enabled(HugeEnabled::Never);
        },
        Access::Write,
        true,
        &[],
        false,
    ),
    ("2: madvise, not advised", |mm, _| mm.phys.set_thp_enabled(HugeEnabled::Madvise), Access::Write, true, &[], false),
    (
        "2: madvise, advised",
        |mm, space| {
            mm.phys.set_thp_enabled(HugeEnabled::Madvise);
            advise(mm, space, Madvise::HugePage);
        },
        Access::Write,
        true,
        &[("thp_fault_alloc", 1)],
        true,
    ),
    ("3: advised against", |mm, space| advise(mm, space, Madvise::NoHugePage), Access::Write, true, &[], false),
    (
        "3: disabled for the space",
        |mm, space| {
            advise(mm, space, Madvise::HugePage);
            mm.pages.spaces.set_thp_disabled(space, true).expect("it lives");
        },
        Access::Write,
        true,
        &[],
        false,
    ),
    (
        "4: the slot lacks its last page",
        |mm, space| {
            mm.munmap(space, at(2 * HUGE - 1), pages(1), CPU).expect("it is mapped");
        },
        Access::Write,
        false,
        &[],
        false,
    ),
    ("6: no huge page", |_, _| {}, Access::Write, false, &[("thp_fault_fallback", 1)], false),
    (
        "6: no page of zeros",
        |_, _| {},
        Access::Read,
        false,
        &[("thp_fault_fallback", 1), ("thp_zero_page_alloc_failed", 1)],
        false,
    ),
    ("a write", |_, _| {}, Access::Write, true, &[("thp_fault_alloc", 1)], true),
    ("the first read", |_, _| {}, Access::Read, true, &[("thp_zero_page_alloc", 1)], true),
    ("the next read", |mm, space| read(mm, space, 0), Access::Read, true, &[], true),
    (
        "a read without page of zeros",
        |mm, _| mm.tune(|tunables| tunables.thp_use_zero_page = false),
        Access::Read,
        true,
        &[("thp_fault_alloc", 1)],
        true,
    ),
];

#[test]
fn every_row_of_eligibility_counts_what_it_says() {
    for (row, prepare, how, has_huge, expected, huge) in FAULTS {
        let mut mm = boot(recent());
        let space = program(&mut mm, 3 * HUGE);
        prepare(&mut mm, space);
        let anon = mm.space(space).unwrap().rss().anon_pages;
        let added =
            adds(&mut mm, |mm| assert_eq!(access(mm, space, at(PAGE), how, has_huge), FaultStep::Done, "{row}"));
        assert_eq!((added.as_slice(), is_huge(&mm, space, PAGE)), (expected, huge), "{row}");
        let more = mm.space(space).unwrap().rss().anon_pages - anon;
        let expected = match (expected, how) {
            ([("thp_fault_alloc", _)], _) => HUGE,
            (_, Access::Write) => 1,
            (_, Access::Read) => 0,
        };
        assert_eq!(more, expected, "{row}");
    }
}

#[test]
fn a_huge_page_without_memory_for_its_page_table_is_given_back_and_nothing_counted() {
    let mut mm = boot(recent());
    let space = program(&mut mm, HUGE);
    let step = mm.fault_begin(space, at(0), Access::Write, CPU);
    let FaultStep::NeedPage(fault) = &step else { panic!("{step:?}") };
    assert_eq!(fault.need(), Need::HugePage, "the huge page comes first");
    let page = mm.alloc_fast(&fault.request(CPU)).expect("there is one");
    while mm.alloc_fast(&Request::new(order9_units::Order::ZERO, Gfp::GFP_KERNEL)).is_ok() {}
    let added = adds(&mut mm, |mm| {
        let step = mm.fault_finish(fault, page, CPU);
        assert_eq!(super::no_page(&step), Some(Need::DepositFor(page)), "row 5: the caller reclaims for it");
        checked(mm);
        let FaultStep::NeedPage(fault) = &step else { unreachable!("it was that") };
        let free = mm.phys().free_pages();
        let step = mm.fault_refused(fault, CPU);
        assert_eq!(step, FaultStep::Done, "the page table comes from what the huge page was, and so does a base page");
        let back = (mm.phys().free_pages() - free).get();
        assert!(back > HUGE / 2 && back < HUGE, "{back} pages are free again");
    });
    assert_eq!(added, []);
    checked(&mm);
}

#[test]
fn each_slot_written_first_counts_an_allocation_or_a_fallback() {
    let mut mm = boot(recent());
    let (slots, there) = (8, |slot: u64| slot % 3 != 1);
    let space = program(&mut mm, slots * HUGE);
    for page in (0..slots * HUGE).step_by(100) {
        access(&mut mm, space, at(page), Access::Write, there(page / HUGE));
    }
    let counters = mm.counters();
    assert_eq!((counters.thp_fault_alloc, counters.thp_fault_fallback), (5, 3));
}

#[test]
fn what_lies_beside_whole_slots_gets_base_pages() {
    // 5 MiB from the middle of a slot on, and one page further: slots within, base pages before and behind.
    for (first, slots, before, behind) in [(HUGE / 2, 2, 256, 0), (HUGE / 2 + 1, 2, 255, 1)] {
        let mut mm = boot(recent());
        let space = mm.create_space().unwrap();
        map(&mut mm, space, first, 5 * HUGE / 2);
        (first..first + 5 * HUGE / 2).for_each(|page| {
            mm.touch(space, at(page), Access::Write, CPU);
        });
        checked(&mm);
        let counters = mm.counters();
        assert_eq!((counters.thp_fault_alloc, counters.thp_fault_fallback), (slots, 0));
        assert_eq!(counters.pgfault, slots + before + behind);
    }
}

#[test]
fn a_program_that_disables_huge_pages_keeps_what_it_has_and_its_children_inherit_it() {
    let mut policy = recent();
    policy.thp.madvise_collapse = true;
    let mut mm = boot(policy);
    let space = program(&mut mm, 2 * HUGE);
    write(&mut mm, space, 0);
    mm.pages.spaces.set_thp_disabled(space, true).unwrap();
    write(&mut mm, space, HUGE);
    assert!(is_huge(&mm, space, 0) && !is_huge(&mm, space, HUGE));
    assert_eq!(mm.collapse_scan(space, at(HUGE)), Err(CollapseFailure::VmaCheck));
    let range = mm.pages.collapse_range(space, at(HUGE), pages(HUGE), &mut mm.phys).unwrap();
    assert_eq!((range.mappings.len(), range.end), (0, Err(Errno::Einval)));
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, true))), [], "khugepaged leaves it alone, too");
    let program = mm.space(space).unwrap();
    assert!(program.vmas().all(|vma| !mm.has_room_for_huge_page(program, vma)));
    let child = fork(&mut mm, space);
    assert_eq!(
        (mm.pages.spaces.thp_disabled(child), mm.pages.spaces.thp_disabled(SpaceId(99))),
        (Ok(true), Err(Errno::Esrch))
    );
    mm.pages.spaces.set_thp_disabled(space, false).unwrap();
    assert_eq!(mm.pages.spaces.thp_disabled(child), Ok(true), "each has its own from then on");
    mm.exit(child, CPU).unwrap();
    write(&mut mm, space, HUGE);
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, true))), [("thp_collapse_alloc", 1)]);
}

/// An operation on pages `first` to `first + count`.
type Operation = fn(&mut Mm, SpaceId, u64, u64);

const OPERATIONS: [(&str, Operation, [[u64; 3]; 3]); 11] = [
    ("munmap", |mm, space, first, count| mm.munmap(space, at(first), pages(count), CPU).unwrap(), ZAPS),
    ("mmap over it", |mm, space, first, count| map(mm, space, first, count), ZAPS),
    ("MADV_DONTNEED", |mm, space, first, count| advised(mm, space, first, count, Madvise::DontNeed), ZAPS),
    ("mprotect", |mm, space, first, count| mm.mprotect(space, at(first), pages(count), Prot::READ).unwrap(), CUTS),
    ("MADV_HUGEPAGE", |mm, space, first, count| advised(mm, space, first, count, Madvise::HugePage), CUTS),
    ("MADV_NOHUGEPAGE", |mm, space, first, count| advised(mm, space, first, count, Madvise::NoHugePage), CUTS),
    ("mlock", |mm, space, first, count| mm.mlock(space, at(first), pages(count)).unwrap(), CUTS),
    ("mremap, aligned", |mm, space, first, count| move_to(mm, space, first, count, 8 * HUGE + first), CUTS),
    (
        "mremap, not aligned",
        |mm, space, first, count| move_to(mm, space, first, count, 8 * HUGE + first + 1),
        [[1, 0, 0], [1, 0, 0], [2, 0, 0]],
    ),
    (
        "MADV_FREE",
        |mm, space, first, count| advised(mm, space, first, count, Madvise::Free),
        [[0, 0, 0], [1, 1, 0], [2, 2, 0]],
    ),
    ("exit", |mm, space, _, _| mm.exit(space, CPU).unwrap(), [[0; 3]; 3]),
];
/// Of a whole slot, a part of one, and an edge between two: mappings split, pages split, pages queued.
const CUTS: [[u64; 3]; 3] = [[0, 0, 0], [1, 0, 0], [2, 0, 0]];
const ZAPS: [[u64; 3]; 3] = [[0, 0, 0], [1, 0, 1], [2, 0, 2]];

fn advised(mm: &mut Mm, space: SpaceId, first: u64, count: u64, advice: Madvise) {
    mm.madvise(space, at(first), pages(count), advice, CPU).unwrap();
}

#[test]
fn every_operation_splits_what_it_cuts_and_queues_what_it_unmaps_in_part() {
    for (name, operation, expected) in OPERATIONS {
        let ranges = [(HUGE, HUGE), (HUGE + 100, 100), (HUGE / 2, HUGE)];
        let found = ranges.map(|(first, count)| {
            let mut mm = boot(recent());
            let space = program(&mut mm, 3 * HUGE);
            (0..3).for_each(|slot| write(&mut mm, space, slot * HUGE));
            let added = adds(&mut mm, |mm| operation(mm, space, first, count));
            checked(&mm);
            let of = |name| added.iter().find(|(found, _)| *found == name).map_or(0, |&(_, count)| count);
            let counts = ["thp_split_pmd", "thp_split_page", "thp_deferred_split_page"].map(of);
            let seen: u64 = added.iter().map(|(_, count)| count).sum();
            assert_eq!(counts.iter().sum::<u64>(), seen, "{name} counts nothing else: {added:?}");
            counts
        });
        assert_eq!(found, expected, "{name}: a slot, a part of one, parts of two");
    }
}

#[test]
fn never_makes_nothing_huge_and_leaves_what_is() {
    let mut policy = Policy::default();
    policy.thp.madvise_collapse = true;
    let (mut mm, spaces) = base_pages(policy, &[3]);
    let space = spaces[0];
    map(&mut mm, space, 4 * HUGE, 3 * HUGE);
    write(&mut mm, space, 4 * HUGE);
    read(&mut mm, space, 5 * HUGE);
    let child = fork(&mut mm, space);
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    let nothing = adds(&mut mm, |mm| {
        write(mm, space, 6 * HUGE);
        read(mm, child, 6 * HUGE);
        write(mm, space, 1);
        drop(pass(mm, true));
    });
    assert_eq!(nothing, []);
    assert!(is_huge(&mm, space, 4 * HUGE) && is_huge(&mm, space, 5 * HUGE));
    let copy = adds(&mut mm, |mm| write(mm, child, 4 * HUGE));
    assert_eq!(copy, [("thp_fault_fallback", 1)], "a huge copy is refused");
    let zeros = adds(&mut mm, |mm| write(mm, child, 5 * HUGE));
    assert_eq!(zeros, [("thp_fault_fallback", 1), ("thp_split_pmd", 1)], "and so is a huge page in the place of zeros");
    let plan = mm.collapse_scan(space, at(0)).expect("MADV_COLLAPSE does not ask").expect("it has base pages");
    let page = mm.alloc_fast(&plan.request(CPU)).unwrap();
    assert_eq!(mm.collapse_finish(&plan, page, CPU), Ok(()));
    checked(&mm);
}

#[test]
fn a_split_of_a_mapping_leaves_content_and_references_as_they_were() {
    let mut mm = boot(recent());
    let space = program(&mut mm, HUGE);
    (0..HUGE).step_by(9).for_each(|page| write(&mut mm, space, page));
    let other = fork(&mut mm, space);
    let head = frame(&mm, space, 0);
    mm.pin(head).unwrap();
    let state = |mm: &Mm| {
        let parts: Vec<u32> = (0..HUGE).map(|part| mm.pages.mapcount(Pfn::new(head.get() + part), &mm.phys)).collect();
        let beside =
            mm.pages.huge_page_count(head, &mm.phys).unwrap() - mm.pages.total_mapcount(head, &mm.phys).unwrap();
        let tags: Vec<_> =
            (0..HUGE).map(|page| [space, other].map(|of| mm.pages.read_tag(of, at(page), &mm.phys))).collect();
        (parts, beside, tags)
    };
    let before = state(&mm);
    for (of, maps) in [(other, 513), (space, 1024)] {
        mm.mprotect(of, at(0), pages(1), Prot::READ).unwrap();
        assert_eq!((state(&mm) == before, mm.pages.total_mapcount(head, &mm.phys)), (true, Some(maps)));
    }
}

/// Place and content of every page of a space, and the counts of the machine.
fn seen(mm: &Mm, space: SpaceId) -> (Vec<(PageView, Option<crate::Tag>)>, crate::space::UserLevels, u64) {
    let views =
        (0..2 * HUGE).map(|page| (mm.page_at(space, at(page)), mm.pages.read_tag(space, at(page), &mm.phys))).collect();
    (views, mm.pages.user_levels(), mm.pages.huge.deferred_splits(NodeId(0)))
}

#[test]
fn what_is_refused_leaves_everything_as_it_was() {
    let mut mm = boot(recent());
    let space = program(&mut mm, 2 * HUGE);
    write(&mut mm, space, 5);
    let pinned = frame(&mm, space, 9);
    mm.pin(pinned).unwrap();
    let before = seen(&mm, space);
    let split = adds(&mut mm, |mm| assert_eq!(mm.follow_split(pinned, CPU), Err(Errno::Ebusy)));
    assert_eq!((seen(&mm, space), split.as_slice()), (before, &[("thp_split_page_failed", 1)][..]));
    assert!(is_huge(&mm, space, 0));

    let (mut mm, spaces) = base_pages(recent(), &[1]);
    map(&mut mm, spaces[0], HUGE, HUGE);
    mm.pages.huge.khugepaged_begin_pass();
    mm.khugepaged_next();
    let KhugepagedStep::Found(found) = mm.khugepaged_scan() else { panic!("a slot is ready") };
    let page = mm.alloc_fast(&found.request(CPU)).unwrap();
    mm.pin(frame(&mm, spaces[0], 0)).unwrap();
    let before = seen(&mm, spaces[0]);
    let collapse = adds(&mut mm, |mm| {
        assert_eq!(mm.collapse_finish(&found, page, CPU), Err(CollapseFailure::PageCount));
    });
    assert_eq!((seen(&mm, spaces[0]), collapse), (before, Vec::new()));
    checked(&mm);
}
