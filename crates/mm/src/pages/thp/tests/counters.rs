//! Every counter of huge pages, by what makes it go up and nothing else.

use alloc::vec::Vec;

use order9_units::{NodeId, Pages};

use super::khugepaged::{base_pages, pass, set};
use super::splits::reclaim;
use super::{CPU, HUGE, HugeEnabled, access, at, boot, fork, frame, map, pages, program, read, write};
use crate::Mm;
use crate::policy::{HugeCow, NewAnon, Policy, ZeroWrite};
use crate::space::{Access, Prot, SpaceId};

/// The counters of huge pages by name, in the kernel's order; those of shared memory are counted elsewhere.
macro_rules! named {
    ($counters:expr, [$($name:ident),* $(,)?]) => { [$((stringify!($name), $counters.$name)),*] };
}

fn counts(mm: &Mm) -> [(&'static str, u64); 19] {
    named!(
        mm.counters(),
        [
            thp_migration_success,
            thp_migration_fail,
            thp_migration_split,
            thp_fault_alloc,
            thp_fault_fallback,
            thp_collapse_alloc,
            thp_collapse_alloc_failed,
            thp_split_page,
            thp_split_page_failed,
            thp_deferred_split_page,
            thp_underused_split_page,
            thp_split_pmd,
            thp_scan_exceed_none_pte,
            thp_scan_exceed_swap_pte,
            thp_scan_exceed_share_pte,
            thp_zero_page_alloc,
            thp_zero_page_alloc_failed,
            thp_swpout,
            thp_swpout_fallback,
        ]
    )
}

/// Counters that `happens` changes, and by how much.
pub(super) fn adds(mm: &mut Mm, happens: impl FnOnce(&mut Mm)) -> Vec<(&'static str, u64)> {
    let before = counts(mm);
    happens(mm);
    let after = counts(mm).into_iter().zip(before);
    after.map(|((name, after), (_, before))| (name, after - before)).filter(|&(_, added)| added > 0).collect()
}

/// A program that has written to one slot.
fn one(policy: Policy) -> (Mm, SpaceId) {
    let mut mm = boot(policy);
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    (mm, space)
}

pub(super) fn recent() -> Policy {
    let mut policy = Policy::default();
    (policy.thp.queue_full_unmap, policy.thp.max_ptes_shared) = (false, true);
    (policy.thp.cow, policy.thp.zero_write) = (HugeCow::Split, ZeroWrite::Split);
    policy.reclaim.new_anon = NewAnon::Inactive;
    policy
}

#[test]
fn faults_count_what_they_got() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, 4 * HUGE);
    assert_eq!(adds(&mut mm, |mm| write(mm, space, 0)), [("thp_fault_alloc", 1)]);
    assert_eq!(adds(&mut mm, |mm| write(mm, space, 1)), []);
    let refused = |access_: Access, page| {
        move |mm: &mut Mm| {
            let _ = access(mm, space, at(page), access_, false);
        }
    };
    assert_eq!(adds(&mut mm, refused(Access::Write, HUGE)), [("thp_fault_fallback", 1)]);
    assert_eq!(adds(&mut mm, refused(Access::Write, HUGE + 1)), [], "the slot has a table");
    let failed = [("thp_fault_fallback", 1), ("thp_zero_page_alloc_failed", 1)];
    assert_eq!(adds(&mut mm, refused(Access::Read, 2 * HUGE)), failed);
    assert_eq!(adds(&mut mm, |mm| read(mm, space, 3 * HUGE)), [("thp_zero_page_alloc", 1)]);
    map(&mut mm, space, 8 * HUGE, HUGE - 1);
    assert_eq!(adds(&mut mm, |mm| write(mm, space, 8 * HUGE)), [], "what may not be huge falls back from nothing");
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    map(&mut mm, space, 9 * HUGE, HUGE);
    assert_eq!(adds(&mut mm, |mm| write(mm, space, 9 * HUGE)), []);
}

#[test]
fn copies_count_as_faults_where_they_are_huge() {
    let (mut mm, parent) = one(Policy::default());
    let child = fork(&mut mm, parent);
    assert_eq!(adds(&mut mm, |mm| write(mm, child, 0)), [("thp_fault_alloc", 1)]);
    let (mut mm, parent) = one(recent());
    let child = fork(&mut mm, parent);
    assert_eq!(adds(&mut mm, |mm| write(mm, child, 0)), [("thp_split_pmd", 1)]);
    let mut mm = boot(recent());
    let space = program(&mut mm, HUGE);
    read(&mut mm, space, 0);
    assert_eq!(adds(&mut mm, |mm| write(mm, space, 0)), [("thp_split_pmd", 1)], "the page of zeros");
}

#[test]
fn splits_count_mappings_pages_and_refusals_apart() {
    let (mut mm, space) = one(recent());
    let half = |mm: &mut Mm| mm.mprotect(space, at(0), pages(HUGE / 2), Prot::READ).unwrap();
    assert_eq!(adds(&mut mm, half), [("thp_split_pmd", 1)]);
    let head = frame(&mm, space, 0);
    mm.pin(head).unwrap();
    let split = |mm: &mut Mm| {
        let _ = mm.pages.split_huge_page(head, CPU, &mut mm.phys);
    };
    assert_eq!(adds(&mut mm, split), [("thp_split_page_failed", 1)]);
    mm.unpin(head).unwrap();
    assert_eq!(adds(&mut mm, split), [("thp_split_page", 1)]);
    let (mut mm, space) = one(recent());
    let unmap = |mm: &mut Mm| mm.munmap(space, at(0), pages(1), CPU).unwrap();
    assert_eq!(adds(&mut mm, unmap), [("thp_deferred_split_page", 1), ("thp_split_pmd", 1)]);
    let more = |mm: &mut Mm| mm.munmap(space, at(1), pages(1), CPU).unwrap();
    assert_eq!(adds(&mut mm, more), [], "it is queued once");
    let shrink = |mm: &mut Mm| assert!(mm.pages.split_deferred(NodeId(0), CPU, &mut mm.phys));
    assert_eq!(adds(&mut mm, shrink), [("thp_split_page", 1)]);
}

#[test]
fn the_last_unmapping_counts_as_deferred_up_to_5_4() {
    for (queued, counted) in [(true, &[("thp_deferred_split_page", 1)][..]), (false, &[])] {
        let mut policy = Policy::default();
        policy.thp.queue_full_unmap = queued;
        let (mut mm, space) = one(policy);
        assert_eq!(adds(&mut mm, |mm| mm.exit(space, CPU).unwrap()), counted);
    }
}

#[test]
fn collapse_counts_its_huge_page_whatever_comes_of_it() {
    let (mut mm, spaces) = base_pages(recent(), &[1]);
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, false))), [("thp_collapse_alloc_failed", 1)]);
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, true))), [("thp_collapse_alloc", 1)]);
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, true))), [], "it is huge");
    let faults = mm.counters().pgfault;
    write(&mut mm, spaces[0], 100);
    assert_eq!(mm.counters().pgfault, faults);
}

#[test]
fn slots_beyond_a_limit_count_which() {
    let (mut mm, spaces) = base_pages(recent(), &[1]);
    set(&mut mm, "max_ptes_none", 510);
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, true))), [("thp_scan_exceed_none_pte", 1)]);
    set(&mut mm, "max_ptes_none", 511);
    set(&mut mm, "max_ptes_shared", 0);
    let child = fork(&mut mm, spaces[0]);
    // The child holds the same page, and is not registered.
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, true))), [("thp_scan_exceed_share_pte", 1)]);
    mm.exit(child, CPU).unwrap();
    mm.pages.swap.swapon(Pages::new(16));
    (0..4).map(|_| reclaim(&mut mm)).for_each(|_| ());
    assert_eq!(mm.space(spaces[0]).unwrap().swapped(), Pages::new(1));
    set(&mut mm, "max_ptes_swap", 0);
    assert_eq!(adds(&mut mm, |mm| drop(pass(mm, true))), [("thp_scan_exceed_swap_pte", 1)]);
}
