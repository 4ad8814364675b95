//! `MADV_FREE`, of base pages and huge ones.

use order9_units::{NodeId, Order, ZoneKind};

use super::{CPU, HUGE, HugeEnabled, at, boot, checked, events, fork, frame, is_huge, pages, program, read, write};
use crate::lru_list::LruList;
use crate::policy::{LazyFree, Policy};
use crate::reclaim::{ReclaimControl, ReclaimStep, Reclaimer};
use crate::space::{Errno, Madvise, PageView, SpaceId};
use crate::{Mm, ZoneId};

fn free(mm: &mut Mm, space: SpaceId, first: u64, count: u64) -> Result<(), Errno> {
    let done = mm.madvise(space, at(first), pages(count), Madvise::Free, CPU);
    checked(mm);
    done
}

/// Reclaims all it can from pages of files, without swap.
fn reclaim(mm: &mut Mm) {
    for _ in 0..40 {
        let mut control = ReclaimControl::new(Reclaimer::Direct, Order::ZERO, 0, ZoneKind::Movable);
        control.priority = 0;
        let id = mm.begin_reclaim(control);
        mm.begin_lru_pass(id, ZoneId(0));
        while mm.reclaim_step(id, CPU) != ReclaimStep::Done {
            checked(mm);
        }
        assert!(mm.end_reclaim(id).writes.is_empty(), "nothing is written");
    }
}

/// A program with base pages at the first `count` of its addresses.
fn base_pages(count: u64) -> (Mm, SpaceId) {
    let mut mm = boot(Policy::default());
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    let space = program(&mut mm, HUGE);
    (0..count).for_each(|page| write(&mut mm, space, page));
    (mm, space)
}

#[test]
fn pages_are_taken_unless_they_are_written_again() {
    let (mut mm, space) = base_pages(100);
    free(&mut mm, space, 0, 90).unwrap();
    assert_eq!((mm.counters().pglazyfree, mm.counters().pglazyfreed), (90, 0));
    assert_eq!(mm.lru_pages(NodeId(0), LruList::InactiveFile), 90);
    assert!(matches!(mm.page_at(space, at(3)), PageView::Present { .. }), "they are still there");
    (0..40).for_each(|page| write(&mut mm, space, page));
    reclaim(&mut mm);
    assert_eq!(mm.counters().pglazyfreed, 50);
    assert_eq!((mm.page_at(space, at(60)), mm.space(space).unwrap().rss().anon_pages), (PageView::None, 50));
    assert_eq!(mm.lru_pages(NodeId(0), LruList::InactiveFile) + mm.lru_pages(NodeId(0), LruList::ActiveFile), 0);
    read(&mut mm, space, 60);
    mm.exit(space, CPU).unwrap();
    checked(&mm);
}

#[test]
fn pages_of_others_and_pinned_ones_are_passed_over() {
    let (mut mm, space) = base_pages(3);
    let pinned = frame(&mm, space, 2);
    mm.pin(pinned).unwrap();
    let child = fork(&mut mm, space);
    write(&mut mm, child, 1);
    free(&mut mm, space, 0, 3).unwrap();
    assert_eq!(mm.counters().pglazyfree, 1, "the first page is the child's, too, and the last is pinned");
    mm.unpin(pinned).unwrap();
}

#[test]
fn what_is_shared_later_is_freed_for_all() {
    let (mut mm, space) = base_pages(2);
    free(&mut mm, space, 0, 2).unwrap();
    let child = fork(&mut mm, space);
    write(&mut mm, child, 0);
    reclaim(&mut mm);
    assert_eq!(mm.counters().pglazyfreed, 2);
    assert_eq!((mm.page_at(space, at(0)), mm.page_at(child, at(1))), (PageView::None, PageView::None));
    assert!(matches!(mm.page_at(child, at(0)), PageView::Present { .. }), "what it wrote is its own");
}

#[test]
fn from_4_5_to_4_11_they_stay_among_anonymous_pages_and_go_only_with_swap() {
    let mut policy = Policy::default();
    policy.reclaim.lazy_free = LazyFree::AnonLists;
    let mut mm = boot(policy);
    mm.phys.set_thp_enabled(HugeEnabled::Never);
    let space = program(&mut mm, HUGE);
    (0..100).for_each(|page| write(&mut mm, space, page));
    free(&mut mm, space, 0, 90).unwrap();
    let lists = [LruList::InactiveAnon, LruList::InactiveFile].map(|list| mm.lru_pages(NodeId(0), list));
    assert_eq!((lists, mm.counters().pglazyfree), ([90, 0], 90));
    (0..40).for_each(|page| write(&mut mm, space, page));
    reclaim(&mut mm);
    assert_eq!(mm.counters().pglazyfreed, 0, "without swap nobody looks at them");
    mm.pages.swap.swapon(order9_units::Pages::new(16));
    (0..8).map(|_| super::splits::reclaim(&mut mm)).for_each(|_| ());
    assert_eq!((mm.counters().pglazyfreed, mm.page_at(space, at(60))), (50, PageView::None));
    assert!(!matches!(mm.page_at(space, at(39)), PageView::None), "what was written again stays");
}

#[test]
fn huge_pages_are_freed_whole_and_split_where_the_range_cuts_them() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, 3 * HUGE);
    (0..3).for_each(|slot| write(&mut mm, space, slot * HUGE));
    free(&mut mm, space, 0, 2 * HUGE + 100).unwrap();
    assert!(is_huge(&mm, space, 0) && is_huge(&mm, space, HUGE) && !is_huge(&mm, space, 2 * HUGE));
    assert_eq!((mm.counters().pglazyfree, events(mm.counters())[3]), (2 * HUGE + 100, 1));
    write(&mut mm, space, HUGE + 5);
    reclaim(&mut mm);
    // What is written in a huge page is written in all of its parts, as its one entry says.
    assert_eq!(mm.counters().pglazyfreed, HUGE + 100);
    assert_eq!(mm.space(space).unwrap().rss().anon_pages, 2 * HUGE - 100);
}

#[test]
fn huge_pages_that_may_be_freed_are_given_no_room_in_swap() {
    let mut mm = boot(Policy::default());
    mm.swapon_solid_state(order9_units::Pages::new(HUGE));
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    free(&mut mm, space, 0, HUGE).unwrap();
    reclaim(&mut mm);
    assert_eq!((mm.counters().pglazyfreed, mm.counters().thp_swpout, mm.pages.swap.swap_free().get()), (HUGE, 0, HUGE));
}

#[test]
fn a_refused_split_leaves_the_huge_page_and_is_no_error() {
    let mut mm = boot(Policy::default());
    let space = program(&mut mm, HUGE);
    write(&mut mm, space, 0);
    let head = frame(&mm, space, 0);
    mm.pin(head).unwrap();
    assert_eq!(free(&mut mm, space, 0, 100), Ok(()));
    assert!(is_huge(&mm, space, 0));
    assert_eq!(mm.counters().pglazyfree, 0);
    mm.unpin(head).unwrap();
}

#[test]
fn only_private_memory_of_releases_that_know_it_can_be_freed() {
    let (mut mm, space) = base_pages(1);
    mm.mlock(space, at(0), pages(1)).unwrap();
    assert_eq!(free(&mut mm, space, 0, 1), Err(Errno::Einval));
    let mut old = Policy::default();
    old.reclaim.lazy_free = LazyFree::None;
    let mut mm = boot(old);
    let space = program(&mut mm, 1);
    assert_eq!(free(&mut mm, space, 0, 1), Err(Errno::Einval));
}
