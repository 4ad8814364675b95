//! Block devices in virtual time: files, and swap, lie on them.
//!
//! Key types: [`Disk`] (what tasks hold), [`Bio`] (a transfer that is asked for), [`Ticket`] (to wait for it),
//! [`Completion`] (that it is done), [`DiskSpec`] (what kind of disk), [`DiskStats`] (its line of /proc/diskstats).
//! Built on [`time`](crate::time). Knows nothing of pages' contents, files or swap maps: whoever asks gives a tag along.
//!
//! # From a bio to its end
//!
//! As in Linux' block layer, a [`Bio`] becomes a *request*, or part of one: where a request of the same kind that still
//! waits ends where the bio begins, or begins where it ends, and the two are no larger than [`DiskSpec::max_request`],
//! they merge. The last [`MERGE_SEARCH`] waiting requests are looked at, newest first. A larger bio is split.
//!
//! 1. Requests wait in one queue, first come, first served; a merged bio takes the place of the request it joins.
//! 2. The device serves [`DiskSpec::queue_depth`] requests at once. For each a *latency* passes, which overlaps with
//!    that of the others.
//! 3. Then its data is *transferred*, one request at a time: who is ready first, and among those the one that was taken
//!    from the queue first. On a rotating disk the arm moves there first ([`Rotating`]). A [`WriteCache`] shortens this.
//! 4. With the end of the transfer the request is done: the bios in it end, in the order of their place on the disk;
//!    then the next request of the queue takes its place. No two requests of a disk end at the same time.
//!
//! So the device never idles while requests wait, and never moves more than its bandwidth. The end of a bio needs no
//! task and no CPU: an alarm runs `end_io` at the very time, whoever waits, and wakes those who do. It never runs within
//! [`Disk::submit`]. What the model leaves out: an elevator that sorts requests, flushes and barriers, discards, errors,
//! and the CPU time of interrupts.

mod device;
mod error;
mod spec;
mod stats;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::{Rc, Weak};

use order9_units::{Nanos, Pages};

use crate::time::{AlarmId, Handle, QueueId, Wake};

pub use device::MERGE_SEARCH;
use device::{Device, Ended};
pub use error::DiskError;
pub use spec::{DiskSpec, Rotating, Transfer, WriteCache};
pub use stats::{DiskStats, OpStats};

/// A place on a disk: the number of a page-sized block, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(u64);

impl Block {
    /// Block number `number`.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number of the block.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The block `pages` further on.
    const fn after(self, pages: Pages) -> Self {
        Self(self.0 + pages.get())
    }
}

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// From the disk to memory.
    Read,
    /// From memory to the disk.
    Write,
}

/// A transfer of neighbouring blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bio {
    /// Direction of the transfer.
    pub op: Op,
    /// The first block of the transfer.
    pub first: Block,
    /// Number of blocks: at least one, all of them on the disk.
    pub pages: Pages,
    /// A number that tells `end_io` what has ended: a frame number or a slot.
    pub tag: u64,
}

impl Bio {
    /// The first block behind it.
    const fn end(&self) -> Block {
        self.first.after(self.pages)
    }
}

/// A bio that was submitted to a disk; only that disk knows it. Keeping one costs nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    slot: u32,
    /// Number of bios that used the slot before this one.
    generation: u32,
}

/// The end of a bio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The bio as it was submitted.
    pub bio: Bio,
    /// Time at which it was submitted.
    pub submitted: Nanos,
    /// Time at which it ended: the present.
    pub ended: Nanos,
}

/// A disk of one executor; a clone is one more reference to the same. It stops when the last one is gone.
#[derive(Clone)]
pub struct Disk(Rc<Inner>);

struct Inner {
    handle: Handle,
    name: Rc<str>,
    end_io: Box<dyn Fn(&Completion)>,
    /// Goes off at the next end of a transfer.
    alarm: AlarmId,
    /// Time for which the alarm is set.
    armed: Cell<Option<Nanos>>,
    /// Tasks that wait for the end of congestion, by [`Op`].
    uncongested: [QueueId; 2],
    device: RefCell<Device>,
    /// Empty between alarms: its memory is used again.
    ended: RefCell<Vec<Ended>>,
}

/// Patience of a waiter: in practice for ever. A disk always gets done, so a task that waits for one is no hung task,
/// however long the queue is.
const PATIENCE: Nanos = Nanos::new(u64::MAX);

impl Disk {
    /// A disk called `name`, such as `sda`, on which nothing has happened. `end_io` learns of the end of every bio, at
    /// that time, outside any task, with nothing of the disk borrowed: it may submit more.
    ///
    /// # Errors
    /// Where no disk can be as `spec` says.
    pub fn new(
        handle: &Handle,
        name: &str,
        spec: DiskSpec,
        end_io: impl Fn(&Completion) + 'static,
    ) -> Result<Self, DiskError> {
        spec.validate()?;
        let inner = Rc::new_cyclic(|inner: &Weak<Inner>| {
            let inner = inner.clone();
            let interrupt = move || {
                if let Some(inner) = inner.upgrade() {
                    inner.interrupt();
                }
            };
            let uncongested = |op| handle.new_queue(&format!("{name}: {op} uncongested"));
            Inner {
                handle: handle.clone(),
                name: name.into(),
                end_io: Box::new(end_io),
                alarm: handle.new_alarm(name, interrupt),
                armed: Cell::new(None),
                uncongested: [uncongested("reads"), uncongested("writes")],
                device: RefCell::new(Device::new(spec)),
                ended: RefCell::default(),
            }
        });
        Ok(Self(inner))
    }

    /// Asks for a transfer and goes on at once, however many wait already: who wants to spare the queue looks at
    /// [`is_congested`](Self::is_congested) first. Allocates only where more bios are under way than ever before.
    ///
    /// # Panics
    /// Where the bio is empty or lies past the end of the disk.
    pub fn submit(&self, bio: Bio) -> Ticket {
        let ticket = self.0.device.borrow_mut().submit(self.0.handle.now(), bio);
        self.0.arm();
        ticket
    }

    /// Waits for the end of a bio; returns at once where that has come. Dropping this future loses nothing: the bio goes
    /// on, and `end_io` learns of its end.
    pub async fn wait(&self, ticket: Ticket) {
        let queue = self.0.device.borrow_mut().waiters(ticket, || self.0.handle.new_queue(&self.0.name));
        if let Some(queue) = queue {
            self.0.handle.wait(queue, Some(PATIENCE)).await;
            assert!(self.is_done(ticket), "disk {} woke a task whose bio is not done", self.0.name);
        }
    }

    /// Whether a bio has ended.
    #[must_use]
    pub fn is_done(&self, ticket: Ticket) -> bool {
        self.0.device.borrow().is_done(ticket)
    }

    /// Reads blocks and waits for them; as [`submit`](Self::submit) with tag 0.
    pub async fn read(&self, first: Block, pages: Pages) {
        self.wait(self.submit(Bio { op: Op::Read, first, pages, tag: 0 })).await;
    }

    /// Writes blocks and waits for them; as [`submit`](Self::submit) with tag 0.
    pub async fn write(&self, first: Block, pages: Pages) {
        self.wait(self.submit(Bio { op: Op::Write, first, pages, tag: 0 })).await;
    }

    /// Whether the queue is nearly full one way, in Linux' sense until 5.18: since requests of that kind reached 7/8 of
    /// [`DiskSpec::nr_requests`], and until they are fewer than 13/16 of it.
    #[must_use]
    pub fn is_congested(&self, op: Op) -> bool {
        self.0.device.borrow().is_congested(op)
    }

    /// Waits until the congestion one way ends, but no longer than `timeout`; all of it where there is no congestion,
    /// as Linux' `congestion_wait` does.
    pub async fn congestion_wait(&self, op: Op, timeout: Nanos) -> Wake {
        self.0.handle.wait(self.0.uncongested[op as usize], Some(timeout)).await
    }

    /// The name it was given.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Properties of the disk.
    #[must_use]
    pub fn spec(&self) -> DiskSpec {
        *self.0.device.borrow().spec()
    }

    /// Statistics of the disk up to now.
    #[must_use]
    pub fn stats(&self) -> DiskStats {
        self.0.device.borrow().stats(self.0.handle.now())
    }
}

impl Inner {
    /// A transfer is over.
    fn interrupt(&self) {
        self.armed.set(None);
        let mut ended = self.ended.take();
        let uncongested = self.device.borrow_mut().advance(self.handle.now(), &mut ended);
        self.arm();
        for Ended { completion, waiters } in ended.drain(..) {
            (self.end_io)(&completion);
            waiters.map(|queue| self.handle.wake_all(queue));
        }
        for (queue, _) in self.uncongested.iter().zip(uncongested).filter(|(_, ended)| *ended) {
            self.handle.wake_all(*queue);
        }
        self.ended.replace(ended);
    }

    /// Sets the alarm to the next end of a transfer.
    fn arm(&self) {
        let next = self.device.borrow().next_end();
        if self.armed.replace(next) != next {
            self.handle.set_alarm(self.alarm, next);
        }
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Disk").field("name", &self.0.name).field("device", &self.0.device).finish_non_exhaustive()
    }
}
