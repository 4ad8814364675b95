//! A disk that keeps requests in plain vectors and searches all of them for what happens next.

use order9_machine::disk::{Bio, DiskSpec, MERGE_SEARCH, Op, Transfer};

/// What a stream of bios comes to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// When which bio ended, in order.
    pub(crate) ends: Vec<(u64, usize)>,
    pub(crate) requests: u64,
    pub(crate) merges: u64,
}

#[derive(Clone, Debug)]
struct Request {
    op: Op,
    first: u64,
    pages: u64,
    bios: Vec<usize>,
}

struct Naive<'a> {
    spec: &'a DiskSpec,
    bios: &'a [(u64, Bio)],
    waiting: Vec<Request>,
    /// When ready, the how-manieth to be taken, what.
    served: Vec<(u64, u64, Request)>,
    transfer: Option<(u64, Request)>,
    taken: u64,
    parts: Vec<u64>,
    idle_since: u64,
    position: u64,
    cached: u64,
    outcome: Outcome,
}

/// Runs the bios, each at its time; times do not fall. What ends at the time of a bio does so before it comes.
pub(crate) fn simulate(spec: &DiskSpec, bios: &[(u64, Bio)]) -> Outcome {
    let mut naive = Naive {
        spec,
        bios,
        waiting: vec![],
        served: vec![],
        transfer: None,
        taken: 0,
        parts: vec![0; bios.len()],
        idle_since: 0,
        position: 0,
        cached: 0,
        outcome: Outcome::default(),
    };
    for (nth, (time, _)) in bios.iter().enumerate() {
        naive.run_until(*time);
        naive.arrive(nth, *time);
    }
    naive.run_until(u64::MAX);
    assert!(naive.waiting.is_empty() && naive.served.is_empty(), "all bios end");
    naive.outcome
}

impl Naive<'_> {
    fn arrive(&mut self, nth: usize, now: u64) {
        let bio = &self.bios[nth].1;
        let (first, pages, max) = (bio.first.get(), bio.pages.get(), self.spec.max_request.get());
        self.parts[nth] = 1;
        for request in self.waiting.iter_mut().rev().take(MERGE_SEARCH) {
            if request.op != bio.op || request.pages + pages > max {
                continue;
            }
            if request.first + request.pages == first {
                request.bios.push(nth);
            } else if first + pages == request.first {
                request.bios.insert(0, nth);
                request.first = first;
            } else {
                continue;
            }
            request.pages += pages;
            self.outcome.merges += 1;
            return;
        }
        let starts = (first..first + pages).step_by(max as usize);
        self.parts[nth] = starts.clone().count() as u64;
        for start in starts {
            let pages = max.min(first + pages - start);
            self.waiting.push(Request { op: bio.op, first: start, pages, bios: vec![nth] });
            self.take(now);
        }
    }

    fn take(&mut self, now: u64) {
        if self.in_service() < self.spec.queue_depth as usize && !self.waiting.is_empty() {
            let request = self.waiting.remove(0);
            self.taken += 1;
            self.served.push((now + self.transfer_of(request.op).latency.get(), self.taken, request));
        }
        let full = self.in_service() == self.spec.queue_depth as usize;
        assert!(full || self.waiting.is_empty(), "the device idles while requests wait");
        assert!(self.in_service() <= self.spec.queue_depth as usize, "the device serves too many");
    }

    fn in_service(&self) -> usize {
        self.served.len() + usize::from(self.transfer.is_some())
    }

    fn transfer_of(&self, op: Op) -> Transfer {
        if op == Op::Read { self.spec.read } else { self.spec.write }
    }

    fn run_until(&mut self, limit: u64) {
        loop {
            if let Some((end, request)) = self.transfer.take_if(|(end, _)| *end <= limit) {
                self.end(end, &request);
                continue;
            }
            let first = (0..self.served.len()).min_by_key(|at| (self.served[*at].0, self.served[*at].1));
            match first {
                Some(at) if self.transfer.is_none() && self.served[at].0 <= limit => {
                    let (ready, _, request) = self.served.remove(at);
                    self.transfer = Some((self.start(ready.max(self.idle_since), &request), request));
                }
                _ => return,
            }
        }
    }

    fn start(&mut self, start: u64, request: &Request) -> u64 {
        let time =
            |bandwidth: u64| (u128::from(request.pages) * 4096 * 1_000_000_000).div_ceil(bandwidth.into()) as u64;
        let emptied = u128::from(start - self.idle_since) * u128::from(self.spec.write.bandwidth.get()) / 1_000_000_000;
        self.cached -= self.cached.min(u64::try_from(emptied).unwrap_or(u64::MAX));
        if let Some(cache) = self.spec.write_cache
            && request.op == Op::Write
            && self.cached + request.pages * 4096 <= cache.size.get()
        {
            self.cached += request.pages * 4096;
            return start + time(cache.bandwidth.get());
        }
        let mut moved = start + time(self.transfer_of(request.op).bandwidth.get());
        if let Some(arm) = self.spec.rotating.filter(|_| self.position != request.first) {
            let thirds = 3_000_000 * self.position.abs_diff(request.first) / self.spec.size.get();
            let far = (arm.seek.get() - arm.seek_track.get()) * thirds.isqrt() / 1000;
            moved += arm.seek_track.get() + far + arm.rotation.get() / 2;
        }
        self.position = request.first + request.pages;
        moved
    }

    fn end(&mut self, end: u64, request: &Request) {
        self.idle_since = end;
        self.outcome.requests += 1;
        for &bio in &request.bios {
            self.parts[bio] -= 1;
            if self.parts[bio] == 0 {
                self.outcome.ends.push((end, bio));
            }
        }
        self.take(end);
    }
}
