//! Huge pages that are mapped in part: who splits them before pages are taken from anybody.

use super::indexed_runs::indexed;
use super::*;
use crate::space::{Access, FaultStep, MmapRequest, Place, VirtAddr};
use crate::tasks::compaction::reserve::fill_reserves;
use crate::tasks::reclaim::direct::direct_reclaim;
use crate::thp::HugeEnabled;

const SLOT: u64 = 512;
const SLOTS: u64 = 6;

fn policy(partial_first: bool) -> Policy {
    let mut policy = indexed();
    policy.reclaim.partial_first = partial_first;
    policy.compaction.works_ahead = true;
    policy
}

/// A zone of eight pageblocks: six of them are huge pages of a program that has unmapped the first half of each but one, one is page cache,
/// and the kernel has taken of the last, where page tables are, until so few pages are free that no huge page can be had.
fn shortage(policy: Policy) -> World {
    let world = half_mapped(policy, 8);
    let low = world.mm.borrow().phys.frames.zones()[0].watermarks().low;
    world.take_until(low + 2);
    world
}

/// Zone of `pageblocks` pageblocks like that of [`shortage`], before the kernel has taken any.
fn half_mapped(policy: Policy, pageblocks: u64) -> World {
    let frames: Vec<F> = (0..pageblocks * SLOT).map(|at| if at / SLOT == 7 { F::Page } else { F::Free }).collect();
    let world = World::new(policy, &frames);
    {
        let mut mm = world.mm.borrow_mut();
        mm.phys.set_thp_enabled(HugeEnabled::Always);
        let space = mm.create_space().expect("it is the first");
        let at = |page: u64| VirtAddr::new(SLOT * 4096 * 16 + page * 4096);
        let bytes = |pages: u64| Pages::new(pages).bytes();
        let whole = MmapRequest { place: Place::Fixed(at(0)), ..MmapRequest::anon(bytes(SLOTS * SLOT)) };
        mm.mmap(space, &whole, CPU).expect("there is room");
        for slot in 0..SLOTS {
            assert_eq!(mm.touch(space, at(slot * SLOT), Access::Write, CPU), FaultStep::Done, "slot {slot}");
        }
        for slot in 1..SLOTS {
            mm.munmap(space, at(slot * SLOT), bytes(SLOT / 2), CPU).expect("it is mapped");
        }
        assert_eq!((mm.pages.huge.deferred_splits(NodeId(0)), mm.counters().thp_split_page), (SLOTS - 1, 0));
        assert_eq!(core::mem::take(&mut mm.phys.daemons.taken[0]), SLOTS, "each slot took one");
    }
    world
}

impl World {
    /// The kernel takes pages until at most so many are free.
    fn take_until(&self, free: u64) {
        let mut mm = self.mm.borrow_mut();
        let page = Request { cpu: CPU, ..Request::new(Order::ZERO, Gfp::GFP_KERNEL) };
        while mm.phys.frames.zones()[0].free() > free {
            mm.alloc_fast(&page).expect("more are free than the low mark");
        }
    }

    fn splits(&self) -> u64 {
        self.mm.borrow().counters().thp_split_page
    }

    /// Splits of huge pages and pages scanned, in direct reclaim for a block of `order`.
    fn reclaims(&self, order: Order) -> (u64, u64) {
        let request = Request { cpu: CPU, ..Request::new(order, Gfp::GFP_TRANSHUGE) };
        run(direct_reclaim(self, &request));
        let mm = self.mm.borrow();
        mm.check().expect("every law holds");
        (mm.counters().thp_split_page, mm.counters().pgscan_direct.total())
    }
}

#[test]
fn reclaim_for_a_huge_page_splits_as_many_as_one_takes_and_scans_nothing() {
    let world = shortage(policy(true));
    let before = world.mm.borrow().phys.frames.zones()[0].free();
    assert_eq!(world.reclaims(Order::PAGEBLOCK), (2, 0));
    assert_eq!(
        world.mm.borrow().phys.frames.zones()[0].free(),
        before + SLOT,
        "free for everybody, none in per-CPU lists"
    );
    assert!(world.compact_huge(CompactPriority::Async).captured.is_some(), "enough to compact with");
}

#[test]
fn without_the_switch_and_for_smaller_blocks_splits_are_left_to_the_shrinker() {
    let before = shortage(policy(false)).reclaims(Order::ZERO);
    assert_eq!(shortage(policy(true)).reclaims(Order::ZERO), before);
    assert_ne!(shortage(policy(false)).reclaims(Order::PAGEBLOCK), (2, 0));
}

#[test]
fn kcompactd_splits_ahead_until_pages_are_enough() {
    let of = |partial_first| {
        let world = shortage(policy(partial_first));
        run(fill_reserves(&world, NodeId(0), ZoneKind::Normal));
        world.mm.borrow().check().expect("every law holds");
        world.splits()
    };
    // From the low mark on, a huge page takes 512 pages.
    assert_eq!((of(true), of(false)), (2, 0));
}

#[test]
fn kcompactd_makes_room_for_as_many_as_were_taken_since_it_last_did() {
    let of = |taken| {
        let world = shortage(policy(true));
        world.mm.borrow_mut().phys.daemons.taken[0] = taken;
        run(fill_reserves(&world, NodeId(0), ZoneKind::Normal));
        let splits = world.splits();
        run(fill_reserves(&world, NodeId(0), ZoneKind::Normal));
        assert_eq!((world.splits(), world.mm.borrow().phys.daemons.taken[0]), (splits, 0), "it has done so");
        splits
    };
    assert_eq!([0, 1, 2, 3].map(of), [2, 2, 4, SLOTS - 1]);
}

#[test]
fn a_request_that_leaves_less_than_half_of_what_was_taken_wakes_kcompactd() {
    let of = |taken| {
        let world = half_mapped(policy(true), 12);
        let mm = &mut *world.mm.borrow_mut();
        assert_eq!(mm.phys.frames.zones()[0].free_in_pageblocks(), 4 * SLOT);
        (mm.phys.daemons.kcompactd[0].asleep, mm.phys.daemons.taken[0]) = (true, taken);
        let zone = mm.phys.frames.zones()[0].id();
        mm.pages.huge.wake_to_fill_reserve(zone, Order::PAGEBLOCK, &mut mm.phys);
        !mm.phys.daemons.kcompactd[0].asleep
    };
    assert_eq!([7, 8].map(of), [false, true]);
}

#[test]
fn blocks_that_the_min_mark_keeps_back_do_not_count_as_left() {
    let of = |above_min: u64| {
        let world = half_mapped(policy(true), 9);
        let min = world.mm.borrow().phys.frames.zones()[0].watermarks().min;
        world.take_until(min + above_min);
        {
            let mm = &mut *world.mm.borrow_mut();
            assert_eq!(mm.phys.frames.zones()[0].free_in_pageblocks(), SLOT, "one is whole");
            mm.phys.daemons.kcompactd[0].asleep = true;
            let zone = mm.phys.frames.zones()[0].id();
            mm.pages.huge.wake_to_fill_reserve(zone, Order::PAGEBLOCK, &mut mm.phys);
        }
        let woken = !world.mm.borrow().phys.daemons.kcompactd[0].asleep;
        run(fill_reserves(&world, NodeId(0), ZoneKind::Normal));
        (woken, world.splits())
    };
    assert_eq!(of(SLOT), (false, 0));
    assert_eq!(of(SLOT - 1), (true, 1), "a split frees half a pageblock");
}
