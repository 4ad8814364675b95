//! The two scanners, before anything was done about what they look at in vain.

use super::*;
use crate::env::CompactResult;

#[test]
fn the_worked_example_comes_out_to_the_frame() {
    let world = World::new(classic(), &worked_example());
    let free = world.mm.borrow().phys.frames.zones()[0].areas().map(|area| area.total());
    assert_eq!(order9_units::metrics::fragmentation_index(&free, Order::PAGEBLOCK), 998);
    let compacted = world.compact_huge(CompactPriority::Async);
    assert_eq!(compacted, Compacted { result: CompactResult::Success, captured: None });
    assert_eq!(world.totals(), CompactTotals { migrate_scanned: 613, free_scanned: 1359 });
    assert_eq!((world.moved(), world.isolated(), world.rounds()), (396, 792, 14));
    assert_eq!(world.ends(), (1024, 2895));
    assert_eq!(world.cached(), [Some(96), Some(0), Some(3584)]);
    assert_eq!((world.skipped(), world.free_huge()), (vec![0, 7], 1));
    // One pageblock could have been had for 256 moves.
    assert_eq!(world.account(), [1, 256, 396]);
}

#[test]
fn taking_a_pageblock_as_a_whole_the_second_time_saves_moves_in_vain() {
    let world = World::new(classic_with(|rules| rules.rescan_whole_block = true), &worked_example());
    assert_eq!(world.compact_huge(CompactPriority::Async).result, CompactResult::Success);
    assert_eq!(world.totals(), CompactTotals { migrate_scanned: 613, free_scanned: 1231 });
    assert_eq!((world.moved(), world.rounds()), (332, 4));
}
