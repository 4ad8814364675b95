//! Lists on which pages start, moves between lists, and the lists after isolation.

use alloc::vec::Vec;

use order9_units::{Bytes, NodeId, Pages, Pfn, PfnRange, ZoneKind};

use super::{LruList, LruType};
use crate::page_flags::PageFlag;
use crate::policy::{LruScope, NewAnon, Policy};
use crate::space::{Access, Backing, FaultStep, MmapRequest, PageView, SpaceId, VirtAddr};
use crate::{Layout, LruLockWork, Mm, MmBuilder, NodeSpec, ZoneId, ZoneSpec};

const CPU: usize = 0;

/// A node with 16 MiB in zone DMA32 and 16 MiB in Normal.
fn boot(policy: Policy) -> Mm {
    let zone =
        |kind, start: u64| ZoneSpec { node: NodeId(0), kind, span: PfnRange::of(Pfn::new(start), Pages::new(4096)) };
    let layout = Layout {
        nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
        zones: alloc::vec![zone(ZoneKind::Dma32, 4096), zone(ZoneKind::Normal, 1 << 20)],
        cpus: alloc::vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}

fn with_pages(mm: &mut Mm, count: u64, backing: Backing) -> (SpaceId, VirtAddr, Vec<Pfn>) {
    let space = mm.create_space().expect("there are few");
    let request = MmapRequest { backing, ..MmapRequest::anon(Pages::new(count).bytes()) };
    let start = mm.mmap(space, &request, CPU).expect("there is room");
    let pages = (0..count).map(|page| touch(mm, space, VirtAddr::new(start.get() + 4096 * page))).collect();
    (space, start, pages)
}

fn touch(mm: &mut Mm, space: SpaceId, addr: VirtAddr) -> Pfn {
    assert_eq!(mm.touch(space, addr, Access::Write, CPU), FaultStep::Done);
    match mm.page_at(space, addr) {
        PageView::Present { pfn, .. } => pfn,
        other => panic!("{other:?} after a write"),
    }
}

fn list(mm: &Mm, list: LruList) -> Vec<Pfn> {
    mm.check().expect("every law holds");
    mm.pages.lru.lru_list(ZoneId(1), list, &mm.phys).collect()
}

#[test]
fn pages_start_at_the_head_of_the_list_of_their_release() {
    for (new_anon, starts) in [(NewAnon::Active, LruList::ActiveAnon), (NewAnon::Inactive, LruList::InactiveAnon)] {
        let mut policy = Policy::default();
        policy.reclaim.new_anon = new_anon;
        let mut mm = boot(policy);
        let (space, start, mut pages) = with_pages(&mut mm, 5, Backing::AnonPrivate);
        pages.reverse();
        assert_eq!(list(&mm, starts), pages);
        mm.munmap(space, start, Bytes::new(2 * 4096), CPU).expect("it is mapped");
        assert_eq!(list(&mm, starts), pages[..3]);
        assert_eq!(mm.lru_pages(NodeId(0), starts), 3);
    }
}

#[test]
fn tmpfs_pages_start_inactive_among_anonymous_ones() {
    let mut mm = boot(Policy::default());
    with_pages(&mut mm, 3, Backing::AnonShared);
    assert_eq!(list(&mm, LruList::InactiveAnon).len(), 3);
}

#[test]
fn the_second_access_makes_a_page_active() {
    let mut mm = boot(Policy::default());
    let (.., pages) = with_pages(&mut mm, 3, Backing::AnonShared);
    mm.mark_accessed(pages[0]);
    assert_eq!((mm.phys.lru_of(pages[0]), mm.counters().pgactivate), (Some(LruList::InactiveAnon), 0));
    mm.mark_accessed(pages[0]);
    assert_eq!((list(&mm, LruList::ActiveAnon), mm.counters().pgactivate), (pages[..1].to_vec(), 1));
    mm.mark_accessed(pages[0]); // Only the first of the next two.
    mm.mark_accessed(pages[0]);
    assert_eq!((list(&mm, LruList::ActiveAnon).len(), mm.counters().pgactivate), (1, 1));
}

#[test]
fn locked_pages_are_unevictable_until_no_locked_mapping_shows_them() {
    let mut mm = boot(Policy::default());
    let file = mm.create_file(Pages::new(2)).expect("there are few");
    let backing = Backing::File { file, offset: Pages::ZERO, shared: true };
    let (one, start, pages) = with_pages(&mut mm, 2, backing);
    let other = mm.create_space().expect("there are few");
    let request = MmapRequest { backing, locked: true, ..MmapRequest::anon(Bytes::new(2 * 4096)) };
    let again = mm.mmap(other, &request, CPU).expect("there is room");
    assert_eq!(touch(&mut mm, other, again), pages[0]);
    assert_eq!(list(&mm, LruList::Unevictable), pages[..1]);
    mm.mlock(one, start, Bytes::new(2 * 4096)).expect("it is mapped");
    assert_eq!(list(&mm, LruList::Unevictable).len(), 2);
    mm.munlock(one, start, Bytes::new(2 * 4096)).expect("it is mapped");
    assert_eq!(list(&mm, LruList::Unevictable), pages[..1]);
    mm.exit(other, CPU).expect("it lives");
    assert_eq!((list(&mm, LruList::Unevictable), list(&mm, LruList::InactiveAnon).len()), (Vec::new(), 2));
}

#[test]
fn isolated_pages_are_on_no_list_and_return_to_their_own() {
    let mut mm = boot(Policy::default());
    let (space, _, pages) = with_pages(&mut mm, 3, Backing::AnonPrivate);
    mm.set_isolated(pages[0], true).expect("it is allocated");
    mm.set_isolated(pages[0], true).expect("it is still allocated");
    assert_eq!(
        (list(&mm, LruList::ActiveAnon).len(), mm.pages.lru.zone_lru(ZoneId(1)).isolated(LruType::Anon)),
        (2, 1)
    );
    mm.set_isolated(pages[0], false).expect("it is allocated");
    assert_eq!(list(&mm, LruList::ActiveAnon), [pages[0], pages[2], pages[1]]);
    mm.set_isolated(pages[1], true).expect("it is allocated");
    mm.exit(space, CPU).expect("it lives");
    assert_eq!(mm.pages.lru.zone_lru(ZoneId(1)).isolated(LruType::Anon), 1);
    mm.set_isolated(pages[1], false).expect("it is kept");
    assert_eq!(
        (list(&mm, LruList::ActiveAnon).len(), mm.pages.lru.zone_lru(ZoneId(1)).isolated(LruType::Anon)),
        (0, 0)
    );
}

#[test]
fn zones_have_lists_of_their_own_where_the_policy_says_so() {
    for (lru, in_other_zone) in [(LruScope::Zone, 0), (LruScope::Node, 1)] {
        let mut policy = Policy::default();
        policy.reclaim.lru = lru;
        let mut mm = boot(policy);
        with_pages(&mut mm, 1, Backing::AnonPrivate);
        mm.check().expect("every law holds");
        assert_eq!(mm.pages.lru.lru_list(ZoneId(0), LruList::ActiveAnon, &mm.phys).count(), in_other_zone);
        assert_eq!(mm.pages.lru.lru_list(ZoneId(1), LruList::ActiveAnon, &mm.phys).count(), 1);
        assert_eq!(mm.pages.lru.zone_lru(ZoneId(1)).pages(LruList::ActiveAnon), 1);
    }
}

#[test]
fn single_pages_take_the_lock_once_for_a_batch() {
    let mut mm = boot(Policy::default());
    mm.take_work();
    let (space, _, _) = with_pages(&mut mm, 44, Backing::AnonPrivate);
    let put_on = mm.settle_work(|done| *done.lru);
    assert_eq!((put_on.sections, put_on.batched), (2, 30));
    mm.exit(space, CPU).expect("it lives");
    let taken_off = mm.settle_work(|done| *done.lru);
    assert_eq!((taken_off.sections, taken_off.batched), (3, 45), "14 waited");
    mm.settle_work(|done| assert_eq!((done.node, *done.lru), (NodeId(0), LruLockWork::NONE)));
}

#[test]
fn unevictable_pages_stay_where_they_are_however_often_they_are_read() {
    let mut mm = boot(Policy::default());
    let space = mm.create_space().expect("there are few");
    let request = MmapRequest { locked: true, ..MmapRequest::anon(Bytes::new(4096)) };
    let start = mm.mmap(space, &request, CPU).expect("there is room");
    let page = touch(&mut mm, space, start);
    (0..3).for_each(|_| mm.mark_accessed(page));
    assert_eq!((list(&mm, LruList::Unevictable), mm.counters().pgactivate), (alloc::vec![page], 0));
}

#[test]
fn a_page_that_reclaim_waited_for_is_not_rotated_if_it_is_dirty_again() {
    let mut mm = boot(Policy::default());
    let (.., pages) = with_pages(&mut mm, 2, Backing::AnonShared);
    let idx = mm.phys.frames.at(pages[1]);
    let word = mm.phys.frames.word(idx);
    mm.phys.frames.set(idx, word.with(PageFlag::Dirty, true));
    assert!(!mm.pages.lru.rotate_lru(idx, &mut mm.phys));
    assert_eq!(mm.pages.lru.lru_list(ZoneId(1), LruList::InactiveAnon, &mm.phys).last(), Some(pages[0]));
    mm.phys.frames.set(idx, word.with(PageFlag::Dirty, false));
    assert!(mm.pages.lru.rotate_lru(idx, &mut mm.phys));
    assert_eq!(mm.pages.lru.lru_list(ZoneId(1), LruList::InactiveAnon, &mm.phys).last(), Some(pages[1]));
}
