//! Cost of looking at one frame with compaction's two scanners, where nothing can be done about what they see.
//!
//! Figures are medians of rounds, in time of the thread on a processor. Run with `cargo bench -p order9-mm
//! --bench compact`.

mod machine;
#[path = "../../frames/benches/stopwatch/mod.rs"]
mod stopwatch;

use order9_mm::env::{Alone, run};
use order9_mm::policy::{Policy, SourceSearch, TargetSearch, TargetStride};
use order9_mm::tasks::compact_node;
use order9_mm::{Contents, Mm};
use order9_units::{Bytes, NodeId, Order, PAGEBLOCK_PAGES, Pages, PfnRange};
use stopwatch::Stopwatch;

const ROUNDS: usize = 5;
/// Runs of a round: one ends sooner than some hosts can tell.
const RUNS: u64 = 100;

fn main() {
    println!("{:<60} {:>9}", "ns per frame, median of rounds", "");
    let row = |what: &str, round: fn() -> f64| {
        let mut figures: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
        figures.sort_by(f64::total_cmp);
        println!("{what:<60} {:>9.2}", figures[ROUNDS / 2]);
    };
    row("migration scanner, pages that stay", || scanned(Bytes::ZERO, |of| of.migrate_scanned));
    row("free scanner, pages that stay", || scanned(Bytes::from_kib(4096), |of| of.free_scanned));
}

/// Compacts a zone of 2 GiB full of pages of the kernel, behind `movable` bytes that could move.
fn scanned(movable: Bytes, counted: fn(&order9_mm::compaction::CompactTotals) -> u64) -> f64 {
    let world = Alone::new(engine(Pages::from_bytes_floor(movable)), 0);
    let watch = Stopwatch::start();
    let frames: u64 = (0..RUNS).map(|_| counted(&run(compact_node(&world, NodeId(0))))).sum();
    let time = watch.elapsed();
    assert!(frames > RUNS * 400_000, "{frames}");
    time.as_nanos() as f64 / frames as f64
}

fn engine(movable: Pages) -> Mm {
    let mut policy = Policy::default();
    policy.compaction.source_search = SourceSearch::Linear;
    policy.compaction.target_search = TargetSearch::Linear;
    policy.compaction.target_stride = TargetStride::One;
    let memory = Bytes::from_gib(2);
    let mut builder = machine::builder(memory, policy);
    for pfn in PfnRange::of(machine::START, Pages::from_bytes_floor(memory)).iter() {
        let offset = pfn - machine::START;
        // Every pageblock has a free frame, so that no scanner passes over it.
        let given = if offset < movable {
            builder.allocate(pfn, Order::ZERO, Contents::Movable)
        } else if offset.get().is_multiple_of(PAGEBLOCK_PAGES.get()) && movable == Pages::ZERO {
            builder.free(pfn, Order::ZERO)
        } else {
            builder.allocate(pfn, Order::ZERO, Contents::Unmovable)
        };
        given.expect("every frame is given once");
    }
    builder.finish()
}
