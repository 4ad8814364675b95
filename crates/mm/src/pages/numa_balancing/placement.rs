//! Conclusions from the hint faults of a task: the time of its next scan, and the node that it prefers.

use order9_units::{Nanos, NodeId};

use super::period::{Periods, RecentFaults};
use super::{NumaTask, TaskBalancing, millis};
use crate::phys::PhysMem;
use crate::policy::ScanSlowsDown;
use crate::space::SpaceId;
use crate::space::Spaces;

/// Interval at which a task tries to get to its node: a second, or a sixteenth of its scan period if that is less.
const RETRY: Nanos = Nanos::new(1_000_000_000);

/// A hint fault that has been handled.
#[derive(Clone, Copy, Debug)]
pub(super) struct HintFault {
    /// Node of the page now.
    pub(super) node: NodeId,
    pub(super) pages: u64,
    /// Nobody but the task has used it lately.
    pub(super) private: bool,
    /// The page was on the own node.
    pub(super) local: bool,
    /// Whether it has moved, where it was to.
    pub(super) moved: Option<bool>,
}

impl Spaces {
    /// Takes note of a hint fault (`task_numa_fault`); returns the node that the task should go to.
    pub(super) fn learn(
        &mut self,
        id: SpaceId,
        task: NumaTask,
        fault: &HintFault,
        now: Nanos,
        phys: &PhysMem,
    ) -> Option<NodeId> {
        let (settings, nodes) = (phys.settings.numa_balancing, phys.frames.nodes().len());
        let (periods, rule) = (self.scan_periods(id, phys), phys.policy.numa_balancing.slows_down);
        let here = phys.node_of_cpu(task.cpu);
        let balancing = self.balancing_of(id, now, phys);
        let pass = balancing.pass;
        let of_task = balancing.task(task.pid, nodes, &settings);
        let mut goes_to = None;
        if now > of_task.retry {
            let told = of_task.look_back(pass, periods, rule);
            goes_to = of_task.wants_to_go(here, now);
            if told == Some(false) {
                balancing.next_scan = now + millis(balancing.tasks[&task.pid].period_ms);
            }
        }
        balancing.task(task.pid, nodes, &settings).count(fault);
        goes_to
    }
}

impl TaskBalancing {
    fn count(&mut self, fault: &HintFault) {
        self.recent[fault.node.index()][usize::from(fault.private)] += fault.pages;
        self.locality[usize::from(fault.local)] += fault.pages;
        self.locality[2] += if fault.moved == Some(false) { fault.pages } else { 0 };
    }

    /// Looks at the faults of the last pass, once in each (`task_numa_placement`): where most of them are is the node to
    /// prefer. Says whether they told anything about the scan period, if it looked.
    fn look_back(&mut self, pass: u32, periods: Periods, rule: ScanSlowsDown) -> Option<bool> {
        if self.pass == pass {
            return None;
        }
        self.pass = pass;
        let mut faults = RecentFaults::default();
        for (known, recent) in self.faults.iter_mut().zip(&mut self.recent) {
            faults.shared += recent[0];
            faults.private += recent[1];
            for (known, recent) in known.iter_mut().zip(recent) {
                *known = *known / 2 + core::mem::take(recent);
            }
        }
        let RecentFaults { remote, local, failed, .. } = self.take_locality();
        let faults = RecentFaults { remote, local, failed, ..faults };
        let by_node = (0..).map(NodeId).zip(&self.faults).map(|(node, of)| (node, of[0] + of[1]));
        // Of equal nodes the lowest.
        let (best, most) = by_node.reduce(|best, of| if of.1 > best.1 { of } else { best }).expect("there are nodes");
        if most > 0 {
            self.preferred = Some(best);
        }
        self.period_ms = faults.adapt(self.period_ms, periods, rule);
        Some(!faults.tell_nothing())
    }

    /// The node that the task prefers to `here`, now and then (`numa_migrate_preferred`).
    fn wants_to_go(&mut self, here: NodeId, now: Nanos) -> Option<NodeId> {
        let preferred = self.preferred?;
        self.retry = now + RETRY.min(millis(self.period_ms / 16));
        Some(preferred).filter(|&node| node != here)
    }
}
