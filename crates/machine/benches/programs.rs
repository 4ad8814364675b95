//! What programs on a machine cost the host, everything counted: faults of base pages, priced and recorded, against the
//! budget.
//!
//! `cargo bench -p order9-machine --bench programs`. Prints ns of host time per page, medians of several rounds.

use std::future::Future;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use order9_machine::cost::{PRICES, Picos, Prices};
use order9_machine::{Machine, Options, Outcome, Thread};
use order9_mm::policy::Policy;
use order9_mm::thp::HugeEnabled;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, NodeId, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Access, Advice, ChildKind, Mapping, Stop, Sys};

const ROUNDS: usize = 5;
/// Host time that the last program spent touching its memory.
static TOUCHED_NS: AtomicU64 = AtomicU64::new(0);
const SMALL: Bytes = Bytes::from_gib(1);
const LARGE: Bytes = Bytes::from_gib(64);

fn main() {
    let pages = |bytes: Bytes| (bytes.get() / PAGE_SIZE.get()) as f64;
    println!("host time, ns per base page; medians of {ROUNDS} rounds");
    let small = pages(SMALL);
    let hot = median(|| {
        time(SMALL, 1, |sys| async move { refault(sys, Bytes::new(2 << 20), 512).await });
        TOUCHED_NS.load(Ordering::Relaxed) as f64 / small
    });
    println!("fault, 2 MiB again and again (budget 60)          {hot:7.1}");
    let touched = |passes| {
        time(SMALL, 1, move |sys| async move { touch(sys, SMALL, passes).await });
        TOUCHED_NS.load(Ordering::Relaxed) as f64 / small
    };
    let fault = median(|| touched(1));
    println!("fault, 1 GiB never touched before (budget 60)     {fault:7.1}");
    println!("each further pass over it                         {:7.1}", (median(|| touched(11)) - fault) / 10.0);
    let exit = median(|| time(SMALL, 1, |sys| async move { touch(sys, SMALL, 1).await }) / small - touched(1));
    println!("exit                                              {exit:7.1}");
    let two = median(|| time(SMALL, 2, |sys| async move { pair(sys).await }) / small);
    println!("two processes on two CPUs filling half of it each {two:7.1}");
    let start = Instant::now();
    time(LARGE, 1, |sys| async move { touch(sys, LARGE, 1).await });
    println!("64 GiB: machine made, filled, freed: {:.2} s (budget 5)", start.elapsed().as_secs_f64());
}

/// ns that a program takes on a machine with enough memory for it; making the machine is not counted.
fn time<F>(memory: Bytes, cpus: usize, program: impl FnOnce(Thread) -> F + 'static) -> f64
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    let machine = machine(Bytes::new(memory.get() / 8 * 9), cpus);
    let start = Instant::now();
    let results = black_box(machine.run_program("program", program, |_| ()));
    let elapsed = start.elapsed();
    assert_eq!(results.outcome, Outcome::Completed);
    elapsed.as_nanos() as f64
}

async fn touch(sys: Thread, size: Bytes, passes: usize) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(size)).await?;
    let start = Instant::now();
    for _ in 0..passes {
        sys.touch(area, Access::Write).await?;
    }
    TOUCHED_NS.store(start.elapsed().as_nanos() as u64, Ordering::Relaxed);
    Ok(())
}

async fn refault(sys: Thread, size: Bytes, times: usize) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(size)).await?;
    let mut touched = Duration::ZERO;
    for _ in 0..times {
        let start = Instant::now();
        sys.touch(area, Access::Write).await?;
        touched += start.elapsed();
        sys.madvise(area, Advice::DontNeed).await?;
    }
    TOUCHED_NS.store(touched.as_nanos() as u64, Ordering::Relaxed);
    Ok(())
}

async fn pair(sys: Thread) -> Result<(), Stop> {
    let half = Bytes::new(SMALL.get() / 2);
    let first = sys.spawn(ChildKind::Process, "first", move |sys| touch(sys, half, 1)).await?;
    let second = sys.spawn(ChildKind::Process, "second", move |sys| touch(sys, half, 1)).await?;
    sys.wait(first).await?.result?;
    sys.wait(second).await?.result
}

fn machine(memory: Bytes, cpus: usize) -> Machine {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::from_bytes_floor(memory));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0); cpus],
        ..Layout::default()
    };
    let builder = MmBuilder::new(&layout, Policy::default()).expect("one zone is a layout");
    let mm = builder.transparent_hugepage(HugeEnabled::Never).boot();
    let mut prices = Prices::default();
    PRICES.iter().for_each(|price| *(price.field)(&mut prices) = Picos::new(100_500));
    Machine::new(mm, vec![NodeId(0); cpus], prices, &Options::new(1)).expect("there are CPUs")
}

fn median(mut measure: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..ROUNDS).map(|_| measure()).collect();
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}
