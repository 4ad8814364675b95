//! Cost of moving base pages, everything counted: isolation, targets, copies of state, entries, freeing.
//!
//! Figures are medians of rounds, in time of the thread on a processor. Run with `cargo bench -p order9-mm
//! --bench migrate`.

mod machine;
#[path = "../../frames/benches/stopwatch/mod.rs"]
mod stopwatch;

use std::time::Duration;

use order9_mm::env::{Alone, Env, run};
use order9_mm::fs_cache::FsStep;
use order9_mm::migrate::{MigrateMode, MigrateReason};
use order9_mm::policy::Policy;
use order9_mm::slab::CacheSpec;
use order9_mm::space::{Access, FaultStep, MmapRequest, PageView, VpnRange};
use order9_mm::tasks::gather_pages;
use order9_mm::{Gfp, Mm, Request};
use order9_units::{Bytes, HugeEnabled, Migratetype, Order, Pages, Pfn};
use stopwatch::Stopwatch;

const ROUNDS: usize = 5;
const CPU: usize = 0;
/// What is moved in a round.
const PIECE: Bytes = Bytes::from_gib(1);

fn main() {
    println!("{:<60} {:>9}", "ns per page, median of rounds", "");
    let row = |what: &str, round: fn() -> f64| {
        let mut figures: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
        figures.sort_by(f64::total_cmp);
        println!("{what:<60} {:>9.1}", figures[ROUNDS / 2]);
    };
    row("pages of a program", || of_program(false));
    row("pages of a program, unmapped in batches", || of_program(true));
    row("pages of a file that nobody maps", of_file);
}

/// Pages that a program has written.
fn of_program(batched: bool) -> f64 {
    let mut mm = engine(batched);
    let space = mm.create_space().expect("it is the first");
    let start = mm.mmap(space, &MmapRequest::anon(PIECE), CPU).expect("the space is empty");
    let range = VpnRange::of(start.vpn(), Pages::from_bytes_floor(PIECE));
    let pages = range.iter().map(|vpn| {
        assert_eq!(mm.touch(space, vpn.addr(), Access::Write, CPU), FaultStep::Done);
        match mm.page_at(space, vpn.addr()) {
            PageView::Present { pfn, .. } => pfn,
            other => panic!("{other:?}"),
        }
    });
    let pages: Vec<Pfn> = pages.collect();
    gather_all(mm, &pages)
}

/// Clean pages of one large file.
fn of_file() -> f64 {
    let mut mm = engine(false);
    mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted");
    let pages = Pages::from_bytes_floor(PIECE);
    let file = mm.fs_create(pages).expect("it is the first");
    let opened = mm.fs_open_fast(file, &Request::new(Order::ZERO, Gfp::GFP_KERNEL));
    assert!(matches!(opened, FsStep::Done { .. }), "{opened:?}");
    let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    let added = (0..pages.get()).map(|index| {
        let page = mm.alloc_fast(&request).expect("memory is free");
        mm.add_to_page_cache(file, index, page, CPU).expect("it is open");
        page
    });
    let added: Vec<Pfn> = added.collect();
    mm.end_page_read(file, 0, pages, CPU);
    gather_all(mm, &added)
}

/// Moves all pages to free pageblocks, as many at a time as fit in one.
fn gather_all(mm: Mm, pages: &[Pfn]) -> f64 {
    let world = Alone::new(mm, 0);
    let zone = world.with(|mm| mm.frames().zones()[0].id());
    let mut time = Duration::ZERO;
    for batch in pages.chunks(Order::PAGEBLOCK.pages().get() as usize) {
        let block = world.with(|mm| {
            let first = |order| mm.frames().free_list(zone, order, Migratetype::Movable).next();
            first(Order::PAGEBLOCK).or_else(|| first(Order::MAX)).expect("memory is free")
        });
        let watch = Stopwatch::start();
        let gathered = gather_pages(&world, batch, block, MigrateMode::Async, MigrateReason::Compaction);
        let done = run(gathered).expect("all can move");
        time += watch.elapsed();
        assert_eq!(done.moved, batch.len() as u64);
    }
    time.as_nanos() as f64 / pages.len() as f64
}

fn engine(batched: bool) -> Mm {
    let mut policy = Policy::default();
    policy.compaction.batched_migrate = batched;
    machine::builder(Bytes::from_gib(3), policy).transparent_hugepage(HugeEnabled::Never).boot()
}
