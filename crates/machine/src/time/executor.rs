//! The executor: owns a run, and polls whoever is due.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use order9_units::Nanos;

use crate::time::alarm::AlarmId;
use crate::time::config::{Config, ConfigError};
use crate::time::cpu::CpuId;
use crate::time::handle::Handle;
use crate::time::stall::RunError;
use crate::time::task::{Class, Exit, TaskId};
use crate::time::world::{Goal, Next, World};

type Boxed = Pin<Box<dyn Future<Output = ()>>>;

/// The code of an alarm.
pub(crate) type Handler = Rc<dyn Fn()>;

/// State that the executor and all handles share.
pub(crate) struct Shared {
    // What a `spend` that runs ahead needs; the rest of the world is brought in line before it is used.
    now: Cell<Nanos>,
    horizon: Cell<Nanos>,
    /// Time that the running task has spent since `now`, by class.
    spent: [Cell<Nanos>; 2],
    /// The task whose code runs, and its CPU.
    running: Cell<Option<(TaskId, CpuId)>>,

    world: RefCell<World>,
    /// The future of each task; not here while it is polled, and when it has ended.
    futures: RefCell<Vec<Option<Boxed>>>,
    /// Handlers of the alarms.
    handlers: RefCell<Vec<Handler>>,
}

impl Shared {
    /// Lets `f` look at the world, or change it.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut World) -> R) -> R {
        let world = &mut *self.world.borrow_mut();
        world.now = self.now.get();
        if let Some(task) = world.current {
            for class in [Class::User, Class::System] {
                world.account_ahead(task, class, self.spent[class as usize].take());
            }
        }
        let result = f(world);
        self.now.set(world.now);
        self.horizon.set(world.horizon());
        result
    }

    /// Lets `f` look at the world but for its time and accounts, which may be behind.
    #[inline]
    pub(crate) fn look<R>(&self, f: impl FnOnce(&World) -> R) -> R {
        f(&self.world.borrow())
    }

    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.now.get()
    }

    /// Spends `time` where nobody else could act before it is over, and says whether so.
    #[inline]
    pub(crate) fn run_ahead(&self, class: Class, time: Nanos) -> bool {
        let Some(end) = self.now.get().get().checked_add(time.get()) else { return false };
        let end = Nanos::new(end);
        // A task that loops without spending has to be found, so zero takes the long way.
        if end >= self.horizon.get() || time == Nanos::ZERO {
            return false;
        }
        self.now.set(end);
        let spent = &self.spent[class as usize];
        spent.set(spent.get() + time);
        true
    }

    /// The task whose code runs, and the CPU it is on; `None` in set-up code.
    pub(crate) fn running(&self) -> Option<(TaskId, CpuId)> {
        self.running.get()
    }

    /// Whether the running task has to wait for the operation it started.
    pub(crate) fn is_parked(&self) -> bool {
        self.look(|world| world.parked)
    }

    pub(crate) fn keep(&self, task: TaskId, future: Boxed) {
        let mut futures = self.futures.borrow_mut();
        debug_assert_eq!(futures.len(), task.index(), "tasks and futures are numbered alike");
        futures.push(Some(future));
    }

    pub(crate) fn keep_handler(&self, alarm: AlarmId, handler: Handler) {
        let mut handlers = self.handlers.borrow_mut();
        debug_assert_eq!(handlers.len(), alarm.index(), "alarms and handlers are numbered alike");
        handlers.push(handler);
    }

    /// Runs the code of an alarm, with nothing borrowed.
    fn handle_alarm(&self, alarm: AlarmId) {
        let handler = Rc::clone(&self.handlers.borrow()[alarm.index()]);
        handler();
    }

    /// Drops the future of a task, which is not being polled, and ends it.
    pub(crate) fn cancel(&self, task: TaskId) {
        let future = self.futures.borrow_mut()[task.index()].take();
        // Its guards let go here: with nothing borrowed.
        drop(future);
        self.with(|world| world.finish(task, Exit::Cancelled));
    }

    fn poll(&self, task: TaskId) {
        let taken = self.futures.borrow_mut()[task.index()].take();
        let Some(mut future) = taken else { return };
        // Nobody needs to be woken: the agenda knows when which task goes on.
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => self.futures.borrow_mut()[task.index()] = Some(future),
            Poll::Ready(()) => {
                drop(future);
                self.with(|world| {
                    world.current = None;
                    world.finish(task, Exit::Finished);
                });
            }
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("now", &self.now).finish_non_exhaustive()
    }
}

/// Owns a run: its tasks, CPUs, locks and clock. Dropping it drops all tasks, whose guards let go without a panic.
#[derive(Debug)]
pub struct Executor {
    handle: Handle,
}

impl Executor {
    /// A machine at time 0 without tasks.
    ///
    /// # Errors
    ///
    /// Without a CPU, with too many, or with an empty time slice.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let shared = Shared {
            now: Cell::default(),
            horizon: Cell::default(),
            spent: Default::default(),
            running: Cell::default(),
            world: RefCell::new(World::new(config)),
            futures: RefCell::default(),
            handlers: RefCell::default(),
        };
        Ok(Self { handle: Handle::new(shared) })
    }

    /// The handle that set-up code uses. Tasks own a clone of it.
    #[must_use]
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Runs until every foreground task has ended; at once where there is none. Daemons stay as they are, and go on
    /// with the next call.
    ///
    /// # Errors
    ///
    /// [`RunError::Stall`] where foreground tasks wait and nobody can run, or none but daemons did for
    /// [`Config::hung_task`]; [`RunError::NoProgress`] where tasks loop and no time passes. The state is that of the
    /// moment: it can be looked at, and after a change from outside (a wake-up, a cancelled task) run on.
    pub fn run(&mut self) -> Result<(), RunError> {
        self.drive(Goal::ForegroundEnd)
    }

    /// Runs everything that is due up to `time`, that included, and sets the clock there. Calls with rising times
    /// change nothing about a run. A `time` that has passed does nothing.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub fn run_until(&mut self, time: Nanos) -> Result<(), RunError> {
        self.drive(Goal::Time(time))?;
        self.handle.shared().with(|world| world.now = world.now.max(time));
        Ok(())
    }

    fn drive(&mut self, goal: Goal) -> Result<(), RunError> {
        let shared = self.handle.shared();
        shared.with(|world| world.goal = goal);
        while let Some(next) = shared.with(World::advance)? {
            match next {
                Next::Task(task, cpu) => {
                    shared.running.set(Some((task, cpu)));
                    shared.poll(task);
                    shared.running.set(None);
                }
                Next::Alarm(alarm) => shared.handle_alarm(alarm),
            }
        }
        Ok(())
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        let shared = self.handle.shared();
        shared.with(|world| world.closed = true);
        // Futures and handlers hold handles, and handles hold them: this breaks the circle.
        let futures = shared.futures.take();
        drop(futures);
        let handlers = shared.handlers.take();
        drop(handlers);
    }
}
