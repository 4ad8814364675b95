//! Time to classify, count and inspect the map of a 1 TiB machine, beside the size of the map it stands for.
//!
//! Two maps: a fragmented one, in which every pageblock holds frames of many states and compound pages, and a calm one
//! of free memory and huge pages. `cargo bench -p order9-snapshot --bench census`; figures in docs/performance.md.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::time::{Duration, Instant};

use order9_snapshot::census::Census;
use order9_snapshot::flags::kpf;
use order9_snapshot::frames::CHUNK_PAGES;
use order9_snapshot::inspection::Inspection;
use order9_snapshot::prices::Prices;
use order9_snapshot::{Chunk, FrameMap, FrameMapBuilder, FrameState, NodeInfo, Snapshot, Watermarks, ZoneInfo};
use order9_units::{Bytes, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};

const REPEATS: usize = 3;

fn main() {
    let size = Pages::from_bytes_floor(Bytes::from_gib(1024));
    println!(
        "{:<12} {:>8} {:>12} {:>12} {:>14} {:>10}",
        "map", "threads", "census ms", "inspect ms", "kpageflags GB/s", "ns/frame"
    );
    for (name, chunk) in [("fragmented", fragmented()), ("calm", calm())] {
        let snapshot = machine(&chunk, size);
        for threads in [1, 2].map(|n| NonZero::new(n).expect("1 and 2 are not 0")) {
            let (census, inspect) = (0..REPEATS).map(|_| measure(&snapshot, threads)).min().expect("at least one run");
            let bytes = size.get() as f64 * 8.0;
            println!(
                "{name:<12} {threads:>8} {:>12.1} {:>12.1} {:>14.2} {:>10.2}",
                census.as_secs_f64() * 1e3,
                inspect.as_secs_f64() * 1e3,
                bytes / (census + inspect).as_secs_f64() / 1e9,
                (census + inspect).as_secs_f64() * 1e9 / size.get() as f64,
            );
        }
    }
}

fn measure(snapshot: &Snapshot, threads: NonZero<usize>) -> (Duration, Duration) {
    let start = Instant::now();
    let census = Census::with_threads(snapshot, threads).expect("the map fits its zone");
    let counted = start.elapsed();
    let inspection = Inspection::of(snapshot, Some(&census), &Prices::built_in());
    let all = start.elapsed();
    assert!(inspection.total.findings.is_some(), "a map was inspected");
    (counted, all - counted)
}

/// A chunk of every fourth frame in use, with page cache in folios and some slab.
fn fragmented() -> Chunk {
    let slab = |part| kpf::SLAB | part;
    chunk_of(|i| match (i / 512 % 16, i % 16) {
        (3, 0) => slab(kpf::COMPOUND_HEAD),
        (3, 1..8) => slab(kpf::COMPOUND_TAIL),
        (5 | 9, 4) => kpf::LRU | kpf::UPTODATE | kpf::COMPOUND_HEAD,
        (5 | 9, 5..8) => kpf::LRU | kpf::UPTODATE | kpf::COMPOUND_TAIL,
        (_, 0 | 4 | 8) => kpf::LRU | kpf::ANON | kpf::MMAP | kpf::SWAPBACKED | ((i % 5) << 2),
        (_, 12) => kpf::LRU | kpf::UPTODATE | ((i % 3) << 2),
        _ => kpf::BUDDY,
    })
}

/// A chunk half of free memory and half of huge pages.
fn calm() -> Chunk {
    let huge = kpf::LRU | kpf::ANON | kpf::THP | kpf::MMAP;
    chunk_of(|i| match (i / 1024 % 2, i % 512) {
        (0, _) => kpf::BUDDY,
        (_, 0) => huge | kpf::COMPOUND_HEAD,
        _ => huge | kpf::COMPOUND_TAIL,
    })
}

fn chunk_of(flags: impl Fn(u64) -> u64) -> Chunk {
    let mut map = FrameMapBuilder::new();
    for i in 0..CHUNK_PAGES as u64 {
        map.push(FrameState { flags: flags(i), count: u64::from(flags(i) & kpf::MMAP != 0) });
    }
    let map = map.finish();
    let (_, chunk) = map.chunks().next().expect("one chunk was pushed");
    chunk.clone()
}

/// A machine of one zone whose map repeats one chunk. Every chunk is a copy of its own, as in a real map.
fn machine(chunk: &Chunk, size: Pages) -> Snapshot {
    let mut frames = FrameMap::default();
    for _ in 0..size.get() / CHUNK_PAGES as u64 {
        frames.push(chunk.clone()).expect("full chunks follow each other");
    }
    let zone = ZoneInfo {
        node: NodeId(0),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new(0), size),
        present: size,
        managed: size,
        cma: Pages::ZERO,
        free: Pages::ZERO,
        watermarks: Watermarks::default(),
        protection: Vec::new(),
        free_blocks: [1; Order::COUNT],
        free_by_type: BTreeMap::new(),
        block_counts: BTreeMap::new(),
        pcp: Vec::new(),
        counters: BTreeMap::new(),
    };
    Snapshot { nodes: vec![NodeInfo::default()], zones: vec![zone], frames: Some(frames), ..Snapshot::default() }
}
