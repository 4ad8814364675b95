//! Cost of virtual time: what the host needs for a `spend`, a switch, a lock, a sleep.
//!
//! Each figure is the median of several rounds. Run with `cargo bench -p order9-machine`.

use std::time::Instant;

use order9_machine::time::{Class, Config, Executor, Handle, LockKind, Mode, TaskSpec};
use order9_units::{Nanos, NodeId};

const ROUNDS: usize = 9;
/// Operations of one round, over all tasks.
const OPS: u64 = 2_000_000;

fn main() {
    println!("{:<52} {:>9} {:>12}", "host time, median of rounds", "ns", "per second");
    row("spend, one task", tasks(1, 1, |handle, ops| async move { spend(&handle, ops).await }));
    for (cpus, plural) in [(1, ""), (8, "s")] {
        for count in [2, 8, 64] {
            let ns = tasks(cpus, count, |handle, ops| async move { spend(&handle, ops).await });
            row(&format!("spend, {count} tasks on {cpus} CPU{plural}"), ns);
        }
    }
    row("context switch: yield among 2 tasks on 1 CPU", tasks(1, 2, yields));
    row("context switch: yield among 64 tasks on 8 CPUs", tasks(8, 64, yields));
    row("sleep, one task", tasks(1, 1, sleeps));
    row("lock and unlock, nobody else", locks(1, 1, LockKind::Spinning, Mode::Exclusive));
    row("lock and unlock, 8 readers on 8 CPUs", locks(8, 8, LockKind::Sleeping, Mode::Shared));
    row("contended spinning lock, 8 tasks on 8 CPUs", locks(8, 8, LockKind::Spinning, Mode::Exclusive));
    row("contended sleeping lock, 8 tasks on 8 CPUs", locks(8, 8, LockKind::Sleeping, Mode::Exclusive));
}

fn row(what: &str, ns: f64) {
    println!("{what:<52} {ns:>9.1} {:>12.0}", 1e9 / ns);
}

/// Host time of one operation, where `count` tasks share [`OPS`] of them.
fn tasks<F: Future<Output = ()> + 'static>(cpus: usize, count: u64, task: impl Fn(Handle, u64) -> F) -> f64 {
    median(|| {
        let mut executor = machine(cpus);
        for _ in 0..count {
            let handle = executor.handle().clone();
            executor.handle().spawn(TaskSpec::new("worker"), task(handle, OPS / count)).expect("it may run anywhere");
        }
        timed(&mut executor)
    })
}

/// As [`tasks`], with a lock taken around each `spend`.
fn locks(cpus: usize, count: u64, kind: LockKind, mode: Mode) -> f64 {
    median(|| {
        let mut executor = machine(cpus);
        let lock = executor.handle().new_lock("lock", kind);
        for _ in 0..count {
            let handle = executor.handle().clone();
            let work = async move {
                for _ in 0..OPS / count {
                    let _guard = handle.lock(lock, mode).await;
                    handle.spend(Class::System, Nanos::new(100)).await;
                }
            };
            executor.handle().spawn(TaskSpec::new("worker"), work).expect("it may run anywhere");
        }
        timed(&mut executor)
    })
}

async fn spend(handle: &Handle, ops: u64) {
    for nth in 0..ops {
        handle.spend(Class::User, Nanos::new(60 + (nth & 7))).await;
    }
}

async fn yields(handle: Handle, ops: u64) {
    for _ in 0..ops {
        handle.yield_now().await;
        handle.spend(Class::User, Nanos::new(1)).await;
    }
}

async fn sleeps(handle: Handle, ops: u64) {
    for _ in 0..ops {
        handle.sleep(Nanos::new(1000)).await;
    }
}

fn machine(cpus: usize) -> Executor {
    Executor::new(Config::new(vec![NodeId(0); cpus], 1)).expect("a machine with CPUs")
}

fn timed(executor: &mut Executor) -> f64 {
    let start = Instant::now();
    executor.run().expect("every task ends");
    start.elapsed().as_secs_f64() * 1e9 / OPS as f64
}

fn median(round: impl Fn() -> f64) -> f64 {
    let mut rounds: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    rounds.sort_by(f64::total_cmp);
    rounds[ROUNDS / 2]
}
