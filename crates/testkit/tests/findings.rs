//! Sequences that once showed a difference between the engine and the naive allocator, or broke a law; cut down by the
//! random driver and named for what they showed.

use order9_testkit::{Ask::*, Case, Machine::*, Op::*, Rights::*, replay};
use order9_units::Migratetype::Movable;

/// Tiny machines with `profile` as it is.
fn tiny(blocks: u64, cpus: usize, profile: &'static str) -> Case {
    Case { machine: Tiny { blocks, cpus }, profile, flip: None }
}

#[test]
fn without_mobility_grouping_every_request_is_unmovable() {
    replay(&tiny(1, 0, "linux_4_4"), &[Alloc { order: 0, ask: Slab, node: 0, cpu: 0 }]);
}

#[test]
fn a_largest_block_freed_around_an_isolated_pageblock_goes_to_two_lists() {
    let ops = [
        Alloc { order: 10, ask: User, node: 0, cpu: 0 },
        IsolateBlock { nth: 11 },
        Free { nth: 0, cpu: 0 },
        UnisolateBlock { nth: 0, movable: true },
    ];
    for profile in ["linux_4_4", "linux_5_3", "linux_6_12"] {
        replay(&tiny(12, 0, profile), &ops);
    }
}

#[test]
fn compaction_leaves_the_highatomic_reserve_alone_too() {
    let ops = [
        Alloc { order: 0, ask: UserHere, node: 0, cpu: 0 },
        AllocSlow { order: 5, ask: Huge, node: 0, cpu: 0, rights: RealTime },
        Alloc { order: 4, ask: Huge, node: 0, cpu: 0 },
        IsolateFree { nth: 3_717_683_940, boosted: true },
        Alloc { order: 7, ask: Slab, node: 0, cpu: 0 },
        AllocSlow { order: 6, ask: Huge, node: 0, cpu: 0, rights: RealTime },
        IsolateFree { nth: 920_123_148, boosted: false },
    ];
    replay(&tiny(4, 0, "linux_4_4"), &ops);
}

#[test]
fn the_rest_of_a_pageblock_that_compaction_makes_movable_follows_it() {
    let mut ops = vec![Alloc { order: 0, ask: Buffer, node: 0, cpu: 0 }; 3];
    ops.extend([
        AllocSlow { order: 0, ask: Kernel, node: 0, cpu: 0, rights: Memalloc },
        Alloc { order: 0, ask: Slab, node: 0, cpu: 0 },
    ]);
    ops.extend((0..32).map(|nth| IsolateFree { nth, boosted: true }));
    replay(&tiny(16, 0, "linux_6_12"), &ops);
}

#[test]
fn a_reserved_pageblock_claimed_with_its_neighbour_leaves_the_reserve() {
    let ops = [
        IsolateFree { nth: 2_647_386_372, boosted: true },
        IsolateFree { nth: 731_517_475, boosted: false },
        IsolateFree { nth: 2_461_220_830, boosted: false },
        AllocSlow { order: 10, ask: Buffer, node: 0, cpu: 1, rights: RealTime },
        IsolateFree { nth: 1_660_774_801, boosted: false },
        AllocSlow { order: 8, ask: Buffer, node: 0, cpu: 1, rights: RealTime },
        Free { nth: 1_693_677_653, cpu: 0 },
        ReleaseFree { nth: 3_550_878_172 },
        Free { nth: 1_257_682_052, cpu: 2 },
        ReleaseFree { nth: 505_296_690 },
        Alloc { order: 1, ask: Buffer, node: 0, cpu: 2 },
        ReleaseFree { nth: 2_012_256_653 },
        Unreserve { node: 0, mt: Movable, force: false },
        Alloc { order: 8, ask: Buffer, node: 0, cpu: 1 },
        Alloc { order: 2, ask: Buffer, node: 0, cpu: 1 },
        IsolateBlock { nth: 1_803_822_209 },
        IsolateFree { nth: 785_420_928, boosted: true },
        Free { nth: 2_492_621_569, cpu: 2 },
        Free { nth: 2_064_514_125, cpu: 0 },
        Free { nth: 2_269_694_603, cpu: 1 },
        UnisolateBlock { nth: 2_111_909_784, movable: false },
        Alloc { order: 8, ask: Buffer, node: 0, cpu: 2 },
        Free { nth: 4_021_726_718, cpu: 2 },
        AllocSlow { order: 1, ask: Atomic, node: 0, cpu: 1, rights: Victim },
        Free { nth: 1_784_826_627, cpu: 0 },
        ReleaseFree { nth: 2_738_061_067 },
        Alloc { order: 9, ask: Atomic, node: 0, cpu: 2 },
    ];
    replay(&Case { flip: Some("search_largest"), ..tiny(12, 2, "linux_5_0") }, &ops);
}

#[test]
fn huge_pages_on_per_cpu_lists_go_back_as_fast_as_they_come() {
    let ops = [
        Alloc { order: 1, ask: Atomic, node: 0, cpu: 1 },
        Free { nth: 0, cpu: 0 },
        Alloc { order: 9, ask: User, node: 0, cpu: 0 },
        Free { nth: 0, cpu: 0 },
        AllocSlow { order: 2, ask: Slab, node: 0, cpu: 0, rights: Memalloc },
        AllocSlow { order: 0, ask: Atomic, node: 0, cpu: 0, rights: LastLook },
        Free { nth: 1, cpu: 1 },
        Alloc { order: 9, ask: User, node: 0, cpu: 1 },
        Free { nth: 1, cpu: 0 },
        Alloc { order: 9, ask: Atomic, node: 0, cpu: 0 },
        Free { nth: 1, cpu: 0 },
    ];
    replay(&Case { flip: Some("search_largest"), ..tiny(64, 1, "linux_6_12") }, &ops);
}

#[test]
fn a_list_of_huge_pages_for_all_types_counts_them_for_who_takes_them() {
    let ops = [
        AllocSlow { order: 9, ask: User, node: 0, cpu: 0, rights: Memalloc },
        Alloc { order: 9, ask: Slab, node: 0, cpu: 0 },
    ];
    replay(&tiny(64, 1, "linux_6_1"), &ops);
}

#[test]
fn cached_pages_of_a_contiguous_area_go_back_there_unused() {
    let largest = AllocSlow { order: 10, ask: Buffer, node: 0, cpu: 0, rights: Memalloc };
    let page = AllocSlow { order: 0, ask: Buffer, node: 0, cpu: 0, rights: Memalloc };
    // Somewhere on the way the area holds more than half of what is free, and the page comes from it.
    let ops = [largest, page, Drain].repeat(12);
    replay(&Case { machine: Ragged { blocks: 36, cpus: 1 }, profile: "linux_5_9", flip: None }, &ops);
}

#[test]
fn no_reserve_is_given_back_on_a_node_that_does_not_exist() {
    replay(&tiny(4, 0, "linux_5_3"), &[Unreserve { node: 1, mt: Movable, force: true }]);
}
