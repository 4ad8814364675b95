//! Random programs of tasks, and what came of running one.

use std::cell::RefCell;
use std::rc::Rc;

use order9_machine::time::{
    Class, Config, CpuId, CpuStats, Executor, Exit, Guard, Handle, LockId, LockKind, LockStats, Mode, QueueId,
    RunError, TaskId, TaskSpec, TaskStats, WaitsFor, Wake,
};
use order9_mm::policy::{Preempt, Scheduler};
use order9_units::{Nanos, NodeId};
use proptest::prelude::*;

/// How many pieces of code `Spawn` chooses from.
const CHILDREN: usize = 2;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Spend(Class, u64),
    Sleep(u64),
    Yield,
    /// To the CPUs whose bits are set, of which some may not be there.
    Bind(u16),
    Lock(usize, Mode),
    TryLock(usize, Mode),
    /// Drops the guard that was taken last.
    Unlock,
    Wait(usize, Option<u64>),
    WakeOne(usize),
    WakeAll(usize),
    /// Of the task with this number, modulo how many there are.
    Join(usize),
    Cancel(usize),
    Spawn(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) daemon: bool,
    pub(crate) cpus: Option<Vec<u16>>,
    pub(crate) nice: i8,
    pub(crate) ops: Vec<Op>,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) nodes: Vec<u16>,
    pub(crate) slice: u64,
    pub(crate) tick: Option<u64>,
    pub(crate) scheduler: Scheduler,
    pub(crate) preempt: Preempt,
    pub(crate) balance: Option<u64>,
    pub(crate) switch: u64,
    pub(crate) locks: Vec<LockKind>,
    pub(crate) queues: usize,
    /// Started at time 0.
    pub(crate) tasks: Vec<Code>,
    /// Started by `Spawn`; spawn none themselves.
    pub(crate) children: Vec<Code>,
}

/// One finished operation: when, of which task, on which CPU, the how many-th of it, and what it answered.
pub(crate) type Entry = (u64, usize, u16, usize, u64);

#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) log: Vec<Entry>,
    pub(crate) end: u64,
    /// Who waits for what, where the run stalled.
    pub(crate) stall: Option<Vec<(usize, WaitsFor)>>,
    pub(crate) tasks: Vec<TaskStats>,
    pub(crate) cpus: Vec<CpuStats>,
    pub(crate) locks: Vec<LockStats>,
}

pub(crate) fn task_name(nth: usize) -> String {
    format!("t{nth}")
}

pub(crate) fn answer_of_exit(exit: Exit) -> u64 {
    u64::from(exit == Exit::Cancelled)
}

pub(crate) fn programs() -> impl Strategy<Value = Program> {
    let kinds = prop_oneof![Just(LockKind::Spinning), Just(LockKind::Sleeping)];
    let schedulers = prop_oneof![Just(Scheduler::Cfs), Just(Scheduler::Eevdf), Just(Scheduler::EevdfDelayed)];
    let preempts = prop_oneof![2 => Just(Preempt::Voluntary), 1 => Just(Preempt::Lazy)];
    let rules = (schedulers, preempts, prop::option::of(1_u64..20), prop::option::of(0_u64..40));
    let machine = (
        prop::collection::vec(0_u16..2, 1..5),
        rules,
        1_u64..30,
        prop_oneof![Just(0_u64), 0_u64..4],
        prop::collection::vec(kinds, 1..4),
        1_usize..3,
    );
    machine.prop_flat_map(|(nodes, (scheduler, preempt, tick, balance), slice, switch, locks, queues)| {
        let tasks = prop::collection::vec(code(nodes.len(), locks.clone(), queues), 0..7);
        let children = prop::collection::vec(code(nodes.len(), locks.clone(), queues), CHILDREN);
        (tasks, children).prop_map(move |(tasks, mut children)| {
            for child in &mut children {
                child.ops.retain(|op| !matches!(op, Op::Spawn(_)));
            }
            let (nodes, locks) = (nodes.clone(), locks.clone());
            Program { nodes, slice, tick, scheduler, preempt, balance, switch, locks, queues, tasks, children }
        })
    })
}

fn code(cpus: usize, locks: Vec<LockKind>, queues: usize) -> impl Strategy<Value = Code> {
    let affinity = prop::option::weighted(0.3, prop::collection::vec(0..cpus as u16, 1..=cpus));
    let ops = prop::collection::vec(op(locks.len(), queues), 0..24);
    let nice = prop_oneof![3 => Just(0_i8), 1 => -20_i8..20];
    (prop::bool::weighted(0.2), affinity, nice, ops).prop_map(move |(daemon, cpus, nice, ops)| {
        let ops = reasonable(&ops, &locks);
        Code { daemon, cpus, nice, ops }
    })
}

fn op(locks: usize, queues: usize) -> impl Strategy<Value = Op> {
    let class = prop_oneof![Just(Class::User), Just(Class::System)];
    let mode = || prop_oneof![2 => Just(Mode::Exclusive), 1 => Just(Mode::Shared)];
    prop_oneof![
        8 => (class, 0_u64..40).prop_map(|(class, time)| Op::Spend(class, time)),
        2 => (0_u64..40).prop_map(Op::Sleep),
        1 => Just(Op::Yield),
        2 => (0_u16..32).prop_map(Op::Bind),
        4 => (0..locks, mode()).prop_map(|(lock, mode)| Op::Lock(lock, mode)),
        1 => (0..locks, mode()).prop_map(|(lock, mode)| Op::TryLock(lock, mode)),
        5 => Just(Op::Unlock),
        2 => (0..queues, prop::option::weighted(0.9, 0_u64..60)).prop_map(|(queue, timeout)| Op::Wait(queue, timeout)),
        2 => (0..queues).prop_map(Op::WakeOne),
        1 => (0..queues).prop_map(Op::WakeAll),
        1 => (0_usize..8).prop_map(Op::Join),
        1 => (0_usize..8).prop_map(Op::Cancel),
        1 => (0..CHILDREN).prop_map(Op::Spawn),
    ]
}

/// Leaves out what the executor forbids, to sleep while a spinning lock is held; and most of what leads to a deadlock,
/// so that programs get somewhere.
fn reasonable(ops: &[Op], kinds: &[LockKind]) -> Vec<Op> {
    let mut held: Vec<usize> = Vec::new();
    let mut kept = Vec::new();
    for (nth, op) in ops.iter().enumerate() {
        let atomic = held.iter().any(|lock| kinds[*lock] == LockKind::Spinning);
        let ordered = |lock: usize| held.iter().all(|held| *held < lock);
        let sleeps = match *op {
            Op::Sleep(_) | Op::Yield | Op::Bind(_) | Op::Wait(..) | Op::Join(_) => true,
            Op::Lock(lock, _) => kinds[lock] == LockKind::Sleeping,
            _ => false,
        };
        let risky = matches!(*op, Op::Lock(lock, _) if !ordered(lock));
        if atomic && sleeps || risky && nth % 8 != 0 {
            continue;
        }
        match *op {
            Op::Lock(lock, _) | Op::TryLock(lock, _) => held.push(lock),
            Op::Unlock => drop(held.pop()),
            _ => {}
        }
        kept.push(*op);
    }
    kept
}

/// What the tasks of one run on the executor share.
struct Run {
    handle: Handle,
    locks: Vec<LockId>,
    queues: Vec<QueueId>,
    children: Vec<Code>,
    log: RefCell<Vec<Entry>>,
    ids: RefCell<Vec<TaskId>>,
}

/// Runs the program on the executor, up to each of the `stops` first; with the digest of the run.
pub(crate) fn execute(program: &Program, stops: &[u64]) -> (Outcome, u64) {
    let mut config = Config::new(program.nodes.iter().map(|node| NodeId(*node)).collect(), 0);
    config.slice = Nanos::new(program.slice);
    config.tick = program.tick.map(Nanos::new);
    (config.scheduler, config.preempt) = (program.scheduler, program.preempt);
    config.balance_interval = program.balance.map(Nanos::new);
    config.context_switch = Nanos::new(program.switch);
    let mut executor = Executor::new(config).expect("programs have CPUs and a slice");
    let handle = executor.handle().clone();
    let run = Rc::new(Run {
        locks: program.locks.iter().enumerate().map(|(nth, kind)| handle.new_lock(&format!("l{nth}"), *kind)).collect(),
        queues: (0..program.queues).map(|nth| handle.new_queue(&format!("q{nth}"))).collect(),
        handle,
        children: program.children.clone(),
        log: RefCell::default(),
        ids: RefCell::default(),
    });
    for code in &program.tasks {
        spawn(&run, code);
    }
    let foreground = program.tasks.iter().any(|code| !code.daemon);
    let mut result = Ok(());
    for stop in stops.iter().filter(|_| foreground) {
        result = result.and_then(|()| executor.run_until(Nanos::new(*stop)));
    }
    let result = result.and_then(|()| executor.run());
    (outcome(&run, result), run.handle.digest())
}

fn outcome(run: &Run, result: Result<(), RunError>) -> Outcome {
    let handle = &run.handle;
    let stall = match result {
        Ok(()) => None,
        Err(RunError::Stall(stall)) => {
            assert_eq!(stall.time, handle.now());
            Some(stall.waiting.into_iter().map(|waiting| (waiting.task.index(), waiting.waits_for)).collect())
        }
        Err(error) => panic!("{error}"),
    };
    let cpus = 0..handle.cpus().len() as u16;
    Outcome {
        log: run.log.take(),
        end: handle.now().get(),
        stall,
        tasks: handle.tasks().map(|task| handle.task_stats(task)).collect(),
        cpus: cpus.map(|cpu| handle.cpu_stats(CpuId(cpu)).expect("a CPU of this machine")).collect(),
        locks: handle.locks().map(|lock| handle.lock_stats(lock)).collect(),
    }
}

fn spawn(run: &Rc<Run>, code: &Code) {
    let nth = run.ids.borrow().len();
    let mut spec = TaskSpec::new(task_name(nth)).nice(code.nice);
    if code.daemon {
        spec = spec.daemon();
    }
    if let Some(cpus) = &code.cpus {
        spec = spec.on(cpus.iter().map(|cpu| CpuId(*cpu)).collect());
    }
    let id = run.handle.spawn(spec, interpret(run.clone(), nth, code.ops.clone())).expect("affinities are valid");
    run.ids.borrow_mut().push(id);
}

async fn interpret(run: Rc<Run>, task: usize, ops: Vec<Op>) {
    let mut guards: Vec<Option<Guard>> = Vec::new();
    for (nth, op) in ops.into_iter().enumerate() {
        let answer = perform(&run, op, &mut guards).await;
        let cpu = run.handle.cpu().expect("a running task has a CPU");
        run.log.borrow_mut().push((run.handle.now().get(), task, cpu.0, nth, answer));
    }
    while guards.pop().is_some() {}
}

async fn perform(run: &Rc<Run>, op: Op, guards: &mut Vec<Option<Guard>>) -> u64 {
    let handle = &run.handle;
    let nth_task = |nth: usize| {
        let ids = run.ids.borrow();
        ids[nth % ids.len()]
    };
    match op {
        Op::Spend(class, time) => handle.spend(class, Nanos::new(time)).await,
        Op::Sleep(time) => handle.sleep(Nanos::new(time)).await,
        Op::Yield => handle.yield_now().await,
        Op::Bind(cpus) => {
            let cpus = (0..u16::BITS as u16).filter(|cpu| cpus >> cpu & 1 == 1).map(CpuId).collect();
            return u64::from(handle.set_affinity(&cpus).await.is_err());
        }
        Op::Lock(lock, mode) => guards.push(Some(handle.lock(run.locks[lock], mode).await)),
        Op::TryLock(lock, mode) => {
            let guard = handle.try_lock(run.locks[lock], mode);
            let taken = guard.is_some();
            guards.push(guard);
            return u64::from(taken);
        }
        Op::Unlock => drop(guards.pop()),
        Op::Wait(queue, timeout) => {
            let wake = handle.wait(run.queues[queue], timeout.map(Nanos::new)).await;
            return u64::from(wake == Wake::TimedOut);
        }
        Op::WakeOne(queue) => return u64::from(handle.wake_one(run.queues[queue])),
        Op::WakeAll(queue) => return handle.wake_all(run.queues[queue]) as u64,
        Op::Join(nth) => {
            let task = nth_task(nth);
            return answer_of_exit(handle.join(task).await);
        }
        Op::Cancel(nth) => return u64::from(handle.cancel(nth_task(nth))),
        Op::Spawn(child) => spawn(run, &run.children[child]),
    }
    0
}
