//! State that all threads of a machine share: the engine, prices, locks, processes, and the record of the run.
//!
//! Nothing is borrowed across an await: [`Kernel::with`] lends the engine for one bounded step.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::rc::{Rc, Weak};

use order9_mm::env::SpinLock;
use order9_mm::{FileId, Mm, SpaceId, Zone, ZoneId};
use order9_units::{Bytes, Nanos, NodeId};

use crate::access::Places;
use crate::cost::{Picos, Prices};
use crate::daemons::Waiting;
use crate::events::{EventLog, TraceKinds};
use crate::files::Lengths;
use crate::guard::RunningGuard;
use crate::kernel_memory::Kmalloc;
use crate::machine::Options;
use crate::oom::OutOfMemory;
use crate::process::Process;
use crate::results::Record;
use crate::stalls::Stalls;
use crate::storage::Storage;
use crate::time::{Class, Handle, LockId, LockKind, Mode, QueueId, TaskId};
use crate::translations::Translations;
use crate::variation::Variation;

/// The engine of a machine in virtual time.
pub type Engine = Mm;

pub(crate) struct Kernel {
    pub(crate) handle: Handle,
    pub(crate) prices: Prices,
    /// Whether `kernel.numa_balancing` is on.
    pub(crate) balances: bool,
    /// Distances between the nodes.
    pub(crate) places: Places,
    /// Node of every CPU.
    pub(crate) cpus: Vec<NodeId>,
    engine: RefCell<Engine>,
    /// Events of the engine that are kept.
    pub(crate) log: RefCell<EventLog>,
    /// Locks of the zones, in their order.
    pub(crate) zone_locks: Vec<LockId>,
    /// Locks of the LRU lists, by node.
    pub(crate) lru_locks: Vec<LockId>,
    /// Time owed that is less than a nanosecond.
    owed: Cell<Picos>,
    /// Number of steps after which all laws are checked; `None` is never.
    check_every: Option<NonZeroU64>,
    pub(crate) variation: Variation,
    /// Steps since the last check.
    unchecked: Cell<u64>,
    pub(crate) processes: RefCell<Vec<Rc<Process>>>,
    pub(crate) translations: Translations,
    pub(crate) record: RefCell<Record>,
    pub(crate) kills: RefCell<Vec<OutOfMemory>>,
    pub(crate) kmalloc: RefCell<Kmalloc>,
    /// `MemAvailable` before anything started, where memory was in use.
    pub(crate) available_at_start: Cell<Option<Bytes>>,
    /// Memory that does not count as available to programs.
    pub(crate) reserve: Cell<Bytes>,
    /// The receiver of snapshots.
    pub(crate) snapshots: RefCell<Option<Box<KeepSnapshot>>>,
    pub(crate) storage: Storage,
    pub(crate) lengths: RefCell<Lengths>,
    /// Files on disk whose name was removed while they were open or mapped.
    pub(crate) unlinked: RefCell<BTreeSet<FileId>>,
    /// Wait queue in which the flusher waits for work.
    pub(crate) flusher_wait: QueueId,
    /// Tasks that wait for the end of writes.
    pub(crate) written: QueueId,
    /// Wait queue in which khugepaged waits for work.
    pub(crate) khugepaged_wait: QueueId,
    /// Tasks that wait for the end of any transfer.
    pub(crate) transferred: QueueId,
    /// Wait queues by node.
    pub(crate) waiting: Vec<Waiting>,
    /// Tasks of kswapd, by node with memory.
    pub(crate) kswapds: RefCell<Vec<TaskId>>,
    /// Time that threads have spent in direct compaction.
    pub(crate) compact_stall: Cell<Nanos>,
    /// Waits of threads for memory.
    pub(crate) stalls: Stalls,
    /// The guard, if one runs.
    pub(crate) guard: RefCell<Option<RunningGuard>>,
    /// Tasks of kcompactd, by node with memory, where the kernel has one.
    pub(crate) kcompactds: RefCell<Vec<TaskId>>,
    pub(crate) khugepaged: Cell<Option<TaskId>>,
    /// The task of the flusher, if there are disks with files.
    pub(crate) flusher: Cell<Option<TaskId>>,
}

/// Keeps the state of memory under a name.
pub(crate) type KeepSnapshot = dyn FnMut(&str, &Engine, &[(SpaceId, String)]);

/// Time that work of the engine takes, by the lock that the work was done under.
pub(crate) struct Bill {
    /// Time under locks that others of their kind were taken after.
    earlier: Vec<(SpinLock, Picos)>,
    /// Time under the zone lock taken last.
    zone: (ZoneId, Picos),
    /// Time under the LRU lock taken last.
    lru: (NodeId, Picos),
    /// Time without a zone or LRU lock.
    unlocked: Picos,
}

impl Bill {
    /// The bill of work without a lock.
    fn of_unlocked(time: Picos) -> Self {
        let (zone, lru) = ((ZoneId(0), Picos::ZERO), (NodeId(0), Picos::ZERO));
        Self { earlier: Vec::new(), zone, lru, unlocked: time }
    }
}

impl Kernel {
    /// The disks of `options` are as their files say, and valid.
    pub(crate) fn new(
        handle: Handle,
        mut engine: Engine,
        prices: Prices,
        options: &Options,
        this: &Weak<Self>,
    ) -> Self {
        let lock = |name: String| handle.new_lock(&name, LockKind::Spinning);
        let of_zone = |zone: &Zone| lock(format!("zone lock of node {}, {}", zone.node().0, zone.kind()));
        let zone_locks = engine.frames().zones().iter().map(of_zone).collect();
        let lru_locks = engine.frames().nodes().map(|node| lock(format!("LRU lock of node {}", node.0))).collect();
        let waiting = engine.frames().nodes().map(|node| Waiting::new(&handle, node)).collect();
        let storage = Storage::new(&handle, &options.disks, engine.policy().reclaim.large_requests, this);
        storage.swapon(&mut engine);
        if storage.main().is_some() {
            engine.mount(storage.file_system().memory()).expect("an engine without filesystem");
        }
        let (flusher_wait, written) = (handle.new_queue("flusher"), handle.new_queue("end of writes"));
        let khugepaged_wait = handle.new_queue("khugepaged");
        let transferred = handle.new_queue("end of transfers");
        let log = EventLog::new(handle.clone(), options.trace, options.trace_max);
        engine.phys_mut().set_tracing(options.trace != TraceKinds::NONE);
        let places = Places::new(engine.frames().distances(), prices.access.levels());
        Self {
            balances: engine.phys().numa_balancing(),
            cpus: handle.cpus(),
            handle,
            prices,
            places,
            engine: RefCell::new(engine),
            log: RefCell::new(log),
            zone_locks,
            lru_locks,
            owed: Cell::default(),
            check_every: options.check_every,
            variation: Variation::of(options.seed),
            unchecked: Cell::default(),
            processes: RefCell::default(),
            translations: Translations::default(),
            record: RefCell::default(),
            kills: RefCell::default(),
            kmalloc: RefCell::default(),
            available_at_start: Cell::new(None),
            reserve: Cell::new(Bytes::ZERO),
            snapshots: RefCell::default(),
            storage,
            lengths: RefCell::default(),
            unlinked: RefCell::default(),
            flusher_wait,
            written,
            khugepaged_wait,
            transferred,
            waiting,
            kswapds: RefCell::default(),
            kcompactds: RefCell::default(),
            khugepaged: Cell::default(),
            flusher: Cell::default(),
            compact_stall: Cell::default(),
            stalls: Stalls::default(),
            guard: RefCell::default(),
        }
    }

    /// Runs one step on the engine.
    ///
    /// # Panics
    /// If checks are on and a step broke a law: a bug of the engine.
    #[inline]
    pub(crate) fn with<R>(&self, step: impl FnOnce(&mut Engine) -> R) -> R {
        let mut engine = self.engine.borrow_mut();
        let result = step(&mut engine);
        if engine.has_wakeups() {
            self.wake_daemons(&mut engine);
        }
        if engine.phys().has_events() {
            self.log.borrow_mut().keep(engine.phys_mut().events_mut());
        }
        if let Some(every) = self.check_every {
            self.check(&engine, every);
        }
        result
    }

    /// Checks all laws if it is time to.
    #[cold]
    fn check(&self, engine: &Engine, every: NonZeroU64) {
        self.unchecked.set(self.unchecked.get() + 1);
        if self.unchecked.get() < every.get() {
            return;
        }
        self.unchecked.set(0);
        if let Err(violation) = engine.check() {
            panic!("the engine broke a law at {} ns: {violation}", self.handle.now().get());
        }
    }

    /// Looks at the engine.
    pub(crate) fn look<R>(&self, view: impl FnOnce(&Engine) -> R) -> R {
        view(&self.engine.borrow())
    }

    /// Uses the CPU for `time`, fractions of a nanosecond being carried over.
    #[inline]
    pub(crate) async fn pay(&self, class: Class, time: Picos) {
        let whole = self.due(time);
        if whole > Nanos::ZERO && !self.handle.try_spend(class, whole) {
            self.handle.spend(class, whole).await;
        }
    }

    /// Uses the CPU for `time` if nobody else could act before it is over, and says whether so.
    #[inline]
    pub(crate) fn pay_at_once(&self, class: Class, time: Picos) -> bool {
        let (whole, rest) = (self.owed.get() + time).split();
        let paid = whole == Nanos::ZERO || self.handle.try_spend(class, whole);
        if paid {
            self.owed.set(rest);
        }
        paid
    }

    #[inline]
    fn due(&self, time: Picos) -> Nanos {
        let (whole, rest) = (self.owed.get() + time).split();
        self.owed.set(rest);
        whole
    }

    /// Lets the time pass that the engine's work since the last call takes; `others` is the number of other CPUs that must
    /// flush their translations where this one does.
    #[inline]
    pub(crate) async fn settle(&self, others: u64) {
        let due = self.bill(others);
        self.pay_bill(due).await;
    }

    /// Lets the time pass that the engine's work since the last call takes, if none of it is under a lock and nobody else
    /// could act before it is over; else the bill is to be paid.
    #[inline]
    pub(crate) fn settle_at_once(&self) -> Result<(), Bill> {
        let unlocked = {
            let mut engine = self.engine.borrow_mut();
            let is_unlocked = !engine.has_worked_under_lock();
            is_unlocked.then(|| engine.settle_work(|done| self.prices.of_unlocked(&done)))
        };
        match unlocked {
            Some(time) if self.pay_at_once(Class::System, time) => Ok(()),
            Some(time) => Err(Bill::of_unlocked(time)),
            None => Err(self.bill(0)),
        }
    }

    /// Bill of the engine's work since the last call.
    pub(crate) fn bill(&self, others: u64) -> Bill {
        self.engine.borrow_mut().settle_work(|done| {
            let prices = &self.prices;
            let ipis = if others > 0 { prices.tlb_ipi.times(done.rest.tlb_flushes * others) } else { Picos::ZERO };
            Bill {
                earlier: prices.of_earlier_locks(&done),
                zone: (done.zone, prices.of_zone_lock(&done.frames.locked)),
                lru: (done.node, prices.of_lru_lock(done.lru)),
                unlocked: prices.of_unlocked(&done) + ipis,
            }
        })
    }

    pub(crate) async fn pay_bill(&self, bill: Bill) {
        let Bill { earlier, zone: (zone, zone_locked), lru: (node, lru_locked), unlocked } = bill;
        for (lock, time) in earlier {
            self.pay_locked(lock, time).await;
        }
        self.pay_locked(SpinLock::Zone(zone), zone_locked).await;
        self.pay_locked(SpinLock::Lru(node), lru_locked).await;
        self.pay(Class::System, unlocked).await;
    }

    /// Whether another task holds `lock` or waits for it.
    pub(crate) fn lock_busy(&self, lock: SpinLock) -> bool {
        self.handle.is_busy(self.lock_of(lock))
    }

    fn lock_of(&self, lock: SpinLock) -> LockId {
        match lock {
            SpinLock::Zone(zone) => self.zone_locks[zone.index()],
            SpinLock::Lru(node) => self.lru_locks[node.index()],
        }
    }

    /// Uses the CPU for `time`, if there is any, under a lock that others may hold.
    async fn pay_locked(&self, lock: SpinLock, time: Picos) {
        if time == Picos::ZERO {
            return;
        }
        let lock = self.lock_of(lock);
        let guard = match self.handle.try_lock(lock, Mode::Exclusive) {
            Some(guard) => guard,
            None => {
                let guard = self.handle.lock(lock, Mode::Exclusive).await;
                self.pay(Class::System, self.prices.lock_handover).await;
                guard
            }
        };
        self.pay(Class::System, time).await;
        drop(guard);
    }
}
