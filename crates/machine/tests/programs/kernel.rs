//! Memory of the kernel, pins, single pages and files, as programs ask for them.

use std::num::NonZeroU64;

use order9_machine::{Machine, Options, Outcome, Thread, Unit};
use order9_units::{Bytes, Nanos, NodeId, Order, Pages, PfnRange, ZoneKind};
use order9_workloads::{
    Access, AddressSpace, Administration, Advice, DropCaches, FileId, Files, KernelAlloc, KernelAllocator, KernelSize,
    Mapping, Measuring, Nodes, Processes, Stop,
};

use crate::{MEMORY, NORMAL, counter, disk, kib, machine, machine_of, machine_with, mib, run};

const fn block(order: u8) -> KernelAlloc {
    KernelAlloc::new(KernelSize::Block(Order::new(order).expect("an order")))
}

#[test]
fn kernel_memory_outlives_its_process_until_it_is_freed() {
    let results = run(async |sys| {
        let object = KernelAlloc { reclaimable: true, ..KernelAlloc::new(KernelSize::Object(kib(4))) };
        let kept = [sys.kernel_alloc(block(3)).await?, sys.kernel_alloc(object).await?];
        assert!(kept.iter().all(Option::is_some));
        let freed = sys.kernel_alloc(KernelAlloc { atomic: true, ..block(2) }).await?.expect("there is room");
        sys.kernel_free(freed).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(counter(&results, "pgalloc_normal") - counter(&results, "pgfree"), 8 + 8);
    assert_eq!(counter(&results, "nr_slab_reclaimable"), 8);
}

#[test]
fn an_atomic_allocation_may_fail_and_any_other_ends_the_program() {
    let results = run(async |sys| {
        let atomic = KernelAlloc { atomic: true, ..block(0) };
        while sys.kernel_alloc(atomic).await?.is_some() {}
        assert!(sys.kernel_alloc(block(9)).await?.is_none(), "a costly order may fail too");
        let object = KernelAlloc { atomic: true, ..KernelAlloc::new(KernelSize::Object(kib(8))) };
        assert!(sys.kernel_alloc(object).await?.is_none());
        loop {
            sys.kernel_alloc(block(0)).await?;
        }
    });
    assert!(matches!(results.outcome, Outcome::OutOfMemory(_)), "{:?}", results.outcome);
}

#[test]
fn pinned_pages_stay_until_unpinned_or_the_end_of_their_process() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(kib(64))).await?;
        sys.pin(area).await?;
        assert_eq!(sys.mincore(area).await?, 16, "pinning brings pages in");
        sys.madvise(area, Advice::DontNeed).await?;
        assert_eq!(sys.mincore(area).await?, 0);
        sys.unpin(area).await?;
        assert_eq!(sys.unpin(area).await, Err(Stop::Refused { call: "unpin_user_pages", errno: "EINVAL" }));
        sys.pin(area).await
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(counter(&results, "pgalloc_normal"), counter(&results, "pgfree"), "pins end with their process");
}

#[test]
fn single_pages_are_where_they_are() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(kib(64))).await?;
        assert_eq!(sys.mincore(area).await?, 0);
        assert_eq!((sys.page_node(area).await?, sys.node()), (NodeId(0), NodeId(0)));
        assert_eq!(sys.mincore(area).await?, 1, "asking for its node reads the page");
        sys.munmap(area).await?;
        assert_eq!(sys.mincore(area).await, Err(Stop::Refused { call: "mincore", errno: "ENOMEM" }));
        assert_eq!(sys.page_node(area).await, Err(Stop::Refused { call: "get_mempolicy", errno: "EFAULT" }));
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
}

#[test]
fn files_are_written_read_and_removed() {
    let results = run(async |sys| {
        let file: FileId = sys.create().await?;
        sys.write(file, kib(6), kib(4)).await?;
        assert_eq!(sys.read(file, kib(8), kib(64)).await?, kib(2), "reading stops at the end");
        assert_eq!(sys.read(file, mib(1), kib(64)).await?, kib(0));
        sys.fsync(file).await?;
        sys.sync().await?;
        sys.close(file).await?;
        sys.open(file).await?;
        sys.drop_caches(DropCaches::All).await?;
        sys.remove_file(file).await?;
        assert_eq!(sys.open(file).await, Err(Stop::Refused { call: "open", errno: "ENOENT" }));
        Ok(())
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert_eq!(counter(&results, "pgalloc_normal"), 2, "only what was written needs pages");
    assert_eq!(counter(&results, "drop_slab"), 1);
}

#[test]
fn rates_and_shares_are_recorded_with_their_unit() {
    let results = run(async |sys| {
        sys.rate("files/sec", 1234.5);
        sys.percent("huge", 99.5);
        Ok(())
    });
    let units: Vec<_> = results.operations.iter().map(|operation| (operation.name.as_str(), operation.unit)).collect();
    assert_eq!(units, [("files/sec", Unit::PerSecond), ("huge", Unit::Percent)]);
    assert_eq!(results.samples.iter().map(|sample| sample.value).collect::<Vec<_>>(), [1234.5, 99.5]);
}

#[test]
fn snapshots_are_of_the_moment() {
    let seen = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let mut machine: Machine = machine(MEMORY, 1, 1);
    let keep = std::rc::Rc::clone(&seen);
    machine.keep_snapshots(move |name, engine, _| {
        keep.borrow_mut().push((name.to_owned(), engine.frames().zones()[0].free()));
    });
    let program = async |sys: order9_machine::Thread| {
        sys.snapshot("before");
        sys.kernel_alloc(block(4)).await?;
        sys.snapshot("after");
        Ok(())
    };
    machine.run_program("program", program, |_| ());
    let seen = seen.take();
    assert_eq!((seen[0].0.as_str(), seen[1].0.as_str(), seen[0].1 - seen[1].1), ("before", "after", 16));
}

/// A machine full of clean page cache of two files, every other page of which was used twice; then blocks of 2 MiB are asked
/// for as in an interrupt.
async fn fragmented_by_files(sys: Thread) -> Result<(), Stop> {
    let size = mib(20);
    let files = [sys.create().await?, sys.create().await?];
    for at in (0..size.get()).step_by(4096).map(Bytes::new) {
        for file in files {
            sys.write(file, at, kib(4)).await?;
        }
    }
    sys.sync().await?;
    for _ in 0..2 {
        sys.read(files[1], Bytes::ZERO, size).await?;
    }
    for _ in 0..50 {
        sys.kernel_alloc(KernelAlloc { atomic: true, ..block(9) }).await?;
        sys.sleep(Nanos::new(10_000_000)).await?;
    }
    Ok(())
}

#[test]
fn kswapd_compacts_itself_where_no_daemon_does() {
    for (policy, by_kswapd) in [("linux-4.4", true), ("linux-4.19", false)] {
        let span = PfnRange::of(NORMAL, Pages::from_bytes_floor(mib(48)));
        let options = Options { disks: vec![disk(Pages::ZERO)], ..Options::new(1) };
        let policy = order9_policy::load(policy).expect("it is built in").policy;
        let machine = machine_of(&[(ZoneKind::Normal, span)], policy, 2, &options);
        let results = machine.run_program("fragmented", fragmented_by_files, |_| ());
        assert_eq!(results.outcome, Outcome::Completed);
        let scanned = ["compact_migrate_scanned", "compact_daemon_migrate_scanned"].map(|name| counter(&results, name));
        assert!(scanned[0] > 0 && (scanned[1] == 0) == by_kswapd, "{scanned:?}");
        assert_eq!((counter(&results, "compact_stall"), counter(&results, "compact_daemon_wake") == 0), (0, by_kswapd));
    }
}

#[test]
fn memory_is_packed_on_request_and_only_where_there_is_any() {
    let options = Options { check_every: NonZeroU64::new(64), ..Options::new(1) };
    let machine = machine_with(mib(32), 2, &options);
    let results = machine.run_program(
        "program",
        |sys| async move {
            let area = sys.mmap(Mapping::anon(mib(20))).await?;
            sys.madvise(area, Advice::NoHugePage).await?;
            sys.touch(area, Access::Write).await?;
            for page in (0..mib(20).get()).step_by(2 * 4096) {
                sys.madvise(area.part(Bytes::new(page), kib(4)), Advice::DontNeed).await?;
            }
            assert!(matches!(sys.compact(Some(NodeId(7))).await, Err(Stop::Refused { .. })));
            sys.phase("compact");
            sys.compact(None).await
        },
        |_| (),
    );
    assert_eq!(results.outcome, order9_machine::Outcome::Completed);
    let at = results.series.position("order9_nr_huge_free").expect("it is read");
    let before = results.phases.iter().find(|phase| phase.name == "compact").expect("it began").counters[at];
    assert!(
        counter(&results, "order9_nr_huge_free") >= before + 3,
        "half of ten pageblocks, less what the scanners leave"
    );
}
