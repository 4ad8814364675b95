//! The device and its queue: plain data and synchronous steps, which are told what time it is.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use order9_units::{Bytes, Nanos, Pages};

use crate::time::QueueId;

use super::spec::{DiskSpec, bytes_at, time_at};
use super::stats::DiskStats;
use super::{Bio, Block, Completion, Op, Ticket};

/// Number of waiting requests, newest first, with which a bio is compared: as many as Linux' `blk-mq` without a
/// scheduler.
pub const MERGE_SEARCH: usize = 8;

/// A bio that ended, and the queue in which tasks may wait for it.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) completion: Completion,
    pub(super) waiters: Option<QueueId>,
}

/// Place for a bio. Used again when it has ended; so is its wait queue.
#[derive(Debug)]
struct BioSlot {
    bio: Bio,
    submitted: Nanos,
    /// Requests with a part of it that have not ended.
    parts: u64,
    /// The bio behind it in its request; meaningless in the last one.
    next: u32,
    generation: u32,
    waiters: Option<QueueId>,
}

/// A request: adjacent bios that the device serves in one transfer.
#[derive(Clone, Copy, Debug)]
struct Request {
    op: Op,
    first: Block,
    pages: Pages,
    /// The first and the last of its bios.
    bios: (u32, u32),
    /// Time at which the first bio of the request came.
    since: Nanos,
}

impl Request {
    const fn end(&self) -> Block {
        self.first.after(self.pages)
    }
}

#[derive(Debug)]
pub(super) struct Device {
    // Whole life.
    spec: DiskSpec,
    stats: DiskStats,
    bios: Vec<BioSlot>,
    free_bios: Vec<u32>,
    requests: Vec<Request>,
    free_requests: Vec<u32>,
    /// Requests taken from the queue so far.
    dispatches: u64,

    // From a bio to its end.
    /// Requests that wait, in the order in which they are served.
    queue: VecDeque<u32>,
    /// Requests whose latency passes or has passed: when that is over, their number, their slot.
    served: BinaryHeap<Reverse<(Nanos, u64, u32)>>,
    /// The request whose data is transferred, and when that ends.
    transfer: Option<(Nanos, u32)>,
    /// Whether the queue is congested, by [`Op`].
    congested: [bool; 2],

    // From one transfer to the next.
    /// Time at which the last transfer ended.
    idle_since: Nanos,
    /// Block behind the last transfer, where the arm is.
    position: Block,
    /// Bytes in the write cache.
    cached: Bytes,
}

impl Device {
    pub(super) fn new(spec: DiskSpec) -> Self {
        Self {
            spec,
            stats: DiskStats::default(),
            bios: Vec::new(),
            free_bios: Vec::new(),
            requests: Vec::new(),
            free_requests: Vec::new(),
            dispatches: 0,
            queue: VecDeque::new(),
            served: BinaryHeap::new(),
            transfer: None,
            congested: [false; 2],
            idle_since: Nanos::ZERO,
            position: Block::default(),
            cached: Bytes::ZERO,
        }
    }

    pub(super) const fn spec(&self) -> &DiskSpec {
        &self.spec
    }

    pub(super) fn stats(&self, now: Nanos) -> DiskStats {
        let mut stats = self.stats;
        stats.tick(now);
        stats
    }

    pub(super) const fn is_congested(&self, op: Op) -> bool {
        self.congested[op as usize]
    }

    pub(super) fn is_done(&self, ticket: Ticket) -> bool {
        self.bios[ticket.slot as usize].generation != ticket.generation
    }

    /// Wait queue of a bio, made by `new` for the first waiter of its slot; `None` where the bio has ended.
    pub(super) fn waiters(&mut self, ticket: Ticket, new: impl FnOnce() -> QueueId) -> Option<QueueId> {
        let slot = &mut self.bios[ticket.slot as usize];
        (slot.generation == ticket.generation).then(|| *slot.waiters.get_or_insert_with(new))
    }

    /// Takes a bio. Ends none, not even one that is due now.
    pub(super) fn submit(&mut self, now: Nanos, bio: Bio) -> Ticket {
        assert!(bio.pages > Pages::ZERO, "a bio has at least one page");
        let end = bio.first.get().checked_add(bio.pages.get());
        assert!(end.is_some_and(|end| end <= self.spec.size.get()), "{bio:?} lies past {:?}", self.spec.size);
        // Whose turn has come by now must not depend on who comes after.
        self.start_transfer(now);
        self.stats.tick(now);
        self.stats.op(bio.op).submitted += bio.pages;
        let slot = self.new_bio(now, bio);
        if bio.pages > self.spec.max_request || !self.merge(slot) {
            self.make_requests(now, slot);
        }
        Ticket { slot, generation: self.bios[slot as usize].generation }
    }

    /// Time at which the next transfer ends if nothing else comes; `None` where no transfer is under way.
    pub(super) fn next_end(&self) -> Option<Nanos> {
        self.transfer.map(|(end, _)| end).or_else(|| self.next_transfer().map(|next| next.end))
    }

    /// Lets time pass up to `now`, that included; bios that end go to `ended`. Says whether congestion did, by [`Op`].
    pub(super) fn advance(&mut self, now: Nanos, ended: &mut Vec<Ended>) -> [bool; 2] {
        let before = self.congested;
        loop {
            self.start_transfer(now);
            match self.transfer {
                Some((end, request)) if end <= now => self.finish(end, request, ended),
                _ => break,
            }
        }
        [0, 1].map(|op| before[op] && !self.congested[op])
    }
}

/// Making requests of bios.
impl Device {
    fn new_bio(&mut self, now: Nanos, bio: Bio) -> u32 {
        let Some(slot) = self.free_bios.pop() else {
            let slot = BioSlot { bio, submitted: now, parts: 1, next: 0, generation: 0, waiters: None };
            return push(&mut self.bios, slot);
        };
        let old = &mut self.bios[slot as usize];
        (old.bio, old.submitted, old.parts) = (bio, now, 1);
        slot
    }

    /// Adds a bio to a waiting request, if one has it as neighbour.
    fn merge(&mut self, slot: u32) -> bool {
        let bio = self.bios[slot as usize].bio;
        let fits = |request: &Request| request.op == bio.op && request.pages + bio.pages <= self.spec.max_request;
        let touches = |request: &Request| request.end() == bio.first || bio.end() == request.first;
        let mut recent = self.queue.iter().rev().take(MERGE_SEARCH).map(|at| *at as usize);
        let Some(at) = recent.find(|at| fits(&self.requests[*at]) && touches(&self.requests[*at])) else {
            return false;
        };
        let request = &mut self.requests[at];
        let (head, tail) = request.bios;
        if request.end() == bio.first {
            self.bios[tail as usize].next = slot;
            request.bios = (head, slot);
        } else {
            self.bios[slot as usize].next = head;
            request.bios = (slot, tail);
            request.first = bio.first;
        }
        request.pages += bio.pages;
        self.stats.op(bio.op).merges += 1;
        true
    }

    /// Makes requests of a bio by itself, several of a large one. Only the last of these can take others in.
    fn make_requests(&mut self, now: Nanos, slot: u32) {
        let Bio { op, mut first, pages: mut left, .. } = self.bios[slot as usize].bio;
        self.bios[slot as usize].parts = left.get().div_ceil(self.spec.max_request.get());
        while left > Pages::ZERO {
            let pages = left.min(self.spec.max_request);
            let request = Request { op, first, pages, bios: (slot, slot), since: now };
            let at = match self.free_requests.pop() {
                Some(at) => {
                    self.requests[at as usize] = request;
                    at
                }
                None => push(&mut self.requests, request),
            };
            self.queue.push_back(at);
            (first, left) = (first.after(pages), left - pages);
            let in_flight = &mut self.stats.op(op).in_flight;
            *in_flight += 1;
            self.congested[op as usize] |= *in_flight >= self.spec.congestion_on();
            self.dispatch(now);
        }
    }
}

/// A transfer that could start.
struct NextTransfer {
    start: Nanos,
    end: Nanos,
    /// Bytes in the write cache at the end of the transfer.
    cached: Bytes,
    /// Position of the arm at the end of the transfer. A write into the cache does not move it.
    position: Block,
}

/// Serving requests.
impl Device {
    /// Takes the next request from the queue, if the device has room for one more.
    fn dispatch(&mut self, now: Nanos) {
        let in_service = self.served.len() + usize::from(self.transfer.is_some());
        if in_service >= self.spec.queue_depth as usize {
            return;
        }
        let Some(at) = self.queue.pop_front() else { return };
        let ready = now + self.spec.transfer(self.requests[at as usize].op).latency;
        self.dispatches += 1;
        self.served.push(Reverse((ready, self.dispatches, at)));
    }

    /// The transfer of the request that is ready first; `None` while a transfer is under way.
    fn next_transfer(&self) -> Option<NextTransfer> {
        let Reverse((ready, _, at)) = *self.served.peek()?;
        let Request { op, first, pages, .. } = self.requests[at as usize];
        let start = ready.max(self.idle_since);
        let emptied = bytes_at(self.spec.write.bandwidth, start - self.idle_since);
        let mut cached = self.cached.saturating_sub(emptied);
        let room = |size: Bytes| op == Op::Write && cached + pages.bytes() <= size;
        if let Some(cache) = self.spec.write_cache.filter(|cache| room(cache.size)) {
            cached += pages.bytes();
            let end = start + time_at(cache.bandwidth, pages);
            return Some(NextTransfer { start, end, cached, position: self.position });
        }
        let moving = time_at(self.spec.transfer(op).bandwidth, pages);
        let end = start + self.spec.positioning(self.position, first) + moving;
        Some(NextTransfer { start, end, cached, position: first.after(pages) })
    }

    /// Starts the next transfer if its time has come.
    fn start_transfer(&mut self, now: Nanos) {
        if self.transfer.is_some() {
            return;
        }
        let Some(next) = self.next_transfer().filter(|next| next.start <= now) else { return };
        let Some(Reverse((_, _, at))) = self.served.pop() else { return };
        self.transfer = Some((next.end, at));
        self.position = next.position;
        self.cached = next.cached;
    }

    /// Ends the transfer under way.
    fn finish(&mut self, end: Nanos, at: u32, ended: &mut Vec<Ended>) {
        let request = self.requests[at as usize];
        self.transfer = None;
        self.idle_since = end;
        self.free_requests.push(at);
        self.stats.tick(end);
        let stats = self.stats.op(request.op);
        stats.ios += 1;
        stats.pages += request.pages;
        stats.ticks += end - request.since;
        stats.in_flight -= 1;
        if stats.in_flight < self.spec.congestion_off() {
            self.congested[request.op as usize] = false;
        }
        let (mut slot, tail) = request.bios;
        loop {
            let next = self.bios[slot as usize].next;
            self.end_part(end, slot, ended);
            if slot == tail {
                break;
            }
            slot = next;
        }
        self.dispatch(end);
    }

    /// Ends one part of a bio, and with the last one the bio.
    fn end_part(&mut self, end: Nanos, slot: u32, ended: &mut Vec<Ended>) {
        let of = &mut self.bios[slot as usize];
        of.parts -= 1;
        if of.parts > 0 {
            return;
        }
        of.generation = of.generation.wrapping_add(1);
        let completion = Completion { bio: of.bio, submitted: of.submitted, ended: end };
        ended.push(Ended { completion, waiters: of.waiters });
        self.free_bios.push(slot);
    }
}

/// Appends, and says where.
fn push<T>(slots: &mut Vec<T>, slot: T) -> u32 {
    slots.push(slot);
    u32::try_from(slots.len() - 1).expect("fewer than 4 billion requests are under way")
}
