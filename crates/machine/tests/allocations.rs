//! A fault allocates nothing on the host: neither for its future nor for what it records. Nor does a transfer of a disk.

use std::cell::Cell;
use std::rc::Rc;

use order9_machine::cost::{PRICES, Picos, Prices};
use order9_machine::disk::{Bio, Block, Disk, DiskSpec, Op, Transfer};
use order9_machine::time::{Config, Executor, TaskSpec};
use order9_machine::{Machine, Options, Outcome, Thread};
use order9_mm::policy::Policy;
use order9_mm::{Layout, MmBuilder, NodeSpec, ZoneSpec};
use order9_units::{Bytes, Nanos, NodeId, Pages, Pfn, PfnRange, ZoneKind};
use order9_workloads::{Access, AddressSpace, Advice, ChildKind, Mapping, Processes};

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
    let faulted = results.series.position("pgfault").expect("faults are counted");
    assert!(results.series.rows.last().expect("there is a last row")[faulted] >= 2 * FAULTS);
    assert_eq!(allocations.get(), 0, "{FAULTS} faults");
}

#[test]
fn transfers_allocate_nothing() {
    let transfer = Transfer { latency: Nanos::new(100), bandwidth: Bytes::from_gib(1) };
    let spec = DiskSpec {
        size: Pages::new(4096),
        read: transfer,
        write: transfer,
        queue_depth: 4,
        nr_requests: 128,
        max_request: Pages::new(64),
        rotating: None,
        write_cache: None,
        in_memory: false,
    };
    let mut executor = Executor::new(Config::new(vec![NodeId(0)], 1)).expect("there is a CPU");
    let disk = Disk::new(executor.handle(), "sda", spec, |_| ()).expect("such a disk is possible");
    let round = async move |disk: Disk| {
        for nth in 0..32 {
            let (first, pages) = (Block::new(nth * 100), Pages::new(1 + nth));
            disk.submit(Bio { op: Op::Write, first, pages, tag: nth });
            disk.read(Block::new(nth), Pages::new(1)).await;
        }
    };
    let task = async move {
        round(disk.clone()).await; // Makes the slots and their queues.
        assert_eq!(allocations_of(round(disk)).await, 0);
    };
    executor.handle().spawn(TaskSpec::new("task"), task).expect("it may run anywhere");
    let info = allocation_counter::measure(|| executor.run().expect("all ends"));
    // What the alarms of the disk do is not polled: all of it together is no more than the first round made.
    assert!(info.count_total < 64, "{} allocations", info.count_total);
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
