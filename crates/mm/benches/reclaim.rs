//! Cost of reclaiming base pages, everything counted: from a program that has not used them for long, to swap and free.
//!
//! Figures are medians of rounds, in time on the processor where the host tells it. Run with `cargo bench -p order9-mm
//! --bench reclaim`.

mod stopwatch;

use std::time::Duration;

use order9_mm::policy::Policy;
use order9_mm::reclaim::{PageWrite, ReclaimControl, ReclaimStep, Reclaimer};
use order9_mm::space::{Access, FaultStep, MmapRequest, VirtAddr, VpnRange};
use order9_mm::{Layout, LruList, Mm, MmBuilder, NodeSpec, SpaceId, ZoneSpec};
use order9_units::{Bytes, NodeId, Order, Pages, Pfn, PfnRange, ZoneKind};
use stopwatch::Stopwatch;

const ROUNDS: usize = 7;
const CPU: usize = 0;
/// What is reclaimed in a round.
const PIECE: Bytes = Bytes::from_gib(1);

fn main() {
    println!("{:<60} {:>9}", "ns per page, median of rounds", "");
    let rounds: Vec<[f64; 4]> = (0..ROUNDS).map(|_| swap_out()).collect();
    let names = [
        "ageing: from the active to the inactive list",
        "swap-out: isolated, unmapped, given a slot and to be written",
        "end of the write: to the tail of the list",
        "freed",
    ];
    let mut sum = 0.0;
    for (at, name) in names.into_iter().enumerate() {
        let figure = median(rounds.iter().map(|round| round[at]).collect());
        sum += figure;
        println!("{name:<60} {figure:>9.1}");
    }
    println!("{:<60} {sum:>9.1}", "an anonymous page, from active to free");
}

/// One round: ageing, swap-out, ends of writes, freeing.
fn swap_out() -> [f64; 4] {
    let mut mm = engine(Bytes::from_gib(2));
    let pages = Pages::from_bytes_floor(PIECE);
    mm.swapon(pages);
    let space = mm.create_space().expect("it is the first");
    let start = mm.mmap(space, &MmapRequest::anon(PIECE), CPU).expect("the space is empty");
    touch_all(&mut mm, space, start, pages);
    let mut times = [Duration::ZERO; 4];
    while mm.space(space).is_some_and(|space| space.rss().anon_pages > 0) || mm.swap_cached() > Pages::ZERO {
        let mut control = ReclaimControl::new(Reclaimer::Kswapd, Order::ZERO, u64::MAX, ZoneKind::Movable);
        control.priority = 0;
        let run = mm.begin_reclaim(control);
        mm.begin_lru_pass(run, mm.zones()[0].id());
        let phase = match mm.zones()[0].lru_pages(LruList::InactiveAnon) {
            0 => 0,
            _ if mm.swap_cached() > Pages::ZERO => 3,
            _ => 1,
        };
        let watch = Stopwatch::start();
        while mm.reclaim_step(run, CPU) != ReclaimStep::Done {}
        times[phase] += watch.elapsed();
        let run = mm.end_reclaim(run);
        let watch = Stopwatch::start();
        for write in run.writes {
            let PageWrite::Swap(write) = write else { panic!("there are no files") };
            mm.swap_written(write, CPU);
        }
        times[2] += watch.elapsed();
    }
    times.map(|time| time.as_nanos() as f64 / pages.get() as f64)
}

fn engine(memory: Bytes) -> Mm {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::from_bytes_floor(memory));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0)],
        ..Layout::default()
    };
    MmBuilder::new(&layout, Policy::default()).expect("one zone is a valid layout").boot()
}

fn touch_all(mm: &mut Mm, space: SpaceId, addr: VirtAddr, pages: Pages) {
    for vpn in VpnRange::of(addr.vpn(), pages).iter() {
        assert_eq!(mm.touch(space, vpn.addr(), Access::Write, CPU), FaultStep::Done);
    }
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
