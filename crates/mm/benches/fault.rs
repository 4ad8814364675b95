//! Cost of faults of base and huge pages with everything counted, beside the bare allocations they stand on, in the same run.
//!
//! Figures are medians of rounds in which both take turns, in time of the thread on a processor, so that a busy
//! machine disturbs them little and both alike. Run with `cargo bench -p order9-mm --bench fault`.

#[path = "../../frames/benches/stopwatch/mod.rs"]
mod stopwatch;

use std::hint::black_box;
use std::time::Duration;

use order9_mm::policy::{HugePlacement, Policy};
use order9_mm::space::{Access, FaultStep, Madvise, MmapRequest, Place, TableStep, VirtAddr, VpnRange};
use order9_mm::thp::HugeEnabled;
use order9_mm::thp::placement::HugeAsk;
use order9_mm::{AllocFlags, Gfp, Layout, Mark, Mm, MmBuilder, NodeSpec, NodeUse, Request, Reserve, SpaceId, ZoneSpec};
use order9_units::{Bytes, NodeId, Order, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};
use stopwatch::Stopwatch;

const ROUNDS: usize = 7;
/// Repetitions of a round: many scheduler ticks, to which the host counts time on the processor.
const REPEATS: u64 = 10;
const PAIRS: u32 = 10_000_000;
const HUGE_PAIRS: u32 = 1_000_000;
/// The same for huge pages, of which there are fewer.
const HUGE_REPEATS: u64 = 400;
const HUGE: Bytes = Bytes::new(2 << 20);
const CPU: usize = 0;
/// What is filled and freed at once, besides the large run.
const PIECE: Bytes = Bytes::from_gib(1);

fn main() {
    placement();
    let mut mm = engine(Bytes::from_gib(4));
    let space = mm.create_space().expect("it is the first");
    println!("\n{:<52} {:>9} {:>9} {:>7}", "ns per page, median of rounds", "fault", "bare", "ratio");
    let one_page = mm.mmap(space, &MmapRequest::anon(PAGE_SIZE), CPU).expect("the space is empty");
    let mut other = engine(Bytes::from_gib(4));
    let (fault, bare) = turns(|| hot_fault(&mut mm, space, one_page), || hot_pair(&mut other));
    row("one page again and again, write and MADV_DONTNEED", fault, bare);
    let (fault, bare) = turns(|| refill(&mut mm, space, Access::Write), || bare_refill(&mut other));
    row("1 GiB written page by page, then unmapped", fault, bare);
    let (fault, _) = turns(|| refill(&mut mm, space, Access::Read), || 0.0);
    println!("{:<52} {fault:>9.1}", "1 GiB read page by page (page of zeros), unmapped");
    let forked = fork_and_exit(&mut mm, space);
    println!("{:<52} {forked:>9.1}", "1 GiB shared by fork, exit of the child");
    nodes();
    huge();
    large();
}

/// The same faults on a machine of two nodes, beside one of one node.
fn nodes() {
    println!("\n{:<52} {:>9} {:>9} {:>7}", "ns per page, median of rounds", "two nodes", "one", "ratio");
    let mut two = two_nodes(Bytes::from_gib(2), Policy::default().thp.placement);
    two.phys_mut().set_thp_enabled(HugeEnabled::Never);
    let mut one = engine(Bytes::from_gib(4));
    let [(on_two, page_of_two), (on_one, page_of_one)] = [&mut two, &mut one].map(|mm| {
        let space = mm.create_space().expect("it is the first");
        (space, mm.mmap(space, &MmapRequest::anon(PAGE_SIZE), CPU).expect("the space is empty"))
    });
    let (ours, theirs) =
        turns(|| hot_fault(&mut two, on_two, page_of_two), || hot_fault(&mut one, on_one, page_of_one));
    row("one page again and again, write and MADV_DONTNEED", ours, theirs);
    let (ours, theirs) = turns(|| refill(&mut two, on_two, Access::Write), || refill(&mut one, on_one, Access::Write));
    row("1 GiB written page by page, then unmapped", ours, theirs);
}

/// Huge pages: a slot written and discarded again and again, and memory that was never touched before.
fn huge() {
    println!("\n{:<52} {:>9} {:>9} {:>7}", "ns per huge page, median of rounds", "fault", "bare", "ratio");
    let mut mm = engine(Bytes::from_gib(4));
    mm.phys_mut().set_thp_enabled(HugeEnabled::Always);
    let space = mm.create_space().expect("it is the first");
    let mapped = mm.mmap(space, &MmapRequest::anon(Bytes::new(2 * HUGE.get())), CPU).expect("the space is empty");
    let slot = VirtAddr::new(mapped.get().next_multiple_of(HUGE.get()));
    let mut other = engine(Bytes::from_gib(4));
    let (fault, bare) = turns(|| hot_huge_fault(&mut mm, space, slot), || hot_huge_pair(&mut other));
    row("one slot again and again, write and MADV_DONTNEED", fault, bare);
    let (fault, _) = turns(|| fill_huge(&mut mm, space), || 0.0);
    println!("{:<52} {fault:>9.1}", "1 GiB, one write to each slot, then unmapped");
}

/// A decision of where to look for a huge page, by what the index knows of two nodes: with one free at home, and with both
/// nodes used in a way that all has to be weighed.
fn placement() {
    println!("{:<52} {:>9} {:>9}", "ns per decision, median of rounds", "estimate", "thisnode");
    for (name, state) in [("a huge page is free at home", None), ("both nodes would have to be compacted", Some(3))] {
        let [mut by_estimate, mut by_rule] = [HugePlacement::Estimate, HugePlacement::ThisNode].map(|placement| {
            let mut mm = two_nodes(Bytes::new(256 << 20), placement);
            if let Some(every) = state {
                keep_every(&mut mm, every);
            }
            mm
        });
        let decide = |mm: &mut Mm, placement| {
            let rights = Gfp::GFP_TRANSHUGE;
            let ask = HugeAsk {
                placement,
                home: NodeId(0),
                allowed: None,
                uses: NodeUse::Ordinary,
                in_order: false,
                rights,
                advised: false,
                takes_base: true,
            };
            let start = Stopwatch::start();
            for _ in 0..HUGE_PAIRS {
                black_box(mm.pages().begin_search(black_box(ask), mm.phys()));
            }
            per(start.elapsed(), u64::from(HUGE_PAIRS))
        };
        let (estimate, rule) = turns(
            || decide(&mut by_estimate, HugePlacement::Estimate),
            || decide(&mut by_rule, HugePlacement::ThisNode),
        );
        println!("{name:<52} {estimate:>9.1} {rule:>9.1}");
    }
}

/// Two nodes with so much memory each.
fn two_nodes(memory: Bytes, placement: HugePlacement) -> Mm {
    let pages = Pages::from_bytes_floor(memory);
    let zone =
        |node: u16, start| ZoneSpec { node: NodeId(node), kind: ZoneKind::Normal, span: PfnRange::of(start, pages) };
    let start = Pfn::new(1 << 20);
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10, 21] }, NodeSpec { distances: vec![21, 10] }],
        zones: vec![zone(0, start), zone(1, start + pages)],
        cpus: vec![NodeId(0), NodeId(1)],
        ..Layout::default()
    };
    let mut policy = Policy::default();
    policy.thp.placement = placement;
    MmBuilder::new(&layout, policy).expect("the layout is sound").boot()
}

/// Uses every `every`th page of all memory.
fn keep_every(mm: &mut Mm, every: usize) {
    let flags = AllocFlags {
        mark: Mark::Min,
        no_watermarks: true,
        reserve: Reserve::default(),
        cma: true,
        nofragment: false,
        kswapd: false,
    };
    for node in [0, 1].map(NodeId) {
        let request = Request { node, ..Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE | Gfp::THISNODE) };
        let pages: Vec<Pfn> = std::iter::from_fn(|| mm.alloc_with(&request, flags).ok()).collect();
        for (_, pfn) in pages.into_iter().enumerate().filter(|(at, _)| !at.is_multiple_of(every)) {
            mm.free(pfn, usize::MAX).expect("it is allocated");
        }
    }
}

fn hot_huge_fault(mm: &mut Mm, space: SpaceId, slot: VirtAddr) -> f64 {
    let start = Stopwatch::start();
    for _ in 0..HUGE_PAIRS {
        assert_eq!(mm.touch(space, black_box(slot), Access::Write, CPU), FaultStep::Done);
        mm.madvise(space, slot, HUGE, Madvise::DontNeed, CPU).expect("the slot is mapped");
    }
    per(start.elapsed(), u64::from(HUGE_PAIRS))
}

fn hot_huge_pair(mm: &mut Mm) -> f64 {
    let request = Request::new(Order::PAGEBLOCK, Gfp::GFP_TRANSHUGE);
    let start = Stopwatch::start();
    for _ in 0..HUGE_PAIRS {
        let pfn = mm.alloc_fast(black_box(&request)).expect("memory is free");
        mm.free(black_box(pfn), CPU).expect("it was just allocated");
    }
    per(start.elapsed(), u64::from(HUGE_PAIRS))
}

/// A GiB of huge pages filled and freed again and again.
fn fill_huge(mm: &mut Mm, space: SpaceId) -> f64 {
    let request = MmapRequest { place: Place::Fixed(VirtAddr::new(1 << 40)), ..MmapRequest::anon(PIECE) };
    let slots = PIECE.get() / HUGE.get();
    let start = Stopwatch::start();
    for _ in 0..HUGE_REPEATS {
        let addr = mm.mmap(space, &request, CPU).expect("there is room");
        for slot in 0..slots {
            let step = mm.touch(space, VirtAddr::new(addr.get() + slot * HUGE.get()), Access::Write, CPU);
            assert_eq!(step, FaultStep::Done);
        }
        mm.munmap(space, addr, PIECE, CPU).expect("the range is mapped");
    }
    per(start.elapsed(), HUGE_REPEATS * slots)
}

fn row(what: &str, fault: f64, bare: f64) {
    println!("{what:<52} {fault:>9.1} {bare:>9.1} {:>7.2}", fault / bare);
}

/// The large run: 64 GiB filled and freed by one program.
fn large() {
    let size = Bytes::from_gib(64);
    let mut mm = engine(Bytes::from_gib(66));
    let space = mm.create_space().expect("it is the first");
    let start = Stopwatch::start();
    fill(&mut mm, space, size, Access::Write);
    let seconds = start.elapsed().as_secs_f64();
    let per_page = per(start.elapsed(), Pages::from_bytes_floor(size).get());
    println!("\n64 GiB filled and freed: {seconds:.2} s, {per_page:.1} ns per page");
    let metadata = mm.metadata();
    println!("metadata: {:.2} bytes per frame", metadata.per_frame());
    mm.take_work();
    let addr = mm.mmap(space, &MmapRequest::anon(size), CPU).expect("the space is empty");
    touch_all(&mut mm, space, addr, size, Access::Write);
    let living = mm.space(space).expect("it lives");
    let pages = Pages::from_bytes_floor(size).get();
    println!("page table: {:.3} bytes per mapped page", living.page_table_bytes() as f64 / pages as f64);
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

fn hot_fault(mm: &mut Mm, space: SpaceId, addr: VirtAddr) -> f64 {
    let start = Stopwatch::start();
    for _ in 0..PAIRS {
        mm.touch(space, black_box(addr), Access::Write, CPU);
        mm.madvise(space, addr, PAGE_SIZE, Madvise::DontNeed, CPU).expect("the page is mapped");
    }
    per(start.elapsed(), u64::from(PAIRS))
}

fn hot_pair(mm: &mut Mm) -> f64 {
    let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    let start = Stopwatch::start();
    for _ in 0..PAIRS {
        let pfn = mm.alloc_fast(black_box(&request)).expect("memory is free");
        mm.free(black_box(pfn), CPU).expect("it was just allocated");
    }
    per(start.elapsed(), u64::from(PAIRS))
}

fn fill(mm: &mut Mm, space: SpaceId, size: Bytes, access: Access) {
    let addr = mm.mmap(space, &MmapRequest::anon(size), CPU).expect("the space is empty");
    touch_all(mm, space, addr, size, access);
    mm.munmap(space, addr, size, CPU).expect("the range is mapped");
}

fn touch_all(mm: &mut Mm, space: SpaceId, addr: VirtAddr, size: Bytes, access: Access) {
    for vpn in VpnRange::of(addr.vpn(), Pages::from_bytes_floor(size)).iter() {
        let step = mm.touch(space, vpn.addr(), access, CPU);
        assert_eq!(step, FaultStep::Done);
    }
}

/// A piece of memory filled and freed again and again.
fn refill(mm: &mut Mm, space: SpaceId, access: Access) -> f64 {
    let start = Stopwatch::start();
    for _ in 0..REPEATS {
        fill(mm, space, PIECE, access);
    }
    per(start.elapsed(), REPEATS * Pages::from_bytes_floor(PIECE).get())
}

/// The same allocations without an address space.
fn bare_refill(mm: &mut Mm) -> f64 {
    let request = Request::new(Order::ZERO, Gfp::GFP_HIGHUSER_MOVABLE);
    let pages = Pages::from_bytes_floor(PIECE).get();
    let mut held = Vec::with_capacity(pages as usize);
    let start = Stopwatch::start();
    for _ in 0..REPEATS {
        held.extend((0..pages).map(|_| mm.alloc_fast(&request).expect("memory is free")));
        for pfn in held.drain(..) {
            mm.free(pfn, CPU).expect("it is allocated");
        }
    }
    per(start.elapsed(), REPEATS * pages)
}

fn fork_and_exit(mm: &mut Mm, space: SpaceId) -> f64 {
    let addr = mm.mmap(space, &MmapRequest::anon(PIECE), CPU).expect("the space is empty");
    touch_all(mm, space, addr, PIECE, Access::Write);
    let start = Stopwatch::start();
    for _ in 0..REPEATS {
        let child = fork(mm, space);
        mm.exit(child, CPU).expect("it lives");
    }
    per(start.elapsed(), REPEATS * Pages::from_bytes_floor(PIECE).get())
}

fn fork(mm: &mut Mm, parent: SpaceId) -> SpaceId {
    let mut fork = mm.fork(parent).expect("the parent lives");
    loop {
        match mm.fork_step(&mut fork).expect("nobody interferes") {
            TableStep::Progress => {}
            TableStep::NeedTable(vpn) => {
                let request = Request::new(Order::ZERO, Gfp::GFP_PGTABLE_USER);
                let page = mm.alloc_fast(&request).expect("memory is free");
                mm.give_table(fork.child(), vpn, page, CPU);
            }
            TableStep::NeedCopy(_) => unreachable!("nothing is pinned"),
            TableStep::Done => return fork.child(),
        }
    }
}

fn per(time: Duration, pages: u64) -> f64 {
    time.as_nanos() as f64 / pages as f64
}

/// Medians of two measurements that take turns.
fn turns(mut one: impl FnMut() -> f64, mut other: impl FnMut() -> f64) -> (f64, f64) {
    let (ones, others) = (0..ROUNDS).map(|_| (one(), other())).unzip();
    (median(ones), median(others))
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
