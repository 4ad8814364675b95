//! Time in which threads waited for memory: what /proc/pressure/memory counts as `some`, of direct reclaim and direct compaction.

use std::cell::Cell;

use order9_units::Nanos;

/// Waits of threads for memory.
#[derive(Debug, Default)]
pub(crate) struct Stalls {
    /// Threads that wait now.
    waiting: Cell<u64>,
    /// Time since which at least one does.
    since: Cell<Nanos>,
    /// Time in which at least one did, before.
    some: Cell<Nanos>,
}

impl Stalls {
    /// A thread begins to wait.
    pub(crate) fn enter(&self, now: Nanos) {
        if self.waiting.get() == 0 {
            self.since.set(now);
        }
        self.waiting.set(self.waiting.get() + 1);
    }

    /// A thread goes on.
    pub(crate) fn leave(&self, now: Nanos) {
        self.some.set(self.some(now));
        self.since.set(now);
        self.waiting.set(self.waiting.get() - 1);
    }

    /// Time in which at least one thread waited.
    pub(crate) fn some(&self, now: Nanos) -> Nanos {
        let present = if self.waiting.get() > 0 { now - self.since.get() } else { Nanos::ZERO };
        self.some.get() + present
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_in_which_several_wait_counts_once() {
        let (stalls, ns) = (Stalls::default(), Nanos::new);
        stalls.enter(ns(10));
        stalls.enter(ns(12));
        assert_eq!(stalls.some(ns(15)), ns(5));
        stalls.leave(ns(20));
        stalls.leave(ns(30));
        assert_eq!(stalls.some(ns(99)), ns(20));
        stalls.enter(ns(100));
        assert_eq!(stalls.some(ns(101)), ns(21));
    }
}
