//! The scan of NUMA balancing that a task makes of its own memory, on its way back to the program.

use order9_units::Nanos;

use crate::numa_balancing::NumaTask;
use crate::tasks::user_task::UserTask;

/// Takes the access to a window of the memory away (`task_numa_work`). Where the lock of the address space is taken, this scan is
/// left out. `runtime` is the CPU time that the task has used.
pub async fn task_numa_work<E: UserTask>(env: &E, task: NumaTask, now: Nanos, runtime: impl Fn() -> Nanos) {
    let Some(mut run) = env.with(|mm| mm.numa_scan_begin(env.identity(), task, now)) else { return };
    let Some(_lock) = env.mmap_read_trylock() else { return };
    let before = runtime();
    while env.with(|mm| mm.numa_scan_step(&mut run)) {
        env.preemption_point().await;
        env.spend().await;
    }
    env.spend().await;
    let took = Nanos::new(runtime().get() - before.get());
    env.with(|mm| mm.pages.spaces.numa_scan_took(&run, took));
}
