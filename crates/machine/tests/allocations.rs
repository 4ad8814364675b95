//! A fault allocates nothing on the host: neither for its future nor for what it records.

use std::cell::Cell;
use std::rc::Rc;

use order9_machine::cost::{PRICES, Picos, Prices};
use order9_machine::{Machine, Options, Outcome, Thread};
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Access, Advice, ChildKind, Mapping, Sys};

const MEMORY: Bytes = Bytes::new(16 << 20);
const FAULTS: u64 = MEMORY.get() / 4096;

#[test]
fn faults_allocate_nothing() {
    let span = PfnRange::of(Pfn::new(1 << 20), Pages::from_bytes_floor(Bytes::new(64 << 20)));
    let layout = Layout {
        nodes: vec![NodeSpec { distances: vec![10] }],
        zones: vec![ZoneSpec { node: NodeId(0), kind: ZoneKind::Normal, span }],
        cpus: vec![NodeId(0); 2],
        ..Layout::default()
    };
    let mm = MmBuilder::new(&layout, Policy::default()).expect("one zone is a layout").boot();
    let mut prices = Prices::default();
    PRICES.iter().for_each(|price| *(price.field)(&mut prices) = Picos::new(10_000));
    let machine = Machine::new(mm, vec![NodeId(0); 2], prices, &Options::new(1)).expect("there are CPUs");
    let allocations = Rc::new(Cell::new(u64::MAX));
    let counted = Rc::clone(&allocations);
    let program = async move |sys: Thread| {
        // Somebody on another CPU, so that faults have to wait for their time as well.
        let other = sys.spawn(ChildKind::Process, "other", async |sys| sys.compute(Nanos::new(1 << 40)).await).await?;
        let area = sys.mmap(Mapping::anon(MEMORY)).await?;
        // The host's own memory for page tables is allocated with the first fault of each 2 MiB.
        sys.touch(area, Access::Write).await?;
        sys.madvise(area, Advice::DontNeed).await?;
        counted.set(allocations_of(sys.touch(area, Access::Write)).await);
        sys.wait(other).await?.result
    };
    let results = machine.run_program("program", program, |_| ());
    assert_eq!(results.outcome, Outcome::Completed);
    let faulted = results.series.names.iter().position(|name| *name == "pgfault").expect("faults are counted");
    assert!(results.series.rows.last().expect("there is a last row")[faulted] >= 2 * FAULTS);
    assert_eq!(allocations.get(), 0, "{FAULTS} faults");
}

/// Allocations while `future` is polled.
async fn allocations_of<F: Future>(future: F) -> u64 {
    let mut future = std::pin::pin!(future);
    let mut count = 0;
    std::future::poll_fn(|context| {
        let mut polled = std::task::Poll::Pending;
        let info = allocation_counter::measure(|| polled = future.as_mut().poll(context));
        count += info.count_total;
        polled.map(|_| ())
    })
    .await;
    count
}
