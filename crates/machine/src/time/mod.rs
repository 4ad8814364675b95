//! Tasks on virtual CPUs, in virtual time.
//!
//! Key types: [`Executor`] (owns a run), [`Handle`] (what tasks and set-up code hold), [`TaskSpec`], [`Guard`] (a held
//! lock), [`Stall`] (who waits for what when nobody can go on). A task is an `async` block, boxed once when it is
//! spawned; no await allocates. One thread, no unsafe code, no wall clock, nothing unordered.
//!
//! Never knows what its tasks do: memory, prices and workloads lie above.
//!
//! ```
//! use order9_machine::time::{Class, Config, Executor, TaskSpec};
//! use order9_units::{Nanos, NodeId};
//!
//! let mut executor = Executor::new(Config::new(vec![NodeId(0); 2], 1))?;
//! let handle = executor.handle().clone();
//! executor.handle().spawn(TaskSpec::new("worker"), async move {
//!     handle.spend(Class::User, Nanos::new(500)).await;
//!     handle.sleep(Nanos::new(1500)).await;
//! })?;
//! executor.run()?;
//! assert_eq!(executor.handle().now(), Nanos::new(2000));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Time and causality
//!
//! **The rule.** The code of a task between two awaits runs at one instant, [`Handle::now`]. These instants never
//! decrease in the order in which code really runs, whichever task it belongs to. Every interaction (taking or dropping
//! a lock, waking, spawning, touching shared state) is such code: none is ever made at an instant that another task
//! could still precede. A lock is therefore never granted to somebody while an earlier claim is outstanding.
//!
//! **How.** What will happen is kept on an agenda: for each busy CPU the end of its task's segment, the timers, and the
//! alarms, whose code runs between tasks and needs no CPU, as the interrupt of a device does. Each entry has a key
//! `(time, sequence number)`, the number drawn when the entry is made. The executor takes the least entry, sets the
//! clock to its time, and runs what it is for until that awaits again, or ends. Entries are only made for
//! `now` or later, so the clock never goes back, and keys are unique, so the order is total.
//!
//! **Running ahead.** `spend` of a task that nobody could disturb does not go through the agenda: with the *horizon*
//! as the earliest time of any entry, of the slice's end if somebody waits for this CPU, and of the limits of the run,
//! a `spend` that ends before the horizon moves the clock and returns at once. Proof that nobody can tell: had it made
//! its entry, that one would have been strictly the least (all others are at or past the horizon), the executor would
//! have taken it next, and found the same task, the same state and the same clock. Sequence numbers would be larger,
//! but their order among other entries the same. The horizon shrinks as soon as the task itself makes an entry (wakes,
//! spawns, drops a lock), because every such call computes it anew. `tests/reference` checks this with random
//! programs against a simulator that knows no running ahead.
//!
//! **What follows for callers.** State changes happen at the start of the work they stand for: code changes state, then
//! spends its price. Whoever must not be seen half-way holds a lock across the `spend`. Between two awaits no other task
//! runs, so looking and then waiting loses no wake-up.
//!
//! # Scheduling
//!
//! Each CPU shares its time out among its tasks by the rules of a release ([`Scheduler`](order9_mm::policy::Scheduler)): who is next, for how long, and whether
//! a task that wakes preempts the one that runs. A task that becomes ready takes an idle CPU (its last one, else one of that
//! node, else any), or else joins the shortest queue, with the same preferences. A new task prefers the node with the fewest
//! tasks to its parent's, as a fork does on Linux. A CPU that falls idle takes over a waiting task from the longest queue. So no CPU is idle while a task that may run there waits, but for one that was preempted by a task that woke: that works
//! for a moment as a rule, for which Linux moves nobody. A task
//! that binds itself to other CPUs leaves its own at once, for the best of these by the same preferences. A task that holds, or spins for, a spinning lock is not preempted and may not sleep, as in the
//! kernel.

mod alarm;
mod config;
mod cpu;
mod executor;
mod fair;
mod handle;
mod lock;
mod queue;
mod share;
mod stall;
mod stats;
mod switches;
mod task;
mod timer;
mod world;

pub use alarm::AlarmId;
pub use config::{Config, ConfigError};
pub use cpu::{CpuId, CpuSet, NoSuchCpu};
pub use executor::Executor;
pub use handle::Handle;
pub use lock::{Guard, LockId, LockKind, Mode};
pub use queue::{QueueId, Wake};
pub use stall::{RunError, Stall, WaitingTask, WaitsFor};
pub use stats::{CpuStats, LockStats, TaskStats};
pub use switches::{PrevState, Switch};
pub use task::{Class, Exit, Kind, SpawnError, TaskId, TaskSpec};
