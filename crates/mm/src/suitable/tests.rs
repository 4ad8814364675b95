//! Whether compaction can start, in a zone with a min mark of 100 pages, 200 for low.

use alloc::vec;

use order9_frames::Watermarks;
use order9_units::{NodeId, Pages, Pfn, PfnRange};

use super::*;
use crate::policy::Policy;
use crate::{Layout, MmBuilder, NodeSpec, ZoneSpec};

/// Whether a run for a block of `of` can start where these blocks are free: so many of each order.
fn suitable(of: u8, free: &[(u64, u8)]) -> Suitable {
    let (start, order) = (Pfn::new(1 << 20), |of| Order::new(of).expect("an order"));
    let span = PfnRange::of(start, Pages::new(64 * 512));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        ..Layout::default()
    };
    let mut builder = MmBuilder::new(&layout, Policy::default()).expect("the layout is sound");
    // A pageblock for each block, so that none merge.
    let blocks = free.iter().flat_map(|&(count, of)| (0..count).map(move |_| of));
    for (at, of) in blocks.enumerate() {
        builder.free(start + Pages::new(512 * at as u64), order(of)).expect("it is given once");
    }
    let mut mm = builder.finish();
    mm.phys.frames.edit_zone(0, |zone| zone.watermarks = Watermarks { min: 100, low: 200, high: 300 });
    mm.phys.compaction_suitable(ZoneId(0), order(of), ZoneKind::Normal, &AllocFlags::plain(Mark::Min))
}

#[test]
fn twice_the_block_has_to_be_free_above_a_mark() {
    // Costly orders ask for the low mark: 200 and 1024.
    let of_1224 = [(4, 8), (1, 7), (1, 6), (1, 3)];
    assert_eq!(of_1224.map(|(count, of)| count << of).iter().sum::<u64>(), 1224);
    assert_eq!(suitable(9, &of_1224), Suitable::Skipped);
    assert_eq!(suitable(9, &[of_1224.as_slice(), &[(1, 0)]].concat()), Suitable::Continue);
    // Others for the min mark: 100 and 16.
    assert_eq!(suitable(3, &[(29, 2)]), Suitable::Skipped);
    assert_eq!(suitable(3, &[(29, 2), (1, 0)]), Suitable::Continue);
}

#[test]
fn lack_of_memory_is_not_for_compaction_to_mend() {
    // The index is 300 with five halves of a pageblock, and 650 with ten quarters.
    assert_eq!(suitable(9, &[(5, 8)]), Suitable::NotSuitableZone);
    assert_eq!(suitable(9, &[(10, 7)]), Suitable::Continue);
    assert_eq!(suitable(9, &[(2, 9)]), Suitable::Success, "a block is free");
    // It counts for costly orders alone.
    assert_eq!(suitable(4, &[(40, 3)]), Suitable::NotSuitableZone);
    assert_eq!(suitable(3, &[(40, 2)]), Suitable::Continue);
}
