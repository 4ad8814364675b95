//! What the executor promises, one small scene each.

mod alarms;
mod endings;
mod locks;
mod scheduling;
mod shares;

use std::cell::RefCell;
use std::rc::Rc;

use order9_machine::time::{Config, Executor, Handle, TaskId, TaskSpec};
use order9_units::{Nanos, NodeId};

/// A machine with `cpus` CPUs on node 0 and slices of 100 ns.
fn machine(cpus: usize) -> Executor {
    let mut config = Config::new(vec![NodeId(0); cpus], 7);
    config.slice = ns(100);
    Executor::new(config).expect("a machine with CPUs")
}

fn ns(n: u64) -> Nanos {
    Nanos::new(n)
}

/// Spawns a foreground task whose code gets its own handle.
fn spawn<F: Future<Output = ()> + 'static>(handle: &Handle, name: &str, code: impl FnOnce(Handle) -> F) -> TaskId {
    handle.spawn(TaskSpec::new(name), code(handle.clone())).expect("it may run anywhere")
}

/// As [`spawn`], but a daemon.
fn daemon<F: Future<Output = ()> + 'static>(handle: &Handle, name: &str, code: impl FnOnce(Handle) -> F) -> TaskId {
    handle.spawn(TaskSpec::new(name).daemon(), code(handle.clone())).expect("it may run anywhere")
}

/// What happened when, as tasks tell it.
#[derive(Clone, Default)]
struct Log(Rc<RefCell<Vec<(u64, &'static str)>>>);

impl Log {
    fn note(&self, handle: &Handle, what: &'static str) {
        self.0.borrow_mut().push((handle.now().get(), what));
    }

    fn read(&self) -> Vec<(u64, &'static str)> {
        self.0.borrow().clone()
    }
}
