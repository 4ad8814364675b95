//! How runs end, well or not.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::Poll;

use order9_machine::time::{Class, Exit, Kind, LockKind, Mode, RunError, TaskSpec, WaitsFor};

use crate::{Log, daemon, machine, ns, spawn};

#[test]
fn a_run_ends_with_its_foreground_tasks_and_daemons_go_on_with_the_next() {
    let mut executor = machine(2);
    let log = Log::default();
    let ticks = log.clone();
    daemon(executor.handle(), "kswapd0", async move |handle| {
        loop {
            handle.sleep(ns(10)).await;
            ticks.note(&handle, "tick");
        }
    });
    let worker = async |handle: order9_machine::time::Handle| handle.spend(Class::User, ns(25)).await;
    spawn(executor.handle(), "worker", worker);
    assert_eq!(executor.run(), Ok(()));
    assert_eq!(executor.handle().now(), ns(25));
    assert_eq!(executor.run(), Ok(()), "nobody is left to run for");
    assert_eq!(executor.run_until(ns(32)), Ok(()));
    assert_eq!(executor.handle().now(), ns(32));
    spawn(executor.handle(), "worker", worker);
    assert_eq!(executor.run(), Ok(()));
    assert_eq!(executor.handle().now(), ns(57));
    assert_eq!(log.read(), [10, 20, 30, 40, 50].map(|time| (time, "tick")));
}

#[test]
fn joining_gives_the_way_a_task_ended() {
    let mut executor = machine(2);
    let sleeper = spawn(executor.handle(), "sleeper", async |handle| handle.sleep(ns(1_000_000)).await);
    let log = Log::default();
    let joined = log.clone();
    spawn(executor.handle(), "parent", async move |handle| {
        let child = handle.clone();
        let code = async move { child.spend(Class::User, ns(10)).await };
        let child = handle.spawn(TaskSpec::new("child"), code).expect("it may run anywhere");
        assert_eq!(handle.join(child).await, Exit::Finished);
        joined.note(&handle, "child");
        handle.cancel(sleeper);
        assert_eq!(handle.join(sleeper).await, Exit::Cancelled);
    });
    assert_eq!(executor.run(), Ok(()));
    assert_eq!(log.read(), [(10, "child")]);
}

#[test]
fn a_stall_names_who_waits_for_what() {
    let mut executor = machine(3);
    let handle = executor.handle();
    let [a, b] = ["lock a", "lock b"].map(|name| handle.new_lock(name, LockKind::Spinning));
    let queue = handle.new_queue("oom_wait");
    for (name, first, second) in [("one", a, b), ("two", b, a)] {
        spawn(handle, name, async move |handle| {
            let _first = handle.lock(first, Mode::Exclusive).await;
            handle.spend(Class::System, ns(10)).await;
            let _second = handle.lock(second, Mode::Shared).await;
        });
    }
    daemon(handle, "reaper", async move |handle| {
        handle.wait(queue, None).await;
    });
    let Err(RunError::Stall(stall)) = executor.run() else { panic!("two tasks wait for each other") };
    assert_eq!(stall.time, ns(10));
    assert_eq!(
        stall.to_string(),
        "the run cannot go on at 10 ns: task one waits for lock lock b (shared), held by two; task two waits for \
         lock lock a (shared), held by one; daemon reaper waits for a wake-up through queue oom_wait"
    );
    assert_eq!(stall.waiting[2].kind, Kind::Daemon);
    assert_eq!(stall.waiting[2].waits_for, WaitsFor::Queue { name: "oom_wait".into() });

    // A change from outside, and the run goes on.
    let one = stall.waiting[0].task;
    assert!(executor.handle().cancel(one));
    assert_eq!(executor.run(), Ok(()));
}

#[test]
fn waiting_for_oneself_is_a_stall() {
    let mut executor = machine(1);
    let lock = executor.handle().new_lock("mmap_lock", LockKind::Sleeping);
    spawn(executor.handle(), "selfish", async move |handle| {
        let _outer = handle.lock(lock, Mode::Exclusive).await;
        let _inner = handle.lock(lock, Mode::Exclusive).await;
    });
    let error = executor.run().expect_err("it waits for itself");
    assert_eq!(
        error.to_string(),
        "the run cannot go on at 0 ns: task selfish waits for lock mmap_lock (exclusive), held by selfish"
    );
}

#[test]
fn a_task_that_waits_for_its_own_end_can_be_cancelled() {
    let mut executor = machine(1);
    let selfish = spawn(executor.handle(), "selfish", async |handle| {
        let own = handle.current().expect("in a task");
        handle.join(own).await;
    });
    spawn(executor.handle(), "judge", async move |handle| assert!(handle.cancel(selfish)));
    assert_eq!(executor.run(), Ok(()));
}

#[test]
fn a_daemon_that_ends_the_last_foreground_task_does_not_run_ahead_of_the_end() {
    let mut executor = machine(2);
    let sleeper = spawn(executor.handle(), "sleeper", async |handle| handle.sleep(ns(1000)).await);
    daemon(executor.handle(), "oom_reaper", async move |handle| {
        handle.cancel(sleeper);
        handle.spend(Class::System, ns(50)).await;
    });
    assert_eq!(executor.run(), Ok(()));
    assert_eq!(executor.handle().now(), ns(0));
}

#[test]
fn daemons_that_stay_busy_do_not_hide_a_stall() {
    let mut executor = machine(2);
    let queue = executor.handle().new_queue("never");
    spawn(executor.handle(), "waiter", async move |handle| {
        handle.spend(Class::User, ns(5)).await;
        handle.wait(queue, None).await;
    });
    daemon(executor.handle(), "khugepaged", async |handle| {
        loop {
            handle.sleep(ns(10_000_000_000)).await;
        }
    });
    let Err(RunError::Stall(stall)) = executor.run() else { panic!("nobody will wake the waiter") };
    // Found before the next thing happens, 130 s after the start.
    assert_eq!(stall.time, ns(120_000_000_000));
    assert_eq!(stall.waiting.len(), 1, "who sleeps waits for nobody");
}

#[test]
fn a_loop_without_time_is_found_whatever_it_awaits() {
    for spends in [true, false] {
        let mut executor = machine(1);
        spawn(executor.handle(), "spinner", async move |handle| {
            handle.spend(Class::User, ns(3)).await;
            loop {
                if spends {
                    handle.spend(Class::User, ns(0)).await;
                } else {
                    handle.yield_now().await;
                }
            }
        });
        assert_eq!(executor.run(), Err(RunError::NoProgress { time: ns(3), task: "spinner".into() }));
    }
}

#[test]
fn spending_nothing_often_is_no_loop_while_time_passes() {
    let mut executor = machine(1);
    spawn(executor.handle(), "worker", async move |handle| {
        for _ in 0..6_000_000 {
            handle.spend(Class::User, ns(0)).await;
            handle.spend(Class::User, ns(1)).await;
            handle.spend(Class::User, ns(0)).await;
        }
    });
    assert_eq!(executor.run(), Ok(()));
}

#[test]
fn an_executor_can_be_dropped_at_any_time_and_guards_can_outlive_it() {
    let mut executor = machine(2);
    let handle = executor.handle().clone();
    let lock = handle.new_lock("zone->lock", LockKind::Spinning);
    let kept = Rc::new(RefCell::new(None));
    let keeper = kept.clone();
    for name in ["keeper", "waiter"] {
        let kept = keeper.clone();
        spawn(&handle, name, async move |handle| {
            *kept.borrow_mut() = Some(handle.lock(lock, Mode::Exclusive).await);
            handle.spend(Class::System, ns(100)).await;
        });
    }
    assert_eq!(executor.run_until(ns(50)), Ok(()));
    drop(executor);
    drop(kept.take());
    let late = spawn(&handle, "late", async |_| unreachable!("nobody runs it"));
    assert_eq!(handle.task_stats(late).ended, Some(ns(50)));
    assert_eq!(Rc::strong_count(&kept), 2, "the futures are gone, and what they held with them");
}

#[test]
#[should_panic(expected = "task greedy awaits two operations at once")]
fn two_operations_at_once_are_a_mistake() {
    let mut executor = machine(1);
    spawn(executor.handle(), "greedy", async |handle| {
        let mut first = Box::pin(handle.sleep(ns(1)));
        let mut second = Box::pin(handle.sleep(ns(2)));
        std::future::poll_fn(|context| {
            assert!(first.as_mut().poll(context).is_pending());
            second.as_mut().poll(context)
        })
        .await;
    });
    drop(executor.run());
}

#[test]
#[should_panic(expected = "task stray awaits something that is not of this executor")]
fn awaiting_what_nobody_will_finish_is_a_mistake() {
    let mut executor = machine(1);
    spawn(executor.handle(), "stray", async |_| std::future::poll_fn(|_| Poll::<()>::Pending).await);
    drop(executor.run());
}

/// A run with a bit of everything; its digest.
fn everything(name: &'static str) -> u64 {
    let mut executor = machine(3);
    let handle = executor.handle();
    let zone = handle.new_lock("zone->lock", LockKind::Spinning);
    let mmap = handle.new_lock("mmap_lock", LockKind::Sleeping);
    let queue = handle.new_queue("kswapd_wait");
    daemon(handle, "kswapd0", async move |handle| {
        loop {
            handle.wait(queue, Some(ns(700))).await;
            let _guard = handle.lock(zone, Mode::Exclusive).await;
            handle.spend(Class::System, ns(90)).await;
        }
    });
    for _ in 0..5 {
        spawn(handle, name, async move |handle| {
            use rand_pcg::rand_core::Rng;
            let mut random = handle.stream("work");
            for _ in 0..200 {
                handle.spend(Class::User, ns(u64::from(random.next_u32() % 150))).await;
                let _shared = handle.lock(mmap, Mode::Shared).await;
                let _zone = handle.lock(zone, Mode::Exclusive).await;
                handle.spend(Class::System, ns(u64::from(random.next_u32() % 40))).await;
                if random.next_u32() % 16 == 0 {
                    handle.wake_one(queue);
                }
            }
        });
    }
    executor.run().expect("all end");
    executor.handle().digest()
}

#[test]
fn the_same_run_has_the_same_digest_everywhere() {
    assert_eq!(everything("worker"), everything("worker"));
    assert_ne!(everything("worker"), everything("other"), "names choose the random numbers");
    // Held for other processes and platforms; changes when the scheduling or the random streams do.
    assert_eq!(everything("worker"), 5_713_181_488_996_268_377);
}
