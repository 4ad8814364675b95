//! Cost of allocating and freeing, beside the crate `buddy_system_allocator` in the same run.
//!
//! Each figure is the median of several rounds in which both allocators take turns, so that a noisy machine disturbs both
//! alike. Run with `cargo bench -p order9-mm --bench page_alloc`.

use std::hint::black_box;
use std::time::Instant;

use buddy_system_allocator::FrameAllocator;
use order9_mm::policy::{BlockSearch, FallbackSearch, PcpHigh, PcpLists, Policy};
use order9_mm::{Gfp, Layout, Mm, MmBuilder, NodeSpec, Request, ZoneSpec};
use order9_units::{Bytes, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

const ROUNDS: usize = 15;
const PAIRS: u32 = 1_000_000;
/// Memory of both allocators; a multiple of the largest block.
const MEMORY: Bytes = Bytes::from_gib(8);

fn main() {
    println!("{:<44} {:>9} {:>9} {:>7}", "ns per operation, median of rounds", "order9", "other", "ratio");
    row("order-0 allocate+free pair, per-CPU lists", pair(&mut engine(Policy::default()), Order::ZERO), other_pair(1));
    row("order-9 allocate+free pair", pair(&mut engine(Policy::default()), Order::PAGEBLOCK), other_pair(512));
    row("order-9 pair, per-CPU lists of 6.12", pair(&mut engine(recent()), Order::PAGEBLOCK), other_pair(512));
    row("order-0 pair, no per-CPU lists", pair(&mut engine_on(0, Policy::default()), Order::ZERO), other_pair(1));
    row("4 GiB freed in random order, per page", random_free(Policy::default()), other_random_free());
    with_index("order-0 allocate+free pair, per-CPU lists", |policy| pair(&mut engine(policy), Order::ZERO));
    with_index("order-9 allocate+free pair", |policy| pair(&mut engine(policy), Order::PAGEBLOCK));
    with_index("order-0 pair, no per-CPU lists", |policy| pair(&mut engine_on(0, policy), Order::ZERO));
    with_index("4 GiB freed in random order, per page", random_free);
    let metadata = engine(Policy::default()).metadata();
    println!(
        "\nmetadata: {:.2} bytes per frame ({} bytes for {} frames)",
        metadata.per_frame(),
        metadata.bytes,
        metadata.frames
    );
}

fn row(what: &str, ours: f64, other: f64) {
    println!("{what:<44} {ours:>9.1} {other:>9.1} {:>7.2}", ours / other);
}

/// What the pageblock index adds to a figure.
fn with_index(what: &str, measure: impl Fn(Policy) -> f64) {
    let mut policy = Policy::default();
    let without = measure(policy.clone());
    (policy.compaction.source_search, policy.compaction.target_search) = (BlockSearch::Index, BlockSearch::Index);
    let with = measure(policy);
    println!("{what:<44} {with:>9.1} {without:>9.1} {:>+7.1}   with index, without, more", with - without);
}

/// The switches of 6.12 that these benchmarks touch.
fn recent() -> Policy {
    let mut policy = Policy::default();
    policy.frames.fallback.freelist_hygiene = true;
    policy.frames.fallback.search = FallbackSearch::SmallestUnlessClaimable;
    policy.frames.pcp.lists = PcpLists::UpToCostly { huge_lists: 2 };
    policy.frames.pcp.high = PcpHigh::AutoTuned;
    policy.frames.pcp.keeps_cached_type = false;
    policy
}

fn engine(policy: Policy) -> Mm {
    engine_on(1, policy)
}

fn engine_on(cpus: usize, policy: Policy) -> Mm {
    let start = Pfn::new(1 << 20);
    let span = PfnRange::of(start, Pages::from_bytes_floor(MEMORY));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0); cpus],
        ..Layout::default()
    };
    MmBuilder::new(&layout, policy).expect("one zone is a valid layout").boot()
}

fn other() -> FrameAllocator<24> {
    let mut frames = FrameAllocator::new();
    frames.add_frame(0, Pages::from_bytes_floor(MEMORY).get() as usize);
    frames
}

fn pair(mm: &mut Mm, order: Order) -> f64 {
    let request = Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE);
    median(|| {
        let start = Instant::now();
        for _ in 0..PAIRS {
            let pfn = mm.alloc_fast(black_box(&request)).expect("memory is free");
            mm.free(black_box(pfn), 0).expect("it was just allocated");
        }
        start.elapsed().as_nanos() as f64 / f64::from(PAIRS)
    })
}

fn other_pair(frames: usize) -> f64 {
    let mut allocator = other();
    median(|| {
        let start = Instant::now();
        for _ in 0..PAIRS {
            let frame = allocator.alloc(black_box(frames)).expect("memory is free");
            allocator.dealloc(black_box(frame), frames);
        }
        start.elapsed().as_nanos() as f64 / f64::from(PAIRS)
    })
}

/// Half of the memory allocated page by page, then freed in a random order.
fn random_free(policy: Policy) -> f64 {
    let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    let mut mm = engine(policy);
    median_of(5, || {
        let pages = Pages::from_bytes_floor(Bytes::from_gib(4)).get();
        let mut held: Vec<Pfn> = (0..pages).map(|_| mm.alloc_fast(&request).expect("memory is free")).collect();
        shuffle(&mut held);
        let start = Instant::now();
        for &pfn in &held {
            mm.free(pfn, 0).expect("it is allocated");
        }
        start.elapsed().as_nanos() as f64 / held.len() as f64
    })
}

fn other_random_free() -> f64 {
    let mut allocator = other();
    median_of(5, || {
        let pages = Pages::from_bytes_floor(Bytes::from_gib(4)).get();
        let mut held: Vec<usize> = (0..pages).map(|_| allocator.alloc(1).expect("memory is free")).collect();
        shuffle(&mut held);
        let start = Instant::now();
        for &frame in &held {
            allocator.dealloc(frame, 1);
        }
        start.elapsed().as_nanos() as f64 / held.len() as f64
    })
}

/// Fisher-Yates with a fixed xorshift stream: the same order in every run.
fn shuffle<T>(items: &mut [T]) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for at in (1..items.len()).rev() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        items.swap(at, (state % (at as u64 + 1)) as usize);
    }
}

fn median(measure: impl FnMut() -> f64) -> f64 {
    median_of(ROUNDS, measure)
}

fn median_of(rounds: usize, mut measure: impl FnMut() -> f64) -> f64 {
    let mut figures: Vec<f64> = (0..rounds).map(|_| measure()).collect();
    figures.sort_by(f64::total_cmp);
    figures[rounds / 2]
}
