//! Whom khugepaged visits, how far a pass goes, and when it rests.

use alloc::vec::Vec;

use order9_units::Nanos;

use super::{CPU, HUGE, HugeEnabled, at, boot, checked, fork, is_huge, pages, program, read, write};
use crate::policy::Policy;
use crate::space::{Madvise, SpaceId};
use crate::thp::{CollapseFailure, KhugepagedPause, KhugepagedStep};
use crate::{Gfp, Mm};

/// The rules of 5.8 and later, by which one page in use is enough.
fn recent() -> Policy {
    let mut policy = Policy::default();
    (policy.thp.max_ptes_swap, policy.thp.max_ptes_shared) = (true, true);
    policy
}

/// Sets a setting of khugepaged by its name.
pub(super) fn set(mm: &mut Mm, name: &str, value: u64) {
    mm.tune(|tunables| {
        let settings = &mut tunables.khugepaged;
        match name {
            "defrag" => settings.defrag = value != 0,
            "pages_to_scan" => settings.pages_to_scan = value,
            "alloc_sleep_millisecs" => settings.alloc_sleep_ms = value,
            "max_ptes_none" => settings.max_ptes_none = value,
            "max_ptes_shared" => settings.max_ptes_shared = value,
            "max_ptes_swap" => settings.max_ptes_swap = value,
            "scan_sleep_millisecs" => settings.scan_sleep_ms = value,
            _ => unreachable!("{name} is no setting of khugepaged"),
        }
    });
}

/// A machine whose programs got base pages and are registered: huge pages came too late for them.
pub(super) fn base_pages(policy: Policy, slots: &[u64]) -> (Mm, Vec<SpaceId>) {
    let mut mm = boot(policy);
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    let spaces = slots.iter().map(|&slots| {
        let space = program(&mut mm, slots * HUGE);
        (0..slots).for_each(|slot| write(&mut mm, space, slot * HUGE));
        space
    });
    let spaces: Vec<SpaceId> = spaces.collect();
    mm.phys.set_thp_enabled(HugeEnabled::Always);
    for (&space, &slots) in spaces.iter().zip(slots) {
        mm.madvise(space, at(0), pages(slots * HUGE), Madvise::HugePage, CPU).expect("it is mapped");
    }
    mm.take_wakeups();
    (mm, spaces)
}

/// One pass; `huge` says whether there are huge pages. Spaces visited, and pauses made on the way.
pub(super) fn pass(mm: &mut Mm, huge: bool) -> (Vec<SpaceId>, Vec<KhugepagedPause>) {
    let (mut visited, mut pauses) = (Vec::new(), Vec::new());
    mm.pages.huge.khugepaged_begin_pass();
    while let Some(space) = mm.khugepaged_next() {
        visited.push(space);
        loop {
            match mm.khugepaged_scan() {
                KhugepagedStep::Scanned => {}
                KhugepagedStep::Leave => break,
                KhugepagedStep::Found(found) => {
                    let page = if huge { mm.alloc_fast(&found.request(CPU)).ok() } else { None };
                    mm.phys.collapse_allocated(&found, page.is_some());
                    let done = page.ok_or(CollapseFailure::AllocHugePage);
                    let done = done.and_then(|page| mm.collapse_finish(&found, page, CPU));
                    pauses.extend(Some(mm.khugepaged_done(done)).filter(|pause| *pause != KhugepagedPause::None));
                    break;
                }
            }
        }
        checked(mm);
    }
    visited.dedup();
    (visited, pauses)
}

#[test]
fn spaces_are_registered_once_and_wake_it_if_it_has_nobody() {
    let mut mm = boot(Policy::default());
    mm.take_wakeups();
    let space = program(&mut mm, HUGE);
    assert_eq!(mm.pages.huge.khugepaged_pause(&mm.phys), KhugepagedPause::UntilWoken);
    read(&mut mm, space, 0);
    assert!(mm.take_wakeups().khugepaged, "a fault that may be huge registers");
    let other = program(&mut mm, HUGE);
    write(&mut mm, other, 0);
    write(&mut mm, space, 1);
    assert!(!mm.take_wakeups().khugepaged, "it has somebody");
    assert_eq!(pass(&mut mm, true).0, [space, other]);
    let small = program(&mut mm, HUGE - 1);
    write(&mut mm, small, 0);
    assert_eq!(pass(&mut mm, true).0, [space, other], "there is no slot");
    super::map(&mut mm, small, HUGE - 1, 1);
    assert_eq!(pass(&mut mm, true).0, [space, other, small], "the mapping has grown");
    mm.exit(space, CPU).unwrap();
    assert_eq!(pass(&mut mm, true).0, [other, small]);
}

#[test]
fn advice_registers_what_may_be_huge() {
    let mut mm = boot(Policy::default());
    mm.phys.set_thp_enabled(HugeEnabled::Madvise);
    let (advised, other) = (program(&mut mm, HUGE), program(&mut mm, HUGE));
    mm.madvise(advised, at(0), pages(HUGE), Madvise::HugePage, CPU).unwrap();
    write(&mut mm, other, 0);
    assert_eq!(pass(&mut mm, true).0, [advised]);
}

#[test]
fn a_pass_looks_at_so_many_pages_and_the_next_one_goes_on() {
    let (mut mm, spaces) = base_pages(recent(), &[3, 2]);
    set(&mut mm, "pages_to_scan", 2 * HUGE);
    let huge = |mm: &Mm| (0..3).map(|slot| u8::from(is_huge(mm, spaces[0], slot * HUGE))).sum::<u8>();
    pass(&mut mm, true);
    assert_eq!(
        (huge(&mm), mm.pages.huge.khugepaged_full_scans()),
        (2, 0),
        "two slots cost a little more than the budget"
    );
    pass(&mut mm, true);
    assert_eq!((huge(&mm), is_huge(&mm, spaces[1], 0), mm.pages.huge.khugepaged_full_scans()), (3, true, 0));
    pass(&mut mm, true);
    assert!(is_huge(&mm, spaces[1], HUGE));
    assert_eq!((mm.pages.huge.khugepaged_pages_collapsed(), mm.pages.huge.khugepaged_full_scans()), (5, 1));
    assert_eq!((mm.counters().thp_collapse_alloc, mm.counters().thp_fault_alloc), (5, 0));
}

#[test]
fn a_pass_ends_when_all_have_been_seen() {
    let (mut mm, spaces) = base_pages(recent(), &[1, 1]);
    for scans in 1..4 {
        assert_eq!(pass(&mut mm, true).0, spaces);
        assert_eq!(mm.pages.huge.khugepaged_full_scans(), scans);
    }
}

#[test]
fn a_busy_space_is_passed_by() {
    let (mut mm, spaces) = base_pages(recent(), &[1, 1]);
    mm.pages.huge.khugepaged_begin_pass();
    assert_eq!(mm.khugepaged_next(), Some(spaces[0]));
    mm.pages.huge.khugepaged_pass_by();
    assert_eq!(mm.khugepaged_next(), Some(spaces[1]));
    assert!(matches!(mm.khugepaged_scan(), KhugepagedStep::Found(_)));
}

#[test]
fn a_space_that_ends_during_its_visit_is_left() {
    let (mut mm, spaces) = base_pages(recent(), &[2, 1]);
    mm.pages.huge.khugepaged_begin_pass();
    assert_eq!(mm.khugepaged_next(), Some(spaces[0]));
    let KhugepagedStep::Found(found) = mm.khugepaged_scan() else { panic!("a slot is ready") };
    let page = mm.alloc_fast(&found.request(CPU)).unwrap();
    mm.exit(spaces[0], CPU).unwrap();
    assert_eq!(mm.collapse_finish(&found, page, CPU), Err(CollapseFailure::VmaCheck));
    checked(&mm);
    assert_eq!(mm.khugepaged_next(), Some(spaces[1]));
    mm.exit(spaces[1], CPU).unwrap();
    assert_eq!((mm.khugepaged_next(), mm.pages.huge.khugepaged_full_scans()), (None, 1));
    assert_eq!(mm.pages.huge.khugepaged_pause(&mm.phys), KhugepagedPause::UntilWoken);
}

#[test]
fn without_huge_pages_a_pass_makes_one_pause_and_ends_at_the_second_failure() {
    let (mut mm, _) = base_pages(recent(), &[1]);
    let minute = KhugepagedPause::For(Nanos::new(60_000_000_000));
    assert_eq!(pass(&mut mm, true).1, []);
    let (mut mm, _) = base_pages(recent(), &[1]);
    assert_eq!(pass(&mut mm, false).1, [minute], "one failure");
    let (mut mm, _) = base_pages(recent(), &[5]);
    assert_eq!(pass(&mut mm, false).1, [minute]);
    assert_eq!((mm.counters().thp_collapse_alloc, mm.counters().thp_collapse_alloc_failed), (0, 2));
    set(&mut mm, "alloc_sleep_millisecs", 0);
    assert_eq!(pass(&mut mm, false).1, []);
    set(&mut mm, "pages_to_scan", 1);
    set(&mut mm, "alloc_sleep_millisecs", 7);
    assert_eq!(pass(&mut mm, false).1, [], "where the budget is used up, the pass ends without a pause");
    assert_eq!(mm.counters().thp_collapse_alloc_failed, 5);
}

#[test]
fn pauses_follow_their_settings() {
    let (mut mm, _) = base_pages(recent(), &[1]);
    assert_eq!(mm.pages.huge.khugepaged_pause(&mm.phys), KhugepagedPause::For(Nanos::new(10_000_000_000)));
    set(&mut mm, "scan_sleep_millisecs", 0);
    assert_eq!(mm.pages.huge.khugepaged_pause(&mm.phys), KhugepagedPause::None);
    assert!(!mm.take_wakeups().khugepaged);
    mm.phys.wake_khugepaged();
    assert!(mm.take_wakeups().khugepaged);
}

#[test]
fn it_rests_while_huge_pages_are_disabled_and_goes_on_where_it_was() {
    let (mut mm, spaces) = base_pages(recent(), &[2]);
    set(&mut mm, "pages_to_scan", HUGE);
    pass(&mut mm, true);
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    assert_eq!(
        (pass(&mut mm, true).0, mm.pages.huge.khugepaged_pause(&mm.phys)),
        (Vec::new(), KhugepagedPause::UntilWoken)
    );
    assert!(is_huge(&mm, spaces[0], 0) && !is_huge(&mm, spaces[0], HUGE));
    mm.phys.set_thp_enabled(HugeEnabled::Madvise);
    assert!(mm.take_wakeups().khugepaged);
    pass(&mut mm, true);
    assert!(is_huge(&mm, spaces[0], HUGE));
}

#[test]
fn disabling_is_seen_with_the_huge_page_in_hand() {
    let (mut mm, _) = base_pages(recent(), &[1]);
    mm.pages.huge.khugepaged_begin_pass();
    mm.khugepaged_next();
    let KhugepagedStep::Found(found) = mm.khugepaged_scan() else { panic!("a slot is ready") };
    let page = mm.alloc_fast(&found.request(CPU)).unwrap();
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    assert_eq!(mm.collapse_finish(&found, page, CPU), Err(CollapseFailure::VmaCheck));
    checked(&mm);
}

#[test]
fn defrag_says_what_it_may_do_for_a_huge_page() {
    let request = |policy, defrag| {
        let (mut mm, _) = base_pages(policy, &[1]);
        set(&mut mm, "defrag", defrag);
        mm.pages.huge.khugepaged_begin_pass();
        mm.khugepaged_next();
        let KhugepagedStep::Found(found) = mm.khugepaged_scan() else { panic!("a slot is ready") };
        let gfp = found.request(CPU).gfp;
        assert!(gfp.has(Gfp::MOVABLE | Gfp::COMP | Gfp::THISNODE) && !gfp.has(Gfp::KSWAPD_RECLAIM));
        (gfp.has(Gfp::DIRECT_RECLAIM), gfp.has(Gfp::NORETRY))
    };
    let mut old = recent();
    old.thp.madvised_noretry = true;
    assert_eq!((request(recent(), 1), request(recent(), 0)), ((true, false), (false, false)));
    assert_eq!((request(old.clone(), 1), request(old, 0).0), ((true, true), false));
}

#[test]
fn spaces_keep_their_own_pages_when_a_fork_is_collapsed() {
    let (mut mm, spaces) = base_pages(recent(), &[1]);
    let child = fork(&mut mm, spaces[0]);
    write(&mut mm, child, 1);
    mm.madvise(child, at(0), pages(HUGE), Madvise::HugePage, CPU).unwrap();
    assert_eq!(pass(&mut mm, true).0, [spaces[0], child]);
    assert!(!is_huge(&mm, spaces[0], 0), "after a fork it can write to nothing");
    assert!(is_huge(&mm, child, 0));
}
