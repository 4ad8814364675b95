//! Threads, children, time and locks.

use order9_machine::Outcome;
use order9_units::Nanos;
use order9_workloads::{Access, AddressSpace, Advice, ChildKind, Mapping, Measuring, Processes, Stop};

use crate::{counter, kib, machine, mib, run};

const SECOND: Nanos = Nanos::new(1_000_000_000);

#[test]
fn sleeping_takes_time_and_no_cpu() {
    let results = run(async |sys| sys.sleep(SECOND).await);
    assert_eq!(results.outcome, Outcome::Completed);
    // In the kernel: one call, and a look for something to unmap. Beside these, the CPU was switched to twice, daemons going to sleep on it.
    assert_eq!((results.elapsed.get(), results.times.system.get()), (1_000_000_040, 20));
    assert_eq!(results.series.times.len(), 3, "counters at the start, after a second, at the end");
}

#[test]
fn two_threads_on_two_cpus_take_the_time_of_one() {
    let two = async |sys: order9_machine::Thread| {
        let first = sys.spawn(ChildKind::Thread, "worker", async |sys| sys.compute(SECOND).await).await?;
        let second = sys.spawn(ChildKind::Thread, "worker", async |sys| sys.compute(SECOND).await).await?;
        sys.wait(first).await?.result?;
        sys.wait(second).await?.result
    };
    let parallel = machine(mib(8), 2, 1).run_program("two", two, |_| ());
    let serial = machine(mib(8), 1, 1).run_program("two", two, |_| ());
    assert_eq!((parallel.elapsed.get() / 1_000_000, serial.elapsed.get() / 1_000_000), (1000, 2000));
    assert_eq!(parallel.times.user, serial.times.user);
}

#[test]
fn times_of_children_count_once_they_are_waited_for() {
    let results = run(async |sys| {
        let child = sys.spawn(ChildKind::Process, "child", async |sys| sys.compute(SECOND).await).await?;
        let ended = sys.wait(child).await?;
        assert_eq!((ended.times.user, ended.result), (SECOND, Ok(())));
        Ok(())
    });
    assert_eq!((results.times.user, results.outcome), (SECOND, Outcome::Completed));
}

#[test]
fn a_forked_child_shares_pages_until_it_writes() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(mib(2))).await?;
        sys.touch(area, Access::Write).await?;
        let child = sys.spawn(ChildKind::Fork, "child", async move |sys| {
            sys.touch(area, Access::Read).await?;
            sys.touch(area.part(kib(0), kib(400)), Access::Write).await
        });
        let child = child.await?;
        sys.wait(child).await?.result
    });
    assert_eq!(results.outcome, Outcome::Completed);
    // 512 pages of the parent, 100 copies, and two page tables for each: the mapping lies across two.
    assert_eq!(counter(&results, "pgalloc_normal"), 512 + 100 + 4);
}

#[test]
fn what_ends_a_child_is_told_to_its_parent() {
    let results = run(async |sys| {
        let child = sys.spawn(ChildKind::Process, "child", async |sys| {
            let area = sys.mmap(Mapping::anon(kib(4))).await?;
            sys.munmap(area).await?;
            sys.touch(area, Access::Read).await
        });
        let child = child.await?;
        sys.wait(child).await?.result
    });
    assert!(matches!(results.outcome, Outcome::Stopped(Stop::Signal { .. })), "{:?}", results.outcome);
}

#[test]
fn threads_of_a_process_queue_for_its_lock() {
    let results = run(async |sys| {
        let area = sys.mmap(Mapping::anon(mib(2))).await?;
        let faults = sys.spawn(ChildKind::Thread, "faults", async move |sys| {
            sys.touch(area.part(kib(0), mib(1)), Access::Write).await
        });
        let maps = sys.spawn(ChildKind::Thread, "maps", async move |sys| {
            for _ in 0..200 {
                sys.madvise(area.part(mib(1), mib(1)), Advice::HugePage).await?;
                sys.madvise(area.part(mib(1), mib(1)), Advice::NoHugePage).await?;
            }
            Ok(())
        });
        let (faults, maps) = (faults.await?, maps.await?);
        sys.wait(faults).await?.result?;
        sys.wait(maps).await?.result
    });
    assert_eq!(results.outcome, Outcome::Completed);
    assert!(counter(&results, "order9_mmap_lock_contended") > 10, "one maps while the other faults");
    assert!(counter(&results, "order9_mmap_lock_wait_ns") > 100);
    assert!(counter(&results, "order9_zone_lock_hold_ns") > 0);
    assert!(counter(&results, "order9_lru_lock_acquisitions") > 0, "faults put pages on LRU lists");
    assert!(counter(&results, "order9_lru_lock_hold_ns") > 0);
    assert!(counter(&results, "order9_cpu_busy_ns") > results.elapsed.get(), "two threads on two CPUs");
}

#[test]
fn samples_and_phases_are_kept_in_order() {
    let results = run(async |sys| {
        sys.phase("first");
        sys.sample("Elapsd-1", SECOND);
        sys.sleep(SECOND).await?;
        sys.phase("second");
        sys.sample("Elapsd-3", SECOND);
        sys.sample("Elapsd-1", SECOND);
        Ok(())
    });
    let names: Vec<_> = results.operations.iter().map(|operation| operation.name.as_str()).collect();
    assert_eq!(names, ["Elapsd-1", "Elapsd-3"]);
    let samples: Vec<_> = results.samples.iter().map(|sample| (sample.operation, sample.at.get())).collect();
    assert_eq!(samples, [(0, 20), (1, 1_000_000_030), (0, 1_000_000_030)]);
    let phases: Vec<_> = results.phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["first", "second"]);
}
