//! NUMA balancing of a thread: it scans its memory on its way back to its program.
//!
//! When and what is the engine's to say ([`Engine::numa_tick`]); here is the thread whose time it takes, as task work does on
//! Linux. Where balancing is off nothing of this happens.

use std::cell::Cell;

use order9_mm::numa_balancing::NumaTask;
use order9_mm::space::{Access, VpnRange};
use order9_mm::tasks::task_numa_work;
use order9_units::{Nanos, Order};
use order9_workloads::streams::Stream;
use order9_workloads::{Loads, Stop};
use rand_pcg::rand_core::Rng as _;

#[cfg(doc)]
use crate::kernel::Engine;
use crate::thread::Thread;
use crate::time::Class;

/// Time that a program runs between two looks whether a scan is due: a tick of 250 Hz.
pub(crate) const TICK: Nanos = Nanos::new(4_000_000);

/// Time at which a thread next looks whether a scan is due.
#[derive(Debug, Default)]
pub(crate) struct NextLook(Cell<Nanos>);

impl Thread {
    /// Whether it is time to look whether to scan.
    #[inline]
    pub(crate) fn looks_now(&self) -> bool {
        self.kernel.balances && self.kernel.handle.now() >= self.next_look.0.get()
    }

    /// Goes back to the program: scans first where that is due (`task_numa_work`).
    #[inline]
    pub(crate) async fn return_to_user(&self) {
        if self.looks_now() {
            self.tick().await;
        }
    }

    #[cold]
    async fn tick(&self) {
        let Some(task) = self.numa_task() else { return };
        let (space, now) = (self.process.space, self.kernel.handle.now());
        let runtime = self.runtime();
        let tick = self.kernel.with(|mm| mm.numa_tick(space, task, runtime, now));
        if tick.scan {
            task_numa_work(self, task, now, || self.runtime()).await;
        }
        let next = self.kernel.handle.now().get().saturating_add(tick.ask_after.get());
        self.next_look.0.set(Nanos::new(next));
    }

    /// Uses the CPU for the program, in pieces where it is to scan in between.
    pub(crate) async fn run_user(&self, time: Nanos) {
        if !self.kernel.balances {
            return self.kernel.handle.spend(Class::User, time).await;
        }
        let mut rest = time;
        while rest > Nanos::ZERO {
            let piece = rest.min(TICK);
            self.kernel.handle.spend(Class::User, piece).await;
            rest -= piece;
            self.return_to_user().await;
        }
    }

    /// The thread as the engine's balancing knows it.
    pub(crate) fn numa_task(&self) -> Option<NumaTask> {
        let pid = self.kernel.handle.current()?.index() as u32;
        Some(NumaTask { pid, cpu: self.cpu(), threads: self.process.threads.get() })
    }

    /// CPU time of the thread so far.
    fn runtime(&self) -> Nanos {
        let handle = &self.kernel.handle;
        let stats = handle.current().map(|task| handle.task_stats(task)).unwrap_or_default();
        stats.user + stats.system + stats.spin
    }
}

impl Thread {
    /// Loads at random, in pieces of a tick, of which each faults on the pages that it comes by and that are asked about.
    pub(crate) async fn load_and_tell(&self, range: VpnRange, loads: u64) -> Result<Loads, Stop> {
        let mut random = self.kernel.handle.stream(&format!("loads at {}", self.kernel.handle.now().get()));
        let (mut done, mut left) = (Loads::default(), loads);
        while left > 0 {
            let Some(mean) = self.load_now(range) else { break };
            let in_a_tick = (TICK.get() * 1000).checked_div(mean.time.get()).unwrap_or(left).max(1);
            let piece = left.min(in_a_tick);
            self.tell_users_of(range, piece, &mut random).await?;
            let Some(mean) = self.load_now(range) else { break };
            let part = self.pay_loads(mean, piece).await?;
            left -= piece;
            done = Loads {
                loads: done.loads + part.loads,
                time: done.time + part.time,
                tlb_misses: Some(done.tlb_misses.unwrap_or(0) + part.tlb_misses.unwrap_or(0)),
            };
            self.return_to_user().await;
        }
        Ok(done)
    }

    /// Faults on those pages of `range` that are asked about and that `loads` loads come by.
    async fn tell_users_of(&self, range: VpnRange, loads: u64, random: &mut Stream) -> Result<(), Stop> {
        let space = self.process.space;
        let asked = self.kernel.look(|mm| mm.pages().spaces().hinting_pages(space, range));
        if asked.is_empty() {
            return Ok(());
        }
        let mapped = self.kernel.look(|mm| mm.residence(space, range));
        let huge = Order::PAGEBLOCK.pages().get();
        let pages: u64 = mapped.iter().map(|of| of.base + of.huge * huge).sum();
        for (vpn, order) in asked {
            let chance = met(order.pages().get(), pages, loads);
            if (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 <= chance {
                self.fault(vpn.addr(), Access::Read, None).await?;
            }
        }
        Ok(())
    }
}

/// Probability that at least one of `loads` random loads from `all` pages hits one of `part` of them.
fn met(part: u64, all: u64, loads: u64) -> f64 {
    let (mut missed, mut factor, mut left) = (1.0, 1.0 - part as f64 / all.max(1) as f64, loads);
    // By squaring: the same on every host, as `powf` need not be.
    while left > 0 {
        if left & 1 == 1 {
            missed *= factor;
        }
        factor *= factor;
        left >>= 1;
    }
    1.0 - missed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_loads_come_by_every_page_and_few_by_few() {
        assert_eq!((met(512, 512, 1), met(1, 1000, 0)), (1.0, 0.0));
        assert!((met(1, 1000, 1) - 0.001).abs() < 1e-12);
        assert!((met(1, 1000, 1000) - 0.632).abs() < 0.001);
        assert!(met(1, 1000, 100_000) > 0.999_999);
    }
}
