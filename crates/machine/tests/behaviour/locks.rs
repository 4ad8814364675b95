//! Contention, seen as waiting.

use order9_machine::time::{Class, CpuId, LockKind, Mode};

use crate::{Log, machine, ns, spawn};

#[test]
fn a_spinning_waiter_burns_its_cpu_and_a_sleeping_one_leaves_it() {
    for (kind, busy, spin, lock) in [(LockKind::Spinning, 100, 50, 0), (LockKind::Sleeping, 50, 0, 50)] {
        let mut executor = machine(2);
        let id = executor.handle().new_lock("zone->lock", kind);
        spawn(executor.handle(), "holder", async move |handle| {
            let _guard = handle.lock(id, Mode::Exclusive).await;
            handle.spend(Class::System, ns(50)).await;
        });
        let waiter = spawn(executor.handle(), "waiter", async move |handle| {
            let _guard = handle.lock(id, Mode::Exclusive).await;
            handle.spend(Class::System, ns(50)).await;
        });
        executor.run().expect("both end");
        let handle = executor.handle();
        assert_eq!(handle.cpu_stats(CpuId(1)).map(|cpu| cpu.busy), Some(ns(busy)), "{kind:?}");
        let stats = handle.task_stats(waiter);
        assert_eq!((stats.spin, stats.lock, stats.system), (ns(spin), ns(lock), ns(50)), "{kind:?}");
        let stats = handle.lock_stats(id);
        assert_eq!((stats.acquisitions, stats.contended), (2, 1));
        assert_eq!((stats.wait, stats.hold, stats.hold_max), (ns(50), ns(100), ns(50)));
        assert_eq!(&*handle.lock_name(id), "zone->lock");
    }
}

#[test]
fn readers_share_and_do_not_overtake_a_writer() {
    let mut executor = machine(4);
    let lock = executor.handle().new_lock("mmap_lock", LockKind::Sleeping);
    let log = Log::default();
    for (start, name, mode) in [
        (0, "reader 1", Mode::Shared),
        (1, "reader 2", Mode::Shared),
        (2, "writer", Mode::Exclusive),
        (3, "late", Mode::Shared),
    ] {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            handle.sleep(ns(start)).await;
            let _guard = handle.lock(lock, mode).await;
            log.note(&handle, name);
            handle.spend(Class::User, ns(100)).await;
        });
    }
    executor.run().expect("all end");
    assert_eq!(log.read(), [(0, "reader 1"), (1, "reader 2"), (101, "writer"), (201, "late")]);
}

#[test]
fn a_downgrade_lets_in_the_readers_at_the_head_of_the_queue() {
    let mut executor = machine(4);
    let lock = executor.handle().new_lock("mmap_lock", LockKind::Sleeping);
    let log = Log::default();
    let holder = log.clone();
    spawn(executor.handle(), "holder", async move |handle| {
        let guard = handle.lock(lock, Mode::Exclusive).await;
        handle.spend(Class::System, ns(100)).await;
        guard.downgrade();
        handle.spend(Class::System, ns(300)).await;
        holder.note(&handle, "let go");
    });
    for (start, name, mode) in [(1, "reader", Mode::Shared), (2, "writer", Mode::Exclusive), (3, "late", Mode::Shared)]
    {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            handle.sleep(ns(start)).await;
            let _guard = handle.lock(lock, mode).await;
            log.note(&handle, name);
            handle.spend(Class::User, ns(50)).await;
        });
    }
    executor.run().expect("all end");
    assert_eq!(log.read(), [(100, "reader"), (400, "let go"), (400, "writer"), (450, "late")]);
    assert_eq!(executor.handle().lock_stats(lock).hold_max, ns(400), "the holder held it all the time");
}

#[test]
fn a_lock_is_busy_for_those_who_do_not_hold_it() {
    let mut executor = machine(2);
    let lock = executor.handle().new_lock("lru_lock", LockKind::Spinning);
    spawn(executor.handle(), "holder", async move |handle| {
        let guard = handle.lock(lock, Mode::Exclusive).await;
        assert!(!handle.is_busy(lock), "only the task itself holds it");
        handle.spend(Class::System, ns(100)).await;
        assert!(handle.is_busy(lock), "the other waits");
        drop(guard);
        assert!(handle.is_busy(lock), "it was handed over");
    });
    spawn(executor.handle(), "waiter", async move |handle| {
        handle.spend(Class::System, ns(50)).await;
        assert!(handle.is_busy(lock));
        drop(handle.lock(lock, Mode::Exclusive).await);
        assert!(!handle.is_busy(lock));
    });
    executor.run().expect("both end");
}

#[test]
fn try_lock_never_waits_and_never_overtakes() {
    let mut executor = machine(2);
    let lock = executor.handle().new_lock("lru_lock", LockKind::Spinning);
    spawn(executor.handle(), "holder", async move |handle| {
        let guard = handle.try_lock(lock, Mode::Exclusive).expect("nobody holds it");
        assert_eq!(guard.lock(), lock);
        handle.spend(Class::User, ns(100)).await;
    });
    spawn(executor.handle(), "other", async move |handle| {
        handle.spend(Class::User, ns(50)).await;
        assert!(handle.try_lock(lock, Mode::Shared).is_none());
        handle.spend(Class::User, ns(51)).await;
        assert!(handle.try_lock(lock, Mode::Shared).is_some());
    });
    executor.run().expect("both end");
    assert_eq!(executor.handle().lock_stats(lock).contended, 0);
}

#[test]
fn the_holder_of_a_spinning_lock_keeps_its_cpu_past_its_slice() {
    let mut executor = machine(1);
    let lock = executor.handle().new_lock("zone->lock", LockKind::Spinning);
    let log = Log::default();
    let holder = log.clone();
    spawn(executor.handle(), "holder", async move |handle| {
        let guard = handle.lock(lock, Mode::Exclusive).await;
        handle.spend(Class::System, ns(250)).await;
        drop(guard);
        holder.note(&handle, "let go");
        handle.spend(Class::User, ns(10)).await;
        holder.note(&handle, "done");
    });
    let other = log.clone();
    spawn(executor.handle(), "other", async move |handle| other.note(&handle, "other"));
    executor.run().expect("both end");
    assert_eq!(log.read(), [(250, "let go"), (250, "other"), (260, "done")]);
}

#[test]
fn a_cancelled_task_lets_go_of_locks_held_and_leaves_queues() {
    let mut executor = machine(4);
    let lock = executor.handle().new_lock("mmap_lock", LockKind::Sleeping);
    let log = Log::default();
    let holder = spawn(executor.handle(), "holder", async move |handle| {
        let _guard = handle.lock(lock, Mode::Shared).await;
        handle.spend(Class::User, ns(1_000_000)).await;
    });
    let writer = spawn(executor.handle(), "writer", async move |handle| {
        let _guard = handle.lock(lock, Mode::Exclusive).await;
        unreachable!("it is cancelled before");
    });
    let reader = log.clone();
    spawn(executor.handle(), "reader", async move |handle| {
        let _guard = handle.lock(lock, Mode::Shared).await;
        reader.note(&handle, "reader");
        assert!(handle.try_lock(lock, Mode::Exclusive).is_none());
        handle.spend(Class::User, ns(20)).await;
        assert_eq!(handle.lock_stats(lock).hold, ns(20), "the holder's time counts when it is cancelled");
    });
    spawn(executor.handle(), "judge", async move |handle| {
        handle.spend(Class::User, ns(10)).await;
        assert!(handle.cancel(writer), "then the reader behind it comes in");
        handle.spend(Class::User, ns(10)).await;
        assert!(handle.cancel(holder));
        assert!(!handle.cancel(holder), "it has ended");
        assert!(!handle.cancel(handle.current().expect("in a task")), "a task returns instead");
    });
    executor.run().expect("all end");
    assert_eq!(log.read(), [(10, "reader")]);
    assert_eq!(executor.handle().now(), ns(30));
}

#[test]
#[should_panic(expected = "task sleeper would sleep while it holds a spinning lock")]
fn sleeping_under_a_spinning_lock_is_a_mistake() {
    let mut executor = machine(1);
    let lock = executor.handle().new_lock("zone->lock", LockKind::Spinning);
    spawn(executor.handle(), "sleeper", async move |handle| {
        let _guard = handle.lock(lock, Mode::Exclusive).await;
        handle.sleep(ns(1)).await;
    });
    drop(executor.run());
}
