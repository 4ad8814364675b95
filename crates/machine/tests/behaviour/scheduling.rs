//! Who runs where and when.

use order9_machine::time::{
    Class, Config, ConfigError, CpuId, CpuSet, Executor, NoSuchCpu, SpawnError, TaskSpec, Wake,
};
use order9_mm::policy::Scheduler;
use order9_units::NodeId;

use crate::{Log, machine, ns, spawn};

#[test]
fn a_machine_without_cpus_is_an_error_and_one_without_tasks_is_done() {
    assert_eq!(Executor::new(Config::new(vec![], 0)).err(), Some(ConfigError::NoCpus));
    let mut executor = machine(1);
    assert_eq!(executor.run(), Ok(()));
    assert_eq!(executor.handle().now(), ns(0));
    assert_eq!(executor.run_until(ns(50)), Ok(()));
    assert_eq!(executor.handle().now(), ns(50));
    assert_eq!(executor.handle().cpu_stats(CpuId(0)).map(|cpu| cpu.idle), Some(ns(50)));
    assert_eq!(executor.handle().cpu_stats(CpuId(1)), None);
}

#[test]
fn two_tasks_on_one_cpu_take_turns_by_slices() {
    let mut executor = machine(1);
    let log = Log::default();
    let [first, second] = ["first", "second"].map(|name| {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            handle.spend(Class::User, ns(250)).await;
            log.note(&handle, name);
        })
    });
    executor.run().expect("both end");
    // Half a slice each at first: 0-50 first, 50-100 second, 100-200 first, 200-300 second, 300-400 first, 400-500 second.
    assert_eq!(log.read(), [(400, "first"), (500, "second")]);
    assert_eq!(executor.handle().task_stats(first).run_queue, ns(150));
    assert_eq!(executor.handle().task_stats(second).preemptions, 2);
}

#[test]
fn three_tasks_share_two_cpus_of_a_node_evenly_where_cpus_balance() {
    let waits = |nodes: [u16; 2], balance_interval| {
        let mut config = Config::new(nodes.map(NodeId).to_vec(), 7);
        (config.slice, config.balance_interval) = (ns(10), balance_interval);
        let mut executor = Executor::new(config).expect("a machine with CPUs");
        let tasks = ["a", "b", "c"]
            .map(|name| spawn(executor.handle(), name, async move |handle| handle.spend(Class::User, ns(3_000)).await));
        executor.run_until(ns(1_500)).expect("none ends");
        let mut waits = tasks.map(|task| executor.handle().task_stats(task).run_queue.get());
        waits.sort_unstable();
        waits
    };
    let balances = Some(ns(25));
    assert_eq!(waits([0, 0], None)[0], 0, "without balancing one has a CPU for itself");
    assert_eq!(waits([0, 1], balances)[0], 0, "so it has where the CPUs are of two nodes");
    let waits = waits([0, 0], balances);
    assert!(waits.iter().all(|wait| (450..=550).contains(wait)), "each waits for a third of the time: {waits:?}");
}

#[test]
fn where_there_is_a_tick_it_ends_slices() {
    let mut config = Config::new(vec![NodeId(0)], 7);
    (config.slice, config.tick) = (ns(100), Some(ns(130)));
    let mut executor = Executor::new(config).expect("a machine with a CPU");
    let log = Log::default();
    let late = log.clone();
    spawn(executor.handle(), "late", async move |handle| {
        handle.sleep(ns(385)).await;
        handle.spend(Class::User, ns(10)).await;
        late.note(&handle, "late");
    });
    for name in ["first", "second"] {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            handle.spend(Class::User, ns(250)).await;
            log.note(&handle, name);
        });
    }
    executor.run().expect("all end");
    // 0-130 first, 130-260 second, 260-380 first, 380-500 second: its slice ends at 480, which the tick at 520 would see.
    assert_eq!(log.read(), [(380, "first"), (500, "second"), (510, "late")]);
}

#[test]
fn a_task_that_had_to_make_room_is_due_for_rescheduling_until_it_goes_on() {
    let mut executor = machine(1);
    let log = Log::default();
    for name in ["first", "second"] {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            for time in [50, 100, 10] {
                handle.spend(Class::System, ns(time)).await;
                log.note(&handle, if handle.need_resched() { "due" } else { "not due" });
            }
        });
    }
    executor.run().expect("both end");
    // 0-50 first, 50-100 second, 100-200 first, 200-300 second, 300-310 first, 310-320 second. The last spend of each begins
    // where its slice ends.
    let due = [50, 100, 200, 300, 310, 320].map(|time| (time, "due"));
    assert_eq!(log.read(), due);
}

#[test]
fn a_task_that_wakes_another_when_its_slice_ends_makes_room_at_once() {
    let mut config = Config::new(vec![NodeId(0)], 7);
    (config.slice, config.scheduler) = (ns(10), Scheduler::Cfs);
    let mut executor = Executor::new(config).expect("a machine with a CPU");
    let queue = executor.handle().new_queue("wait");
    let log = Log::default();
    let woken = log.clone();
    spawn(executor.handle(), "woken", async move |handle| {
        handle.wait(queue, None).await;
        woken.note(&handle, "woken");
    });
    let waker = log.clone();
    spawn(executor.handle(), "waker", async move |handle| {
        handle.spend(Class::User, ns(100)).await;
        // Takes no time, whether or not it goes through the agenda: the slice ends now all the same.
        handle.spend(Class::User, ns(0)).await;
        handle.wake_one(queue);
        handle.spend(Class::User, ns(0)).await;
        waker.note(&handle, "waker");
    });
    executor.run().expect("both end");
    assert_eq!(log.read(), [(100, "woken"), (100, "waker")]);
}

#[test]
fn a_context_switch_takes_its_price_from_the_cpu() {
    let mut config = Config::new(vec![NodeId(0)], 0);
    config.context_switch = ns(30);
    let mut executor = Executor::new(config).expect("a machine with a CPU");
    let task = spawn(executor.handle(), "worker", async |handle| {
        handle.spend(Class::System, ns(10)).await;
        // Nobody else ran meanwhile: no second switch.
        handle.sleep(ns(5)).await;
        handle.spend(Class::User, ns(1)).await;
    });
    executor.run().expect("it ends");
    let stats = executor.handle().task_stats(task);
    assert_eq!(executor.handle().now(), ns(46));
    assert_eq!((stats.switching, stats.system, stats.user, stats.sleep), (ns(30), ns(10), ns(1), ns(5)));
    let cpu = executor.handle().cpu_stats(CpuId(0)).expect("CPU 0");
    assert_eq!((cpu.busy, cpu.idle, cpu.context_switches), (ns(41), ns(5), 1));
}

#[test]
fn an_idle_cpu_takes_over_a_task_that_waits_for_another() {
    let mut executor = machine(2);
    let log = Log::default();
    for (name, time) in [("long", 1000), ("short", 60), ("third", 40)] {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            handle.spend(Class::User, ns(time)).await;
            log.note(&handle, name);
        });
    }
    executor.run().expect("all end");
    // "third" has CPU 0 from 50 on, and "long" goes on where "short" was.
    assert_eq!(log.read(), [(60, "short"), (90, "third"), (1010, "long")]);
}

#[test]
fn a_bound_task_stays_on_its_node() {
    let config = Config::new(vec![NodeId(0), NodeId(0), NodeId(1)], 0);
    let mut executor = Executor::new(config).expect("a machine with CPUs");
    let handle = executor.handle().clone();
    let bound = TaskSpec::new("bound").on(handle.cpus_of(NodeId(1)));
    let log = Log::default();
    for name in ["one", "two"] {
        let (handle, log) = (handle.clone(), log.clone());
        let code = async move {
            handle.spend(Class::User, ns(10)).await;
            assert_eq!(handle.cpu(), Some(CpuId(2)));
            log.note(&handle, name);
        };
        executor.handle().spawn(bound.clone(), code).expect("node 1 has a CPU");
    }
    executor.run().expect("both end");
    assert_eq!(log.read(), [(10, "one"), (20, "two")]);
}

#[test]
fn a_task_that_can_run_nowhere_is_refused_by_name() {
    let executor = machine(2);
    let nowhere = TaskSpec::new("lost").on(CpuSet::default());
    let error = executor.handle().spawn(nowhere, async {}).expect_err("its CPU set is empty");
    assert_eq!(error.to_string(), "task lost may run on no CPU: its CPU set is empty");
    let beyond = TaskSpec::new("far").on([CpuId(0), CpuId(9)].into_iter().collect());
    let error = executor.handle().spawn(beyond, async {}).expect_err("there is no CPU 9");
    assert_eq!(error, SpawnError::UnknownCpu { task: "far".into(), cpu: CpuId(9), last: CpuId(1) });
    assert_eq!(error.to_string(), "task far is bound to CPU 9, but this machine has CPUs 0 to 1");
    assert_eq!(executor.handle().tasks().count(), 0);
}

#[test]
fn waiters_wake_in_order_and_time_out_on_their_own() {
    let mut executor = machine(4);
    let queue = executor.handle().new_queue("kswapd_wait");
    let log = Log::default();
    for (name, timeout) in [("a", None), ("b", Some(ns(10))), ("c", None)] {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            let wake = handle.wait(queue, timeout).await;
            assert_eq!(wake, if name == "b" { Wake::TimedOut } else { Wake::Woken });
            log.note(&handle, name);
        });
    }
    spawn(executor.handle(), "waker", async move |handle| {
        handle.sleep(ns(20)).await;
        assert!(handle.wake_one(queue));
        handle.spend(Class::User, ns(20)).await;
        assert_eq!(handle.wake_all(queue), 1);
        assert!(!handle.wake_one(queue));
    });
    executor.run().expect("all end");
    assert_eq!(log.read(), [(10, "b"), (20, "a"), (40, "c")]);
}

#[test]
fn yielding_lets_what_is_due_now_happen_first() {
    let mut executor = machine(1);
    let log = Log::default();
    for name in ["a", "b"] {
        let log = log.clone();
        spawn(executor.handle(), name, async move |handle| {
            log.note(&handle, name);
            handle.yield_now().await;
            log.note(&handle, name);
        });
    }
    executor.run().expect("both end");
    assert_eq!(log.read(), [(0, "a"), (0, "b"), (0, "a"), (0, "b")]);
}

/// A task of 30 ns in three parts, before each of which it makes way.
fn spawn_who_makes_way(executor: &Executor, log: &Log) {
    let log = log.clone();
    spawn(executor.handle(), "background", async move |handle| {
        for _ in 0..3 {
            handle.make_way().await;
            handle.spend(Class::System, ns(10)).await;
            log.note(&handle, "background");
        }
    });
}

fn spawn_worker(executor: &Executor, log: &Log, time: u64) {
    let log = log.clone();
    spawn(executor.handle(), "worker", async move |handle| {
        handle.spend(Class::User, ns(time)).await;
        log.note(&handle, "worker");
    });
}

#[test]
fn who_makes_way_lets_others_have_their_slices_first() {
    let mut executor = machine(1);
    let log = Log::default();
    spawn_who_makes_way(&executor, &log);
    spawn_worker(&executor, &log, 250);
    executor.run().expect("both end");
    assert_eq!(log.read(), [(60, "background"), (170, "background"), (270, "worker"), (280, "background")]);
}

#[test]
fn who_makes_way_gives_its_cpu_to_whoever_waits_for_another_one() {
    let mut executor = machine(2);
    let log = Log::default();
    spawn_who_makes_way(&executor, &log);
    spawn_worker(&executor, &log, 90);
    spawn_worker(&executor, &log, 90);
    executor.run().expect("all end");
    // It has its turn after half a slice of one worker, and lets that end before it goes on.
    let log = log.read();
    assert_eq!(log[..3], [(60, "background"), (90, "worker"), (100, "worker")]);
    assert_eq!(log[3..], [(100, "background"), (110, "background")]);
}

#[test]
fn who_makes_way_goes_on_at_once_where_nobody_waits() {
    let mut executor = machine(2);
    let log = Log::default();
    spawn_who_makes_way(&executor, &log);
    spawn_worker(&executor, &log, 15);
    executor.run().expect("both end");
    assert_eq!(log.read(), [(10, "background"), (15, "worker"), (20, "background"), (30, "background")]);
}

#[test]
fn random_numbers_of_a_task_do_not_depend_on_other_tasks() {
    use rand_pcg::rand_core::Rng;
    let draw = |others: usize| {
        let mut executor = machine(2);
        for _ in 0..others {
            spawn(executor.handle(), "other", async |handle| handle.sleep(ns(1)).await);
        }
        let log = std::rc::Rc::new(std::cell::Cell::new(0));
        let drawn = log.clone();
        spawn(executor.handle(), "worker", async move |handle| drawn.set(handle.stream("touch").next_u64()));
        executor.run().expect("all end");
        log.get()
    };
    assert_eq!(draw(0), draw(3));
}

#[test]
fn children_spread_over_the_nodes() {
    let nodes = vec![NodeId(0), NodeId(0), NodeId(1), NodeId(1)];
    let mut executor = Executor::new(Config::new(nodes, 0)).expect("a machine with CPUs");
    let log = Log::default();
    let noted = log.clone();
    spawn(executor.handle(), "parent", async move |handle| {
        for name in ["first", "second", "third"] {
            let log = noted.clone();
            spawn(&handle, name, async move |handle| {
                let cpu = handle.cpu().expect("its code runs");
                handle.spend(Class::User, ns(50)).await;
                log.0.borrow_mut().push((u64::from(cpu.0), name));
            });
        }
        handle.spend(Class::User, ns(100)).await;
    });
    executor.run().expect("all end");
    assert_eq!(log.read(), [(2, "first"), (1, "second"), (3, "third")], "CPUs 2 and 3 are on node 1");
}

#[test]
fn a_task_that_is_bound_elsewhere_leaves_its_cpu_at_once() {
    let mut executor = machine(2);
    let log = Log::default();
    let busy = log.clone();
    let mover = log.clone();
    spawn(executor.handle(), "mover", async move |handle| {
        assert_eq!((handle.cpu(), handle.affinity()), (Some(CpuId(0)), None));
        let none = [CpuId(2), CpuId(700)].into_iter().collect();
        assert_eq!(handle.set_affinity(&none).await, Err(NoSuchCpu));
        let second: CpuSet = [CpuId(1), CpuId(2)].into_iter().collect();
        handle.set_affinity(&second).await.expect("there is a second CPU");
        // The task there has its slice first.
        assert_eq!((handle.cpu(), handle.affinity()), (Some(CpuId(1)), Some([CpuId(1)].into_iter().collect())));
        mover.note(&handle, "moved");
        handle.spend(Class::User, ns(10)).await;
    });
    spawn(executor.handle(), "busy", async move |handle| {
        let here: CpuSet = [CpuId(1)].into_iter().collect();
        handle.set_affinity(&here).await.expect("there is a second CPU");
        handle.spend(Class::User, ns(150)).await;
        busy.note(&handle, "busy");
    });
    executor.run().expect("both end");
    assert_eq!(log.read(), [(50, "moved"), (160, "busy")]);
    assert_eq!(executor.handle().cpu_stats(CpuId(0)).map(|cpu| cpu.busy), Some(ns(0)));
}

/// A task for these CPUs that says when it is done, and where.
fn spawn_bound(executor: &Executor, log: &Log, name: &'static str, cpus: &[u16], time: u64) {
    let (handle, log) = (executor.handle().clone(), log.clone());
    let spec = TaskSpec::new(name).on(cpus.iter().map(|&cpu| CpuId(cpu)).collect());
    let code = async move {
        handle.spend(Class::User, ns(time)).await;
        log.note(&handle, name);
    };
    executor.handle().spawn(spec, code).expect("there are these CPUs");
}

#[test]
fn an_idle_cpu_takes_from_the_longest_queue() {
    let mut executor = machine(3);
    let log = Log::default();
    spawn_bound(&executor, &log, "busy", &[0], 1000);
    spawn_bound(&executor, &log, "busy", &[1], 1000);
    for _ in 0..3 {
        spawn_bound(&executor, &log, "own", &[2], 10);
    }
    spawn_bound(&executor, &log, "behind one", &[0, 2], 10);
    spawn_bound(&executor, &log, "behind two", &[1, 2], 10);
    spawn_bound(&executor, &log, "behind two", &[1, 2], 10);
    executor.run_until(ns(60)).expect("nothing goes wrong");
    let own = [(10, "own"), (20, "own"), (30, "own")];
    assert_eq!(log.read(), [&own, [(40, "behind two"), (50, "behind one"), (60, "behind two")].as_slice()].concat());
}

#[test]
fn among_equal_queues_an_idle_cpu_takes_from_its_own_node() {
    let config = Config::new(vec![NodeId(0), NodeId(1), NodeId(1)], 0);
    let mut executor = Executor::new(config).expect("a machine with CPUs");
    let log = Log::default();
    spawn_bound(&executor, &log, "busy", &[0], 1000);
    spawn_bound(&executor, &log, "busy", &[1], 1000);
    for _ in 0..2 {
        spawn_bound(&executor, &log, "own", &[2], 10);
    }
    spawn_bound(&executor, &log, "far", &[0, 2], 10);
    spawn_bound(&executor, &log, "near", &[1, 2], 10);
    executor.run_until(ns(40)).expect("nothing goes wrong");
    assert_eq!(log.read(), [(10, "own"), (20, "own"), (30, "near"), (40, "far")]);
}

#[test]
fn a_task_whose_cpu_is_taken_goes_to_another_of_its_node() {
    let config = Config::new(vec![NodeId(0), NodeId(1), NodeId(1)], 0);
    let mut executor = Executor::new(config).expect("a machine with CPUs");
    let log = Log::default();
    spawn_bound(&executor, &log, "short", &[0], 5);
    spawn_bound(&executor, &log, "short", &[1], 5);
    spawn(executor.handle(), "wanderer", async |handle| {
        handle.spend(Class::User, ns(1)).await;
        assert_eq!(handle.cpu(), Some(CpuId(2)), "the idle one");
        handle.sleep(ns(20)).await;
        handle.spend(Class::User, ns(1)).await;
        assert_eq!(handle.cpu(), Some(CpuId(1)));
    });
    spawn_bound(&executor, &log, "long", &[2], 100);
    executor.run().expect("all end");
    assert_eq!(log.read(), [(5, "short"), (5, "short"), (101, "long")]);
}
