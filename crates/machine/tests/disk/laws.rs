//! What disks promise, one small scene each.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use order9_machine::disk::{Block, Disk, DiskError, DiskSpec, Op, Transfer, WriteCache};
use order9_machine::time::{Class, TaskSpec, Wake};
use order9_units::{Bytes, Pages};

use crate::{Log, bio, disk, machine, ns, plain, spawn};

/// When what ended, by first block.
fn ends(log: &Log) -> Vec<(u64, u64)> {
    log.borrow().iter().map(|done| (done.ended.get(), done.bio.tag)).collect()
}

#[test]
fn latencies_overlap_and_transfers_do_not() {
    let mut executor = machine(1);
    let (disk, log) = disk(executor.handle(), plain());
    for first in [10, 20, 30, 40, 50] {
        disk.submit(bio(Op::Read, first, 1));
    }
    executor.run_until(ns(10_000)).expect("nobody waits");
    // The fifth finds the device full, and starts when the first is done.
    assert_eq!(ends(&log), [(1010, 10), (1020, 20), (1030, 30), (1040, 40), (2020, 50)]);
}

#[test]
fn one_request_at_a_time_is_bound_by_latency_and_many_by_bandwidth() {
    let elapsed = |tasks: u64, queue_depth| {
        let mut executor = machine(4);
        let (disk, _) = disk(executor.handle(), DiskSpec { queue_depth, ..plain() });
        for task in 0..tasks {
            let disk = disk.clone();
            spawn(executor.handle(), "reader", async move |_| {
                for nth in 0..1000 / tasks {
                    disk.read(Block::new(task * 1000 + nth * 2), Pages::new(1)).await;
                }
            });
        }
        executor.run().expect("all are read");
        executor.handle().now().get()
    };
    assert_eq!(elapsed(1, 200), 1000 * 1010);
    // Four at once: four pages for each latency, since the transfer of one hides behind the latency of the others.
    assert_eq!(elapsed(4, 200), 250 * 1010 + 3 * 10);
    // A hundred and one would keep the device busy; two hundred cannot make it faster.
    assert_eq!(elapsed(200, 200), 1000 + 1000 * 10);
}

#[test]
fn neighbours_merge_up_to_the_largest_request_and_only_with_their_kind() {
    let mut executor = machine(1);
    let (disk, log) = disk(executor.handle(), DiskSpec { queue_depth: 1, ..plain() });
    disk.submit(bio(Op::Write, 900, 1)); // Is served at once, so that the others wait.
    for first in [11, 10, 12, 13] {
        disk.submit(bio(Op::Write, first, 1));
    }
    disk.submit(bio(Op::Read, 14, 1));
    disk.submit(bio(Op::Write, 14, 5));
    disk.submit(bio(Op::Write, 14, 4));
    executor.run_until(ns(100_000)).expect("nobody waits");
    let all = [(1010, 900), (2090, 10), (2090, 11), (2090, 12), (2090, 13), (2090, 14), (3100, 14), (4150, 14)];
    assert_eq!(ends(&log), all);
    let stats = disk.stats();
    assert_eq!((stats.write.ios, stats.write.merges, stats.write.pages), (3, 4, Pages::new(14)));
    assert_eq!((stats.read.ios, stats.read.merges, stats.pgpgin(), stats.pgpgout()), (1, 0, 4, 56));
}

#[test]
fn a_large_bio_is_split_and_ends_with_its_last_part() {
    let mut executor = machine(1);
    let (disk, log) = disk(executor.handle(), plain());
    disk.submit(bio(Op::Write, 0, 20));
    disk.submit(bio(Op::Write, 20, 1));
    executor.run_until(ns(10_000)).expect("nobody waits");
    assert_eq!(ends(&log), [(1200, 0), (1210, 20)]);
    assert_eq!((disk.stats().write.ios, disk.stats().write.merges), (4, 0));
}

#[test]
fn bios_end_in_time_though_nobody_waits_and_every_cpu_is_busy() {
    let mut executor = machine(1);
    let (disk, log) = disk(executor.handle(), plain());
    disk.submit(bio(Op::Write, 0, 1));
    spawn(executor.handle(), "busy", async |handle| handle.spend(Class::User, ns(1_000_000)).await);
    executor.run().expect("it ends");
    assert_eq!(ends(&log), [(1010, 0)]);
}

#[test]
fn cancelling_who_waits_loses_no_end() {
    let mut executor = machine(2);
    let (disk, log) = disk(executor.handle(), plain());
    let ticket = disk.submit(bio(Op::Write, 7, 1));
    let [doomed, other] = [disk.clone(), disk.clone()];
    let task = spawn(executor.handle(), "doomed", async move |_| doomed.wait(ticket).await);
    spawn(executor.handle(), "other", async move |handle| {
        handle.sleep(ns(500)).await;
        assert!(handle.cancel(task));
        other.wait(ticket).await;
        assert_eq!(handle.now(), ns(1010));
        // The slot has a new bio: who holds the old ticket does not wait for that.
        other.submit(bio(Op::Write, 9, 1));
        other.wait(ticket).await;
        assert_eq!(handle.now(), ns(1010));
    });
    executor.run().expect("the bio ends");
    assert!(disk.is_done(ticket));
    assert_eq!(ends(&log), [(1010, 7)]);
}

#[test]
fn waiting_for_a_long_queue_is_no_hung_task() {
    let mut executor = machine(1);
    let transfer = Transfer { latency: ns(0), bandwidth: Bytes::new(4096) };
    let (disk, _) = disk(executor.handle(), DiskSpec { write: transfer, ..plain() });
    let ticket = disk.submit(bio(Op::Write, 0, 300));
    spawn(executor.handle(), "waiter", async move |_| disk.wait(ticket).await);
    executor.run().expect("300 s are long, but end");
    assert_eq!(executor.handle().now(), ns(300_000_000_000));
}

#[test]
fn the_end_of_a_bio_can_submit_the_next() {
    let mut executor = machine(1);
    let chain: Rc<RefCell<Option<Disk>>> = Rc::default();
    let (next, count) = (Rc::clone(&chain), Rc::new(Cell::new(0)));
    let counted = Rc::clone(&count);
    let end_io = move |_: &_| {
        counted.set(counted.get() + 1);
        if let Some(disk) = next.borrow().as_ref().filter(|_| counted.get() < 5) {
            disk.submit(bio(Op::Read, 0, 1));
        }
    };
    let disk = Disk::new(executor.handle(), "sda", plain(), end_io).expect("such a disk is possible");
    chain.replace(Some(disk.clone()));
    disk.submit(bio(Op::Read, 0, 1));
    executor.run_until(ns(5050)).expect("nobody waits");
    assert_eq!((count.get(), disk.stats().in_flight()), (5, 0));
    chain.take();
}

#[test]
fn congestion_begins_above_seven_eighths_and_ends_below_thirteen_sixteenths() {
    let mut executor = machine(1);
    let (disk, _) = disk(executor.handle(), DiskSpec { queue_depth: 1, ..plain() });
    for nth in 0..112 {
        disk.submit(bio(Op::Write, 2 * nth, 1));
    }
    assert!(!disk.is_congested(Op::Write));
    disk.submit(bio(Op::Write, 300, 1));
    assert!(disk.is_congested(Op::Write) && !disk.is_congested(Op::Read));
    let waiter = disk.clone();
    spawn(executor.handle(), "waiter", async move |handle| {
        assert_eq!(waiter.congestion_wait(Op::Read, ns(500)).await, Wake::TimedOut);
        assert_eq!(waiter.congestion_wait(Op::Write, ns(u64::MAX)).await, Wake::Woken);
        // 102 of 113 are left.
        assert_eq!((handle.now(), waiter.stats().write.in_flight), (ns(11 * 1010), 102));
        assert!(!waiter.is_congested(Op::Write));
    });
    executor.run().expect("the congestion ends");
}

#[test]
fn a_write_cache_takes_bursts_and_empties_while_the_disk_rests() {
    let mut executor = machine(1);
    // Two pages of 1 ns each; the disk itself takes 10 ns for one.
    let cache = WriteCache { size: Pages::new(2).bytes(), bandwidth: Bytes::new(4_096_000_000_000) };
    let transfer = Transfer { latency: ns(0), ..plain().write };
    let (disk, log) = disk(executor.handle(), DiskSpec { write: transfer, write_cache: Some(cache), ..plain() });
    let writer = disk.clone();
    spawn(executor.handle(), "writer", async move |handle| {
        for first in [0, 2, 4] {
            writer.submit(bio(Op::Write, first, 1));
        }
        handle.sleep_until(ns(22)).await; // 12 bytes in 10 would be one page.
        writer.submit(bio(Op::Write, 6, 1));
        writer.submit(bio(Op::Write, 8, 1));
        handle.sleep(ns(100)).await;
    });
    executor.run().expect("it ends");
    assert_eq!(ends(&log), [(1, 0), (2, 2), (12, 4), (23, 6), (33, 8)]);
}

#[test]
fn a_disk_that_cannot_be_is_refused_and_one_that_is_gone_is_silent() {
    let mut executor = machine(1);
    let impossible = DiskSpec { queue_depth: 0, ..plain() };
    let refused = Disk::new(executor.handle(), "sda", impossible, |_| ()).map(drop);
    assert_eq!(refused, Err(DiskError::Zero("the queue depth")));
    let (gone, log) = disk(executor.handle(), plain());
    gone.submit(bio(Op::Read, 0, 1));
    drop(gone);
    executor.run_until(ns(5000)).expect("nobody waits");
    assert!(log.borrow().is_empty());
}

#[test]
#[should_panic(expected = "lies past")]
fn a_bio_past_the_end_is_a_mistake() {
    let executor = machine(1);
    disk(executor.handle(), plain()).0.submit(bio(Op::Read, u64::MAX, 1));
}

#[test]
fn one_stream_of_bios_has_one_digest() {
    let digest = |cancel| {
        let mut executor = machine(2);
        let (disk, _) = disk(executor.handle(), plain());
        for nth in 0..50 {
            let disk = disk.clone();
            let code = async move { disk.write(Block::new(nth * 3 % 40), Pages::new(2)).await };
            let task = executor.handle().spawn(TaskSpec::new("writer"), code).expect("it may run anywhere");
            if cancel {
                executor.handle().cancel(task);
            }
        }
        executor.run().expect("all is written");
        executor.handle().digest()
    };
    assert_eq!(digest(false), digest(false));
    assert_ne!(digest(false), digest(true));
}
