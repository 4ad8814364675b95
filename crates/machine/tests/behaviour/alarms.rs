//! Code that needs no CPU.

use std::cell::Cell;
use std::rc::Rc;

use order9_machine::time::{AlarmId, Class, RunError, Wake};

use crate::{Log, daemon, machine, ns, spawn};

#[test]
fn an_alarm_goes_off_at_its_time_while_every_cpu_is_busy() {
    let mut executor = machine(1);
    let log = Log::default();
    let handle = executor.handle().clone();
    let noted = log.clone();
    let alarm = executor.handle().new_alarm("disk", move || {
        assert_eq!((handle.current(), handle.cpu()), (None, None));
        noted.note(&handle, "alarm");
    });
    executor.handle().set_alarm(alarm, Some(ns(30)));
    let noted = log.clone();
    spawn(executor.handle(), "busy", async move |handle| {
        handle.spend(Class::User, ns(50)).await;
        noted.note(&handle, "spent");
        // In the past is now, but not within this call.
        handle.set_alarm(alarm, Some(ns(10)));
        noted.note(&handle, "set");
        handle.spend(Class::User, ns(50)).await;
    });
    executor.run().expect("it ends");
    assert_eq!(log.read(), [(30, "alarm"), (50, "spent"), (50, "set"), (50, "alarm")]);
}

#[test]
fn setting_an_alarm_again_moves_it_and_none_stops_it() {
    let mut executor = machine(1);
    let log = Log::default();
    let set = |name, times: &[Option<u64>]| {
        let (handle, log) = (executor.handle().clone(), log.clone());
        let alarm: AlarmId = executor.handle().new_alarm(name, move || log.note(&handle, name));
        times.iter().for_each(|time| executor.handle().set_alarm(alarm, time.map(ns)));
    };
    set("later", &[Some(10), Some(40)]);
    set("earlier", &[Some(50), Some(20)]);
    set("never", &[Some(30), None]);
    executor.run_until(ns(100)).expect("nobody waits");
    assert_eq!(log.read(), [(20, "earlier"), (40, "later")]);
}

#[test]
fn an_alarm_wakes_and_sets_itself_again() {
    let mut executor = machine(1);
    let queue = executor.handle().new_queue("ticks");
    let alarm = Rc::new(Cell::new(None));
    let (handle, itself) = (executor.handle().clone(), Rc::clone(&alarm));
    let tick = move || {
        handle.wake_all(queue);
        handle.set_alarm(itself.get().expect("it was set"), Some(handle.now() + ns(10)));
    };
    alarm.set(Some(executor.handle().new_alarm("tick", tick)));
    executor.handle().set_alarm(alarm.get().expect("it was made"), Some(ns(10)));
    spawn(executor.handle(), "waiter", async move |handle| {
        for tick in 1..=3 {
            assert_eq!(handle.wait(queue, None).await, Wake::Woken);
            assert_eq!(handle.now(), ns(10 * tick));
        }
    });
    executor.run().expect("an alarm keeps no run alive");
    assert_eq!(executor.handle().now(), ns(30));
}

#[test]
fn alarms_that_make_no_time_pass_are_found_by_name() {
    let mut executor = machine(1);
    let alarm = Rc::new(Cell::new(None));
    let (handle, itself) = (executor.handle().clone(), Rc::clone(&alarm));
    let again = move || handle.set_alarm(itself.get().expect("it was set"), Some(handle.now()));
    alarm.set(Some(executor.handle().new_alarm("stuck", again)));
    executor.handle().set_alarm(alarm.get().expect("it was made"), Some(ns(7)));
    daemon(executor.handle(), "idle", async |handle| handle.sleep(ns(1000)).await);
    let error = executor.run_until(ns(100)).expect_err("no time passes");
    assert_eq!(error, RunError::NoProgress { time: ns(7), task: "stuck".to_owned() });
}
