//! A machine that runs a program: engine, CPUs, prices.

use std::cell::RefCell;
use std::future::Future;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use order9_mm::hugetlb::PoolSize;
use order9_mm::policy::Scheduler;
use order9_mm::{Mm, SWAP_MAX, SpaceId};
use order9_units::{Bytes, Nanos, NodeId, Pages};
use order9_workloads::{ChildKind, Facts, Parameters, Stop, Times, Workload, run_as_chosen};

use crate::cost::{Picos, Prices};
use crate::disk::DiskError;
use crate::events::TraceKinds;
use crate::huge_prices::huge_prices;
use crate::kernel::{Engine, Kernel};
use crate::process::{Body, boxed};
use crate::readings::Clock;
use crate::results::{Outcome, Results};
use crate::storage::MachineDisk;
use crate::thread::Thread;
use crate::time::{Config, ConfigError, Executor, RunError};
use crate::variation::Variation;

/// A machine in virtual time, ready to run a program.
pub struct Machine {
    executor: Executor,
    kernel: Rc<Kernel>,
    sample_every: Nanos,
    pools: Vec<PoolSize>,
    sample_finely: bool,
    guard: Option<order9_guard::Config>,
    stop: Option<Arc<AtomicBool>>,
}

/// Why there is no such machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MachineError {
    /// CPUs or slice are wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is no such disk.
    #[error("disk {name}: {error}")]
    Disk {
        /// Name of the disk.
        name: String,
        /// The refusal of its specification.
        error: DiskError,
    },
    /// More swap than slots can be numbered.
    #[error("swap on all disks together is at most {} pages, got {}", SWAP_MAX.get(), .0.get())]
    TooMuchSwap(Pages),
}

/// A moment at which counters are read.
pub struct Tick<'e> {
    /// The present time.
    pub now: Nanos,
    /// The engine.
    pub engine: &'e Engine,
    /// Whether it is one at the usual interval, or the last one; others come in between while a run is young.
    pub is_usual: bool,
    /// Whether the run is over.
    pub is_last: bool,
    kernel: &'e Kernel,
}

impl Tick<'_> {
    /// `/proc/diskstats`: a line for each disk, numbered as Linux numbers `sda` and those after it.
    #[must_use]
    pub fn diskstats(&self) -> String {
        let disks = (0..).zip(self.kernel.storage.disks());
        disks.map(|(nth, disk)| disk.stats().line(SCSI_DISK_MAJOR, 16 * nth, disk.name()) + "\n").collect()
    }
}

/// Device number of disks, each with 15 numbers for partitions.
const SCSI_DISK_MAJOR: u32 = 8;

/// Settings of a machine's run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed of every random stream, and what the run differs in: [`Variation`].
    pub seed: u64,
    /// Time that a task may run while others wait for its CPU; not zero.
    pub slice: Nanos,
    /// Period of the timer interrupt, which ends slices; not zero. Without it a slice ends when it is used up.
    pub tick: Option<Nanos>,
    /// Interval between two readings of the counters; not zero.
    pub sample_every: Nanos,
    /// Whether they are read more often at first, so that a short run has some hundred readings, too.
    pub sample_finely: bool,
    /// Number of steps of the engine after which all its laws are checked; `None` is never.
    pub check_every: Option<NonZeroU64>,
    /// Kinds of trace events that are kept.
    pub trace: TraceKinds,
    /// Largest number of trace events that are kept.
    pub trace_max: usize,
    /// Disks of the machine. Swap is used in their order.
    pub disks: Vec<MachineDisk>,
    /// Sizes of hugetlb pools that a program writes, in this order, before the first program of the run starts.
    pub pools: Vec<PoolSize>,
    /// Available memory before anything starts, where some is in use already. Programs size themselves by it.
    pub available: Option<Bytes>,
    /// Memory that programs must leave alone: it does not count as available to them. A program that measures a real host is told the same.
    pub reserve: Bytes,
    /// Goals and budgets of a guard that keeps huge pages ready beside the programs; `None` is without one.
    pub guard: Option<order9_guard::Config>,
    /// Raised where nobody wants the results any more: the run then ends at its next reading of the counters, with results that
    /// are of no use.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Options {
    /// Slices of 3 ms, counters every second, no checks, no events, no disks, memory that nothing uses.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let (slice, sample_every) = (Nanos::new(3_000_000), Nanos::new(1_000_000_000));
        Self {
            seed,
            slice,
            tick: None,
            sample_every,
            sample_finely: false,
            check_every: None,
            trace: TraceKinds::NONE,
            trace_max: 0,
            disks: Vec::new(),
            pools: Vec::new(),
            available: None,
            reserve: Bytes::ZERO,
            guard: None,
            stop: None,
        }
    }
}

impl Machine {
    /// A machine around the engine `mm`, with CPUs on these nodes, which must be those that the engine was made for.
    ///
    /// # Errors
    /// Without a CPU, with too many, with a slice or tick of zero, with a disk that cannot be, or with too much swap.
    pub fn new(mut mm: Mm, cpus: Vec<NodeId>, prices: Prices, options: &Options) -> Result<Self, MachineError> {
        for disk in &options.disks {
            disk.spec.validate().map_err(|error| MachineError::Disk { name: disk.name.clone(), error })?;
        }
        let swap = Pages::new(options.disks.iter().fold(0, |sum: u64, disk| sum.saturating_add(disk.swap.get())));
        if swap > SWAP_MAX {
            return Err(MachineError::TooMuchSwap(swap));
        }
        let swaps_to = options.disks.iter().find(|disk| disk.swap > Pages::ZERO).or(options.disks.first());
        mm.phys_mut().set_huge_prices(huge_prices(&prices, swaps_to.map(|disk| &disk.spec)));
        match (prices.hypervisor_fault > Picos::ZERO, mm.phys().reported_blocks()) {
            (true, None) => mm.phys_mut().start_free_page_reporting(),
            (true, Some(_)) => {}
            (false, _) => mm.phys_mut().stop_free_page_reporting(),
        }
        let (context_switch, _) = prices.context_switch.split();
        let variation = Variation::of(options.seed);
        let executor = Executor::new(Config {
            context_switch,
            slice: options.slice,
            tick: options.tick,
            scheduler: mm.policy().scheduler,
            preempt: mm.policy().preempt,
            balance_interval: Some(balance_interval(mm.policy().scheduler)),
            start_jitter: variation.start_jitter(),
            switches_max: if options.trace.has_switches() { options.trace_max } else { 0 },
            ..Config::new(cpus, options.seed)
        })?;
        let handle = executor.handle().clone();
        let kernel = Rc::new_cyclic(|this| Kernel::new(handle, mm, prices, options, this));
        kernel.available_at_start.set(options.available.map(|of| of.saturating_sub(options.reserve)));
        kernel.reserve.set(options.reserve);
        let (sample_every, sample_finely) = (options.sample_every, options.sample_finely);
        let (pools, guard, stop) = (options.pools.clone(), options.guard.clone(), options.stop.clone());
        Ok(Self { executor, kernel, sample_every, sample_finely, pools, guard, stop })
    }

    /// Memory, CPUs and nodes of the machine.
    #[must_use]
    pub fn facts(&self) -> Facts {
        self.kernel.facts()
    }

    /// Gives every snapshot that a program asks for to `keep`, with its name, at that moment, and the processes that live then.
    pub fn keep_snapshots(&mut self, keep: impl FnMut(&str, &Engine, &[(SpaceId, String)]) + 'static) {
        *self.kernel.snapshots.borrow_mut() = Some(Box::new(keep));
    }

    /// Runs a workload to its end. `watch` sees the engine whenever counters are read.
    pub fn run(self, workload: Workload, parameters: &Parameters, mut watch: impl FnMut(&Tick<'_>)) -> Results {
        self.run_body(workload.name(), body_of(workload, parameters.clone()), &mut watch)
    }

    /// Runs a program of the caller's under the name of `workload`: bound, under the memory policy and beside the others that
    /// `parameters` ask for.
    pub fn run_as_chosen<F>(
        self,
        workload: Workload,
        parameters: &Parameters,
        program: impl FnOnce(Thread) -> F + 'static,
        mut watch: impl FnMut(&Tick<'_>),
    ) -> Results
    where
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        self.run_body(workload.name(), as_chosen(boxed(program), parameters.clone()), &mut watch)
    }

    /// Runs a program, and all it starts, to the end.
    pub fn run_program<F>(
        self,
        name: &str,
        body: impl FnOnce(Thread) -> F + 'static,
        mut watch: impl FnMut(&Tick<'_>),
    ) -> Results
    where
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        self.run_body(name, boxed(body), &mut watch)
    }

    fn run_body(mut self, name: &str, body: Body, watch: &mut dyn FnMut(&Tick<'_>)) -> Results {
        let ended = Rc::new(RefCell::new(None));
        self.kernel.start_daemons();
        self.kernel.start_khugepaged();
        self.kernel.start_flusher();
        self.kernel.start_vmstat();
        self.kernel.start_page_reporting();
        if let Some(config) = self.guard.take() {
            self.kernel.start_guard(config);
        }
        self.start(name.to_owned(), body, Rc::clone(&ended));
        let mut clock = Clock::new(self.sample_every, self.sample_finely);
        let stuck = loop {
            // Daemons may go on until the next usual reading; what they do then is part of the last one.
            if !self.kernel.all_ended() {
                self.kernel.read_counters();
                let (now, is_usual) = (clock.now(), clock.is_usual());
                let tick =
                    |engine: &Engine| watch(&Tick { now, engine, is_usual, is_last: false, kernel: &self.kernel });
                self.kernel.look(tick);
            }
            if clock.advance(self.kernel.readings()) {
                self.kernel.thin_readings();
            }
            match self.executor.run_until(clock.now()) {
                Ok(()) if clock.is_usual() && self.kernel.all_ended() => break None,
                Ok(()) if self.is_stopped() => break None,
                Ok(()) => {}
                Err(error) => break Some(error),
            }
        };
        self.conclude(stuck, ended.take(), watch)
    }

    fn is_stopped(&self) -> bool {
        self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// Starts the program; where pools are to be resized, the process that does it first starts the program at its end.
    fn start(&self, name: String, body: Body, ended: Rc<RefCell<Option<Ended>>>) {
        let kernel = Rc::clone(&self.kernel);
        let program = move || {
            kernel.start_first(&name, move |thread| async move {
                let result = body(thread.clone()).await;
                *ended.borrow_mut() = Some(Ended { result: result.clone(), thread });
                result
            });
        };
        if self.pools.is_empty() {
            return program();
        }
        let pools = self.pools.clone();
        self.kernel.start_first("sysctl", move |thread| async move {
            for size in pools {
                // A kill ends this process, not the run.
                if thread.resize_pools(size).await.is_err() {
                    break;
                }
            }
            program();
            Ok(())
        });
    }

    /// The last reading is made when all is over, and is that of the moment at which it was.
    fn conclude(self, stuck: Option<RunError>, ended: Option<Ended>, watch: &mut dyn FnMut(&Tick<'_>)) -> Results {
        let handle = &self.kernel.handle;
        let ends = handle.tasks().filter_map(|task| handle.task_stats(task).ended);
        let elapsed = if stuck.is_some() { handle.now() } else { ends.max().unwrap_or_default() };
        self.kernel.read_counters_at(elapsed);
        self.kernel
            .look(|engine| watch(&Tick { now: elapsed, engine, is_usual: true, is_last: true, kernel: &self.kernel }));
        let times = ended.as_ref().map_or_else(Times::default, |ended| ended.thread.process.times(handle));
        let outcome = match (stuck, ended.map(|ended| ended.result)) {
            (Some(error), _) => Outcome::Stuck(error),
            (None, Some(Err(stop))) => self.kernel.outcome_of(stop),
            (None, _) => Outcome::Completed,
        };
        self.kernel.results(outcome, elapsed, times)
    }
}

/// The code of a workload. No caller compiles it again, since it depends on no type of the caller.
fn body_of(workload: Workload, parameters: Parameters) -> Body {
    boxed(move |thread| async move { workload.run(thread, &parameters).await })
}

/// The code of `program` and of what is to run before and beside it.
fn as_chosen(program: Body, parameters: Parameters) -> Body {
    boxed(move |thread: Thread| async move { run_as_chosen(thread.clone(), &parameters, program(thread)).await })
}

/// End of the first program.
struct Ended {
    result: Result<(), Stop>,
    thread: Thread,
}

impl Kernel {
    /// Starts a process that no other process waits for.
    fn start_first<F>(self: &Rc<Self>, name: &str, body: impl FnOnce(Thread) -> F + 'static)
    where
        F: Future<Output = Result<(), Stop>> + 'static,
    {
        let space = self.with(|mm| mm.create_space()).expect("the first address spaces");
        self.start_process(name, ChildKind::Process, space, None, boxed(body));
    }

    pub(crate) fn facts(&self) -> Facts {
        self.look(|mm| {
            let managed = |of: &dyn Fn(NodeId) -> bool| -> Bytes {
                let zones = mm.frames().zones().iter().filter(|zone| of(zone.node()));
                zones.map(|zone| Pages::new(zone.managed()) + zone.deferred().len()).sum::<Pages>().bytes()
            };
            Facts {
                memory: managed(&|_| true),
                cpus: self.cpus.len() as u32,
                nodes: mm.frames().nodes().map(|node| managed(&|of| of == node)).collect(),
                disk: self.storage.main().map(|_| self.storage.blocks.borrow().capacity().bytes()),
                available: self.available_at_start.get(),
            }
        })
    }

    fn all_ended(&self) -> bool {
        self.processes.borrow().iter().all(|process| process.has_ended())
    }

    /// Whether it was for want of memory that the workload ended.
    fn outcome_of(&self, stop: Stop) -> Outcome {
        match (&stop, self.kills.borrow().last()) {
            (Stop::Killed { .. } | Stop::OutOfMemory(_), Some(kill)) => Outcome::OutOfMemory(kill.clone()),
            _ => Outcome::Stopped(stop),
        }
    }
}

/// Time after which a busy CPU balances, for each CPU of its node: Linux' least interval of a millisecond times `busy_factor`, which is 32 up
/// to 5.9 and 16 later. Here all of CFS has 32.
const fn balance_interval(scheduler: Scheduler) -> Nanos {
    match scheduler {
        Scheduler::Cfs => Nanos::new(32_000_000),
        Scheduler::Eevdf | Scheduler::EevdfDelayed => Nanos::new(16_000_000),
    }
}
