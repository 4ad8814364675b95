//! Inspections of made-up machines whose answer is known by construction.

use std::collections::BTreeMap;
use std::num::NonZero;

use order9_snapshot::buddy::count_free_blocks;
use order9_snapshot::census::Census;
use order9_snapshot::classify::FrameClass;
use order9_snapshot::flags::{PINNED, SLAB_RECLAIMABLE, kpf};
use order9_snapshot::inspection::Inspection;
use order9_snapshot::prices::Prices;
use order9_snapshot::{FrameMapBuilder, FrameState, NodeInfo, PcpInfo, Snapshot, Watermarks, ZoneInfo};
use order9_units::{Migratetype, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
use proptest::prelude::*;

const P: u64 = 512;

const FREE: u64 = kpf::BUDDY;
const ANON: u64 = kpf::LRU | kpf::ANON | kpf::MMAP | kpf::SWAPBACKED;
const CLEAN: u64 = kpf::LRU | kpf::UPTODATE;
const THP_HEAD: u64 = ANON | kpf::THP | kpf::COMPOUND_HEAD;
const THP_TAIL: u64 = ANON | kpf::THP | kpf::COMPOUND_TAIL;
/// Kernel stacks and pages on per-CPU lists alike.
const UNMARKED: u64 = 0;
const DENTRY: u64 = kpf::SLAB | SLAB_RECLAIMABLE;

/// Frames of one pageblock: so many of each kind of flags, then free ones.
type Recipe = Vec<(u64, u64)>;

fn frames_of(recipe: &Recipe) -> Vec<u64> {
    let mut frames: Vec<u64> = recipe.iter().flat_map(|&(flags, n)| std::iter::repeat_n(flags, n as usize)).collect();
    frames.resize(P as usize, FREE);
    frames
}

fn zone(node: u16, first: u64, blocks: &[Recipe]) -> ZoneInfo {
    let flags: Vec<u64> = blocks.iter().flat_map(frames_of).collect();
    let present = Pages::new(flags.len() as u64);
    let mut free_blocks = [0; Order::COUNT];
    let mut start = Pfn::new(first * P);
    for run in flags.chunk_by(|a, b| (*a == FREE) == (*b == FREE)) {
        let range = PfnRange::of(start, Pages::new(run.len() as u64));
        if run[0] == FREE {
            count_free_blocks(range, &mut free_blocks);
        }
        start = range.end;
    }
    ZoneInfo {
        node: NodeId(node),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new(first * P), present),
        present,
        managed: present,
        cma: Pages::ZERO,
        free: Pages::new(flags.iter().filter(|&&flags| flags == FREE).count() as u64),
        watermarks: Watermarks::default(),
        protection: Vec::new(),
        free_blocks,
        free_by_type: BTreeMap::new(),
        block_counts: BTreeMap::new(),
        pcp: Vec::new(),
        counters: BTreeMap::new(),
    }
}

/// A machine of one node per list of blocks, one zone each.
fn machine(nodes: &[Vec<Recipe>]) -> Snapshot {
    let mut map = FrameMapBuilder::new();
    let mut snapshot = Snapshot::default();
    let mut first = 0;
    for (id, blocks) in nodes.iter().enumerate() {
        for flags in blocks.iter().flat_map(frames_of) {
            map.push(FrameState { flags, count: 0 });
        }
        snapshot.zones.push(zone(id as u16, first, blocks));
        snapshot.nodes.push(NodeInfo { id: NodeId(id as u16), ..NodeInfo::default() });
        first += blocks.len() as u64;
    }
    snapshot.block_types = Some(vec![Migratetype::Movable; first as usize]);
    snapshot.frames = Some(map.finish());
    snapshot
}

fn inspect(snapshot: &Snapshot) -> Inspection {
    let census = Census::of(snapshot).unwrap();
    Inspection::of(snapshot, Some(&census), &Prices::built_in())
}

/// Blocks that are free, evacuable, held or huge in about equal parts, with any number of pages.
fn any_recipe() -> impl Strategy<Value = Recipe> {
    prop_oneof![
        Just(vec![]),
        (0..=P).prop_map(|n| vec![(ANON, n)]),
        (0..=P / 2, 0..=P / 2).prop_map(|(anon, clean)| vec![(ANON, anon), (CLEAN, clean)]),
        (0..=P / 2, 1..=P / 4).prop_map(|(anon, slab)| vec![(ANON, anon), (kpf::SLAB, slab)]),
        (0..=P / 2, 1..=P / 4).prop_map(|(clean, slab)| vec![(CLEAN, clean), (DENTRY, slab)]),
        Just(vec![(THP_HEAD, 1), (THP_TAIL, P - 1)]),
    ]
}

/// Blocks as above, or with frames that carry no flag.
fn any_recipe_with_unmarked() -> impl Strategy<Value = Recipe> {
    prop_oneof![
        2 => any_recipe(),
        2 => (0..=P / 2, 1..=P / 2).prop_map(|(anon, unmarked)| vec![(ANON, anon), (UNMARKED, unmarked)]),
        1 => (0..=P / 2, 1_u64..6).prop_map(|(anon, unmarked)| vec![(ANON, anon), (UNMARKED, unmarked)]),
        1 => (1..=P / 4, 1..=P / 4).prop_map(|(slab, unmarked)| vec![(kpf::SLAB, slab), (UNMARKED, unmarked)]),
    ]
}

fn any_nodes() -> impl Strategy<Value = Vec<Vec<Recipe>>> {
    prop::collection::vec(prop::collection::vec(any_recipe(), 1..12), 1..4)
}

fn with_listed(mut snapshot: Snapshot, pages: u64) -> Snapshot {
    snapshot.zones[0].pcp = vec![PcpInfo { count: Pages::new(pages), ..PcpInfo::default() }];
    snapshot
}

fn unmarked_frames(snapshot: &Snapshot) -> Vec<u64> {
    let map = snapshot.frames.as_ref().unwrap();
    (0..map.len().get()).filter(|&pfn| map.get(Pfn::new(pfn)).unwrap().flags == UNMARKED).collect()
}

/// Frees so many unmarked frames, chosen by `seed`.
fn drain(snapshot: &Snapshot, listed: u64, seed: u64) -> Snapshot {
    let mut frames = unmarked_frames(snapshot);
    frames.sort_by_key(|&pfn| (pfn ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ seed).rotate_left(31));
    frames.truncate(listed as usize);
    let map = snapshot.frames.as_ref().unwrap();
    let mut drained = FrameMapBuilder::new();
    for pfn in 0..map.len().get() {
        let flags = if frames.contains(&pfn) { FREE } else { map.get(Pfn::new(pfn)).unwrap().flags };
        drained.push(FrameState { flags, count: 0 });
    }
    Snapshot { frames: Some(drained.finish()), ..with_listed(snapshot.clone(), 0) }
}

fn count(recipe: &Recipe, of: impl Fn(u64) -> bool) -> u64 {
    frames_of(recipe).into_iter().filter(|&flags| of(flags)).count() as u64
}

/// Costs of the blocks that can be freed in a node, cheapest first, if frames `count_as_free` were free.
fn costs(blocks: &[Recipe], count_as_free: impl Fn(u64) -> bool + Copy) -> Vec<u64> {
    let is_free = |flags| flags == FREE || count_as_free(flags);
    let free: u64 = blocks.iter().map(|block| count(block, is_free)).sum();
    let stays = |flags: u64| !is_free(flags) && flags != ANON && flags != CLEAN;
    let evacuable = blocks.iter().filter(|block| count(block, stays) == 0);
    let mut costs: Vec<u64> = evacuable.map(|block| P - count(block, is_free)).collect();
    costs.sort_unstable();
    costs.truncate((free / P) as usize);
    costs
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn recoverable_huge_pages_and_their_moves_are_exact(nodes in any_nodes()) {
        let inspection = inspect(&machine(&nodes));
        let found = inspection.total.findings.unwrap();
        let mut by_moving: Vec<u64> = nodes.iter().flat_map(|blocks| costs(blocks, |_| false)).collect();
        by_moving.retain(|&cost| cost > 0);
        by_moving.sort_unstable();
        prop_assert_eq!(found.by_moving.huge_pages, by_moving.len() as u64);
        prop_assert_eq!(found.by_moving.moves, Pages::new(by_moving.iter().sum()));
        prop_assert_eq!(found.by_moving_in_linux.huge_pages, found.by_moving.huge_pages);
        prop_assert_eq!(found.by_moving_in_linux.moves, found.by_moving.moves);
        for goal in found.goals {
            let cheapest = &by_moving[..goal.huge_pages as usize];
            prop_assert_eq!(goal.moves, Pages::new(cheapest.iter().sum()), "{}", goal.goal);
        }
        let dropped: Vec<Vec<u64>> = nodes.iter().map(|blocks| costs(blocks, |f| f == CLEAN || f == DENTRY)).collect();
        prop_assert_eq!(found.by_dropping.moves, Pages::new(dropped.iter().flatten().sum()));
        let free = nodes.iter().flatten().filter(|block| count(block, |f| f == FREE) == P).count() as u64;
        prop_assert_eq!(found.by_dropping.huge_pages, dropped.iter().flatten().count() as u64 - free);
    }

    #[test]
    fn frames_and_blocks_are_counted_once(nodes in any_nodes()) {
        let snapshot = machine(&nodes);
        let inspection = inspect(&snapshot);
        prop_assert_eq!(&inspection.inconsistencies, &Vec::<String>::new());
        for node in &inspection.nodes {
            let found = node.view.findings.as_ref().unwrap();
            prop_assert_eq!(found.census.values().copied().sum::<Pages>(), node.view.present);
            let b = found.blocks;
            prop_assert_eq!(b.total, b.free + b.huge + b.evacuable + b.slab + b.unmarked + b.lost + b.partial + b.deferred);
            prop_assert_eq!(found.lost.blocks, b.slab + b.lost);
            prop_assert_eq!(found.lost.by_holder.iter().map(|held| held.blocks).sum::<u64>(), found.lost.blocks);
            prop_assert_eq!(found.lost.by_pages.iter().map(|few| few.blocks).sum::<u64>(), found.lost.blocks);
        }
    }

    /// Whichever unmarked frames are the pages on per-CPU lists: freeing them gives no more than was said.
    #[test]
    fn draining_gives_no_more_than_the_bound(
        blocks in prop::collection::vec(any_recipe_with_unmarked(), 1..16),
        listed in 0_u64..1500,
        seed in any::<u64>(),
    ) {
        let snapshot = with_listed(machine(&[blocks]), listed);
        let found = inspect(&snapshot).total.findings.unwrap();
        let drained = inspect(&drain(&snapshot, listed, seed)).total.findings.unwrap();
        let most = found.blocks.free + found.by_moving_if_drained.huge_pages;
        prop_assert!(found.by_moving.huge_pages <= found.by_moving_if_drained.huge_pages);
        prop_assert!(drained.blocks.free + drained.by_moving.huge_pages <= most, "{drained:?} {found:?}");
        prop_assert_eq!(found.on_cpu_lists.pages.get(), listed.min(unmarked_frames(&snapshot).len() as u64));
        prop_assert!(found.on_cpu_lists.pages_there <= found.on_cpu_lists.pages);
        let b = found.blocks;
        let sum = b.free + b.huge + b.evacuable + b.slab + b.unmarked + b.lost + b.partial + b.deferred;
        prop_assert_eq!((b.total, b.unmarked), (sum, found.on_cpu_lists.blocks));
        prop_assert_eq!(found.census.values().copied().sum::<Pages>(), snapshot.zones[0].present);
    }

    /// The best case is one that can be: where the listed pages are those of the blocks with the fewest of them.
    #[test]
    fn the_bound_of_draining_is_attained(
        blocks in prop::collection::vec(any_recipe_with_unmarked(), 1..16),
    ) {
        let snapshot = machine(&[blocks]);
        let all = unmarked_frames(&snapshot).len() as u64;
        let found = inspect(&with_listed(snapshot.clone(), all)).total.findings.unwrap();
        let drained = inspect(&drain(&snapshot, all, 0)).total.findings.unwrap();
        let most = found.blocks.free + found.by_moving_if_drained.huge_pages;
        prop_assert_eq!(drained.blocks.free + drained.by_moving.huge_pages, most);
        prop_assert_eq!(found.by_moving_if_drained.moves, drained.by_moving.moves);
    }

    #[test]
    fn the_number_of_threads_does_not_show(nodes in any_nodes(), threads in 1_usize..9) {
        let snapshot = machine(&nodes);
        let one = Census::with_threads(&snapshot, NonZero::<usize>::MIN).unwrap();
        prop_assert_eq!(one, Census::with_threads(&snapshot, NonZero::new(threads).unwrap()).unwrap());
    }
}

#[test]
fn every_reason_to_lose_a_block_is_named() {
    let blocks = vec![
        vec![(kpf::SLAB, 1), (ANON, 100)],
        vec![(kpf::PGTABLE, 3), (kpf::SLAB, 2)],
        vec![(ANON | PINNED, 1), (ANON, 511)],
        vec![(kpf::RESERVED, 512)],
        vec![(0, 20), (kpf::MMAP, 20)],
        vec![(DENTRY, 7)],
        vec![(ANON, 10)],
    ];
    let found = inspect(&machine(&[blocks])).total.findings.unwrap();
    let lost: Vec<_> =
        found.lost.by_holder.iter().map(|held| (held.class, held.blocks, held.alone, held.pages.get())).collect();
    assert_eq!(
        lost,
        [
            (FrameClass::Pinned, 1, 1, 1),
            (FrameClass::Slab, 1, 1, 3),
            (FrameClass::SlabReclaimable, 1, 1, 7),
            (FrameClass::PageTable, 1, 0, 3),
            (FrameClass::KernelMapped, 1, 0, 20),
            (FrameClass::Reserved, 1, 1, 512),
            (FrameClass::Unknown, 0, 0, 20),
        ]
    );
    let few: Vec<_> = found.lost.by_pages.iter().map(|few| few.blocks).collect();
    assert_eq!(few, [2, 0, 0, 2, 0, 1, 0, 0, 1]);
    assert_eq!((found.lost.blocks, found.lost.by_one_page, found.blocks.evacuable), (6, 2, 1));
}

/// Three pages are listed: they may hold the blocks of one and of two unmarked frames, not the one of four.
#[test]
fn pages_on_cpu_lists_hold_as_many_blocks_as_they_can() {
    let blocks = vec![
        vec![(UNMARKED, 4), (ANON, 100)],
        vec![(UNMARKED, 2), (ANON, 200)],
        vec![(UNMARKED, 1), (kpf::SLAB, 1)],
        vec![(UNMARKED, 1), (ANON, 300)],
        vec![(ANON, 10)],
    ];
    let found = inspect(&with_listed(machine(&[blocks]), 3)).total.findings.unwrap();
    assert_eq!((found.blocks.unmarked, found.blocks.lost, found.blocks.evacuable), (2, 2, 1));
    assert_eq!(found.by_moving.huge_pages, 1);
    assert_eq!((found.by_moving_if_drained.huge_pages, found.by_moving_if_drained.moves.get()), (3, 510));
    assert_eq!((found.on_cpu_lists.pages.get(), found.on_cpu_lists.pages_there.get()), (3, 3));
    let lost: Vec<_> = found.lost.by_holder.iter().map(|held| (held.class, held.blocks, held.pages.get())).collect();
    assert_eq!(lost, [(FrameClass::Slab, 1, 1), (FrameClass::Unknown, 1, 5)]);
    assert_eq!((found.census[&FrameClass::Pcp].get(), found.census[&FrameClass::Unknown].get()), (3, 5));
}

#[test]
fn huge_pages_in_use_are_told_by_content() {
    let whole = |head: u64, tail: u64| vec![(head | kpf::COMPOUND_HEAD, 1), (tail | kpf::COMPOUND_TAIL, P - 1)];
    let blocks = vec![
        whole(ANON, ANON),
        whole(CLEAN, 0),
        whole(kpf::LRU | kpf::SWAPBACKED, 0),
        whole(kpf::HUGE, kpf::HUGE),
        vec![(ANON, 512)],
    ];
    let found = inspect(&machine(&[blocks])).total.findings.unwrap();
    let huge = found.huge_in_use;
    assert_eq!([huge.anon, huge.file, huge.shmem, huge.hugetlb].map(Pages::get), [P; 4]);
    assert_eq!((huge.anon_total.get(), huge.anon_share), (2 * P, Some(0.5)));
    assert_eq!((found.blocks.huge, found.blocks.evacuable), (4, 1));
}

#[test]
fn without_a_map_the_lists_still_speak() {
    let mut snapshot = machine(&[vec![vec![]]]);
    snapshot.frames = None;
    snapshot.zones[0].free_blocks[9] = 3;
    snapshot.settings.insert("/proc/sys/vm/compaction_proactiveness".into(), "20".into());
    let inspection = Inspection::of(&snapshot, None, &Prices::built_in());
    assert_eq!(inspection.total.findings, None);
    assert_eq!(inspection.total.free_in_huge_pages, Pages::new(3 * P));
    let node = &inspection.nodes[0];
    assert_eq!((node.proactive.low, node.proactive.high, node.proactive.would_start), (Some(80), Some(90), false));
    assert_eq!(node.zones[0].indexes[9].fragmentation, -1000);
}

#[test]
fn slab_of_reclaimable_blocks_is_an_estimate_within_the_counter() {
    let mut snapshot = machine(&[vec![vec![(kpf::SLAB, 400)], vec![(kpf::SLAB, 300)], vec![(ANON, 500)]]]);
    snapshot.block_types = None;
    snapshot.zones[0].block_counts = [(Migratetype::Reclaimable, 2), (Migratetype::Movable, 1)].into();
    snapshot.nodes[0].counters.insert("nr_slab_reclaimable".into(), 450);
    let census = inspect(&snapshot).total.findings.unwrap().census;
    assert_eq!(census[&FrameClass::SlabReclaimable], Pages::new(400));
    assert_eq!(census[&FrameClass::Slab], Pages::new(300));
}

#[test]
fn capped_counts_are_completed_from_the_sum() {
    let mut snapshot = machine(&[vec![vec![]]]);
    let zone = &mut snapshot.zones[0];
    zone.free_blocks[0] = 250_000;
    let by_type = |n: u64| std::array::from_fn(|order| if order == 0 { n } else { 0 });
    zone.free_by_type = [(Migratetype::Movable, by_type(100_000)), (Migratetype::Unmovable, by_type(7))].into();
    let inspection = Inspection::of(&snapshot, None, &Prices::built_in());
    let types = &inspection.nodes[0].zones[0].free_memory.by_type;
    assert_eq!(types.iter().map(|of| of.blocks[0]).collect::<Vec<_>>(), [7, 249_993]);
}

#[test]
fn json_is_the_same_every_time() {
    let snapshot = machine(&[vec![vec![(ANON, 3)], vec![(DENTRY, 3)]]]);
    let text = serde_json::to_string(&inspect(&snapshot)).unwrap();
    assert_eq!(text, serde_json::to_string(&inspect(&snapshot)).unwrap());
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["total"]["findings"]["census"]["anon"], 3);
    assert_eq!(json["nodes"][0]["zones"][0]["name"], "Normal");
    assert_eq!(json["nodes"][0]["zones"][0]["allocation"]["reach"]["by"], "compaction");
}
