//! The OOM killer, and how long direct compaction keeps threads.

use std::fmt;
use std::rc::Rc;

use order9_mm::env::OomKill;
use order9_mm::{Effort, Pressure, Request, SpaceId};
use order9_units::{Nanos, Order, Pages};
use order9_workloads::OomScoreAdj;

use crate::kernel::Engine;
use crate::oom_report::OomReport;
use crate::process::Process;
use crate::thread::Thread;

/// A process was killed because memory had run out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// Time of the kill.
    pub at: Nanos,
    /// Name of the killed process; `None` where no process was left.
    pub victim: Option<String>,
    /// Pages that killing the victim frees: mapped, in swap, and of page tables.
    pub rss: Pages,
    /// Name of the task that asked for memory.
    pub asked_by: String,
    /// Order of the request.
    pub order: Order,
    /// Pages free at the moment, all zones.
    pub free: Pages,
    /// Pages the allocator manages.
    pub managed: Pages,
    /// The kernel's log of the kill: lines about memory, zones, tasks and the victim.
    pub report: String,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { victim, rss, asked_by, order, free, managed, .. } = self;
        let seconds = self.at.get() as f64 / 1e9;
        write!(f, "memory ran out after {seconds:.3} s: {asked_by} asked for a block of order {order}, ")?;
        write!(f, "{} of {} pages were free", free.get(), managed.get())?;
        match victim {
            Some(victim) => {
                write!(f, "; killed {victim}, which had {} pages in memory, swap and page tables", rss.get())
            }
            None => f.write_str(", and nobody could be killed"),
        }
    }
}

impl Pressure for Thread {
    async fn exert<R>(&self, effort: Effort, work: impl Future<Output = R>) -> R {
        let begin = self.kernel.handle.now();
        self.kernel.stalls.enter(begin);
        let result = work.await;
        let end = self.kernel.handle.now();
        self.kernel.stalls.leave(end);
        if effort == Effort::Compact {
            let stall = &self.kernel.compact_stall;
            stall.set(stall.get() + (end - begin));
        }
        result
    }

    async fn oom_kill(&self, request: &Request) -> OomKill {
        let processes = self.kernel.processes.borrow().clone();
        let living = processes.iter().filter(|process| !process.has_ended());
        if living.clone().any(|process| process.killed.get()) {
            return OomKill::Busy;
        }
        let points = |process: &&Rc<Process>| self.kernel.look(|mm| oom_badness(mm, process, request));
        // Killing who has nothing on the nodes that are short would not help.
        let helps = |process: &&Rc<Process>| {
            self.kernel.look(|mm| mm.pages().spaces().may_use_nodes(process.space, request.nodemask))
        };
        // Of equals, the youngest.
        let victim = living.filter(helps).max_by_key(points).filter(|process| points(process).is_some());
        self.kernel.kills.borrow_mut().push(self.report(request, victim, &processes));
        let Some(victim) = victim else { return OomKill::NoVictim };
        self.kernel.with(|mm| mm.phys_mut().count_oom_kill());
        victim.kill(&self.kernel.handle);
        OomKill::Killed
    }
}

impl Thread {
    fn report(&self, request: &Request, victim: Option<&Rc<Process>>, all: &[Rc<Process>]) -> OutOfMemory {
        self.kernel.look(|mm| OutOfMemory {
            at: self.kernel.handle.now(),
            victim: victim.map(|victim| victim.name.to_string()),
            rss: victim.map_or(Pages::ZERO, |victim| held(mm, victim.space)),
            order: request.order,
            free: Pages::new(mm.frames().zones().iter().map(|zone| zone.free()).sum()),
            managed: Pages::new(mm.frames().zones().iter().map(|zone| zone.managed()).sum()),
            report: OomReport { mm, request, asked_by: &self.process, processes: all, victim }.to_string(),
            asked_by: self.process.name.to_string(),
        })
    }
}

/// Points of a process, of which the one with most is killed (`oom_badness`): the pages that this would free, and its `oom_score_adj` in
/// thousandths of all pages that the request may have, and swap. `None` where it would free nothing, or must not be killed.
fn oom_badness(mm: &Engine, process: &Process, request: &Request) -> Option<i64> {
    let (held, adj) = (held(mm, process.space), process.oom_score_adj.get());
    if held == Pages::ZERO || adj == OomScoreAdj::MIN {
        return None;
    }
    let zones = mm.frames().zones().iter().filter(|zone| request.nodemask.is_none_or(|nodes| nodes.has(zone.node())));
    let total = zones.map(|zone| zone.managed()).sum::<u64>() + mm.pages().swap().swap_total().get();
    Some(held.get().cast_signed() + adj.get() * (total / 1000).cast_signed())
}

/// Pages that killing the process would free: mapped, in swap, and of page tables.
fn held(mm: &Engine, space: SpaceId) -> Pages {
    mm.space(space).map_or(Pages::ZERO, |space| space.rss().total() + space.swapped() + Pages::new(space.page_tables()))
}
