//! Huge pages of less than 2 MiB: which faults get them, and what becomes of them.

use order9_units::Order;

use super::splits::{reclaim, shrink};
use super::{CPU, HUGE, access, at, boot, checked, fork, frame, is_huge, no_page, pages, program, read, write};
use crate::Mm;
use crate::policy::Policy;
use crate::space::{Access, FaultStep, Madvise, Need, SpaceId};
use crate::thp::{HugeEnabled, HugeSize, SizeEnabled, SizeStat};

fn size(kib: u64) -> HugeSize {
    HugeSize::of_kib(kib).expect("it is one")
}

/// A machine where these sizes alone are enabled.
fn with_sizes(policy: Policy, kib: &[u64]) -> Mm {
    let mut mm = boot(policy);
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    kib.iter().for_each(|&kib| mm.phys.set_thp_size_enabled(size(kib), SizeEnabled::Always));
    mm
}

/// Order of the page that a program has at a place.
fn order(mm: &Mm, space: SpaceId, page: u64) -> u8 {
    let head = mm.phys.compound_head(frame(mm, space, page));
    mm.phys.frames.word(mm.phys.frames.at(head)).order().get()
}

fn stats<const N: usize>(mm: &Mm, kib: u64, of: [SizeStat; N]) -> [u64; N] {
    of.map(|stat| mm.thp_size_stat(size(kib), stat))
}

const FAULTS: [SizeStat; 2] = [SizeStat::AnonFaultAlloc, SizeStat::AnonFaultFallback];

#[test]
fn a_first_write_gets_the_largest_page_that_has_room() {
    let mut mm = with_sizes(Policy::default(), &[16, 64]);
    let space = program(&mut mm, 64);
    write(&mut mm, space, 21);
    assert_eq!((frame(&mm, space, 16).get() % 16, order(&mm, space, 21)), (0, 4));
    assert_eq!(frame(&mm, space, 31), frame(&mm, space, 16) + order9_units::Pages::new(15), "one after the other");
    let faults = mm.counters().pgfault;
    (16..32).for_each(|page| assert_eq!(access(&mut mm, space, at(page), Access::Write, true), FaultStep::Hit));
    assert_eq!((mm.counters().pgfault, stats(&mm, 64, FAULTS)), (faults, [1, 0]), "one fault for all");
    // A page that is there already, of zeros too, leaves room for a smaller one.
    read(&mut mm, space, 33);
    write(&mut mm, space, 40);
    assert_eq!([40, 43].map(|page| order(&mm, space, page)), [2; 2]);
    write(&mut mm, space, 33);
    write(&mut mm, space, 34);
    assert_eq!([33, 34].map(|page| order(&mm, space, page)), [0; 2], "what reads as zeros is copied page by page");
    // The mapping has to reach all around.
    let cut = program(&mut mm, 15);
    [0, 13].into_iter().for_each(|page| write(&mut mm, cut, page));
    assert_eq!([0, 13].map(|page| order(&mm, cut, page)), [2, 0]);
    assert_eq!((stats(&mm, 64, FAULTS), stats(&mm, 16, FAULTS)), ([1, 0], [2, 0]), "no room is no fallback");
}

#[test]
fn the_file_of_each_size_decides() {
    use HugeEnabled::{Always, Madvise as Advised, Never};
    for (word, all, plain, advised) in [
        (SizeEnabled::Always, Never, true, true),
        (SizeEnabled::Inherit, Always, true, true),
        (SizeEnabled::Inherit, Advised, false, true),
        (SizeEnabled::Inherit, Never, false, false),
        (SizeEnabled::Madvise, Always, false, true),
        (SizeEnabled::Never, Always, false, false),
    ] {
        let mut mm = with_sizes(Policy::default(), &[]);
        mm.phys.set_thp_enabled(all);
        mm.phys.set_thp_size_enabled(HugeSize::PMD, SizeEnabled::Never);
        mm.phys.set_thp_size_enabled(size(64), word);
        let space = program(&mut mm, 3 * HUGE);
        mm.madvise(space, at(HUGE), pages(HUGE), Madvise::HugePage, CPU).expect("it is mapped");
        mm.madvise(space, at(2 * HUGE), pages(HUGE), Madvise::NoHugePage, CPU).expect("it is mapped");
        [0, HUGE, 2 * HUGE].into_iter().for_each(|page| write(&mut mm, space, page));
        let found = [0, HUGE, 2 * HUGE].map(|page| order(&mm, space, page) == 4);
        assert_eq!(found, [plain, advised, false], "{word:?}, {all:?} for all sizes");
    }
}

#[test]
fn without_a_page_of_a_size_the_next_is_asked_for() {
    let mut mm = with_sizes(Policy::default(), &[16, 128, 512]);
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, HUGE - 1); // The table, and a page.
    let mut step = mm.fault_begin(space, at(3), Access::Write, CPU);
    for kib in [512, 128, 16] {
        assert_eq!(no_page(&step), Some(Need::SmallHuge(size(kib))));
        let FaultStep::NeedPage(fault) = &step else { panic!("{step:?}") };
        assert!(fault.need().may_be_refused() && fault.request(CPU).order == size(kib).order());
        step = mm.fault_refused(fault, CPU);
        // The retry takes what the free lists have at once; here they have it.
        if no_page(&step).is_none() {
            break;
        }
    }
    checked(&mm);
    assert_eq!(stats(&mm, 512, FAULTS), [1, 1]);
    assert_eq!(order(&mm, space, 3), 5, "128 KiB");
}

#[test]
fn pages_of_2_mib_come_first_and_smaller_ones_where_there_is_none() {
    let mut mm = with_sizes(Policy::default(), &[2048, 1024]);
    let space = program(&mut mm, 2 * HUGE);
    write(&mut mm, space, 0);
    assert!(is_huge(&mm, space, 0));
    let mut step = mm.fault_begin(space, at(HUGE), Access::Write, CPU);
    while let FaultStep::NeedPage(fault) = &step {
        step = match fault.need() {
            Need::HugePage => mm.fault_refused(fault, CPU),
            _ => {
                let page = mm.alloc_fast(&fault.request(CPU)).expect("memory is free");
                mm.fault_finish(fault, page, CPU)
            }
        };
    }
    assert_eq!((is_huge(&mm, space, HUGE), order(&mm, space, HUGE), order(&mm, space, HUGE + 255)), (false, 8, 8));
    checked(&mm);
}

#[test]
fn entries_that_go_one_by_one_have_the_page_wait_for_its_split_all_together_do_not() {
    const QUEUE: [SizeStat; 4] =
        [SizeStat::NrAnon, SizeStat::NrAnonPartiallyMapped, SizeStat::SplitDeferred, SizeStat::Split];
    let mut mm = with_sizes(Policy::default(), &[64]);
    let space = program(&mut mm, HUGE);
    [0, 16, 32].into_iter().for_each(|page| write(&mut mm, space, page));
    mm.phys.drain_all();
    let free = mm.phys.free_pages();
    mm.munmap(space, at(16), pages(16), CPU).expect("it is mapped");
    assert_eq!(stats(&mm, 64, QUEUE), [2, 0, 0, 0], "all of it at once: freed");
    mm.madvise(space, at(32), pages(4), Madvise::DontNeed, CPU).expect("it is mapped");
    checked(&mm);
    assert_eq!(stats(&mm, 64, QUEUE), [2, 1, 1, 0]);
    shrink(&mut mm);
    mm.phys.drain_all();
    checked(&mm);
    assert_eq!((stats(&mm, 64, QUEUE), order(&mm, space, 36)), ([1, 0, 1, 1], 0));
    assert_eq!((mm.phys.free_pages() - free).get(), 20, "the other page's too");
    assert_eq!(mm.counters().thp_split_page + mm.counters().thp_deferred_split_page, 0, "these are for 2 MiB");
    mm.exit(space, CPU).expect("it lives");
    checked(&mm);
}

#[test]
fn a_child_shares_it_and_writes_copy_base_pages() {
    let mut mm = with_sizes(Policy::default(), &[64]);
    let space = program(&mut mm, 64);
    write(&mut mm, space, 0);
    let child = fork(&mut mm, space);
    assert_eq!(frame(&mm, child, 7), frame(&mm, space, 7));
    write(&mut mm, child, 7);
    assert_eq!((order(&mm, child, 7), order(&mm, space, 7)), (0, 4));
    mm.exit(space, CPU).expect("it lives");
    checked(&mm);
    write(&mut mm, child, 8);
    assert_eq!(order(&mm, child, 8), 4, "nobody else has it any more");
    mm.exit(child, CPU).expect("it lives");
    checked(&mm);
}

#[test]
fn a_page_all_of_which_is_locked_is_unevictable() {
    let mut mm = with_sizes(Policy::default(), &[64]);
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    let list = |mm: &Mm| mm.phys.lru_of(mm.phys.compound_head(frame(mm, space, 5))).expect("it is on one");
    mm.mlock(space, at(0), pages(8)).expect("it is mapped");
    assert_ne!(list(&mm), crate::LruList::Unevictable, "half of it");
    mm.mlock(space, at(0), pages(HUGE)).expect("it is mapped");
    assert_eq!(list(&mm), crate::LruList::Unevictable);
    write(&mut mm, space, 16);
    assert_eq!(mm.phys.lru_of(frame(&mm, space, 16)), Some(crate::LruList::Unevictable), "a new one at once");
    mm.munlock(space, at(4), pages(4)).expect("it is mapped");
    assert_ne!(list(&mm), crate::LruList::Unevictable);
    checked(&mm);
}

#[test]
fn it_goes_to_swap_in_one_piece_by_a_switch_and_in_base_pages_without() {
    const SWAP: [SizeStat; 4] = [SizeStat::Swpout, SizeStat::SwpoutFallback, SizeStat::Split, SizeStat::NrAnon];
    for (whole, expected) in [(true, [2, 0, 0, 0]), (false, [0, 0, 2, 0])] {
        let mut policy = Policy::default();
        policy.thp.swap_small_whole = whole;
        policy.reclaim.new_anon = crate::policy::NewAnon::Inactive;
        let mut mm = with_sizes(policy, &[64]);
        mm.swapon_in_memory(order9_units::Pages::new(HUGE));
        let space = program(&mut mm, 64);
        [0, 16].into_iter().for_each(|page| write(&mut mm, space, page));
        for page in [0, 16] {
            let head = mm.phys.compound_head(frame(&mm, space, page));
            mm.pages.take_uses(mm.phys.frames.at(head), &mut mm.phys);
        }
        let freed = (0..8).map(|_| reclaim(&mut mm)).sum::<u64>();
        checked(&mm);
        assert_eq!((freed, stats(&mm, 64, SWAP), mm.counters().pswpout), (32, expected, 32));
        assert_eq!(mm.counters().thp_swpout, 0, "it is for 2 MiB");
        [0, 31].into_iter().for_each(|page| read(&mut mm, space, page));
        assert_eq!((order(&mm, space, 0), mm.counters().pswpin), (0, 2));
        mm.exit(space, CPU).expect("it lives");
        checked(&mm);
        assert_eq!(mm.pages.swap.swap_free(), mm.pages.swap.swap_total());
    }
}

#[test]
fn a_program_can_do_without_all_of_it_or_has_it_split() {
    let mut mm = with_sizes(Policy::default(), &[64]);
    let space = program(&mut mm, HUGE);
    [0, 16].into_iter().for_each(|page| write(&mut mm, space, page));
    mm.madvise(space, at(0), pages(24), Madvise::Free, CPU).expect("it is mapped");
    checked(&mm);
    assert_eq!(([0, 16, 24].map(|page| order(&mm, space, page)), mm.counters().pglazyfree), ([4, 0, 0], 24));
    (0..8).for_each(|_| {
        reclaim(&mut mm);
    });
    checked(&mm);
    assert_eq!((mm.counters().pglazyfreed, mm.counters().pswpout), (24, 0), "without swap");
    mm.exit(space, CPU).expect("it lives");
    checked(&mm);
}

#[test]
fn it_moves_to_another_place_whole() {
    let mut mm = with_sizes(Policy::default(), &[64]);
    let space = program(&mut mm, 64);
    write(&mut mm, space, 0);
    let head = mm.phys.frames.at(frame(&mm, space, 0));
    assert!(mm.pages.isolate_huge(head, &mut mm.phys));
    let order = Order::new(4).expect("it is one");
    let target = mm.alloc_fast(&crate::Request::new(order, crate::Gfp::GFP_TRANSHUGE)).expect("memory is free");
    mm.pages.migrate_huge(head, target, CPU, &mut mm.phys).expect("nobody holds it");
    checked(&mm);
    assert_eq!((frame(&mm, space, 0), frame(&mm, space, 15)), (target, target + order9_units::Pages::new(15)));
    write(&mut mm, space, 3);
    checked(&mm);
}
