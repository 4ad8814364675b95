//! Boosts and marks in numbers worked by hand.

use alloc::vec;

use order9_units::{NodeId, Pages, Pfn, PfnRange};

use super::*;
use crate::ZoneSpec;
use crate::testing::{Layout, NodeSpec};

/// A zone of `managed` pages with this high mark.
fn zone(managed: u64, high: u64) -> Zone {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::new(8 * 512));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        ..Layout::default()
    };
    let mut mm = layout.builder(FramesPolicy::default()).expect("the layout is sound").boot();
    let mut zone = mm.zones.pop().expect("there is one");
    (zone.managed, zone.boost) = (managed, 0);
    zone.watermarks = Watermarks { min: high / 2, low: high * 3 / 4, high };
    zone
}

impl Zone {
    /// The boost at the factor that a policy starts with.
    fn boost_by(&mut self, policy: &WatermarkPolicy) -> Option<u64> {
        self.add_boost(policy.boost_factor, policy)
    }
}

fn factor(boost_factor: Option<u32>) -> WatermarkPolicy {
    WatermarkPolicy { boost_factor, boost_skips_tiny_zones: true, ..FramesPolicy::default().watermark }
}

/// Pages that so many events add to the boost, one after the other.
fn boosts<const EVENTS: usize>(zone: &mut Zone, policy: &WatermarkPolicy) -> [Option<u64>; EVENTS] {
    core::array::from_fn(|_| zone.boost_by(policy))
}

#[test]
fn an_event_boosts_by_a_pageblock_up_to_a_share_of_the_high_mark() {
    let mut small = zone(100_000, 1000);
    // 150 % of 1000.
    assert_eq!(boosts(&mut small, &factor(Some(15_000))), [Some(512), Some(512), Some(476), Some(0)]);
    assert_eq!((small.boost, small.mark(Mark::High), small.mark(Mark::Min)), (1500, 2500, 2000));
    let mut least = zone(100_000, 10);
    assert_eq!(boosts(&mut least, &factor(Some(15_000))), [Some(512), Some(0)], "at least a pageblock");
}

#[test]
fn zones_without_marks_or_below_four_pageblocks_are_not_boosted() {
    assert_eq!(zone(100_000, 1000).boost_by(&factor(None)), None);
    assert_eq!(zone(100_000, 1000).boost_by(&factor(Some(0))), None);
    assert_eq!(zone(100_000, 0).boost_by(&factor(Some(15_000))), None, "the marks are not set up yet");
    assert_eq!([2047, 2048].map(|managed| zone(managed, 1000).boost_by(&factor(Some(15_000)))), [None, Some(512)]);
    let all = WatermarkPolicy { boost_skips_tiny_zones: false, ..factor(Some(15_000)) };
    assert_eq!(zone(2047, 1000).boost_by(&all), Some(512));
}

#[test]
fn marks_lie_a_quarter_of_min_or_the_scaled_distance_apart() {
    let marks = |scale| Watermarks::new(4000, 50_000, 100_000, scale);
    assert_eq!(marks(None), Watermarks { min: 2000, low: 2500, high: 3000 });
    assert_eq!(marks(Some(10)), Watermarks { min: 2000, low: 2500, high: 3000 }, "50 pages are less than a quarter");
    assert_eq!(marks(Some(1000)), Watermarks { min: 2000, low: 7000, high: 12_000 });
}

#[test]
fn min_free_kbytes_grows_with_the_root_of_memory_within_bounds() {
    let policy = |most| WatermarkPolicy { min_free_kbytes_max: most, ..FramesPolicy::default().watermark };
    assert_eq!([1, 1024, 1 << 20].map(|kb| min_free_kbytes(kb, &policy(65_536))), [128, 128, 4096]);
    assert_eq!(min_free_kbytes(1 << 40, &policy(65_536)), 65_536);
    // 512 pages for each of 2 + 3 * 3 blocks, or a twentieth.
    assert_eq!([1 << 20, 1000].map(|lowmem| recommended_min_free(1, lowmem)), [5632, 50]);
}

#[test]
fn rights_to_the_highatomic_reserve_follow_from_the_rights_below_a_mark() {
    let may = |reserve_rights, reserve| {
        let mut policy = FramesPolicy::default();
        policy.watermark.reserve_rights = reserve_rights;
        AllocFlags { reserve, ..AllocFlags::plain(Mark::Min) }.may_use_highatomic(&policy)
    };
    let none = Reserve::default();
    for (reserve, before, now) in [
        (none, false, false),
        (Reserve { min_reserve: true, ..none }, false, true),
        (Reserve { harder: true, ..none }, true, true),
        (Reserve { oom: true, ..none }, true, true),
        (Reserve { highatomic: true, ..none }, false, true),
    ] {
        assert_eq!([ReserveRights::Harder, ReserveRights::NonBlock].map(|rights| may(rights, reserve)), [before, now]);
    }
}

#[test]
fn urgent_requests_may_go_below_a_mark() {
    let need = |rights, reserve| reduced(1000, &AllocFlags { reserve, ..AllocFlags::plain(Mark::Min) }, rights);
    let none = Reserve::default();
    let min = Reserve { min_reserve: true, ..none };
    for (reserve, before, now) in [
        (none, 1000, 1000),
        (min, 500, 500),
        (Reserve { harder: true, ..none }, 750, 1000),
        (Reserve { harder: true, ..min }, 375, 375),
        (Reserve { oom: true, ..none }, 500, 500),
        (Reserve { oom: true, harder: true, ..none }, 500, 500),
    ] {
        assert_eq!([ReserveRights::Harder, ReserveRights::NonBlock].map(|rights| need(rights, reserve)), [before, now]);
    }
}

/// A zone with a low mark of 750 pages, in which nothing is on a list.
fn bare() -> Zone {
    let mut zone = zone(100_000, 1000);
    zone.free_by_type = [0; Migratetype::COUNT];
    zone.occupied = [0; Migratetype::COUNT];
    zone
}

/// The least free memory at which a single page may be had, by the quick test and by the whole one.
fn least(zone: &mut Zone, class: ZoneKind, flags: &AllocFlags, policy: &FramesPolicy) -> [u64; 2] {
    let mut least = |passes: &dyn Fn(&Zone) -> bool| {
        let enough = |free: &u64| {
            zone.free = *free;
            passes(zone)
        };
        (0..5000).find(enough).expect("there is enough at some time")
    };
    [
        least(&|zone| zone.quick_test(class, flags, policy)),
        least(&|zone| zone.watermark_ok(Order::ZERO, class, flags, policy)),
    ]
}

fn quick(quick_test: QuickTest) -> FramesPolicy {
    let mut policy = FramesPolicy::default();
    (policy.watermark.quick_test, policy.watermark.reserve_rights) = (quick_test, ReserveRights::NonBlock);
    policy
}

#[test]
fn lower_zones_keep_a_reserve_from_requests_that_could_go_higher() {
    let mut zone = bare();
    zone.lowmem_reserve[ZoneKind::Movable.index()] = 300;
    let policy = quick(QuickTest::SubtractsHighAtomic);
    let flags = AllocFlags::plain(Mark::Low);
    assert_eq!(least(&mut zone, ZoneKind::Normal, &flags, &policy), [751, 751]);
    assert_eq!(least(&mut zone, ZoneKind::Movable, &flags, &policy), [1051, 1051]);
}

#[test]
fn what_a_request_may_not_use_does_not_count_as_free() {
    let mut zone = bare();
    zone.reserved_highatomic = 512;
    zone.free_by_type[Migratetype::HighAtomic.index()] = 100;
    zone.free_by_type[Migratetype::Cma.index()] = 200;
    let plain = AllocFlags::plain(Mark::Low);
    let cma = AllocFlags { cma: true, ..plain };
    let urgent = AllocFlags { reserve: Reserve { highatomic: true, ..Reserve::default() }, ..cma };
    for (quick_test, only_free_part, expected) in [
        (QuickTest::SubtractsHighAtomic, false, [[1463, 1463], [1263, 1263], [751, 751]]),
        (QuickTest::SubtractsHighAtomic, true, [[1051, 1051], [851, 851], [751, 751]]),
        (QuickTest::IgnoresHighAtomic, true, [[951, 1051], [751, 851], [751, 751]]),
    ] {
        let mut policy = quick(quick_test);
        policy.highatomic.only_free_part_withheld = only_free_part;
        let found = [plain, cma, urgent].map(|flags| least(&mut zone, ZoneKind::Normal, &flags, &policy));
        assert_eq!(found, expected, "{quick_test:?}");
    }
}

#[test]
fn a_block_has_to_lie_on_a_list_that_the_request_may_use() {
    let plain = AllocFlags::plain(Mark::Low);
    let cma = AllocFlags { cma: true, ..plain };
    let with = |reserve| AllocFlags { reserve, ..plain };
    let urgent = with(Reserve { highatomic: true, ..Reserve::default() });
    let victim = with(Reserve { oom: true, ..Reserve::default() });
    for (of, expected) in [
        (Migratetype::Reclaimable, [true, true, true, true]),
        (Migratetype::Cma, [false, true, false, false]),
        (Migratetype::HighAtomic, [false, false, true, true]),
    ] {
        let mut zone = bare();
        (zone.free, zone.occupied[of.index()]) = (10_000, 1 << 4);
        for order in [4, 5] {
            let order = Order::new(order).expect("an order");
            let policy = quick(QuickTest::Absent);
            let served =
                [plain, cma, urgent, victim].map(|flags| zone.watermark_ok(order, ZoneKind::Normal, &flags, &policy));
            assert_eq!(served, expected.map(|serves| serves && order.get() == 4), "{of:?} {order:?}");
        }
    }
}
