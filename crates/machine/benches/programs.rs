//! What programs on a machine cost the host, everything counted: faults of base pages, priced and recorded, against the
//! budget.
//!
//! `cargo bench -p order9-machine --bench programs`. Prints ns of host time per page, medians of several rounds.

#[path = "../../frames/benches/stopwatch/mod.rs"]
mod stopwatch;

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use order9_machine::cost::{PRICES, Picos, Prices};
use order9_machine::{Machine, Options, Outcome, Thread};
use order9_mm::policy::Policy;
use order9_mm::thp::HugeEnabled;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, PAGE_SIZE, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Advice, ChildKind, Mapping, Measuring, Processes, Stop};
use stopwatch::Stopwatch;

const ROUNDS: usize = 5;
/// Host time that the last program spent touching its memory.
static TOUCHED_NS: AtomicU64 = AtomicU64::new(0);
const SMALL: Bytes = Bytes::from_gib(1);
const LARGE: Bytes = Bytes::from_gib(64);

fn main() {
    let pages = |bytes: Bytes| (bytes.get() / PAGE_SIZE.get()) as f64;
    println!("host time on a processor, ns per base page; medians of {ROUNDS} rounds");
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
    for (what, program) in [("mapped, filled and unmapped", refill as Program), ("filled once, then passed over", pass)]
    {
        // By turns, so that a disturbance hits both.
        let times: Vec<[f64; 2]> = (0..ROUNDS).map(|_| [false, true].map(|on| time_balanced(on, program))).collect();
        let [off, on] = [0, 1].map(|which| middle(times.iter().map(|of| of[which]).collect()));
        println!(
            "NUMA balancing, 4 threads, memory {what} for 4 s: host ms {off:.0} off, {on:.0} on, ratio {:.3}",
            on / off
        );
    }
    let start = Stopwatch::start();
    time(LARGE, 1, |sys| async move { touch(sys, LARGE, 1).await });
    println!("64 GiB: machine made, filled, freed: {:.2} s (budget 5)", start.elapsed().as_secs_f64());
}

/// ns that a program takes on a machine with enough memory for it; making the machine is not counted.
fn time<F>(memory: Bytes, cpus: usize, program: impl FnOnce(Thread) -> F + 'static) -> f64
where
    F: Future<Output = Result<(), Stop>> + 'static,
{
    let machine = machine(Bytes::new(memory.get() / 8 * 9), cpus);
    let start = Stopwatch::start();
    let results = black_box(machine.run_program("program", program, |_| ()));
    let elapsed = start.elapsed();
    assert_eq!(results.outcome, Outcome::Completed);
    elapsed.as_nanos() as f64
}

async fn touch(sys: Thread, size: Bytes, passes: usize) -> Result<(), Stop> {
    let area = sys.mmap(Mapping::anon(size)).await?;
    let start = Stopwatch::start();
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
        let start = Stopwatch::start();
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

/// What a thread does with 64 MiB.
type Program = fn(Thread) -> Pin<Box<dyn Future<Output = Result<(), Stop>>>>;

const BALANCED: Bytes = Bytes::new(64 << 20);
/// Virtual time that a thread of a balanced program runs for.
const FOR: Nanos = Nanos::new(4_000_000_000);

/// Maps memory, fills it and unmaps it, again and again.
fn refill(sys: Thread) -> Pin<Box<dyn Future<Output = Result<(), Stop>>>> {
    Box::pin(async move {
        while sys.now() < FOR {
            let area = sys.mmap(Mapping::anon(BALANCED)).await?;
            sys.fill(area).await?;
            sys.munmap(area).await?;
        }
        Ok(())
    })
}

/// Fills memory and passes over it again and again.
fn pass(sys: Thread) -> Pin<Box<dyn Future<Output = Result<(), Stop>>>> {
    Box::pin(async move {
        let area = sys.mmap(Mapping::anon(BALANCED)).await?;
        while sys.now() < FOR {
            sys.fill(area).await?;
        }
        Ok(())
    })
}

/// Host time, in ms, of a process with four threads on two nodes, with NUMA balancing on or off.
fn time_balanced(on: bool, program: Program) -> f64 {
    let node = Pages::from_bytes_floor(Bytes::from_gib(1));
    let zone = |of: u16| ZoneSpec {
        node: NodeId(of),
        kind: ZoneKind::Normal,
        span: PfnRange::of(Pfn::new((1 << 20) + u64::from(of) * node.get()), node),
    };
    let cpus: Vec<NodeId> = [0, 0, 1, 1].map(NodeId).to_vec();
    let layout = Layout {
        nodes: [[10, 21], [21, 10]].map(|row| NodeSpec { distances: row.to_vec() }).to_vec(),
        zones: [0, 1].map(zone).to_vec(),
        cpus: cpus.clone(),
        ..Layout::default()
    };
    let builder = MmBuilder::new(&layout, Policy::default()).expect("two nodes are a layout");
    let mut mm = builder.transparent_hugepage(HugeEnabled::Never).boot();
    mm.set_numa_balancing(on);
    let mut prices = Prices::default();
    PRICES.iter().for_each(|price| *(price.field)(&mut prices) = Picos::new(100_500));
    let machine = Machine::new(mm, cpus, prices, &Options::new(1)).expect("there are CPUs");
    let start = Stopwatch::start();
    let threads = move |sys: Thread| async move {
        let mut children = Vec::new();
        for _ in 0..4 {
            children.push(sys.spawn(ChildKind::Thread, "thread", program).await?);
        }
        for child in children {
            sys.wait(child).await?.result?;
        }
        Ok(())
    };
    assert_eq!(black_box(machine.run_program("program", threads, |_| ())).outcome, Outcome::Completed);
    start.elapsed().as_nanos() as f64 / 1e6
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
    middle((0..ROUNDS).map(|_| measure()).collect())
}

fn middle(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[ROUNDS / 2]
}
