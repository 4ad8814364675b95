//! CPU time under the scheduler of each release, and preemption by tasks that wake.

use order9_machine::time::{Class, Config, Executor, TaskSpec};
use order9_mm::policy::{Preempt, Scheduler};
use order9_units::NodeId;

use crate::{Log, daemon, ns, spawn};

/// A machine with one CPU. Its slices are 100 ns, or end at multiples of the tick where there is one.
fn machine(scheduler: Scheduler, preempt: Preempt, tick: Option<u64>) -> Executor {
    let mut config = Config::new(vec![NodeId(0)], 7);
    (config.slice, config.tick) = (ns(100), tick.map(ns));
    (config.scheduler, config.preempt) = (scheduler, preempt);
    Executor::new(config).expect("a machine with a CPU")
}

/// A program that runs for `time`, and a daemon that does a piece of work of 10 ns at each of `times`: when each piece ended.
fn served(mut executor: Executor, time: u64, times: &'static [u64]) -> Vec<u64> {
    let log = Log::default();
    let noted = log.clone();
    daemon(executor.handle(), "kcompactd0", async move |handle| {
        for &time in times {
            handle.sleep_until(ns(time)).await;
            handle.spend(Class::System, ns(10)).await;
            noted.note(&handle, "piece");
        }
        handle.sleep(ns(1_000_000)).await;
    });
    spawn(executor.handle(), "program", async move |handle| handle.spend(Class::User, ns(time)).await);
    executor.run().expect("the program ends");
    log.read().into_iter().map(|(time, _)| time).collect()
}

#[test]
fn under_cfs_a_sleeper_preempts_at_once() {
    let executor = machine(Scheduler::Cfs, Preempt::Voluntary, Some(4000));
    assert_eq!(served(executor, 20_000, &[3000, 9000]), [3010, 9010]);
}

#[test]
fn under_cfs_a_credit_is_half_the_latency_at_most() {
    let mut executor = machine(Scheduler::Cfs, Preempt::Voluntary, None);
    let log = Log::default();
    let noted = log.clone();
    daemon(executor.handle(), "kcompactd0", async move |handle| {
        handle.sleep_until(ns(5000)).await;
        handle.spend(Class::System, ns(3000)).await;
    });
    spawn(executor.handle(), "program", async move |handle| {
        handle.spend(Class::User, ns(5100)).await;
        noted.note(&handle, "program");
    });
    executor.run().expect("the program ends");
    // The daemon has 400 ns for its sleep of 5000, and the program is next when those are used up.
    assert_eq!(log.read(), [(5500, "program")]);
}

#[test]
fn under_eevdf_who_has_begun_its_slice_ends_it() {
    // The program wakes at 2980 and has a slice of 100 ns, whose end is seen at the tick.
    for (woken, expected) in [(2980, 4010), (2000, 3010)] {
        let mut executor = machine(Scheduler::Eevdf, Preempt::Voluntary, Some(4000));
        let log = Log::default();
        let noted = log.clone();
        daemon(executor.handle(), "kcompactd0", async move |handle| {
            handle.sleep_until(ns(3000)).await;
            handle.spend(Class::System, ns(10)).await;
            noted.note(&handle, "piece");
        });
        spawn(executor.handle(), "program", async move |handle| {
            handle.sleep_until(ns(woken)).await;
            handle.spend(Class::User, ns(20_000)).await;
        });
        executor.run().expect("the program ends");
        assert_eq!(log.read(), [(expected, "piece")]);
    }
}

#[test]
fn under_eevdf_who_had_more_waits_and_who_had_as_much_does_not() {
    // The daemon goes to sleep 10 ns ahead of the program. It still is at 9000, unless it works that off.
    let pieces = |scheduler| served(machine(scheduler, Preempt::Voluntary, Some(4000)), 20_000, &[3000, 9000]);
    assert_eq!(pieces(Scheduler::Eevdf), [3010, 12_010]);
    assert_eq!(pieces(Scheduler::EevdfDelayed), [3010, 9010]);
}

/// A daemon that got ahead of the program while it ran for 3900 ns, slept, and wants 10 ns more at 97,000 ns: when it had them.
fn after_too_much(scheduler: Scheduler) -> u64 {
    let mut executor = machine(scheduler, Preempt::Voluntary, Some(4000));
    let log = Log::default();
    let noted = log.clone();
    daemon(executor.handle(), "kcompactd0", async move |handle| {
        handle.spend(Class::System, ns(3900)).await;
        handle.sleep_until(ns(97_000)).await;
        handle.spend(Class::System, ns(10)).await;
        noted.note(&handle, "piece");
        handle.sleep(ns(1_000_000)).await;
    });
    spawn(executor.handle(), "program", async move |handle| handle.spend(Class::User, ns(200_000)).await);
    executor.run().expect("the program ends");
    log.read()[0].0
}

#[test]
fn a_debt_outlasts_a_sleep_up_to_6_11_alone() {
    assert_eq!(after_too_much(Scheduler::EevdfDelayed), 97_010);
    assert_eq!(after_too_much(Scheduler::Eevdf), 104_010);
}

#[test]
fn a_nice_task_has_a_sixty_eighth_of_the_cpu() {
    for scheduler in [Scheduler::Cfs, Scheduler::Eevdf, Scheduler::EevdfDelayed] {
        let mut executor = machine(scheduler, Preempt::Voluntary, None);
        let handle = executor.handle().clone();
        let nice = TaskSpec::new("khugepaged").daemon().nice(19);
        let background = handle.spawn(nice, {
            let handle = handle.clone();
            async move {
                loop {
                    handle.spend(Class::System, ns(50)).await;
                }
            }
        });
        let background = background.expect("it may run anywhere");
        spawn(executor.handle(), "program", async move |handle| handle.spend(Class::User, ns(1_000_000)).await);
        executor.run().expect("the program ends");
        let had = executor.handle().task_stats(background).system.get();
        assert!((13_000..16_500).contains(&had), "{scheduler:?}: {had} ns of {}", handle.now().get());
    }
}

#[test]
fn lazy_preemption_lets_the_kernel_go_on_to_the_next_tick() {
    let ends = |preempt, class| {
        let mut executor = machine(Scheduler::EevdfDelayed, preempt, Some(4000));
        let log = Log::default();
        for name in ["first", "second"] {
            let log = log.clone();
            spawn(executor.handle(), name, async move |handle| {
                handle.spend(class, ns(6000)).await;
                log.note(&handle, name);
            });
        }
        executor.run().expect("both end");
        log.read()[0].0
    };
    assert_eq!(ends(Preempt::Voluntary, Class::System), 10_000);
    assert_eq!(ends(Preempt::Lazy, Class::User), 10_000);
    assert_eq!(ends(Preempt::Lazy, Class::System), 6000);
}
