//! Cost of taking and giving back frames, beside the crate `buddy_system_allocator` in the same run.
//!
//! Each figure is the median of several rounds in which the allocators take turns, so that a noisy machine disturbs all alike. The
//! rows come twice: alone, and beside a process of this bench's own that streams over 64 MiB, since most of these nanoseconds are cache
//! lines. Run with `cargo bench -p order9-frames`; `-- --alone` leaves the neighbour out.

mod stopwatch;

use std::env;
use std::hint::black_box;
use std::process::{Child, Command, Stdio};

use buddy_system_allocator::FrameAllocator;
use order9_frames::policy::{FallbackSearch, FramesPolicy, PcpHigh, PcpLists};
use order9_frames::{Frames, FramesBuilder, Gfp, Layout, Request, Sizes, Tables, ZoneSpec};
use order9_units::{Bytes, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
use stopwatch::Stopwatch;

/// Memory of all allocators; a multiple of the largest block.
const MEMORY: Bytes = Bytes::from_gib(4);
const PAIRS: u32 = 200_000;
const ROUNDS: usize = 9;
/// Rounds that take and give back all memory.
const FULL_ROUNDS: usize = 3;
/// Bytes that the neighbouring process streams over.
const STREAM: usize = 64 << 20;
/// The argument that makes this program the neighbour.
const NEIGHBOUR: &str = "--stream-for-ever";
/// The argument that leaves the neighbour out.
const ALONE: &str = "--alone";

fn main() {
    if env::args().any(|argument| argument == NEIGHBOUR) {
        stream();
    }
    rows("alone");
    if !env::args().any(|argument| argument == ALONE) {
        beside_neighbour();
    }
    let frames = ours(FramesPolicy::default(), 1, false);
    let per_frame = frames.bytes() as f64 / frames.table().len() as f64;
    println!("\ntables: {per_frame:.2} bytes per frame, {} bytes", frames.bytes());
}

/// All rows, under a heading.
fn rows(heading: &str) {
    println!("\n{heading}\n{:<44} {:>9} {:>9} {:>7}", "ns per operation, median of rounds", "order9", "other", "ratio");
    let policy = FramesPolicy::default;
    pairs("order-0 allocate+free pair, per-CPU lists", policy(), 1, Order::ZERO);
    pairs("order-0 pair, no per-CPU lists", policy(), 0, Order::ZERO);
    pairs("order-9 allocate+free pair", policy(), 1, Order::PAGEBLOCK);
    pairs("order-9 pair, per-CPU lists of 6.12", recent(), 1, Order::PAGEBLOCK);
    let [alone, random, bulk, index, ordered] = everything();
    row("take all memory page by page", alone);
    row("give it back in random order, per page", random);
    row("the same in bulks of 64, per page", bulk);
    row("one by one with the index, per page", index);
    row("give it back in order, per page", ordered);
    let with = |index| median(ROUNDS, || pair(&mut ours(FramesPolicy::default(), 1, index), Order::PAGEBLOCK));
    let (without, with) = (with(false), with(true));
    println!("{:<44} {with:>9.1} {without:>9.1} {:>+7.1}   with index, without, more", "order-9 pair", with - without);
}

fn row(what: &str, [ours, other]: [f64; 2]) {
    println!("{what:<44} {ours:>9.1} {other:>9.1} {:>7.2}", ours / other);
}

/// The switches of 6.12 that these benchmarks touch.
fn recent() -> FramesPolicy {
    let mut policy = FramesPolicy::default();
    policy.fallback.freelist_hygiene = true;
    policy.fallback.search = FallbackSearch::SmallestUnlessClaimable;
    policy.pcp.lists = PcpLists::UpToCostly { huge_lists: 2 };
    policy.pcp.high = PcpHigh::AutoTuned;
    policy.pcp.keeps_cached_type = false;
    policy
}

fn ours(policy: FramesPolicy, cpus: usize, index: bool) -> Frames {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::from_bytes_floor(MEMORY));
    let zone = ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span };
    let cpus = vec![NodeId(0); cpus];
    let layout = Layout { distances: &[10], zones: &[zone], cpus: &cpus, ..Layout::default() };
    let sizes = Sizes::new(&layout, &policy, 0).expect("one zone is a valid layout");
    let tables = Tables::new(&sizes, index);
    FramesBuilder::in_storage(&layout, policy, (), &sizes, tables).expect("tables fit").boot()
}

fn other() -> FrameAllocator<24> {
    let mut frames = FrameAllocator::new();
    frames.add_frame(0, Pages::from_bytes_floor(MEMORY).get() as usize);
    frames
}

fn pairs(what: &str, policy: FramesPolicy, cpus: usize, order: Order) {
    let (mut frames, mut peer) = (ours(policy, cpus, false), other());
    let size = order.pages().get() as usize;
    row(what, turns(ROUNDS, || [pair(&mut frames, order), peer_pair(&mut peer, size)]));
}

fn pair(frames: &mut Frames, order: Order) -> f64 {
    let request = Request::new(order, Gfp::GFP_HIGHUSER_MOVABLE);
    time(PAIRS as usize, || {
        for _ in 0..PAIRS {
            let pfn = frames.alloc(black_box(&request)).expect("memory is free");
            frames.free(black_box(pfn), 0).expect("it was just allocated");
        }
    })
}

fn peer_pair(frames: &mut FrameAllocator<24>, size: usize) -> f64 {
    time(PAIRS as usize, || {
        for _ in 0..PAIRS {
            let frame = frames.alloc(black_box(size)).expect("memory is free");
            frames.dealloc(black_box(frame), size);
        }
    })
}

/// Order in which all memory is given back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GiveBack {
    InOrder,
    Random,
    /// Random, by [`Frames::free_bulk`].
    RandomBulk,
}

/// Taking all memory, giving it back in random order, in bulk, with an index, and giving it back in order; each beside the peer.
fn everything() -> [[f64; 2]; 5] {
    let mut frames = [false, true].map(|index| ours(FramesPolicy::default(), 1, index));
    let mut peer = other();
    let figures: Vec<[[f64; 2]; 5]> = (0..FULL_ROUNDS)
        .map(|_| {
            let [plain, indexed] = &mut frames;
            let ((taken, random), (_, bulk)) = (through(plain, GiveBack::Random), through(plain, GiveBack::RandomBulk));
            let ((_, index), (_, ordered)) = (through(indexed, GiveBack::Random), through(plain, GiveBack::InOrder));
            let ((peer_taken, peer_random), (_, peer_ordered)) =
                (peer_through(&mut peer, true), peer_through(&mut peer, false));
            let ours = [taken, random, bulk, index, ordered];
            let peers = [peer_taken, peer_random, peer_random, peer_random, peer_ordered];
            [0, 1, 2, 3, 4].map(|row| [ours[row], peers[row]])
        })
        .collect();
    [0, 1, 2, 3, 4].map(|row| [0, 1].map(|of| middle(figures.iter().map(|figure| figure[row][of]).collect())))
}

/// Time to take each page of all memory, and to give it back.
fn through(frames: &mut Frames, give_back: GiveBack) -> (f64, f64) {
    let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    let mut held: Vec<Pfn> = Vec::with_capacity(Pages::from_bytes_floor(MEMORY).get() as usize);
    let start = Stopwatch::start();
    while let Ok(pfn) = frames.alloc(&request) {
        held.push(pfn);
    }
    let taken = start.elapsed().as_nanos() as f64 / held.len() as f64;
    if give_back != GiveBack::InOrder {
        shuffle(&mut held);
    }
    let given = time(held.len(), || match give_back {
        GiveBack::RandomBulk => held.chunks(64).for_each(|bulk| frames.free_bulk(bulk, 0).expect("they are allocated")),
        _ => held.iter().for_each(|&pfn| frames.free(pfn, 0).expect("it is allocated")),
    });
    (taken, given)
}

fn peer_through(frames: &mut FrameAllocator<24>, random: bool) -> (f64, f64) {
    let mut held: Vec<usize> = Vec::with_capacity(Pages::from_bytes_floor(MEMORY).get() as usize);
    let start = Stopwatch::start();
    while let Some(frame) = frames.alloc(1) {
        held.push(frame);
    }
    let taken = start.elapsed().as_nanos() as f64 / held.len() as f64;
    if random {
        shuffle(&mut held);
    }
    let given = time(held.len(), || held.iter().for_each(|&frame| frames.dealloc(frame, 1)));
    (taken, given)
}

/// Nanoseconds of each of so many operations.
fn time(operations: usize, work: impl FnOnce()) -> f64 {
    let start = Stopwatch::start();
    work();
    start.elapsed().as_nanos() as f64 / operations as f64
}

/// Medians of what is measured by turns.
fn turns(rounds: usize, mut measure: impl FnMut() -> [f64; 2]) -> [f64; 2] {
    let figures: Vec<[f64; 2]> = (0..rounds).map(|_| measure()).collect();
    [0, 1].map(|of| middle(figures.iter().map(|figure| figure[of]).collect()))
}

fn median(rounds: usize, mut measure: impl FnMut() -> f64) -> f64 {
    middle((0..rounds).map(|_| measure()).collect())
}

fn middle(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
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

/// All rows once more, beside a process that streams.
fn beside_neighbour() {
    match neighbour() {
        Ok(mut neighbour) => {
            rows("beside a process that streams over 64 MiB");
            neighbour.kill().expect("it runs");
            neighbour.wait().expect("it was killed");
        }
        Err(why) => println!("no neighbour: {why}"),
    }
}

/// This program once more, as the neighbour; its standard input closes with this process.
fn neighbour() -> std::io::Result<Child> {
    Command::new(env::current_exe()?).arg(NEIGHBOUR).stdin(Stdio::piped()).stdout(Stdio::null()).spawn()
}

/// Reads and writes memory until the standard input closes, so that no neighbour outlives a bench that is killed.
fn stream() -> ! {
    std::thread::spawn(|| {
        let _end = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let mut memory = vec![0_u64; STREAM / size_of::<u64>()];
    loop {
        memory.iter_mut().for_each(|word| *word = word.wrapping_add(1));
        black_box(&mut memory);
    }
}
