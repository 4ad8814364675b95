//! Cost of reclaiming base pages, everything counted.
//!
//! Figures are medians of rounds, in time of the thread on a processor. Run with `cargo bench -p order9-mm
//! --bench reclaim`.

#[path = "../../frames/benches/stopwatch/mod.rs"]
mod stopwatch;

use std::time::Duration;

use order9_mm::fs_cache::FsStep;
use order9_mm::policy::Policy;
use order9_mm::reclaim::{PageWrite, ReclaimControl, ReclaimStep, Reclaimer};
use order9_mm::slab::CacheSpec;
use order9_mm::space::{Access, FaultStep, MmapRequest, VpnRange};
use order9_mm::thp::HugeEnabled;
use order9_mm::{Gfp, Layout, Mm, MmBuilder, NodeSpec, Request, ZoneSpec};
use order9_units::{Bytes, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
use stopwatch::Stopwatch;

const ROUNDS: usize = 5;
const CPU: usize = 0;
/// What is reclaimed in a round.
const PIECE: Bytes = Bytes::from_gib(1);

fn main() {
    println!("{:<60} {:>9}", "ns per page, median of rounds", "");
    let row = |what: &str, round: fn() -> f64| {
        let figure = median((0..ROUNDS).map(|_| round()).collect());
        println!("{what:<60} {figure:>9.1}");
    };
    row("clean pages of a file, from inactive to free", drop_file);
    row("pages of a program, from active by way of swap to free", swap_out);
}

/// Clean pages of one large file that nobody maps, and that were read once.
fn drop_file() -> f64 {
    let mut mm = engine(Bytes::from_gib(2));
    mm.mount(CacheSpec::EXT4_INODE).expect("nothing is mounted");
    let pages = Pages::from_bytes_floor(PIECE);
    let file = mm.fs_create(pages).expect("it is the first");
    let opened = mm.fs_open_fast(file, &Request::new(Order::ZERO, Gfp::GFP_KERNEL));
    assert!(matches!(opened, FsStep::Done { .. }), "{opened:?}");
    let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    for index in 0..pages.get() {
        let page = mm.alloc_fast(&request).expect("memory is free");
        mm.add_to_page_cache(file, index, page, CPU).expect("it is open");
    }
    mm.end_page_read(file, 0, pages, CPU);
    let watch = Stopwatch::start();
    pass(&mut mm);
    assert!(mm.file(file).is_none_or(|file| file.pages() == Pages::ZERO));
    per(watch.elapsed(), pages)
}

/// Pages that a program has written and not used since: ageing, unmapping, slots, ends of writes, freeing.
fn swap_out() -> f64 {
    let mut mm = engine(Bytes::from_gib(2));
    let pages = Pages::from_bytes_floor(PIECE);
    mm.pages_mut().swap_mut().swapon(Pages::from_bytes_floor(Bytes::from_gib(2)));
    let space = mm.create_space().expect("it is the first");
    let start = mm.mmap(space, &MmapRequest::anon(PIECE), CPU).expect("the space is empty");
    for vpn in VpnRange::of(start.vpn(), pages).iter() {
        assert_eq!(mm.touch(space, vpn.addr(), Access::Write, CPU), FaultStep::Done);
    }
    let watch = Stopwatch::start();
    while mm.space(space).is_some_and(|space| space.rss().anon_pages > 0)
        || mm.pages().swap().swap_cached() > Pages::ZERO
    {
        for write in pass(&mut mm) {
            let PageWrite::Swap(write) = write else { panic!("there are no files") };
            mm.swap_written(write, CPU);
        }
    }
    per(watch.elapsed(), pages)
}

/// A thorough pass over all lists; the writes that it asks for.
fn pass(mm: &mut Mm) -> Vec<PageWrite> {
    let mut control = ReclaimControl::new(Reclaimer::Kswapd, Order::ZERO, u64::MAX, ZoneKind::Movable);
    control.priority = 0;
    let run = mm.begin_reclaim(control);
    mm.begin_lru_pass(run, mm.frames().zones()[0].id());
    while mm.reclaim_step(run, CPU) != ReclaimStep::Done {}
    mm.end_reclaim(run).writes
}

fn per(time: Duration, pages: Pages) -> f64 {
    time.as_nanos() as f64 / pages.get() as f64
}

fn engine(memory: Bytes) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::from_bytes_floor(memory));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    let mut mm = MmBuilder::new(&layout, Policy::default()).expect("one zone is a valid layout").boot();
    mm.phys_mut().set_thp_enabled(HugeEnabled::Never);
    mm
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
