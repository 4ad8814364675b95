//! Work is counted for the lock that it was done under, in whatever order a step takes its locks.

use order9_frames::Request;
use order9_units::{Order, Pages, Pfn, PfnRange, ZoneKind};

use super::*;
use crate::lru::LruLock;
use crate::policy::Policy;
use crate::{Gfp, Layout, Mm, MmBuilder, NodeSpec, ZoneSpec};

const CPU: usize = 0;

/// A node with 16 MiB in each of two zones.
fn two_zones() -> Mm {
    let zone =
        |kind, start: u64| ZoneSpec { node: NodeId(0), kind, span: PfnRange::of(Pfn::new(start), Pages::new(4096)) };
    let layout = Layout {
        nodes: alloc::vec![NodeSpec { distances: alloc::vec![10] }],
        zones: alloc::vec![zone(ZoneKind::Dma32, 4096), zone(ZoneKind::Normal, 1 << 20)],
        cpus: alloc::vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, Policy::default()).expect("the layout is sound").boot()
}

/// Sections under the lock of each zone, and free-list operations in them.
fn by_zone(mm: &mut Mm) -> [(u64, u64); 2] {
    mm.settle_work(|done| {
        let mut by_zone = [(0, 0); 2];
        for (zone, work) in done.other_zones.iter().copied().chain([(done.zone, done.frames.locked)]) {
            assert_eq!(by_zone[zone.index()], (0, 0), "each zone comes once");
            by_zone[zone.index()] = (work.sections, work.list_ops);
        }
        by_zone
    })
}

#[test]
fn a_step_that_takes_the_locks_of_two_zones_counts_the_work_under_each() {
    let mut mm = two_zones();
    let take = |mm: &mut Mm, gfp| mm.alloc_fast(&Request::new(Order::PAGEBLOCK, gfp)).expect("memory is free");
    let (high, low) = (take(&mut mm, Gfp::GFP_TRANSHUGE), take(&mut mm, Gfp::GFP_KERNEL | Gfp::DMA32));
    mm.take_work();
    mm.free(low, CPU).expect("it is allocated");
    let low_alone = by_zone(&mut mm);
    assert!(low_alone[0].1 > 0 && low_alone[1] == (0, 0), "{low_alone:?}");
    mm.free(high, CPU).expect("it is allocated");
    let high_alone = by_zone(&mut mm);
    assert!(high_alone[1].1 > 0 && high_alone[0] == (0, 0), "{high_alone:?}");

    let (high, low) = (take(&mut mm, Gfp::GFP_TRANSHUGE), take(&mut mm, Gfp::GFP_KERNEL | Gfp::DMA32));
    mm.take_work();
    mm.free(high, CPU).expect("it is allocated");
    mm.free(low, CPU).expect("it is allocated");
    assert_eq!(by_zone(&mut mm), [low_alone[0], high_alone[1]]);
    assert_eq!(by_zone(&mut mm), [(0, 0); 2], "work that was settled is gone");
}

#[test]
fn work_under_an_lru_lock_stays_with_its_node_where_others_follow() {
    let mut lock = LruLock::default();
    for (node, isolated) in [(0, 3), (1, 5), (0, 7), (2, 1)] {
        lock.take(NodeId(node), 1);
        lock.count_isolated(isolated);
    }
    let work = |sections, isolated| LruLockWork { sections, isolated, ..LruLockWork::NONE };
    let (node, last, earlier) = lock.done();
    assert_eq!((node, *last), (NodeId(2), work(1, 1)));
    assert_eq!(earlier, [(NodeId(0), work(2, 10)), (NodeId(1), work(1, 5))]);
    lock.clear();
    assert_eq!(lock.done(), (NodeId(2), &LruLockWork::NONE, &[][..]));
}
