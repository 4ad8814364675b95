//! Programs choose their nodes: memory policies, moves of pages, cpusets, CPUs.

use order9_mm::SpaceId;
use order9_mm::mempolicy::{MbindFlags, MempolicyArgs, Movable, SpaceTask};
use order9_mm::tasks::{mbind, migrate_space, set_mems};
use order9_units::{NodeId, NodeMask};

use super::{World, pages};
use crate::nodes::Choices;

/// Threads beside the first of each program that there are at a time.
const MOST_THREADS: usize = 4;

impl<C: Choices> World<C> {
    /// Chooses nodes in one way or another. What Linux would refuse is refused.
    pub(super) fn step_on_nodes(&mut self) {
        let space = self.space();
        match self.below(11) {
            0 | 1 => {
                let (policy, task) = (self.policy(), self.task(space));
                let _refused = self.with(|mm| mm.set_mempolicy(task, &policy));
            }
            2..=5 => self.bind(),
            6 => {
                let ((start, length), node) = (self.range(), self.node());
                let _refused = self.with(|mm| mm.set_mempolicy_home_node(space, start, pages(length), node));
            }
            7 => {
                let (mems, migrates) = (self.mask(), self.below(2) == 0);
                let _refused = self.machine.run(set_mems(&self.machine, space, mems, migrates));
            }
            8 => {
                let (from, to, capable) = (self.mask(), self.mask(), self.below(4) > 0);
                self.with(|mm| mm.pages_mut().spaces_mut().set_sys_nice(space, capable)).expect("it lives");
                let other = self.space();
                let _refused = self.machine.run(migrate_space(&self.machine, space, other, from, to));
            }
            9 => {
                let parent = self.task(space);
                let child = self.with(|mm| mm.pages_mut().spaces_mut().start_thread(parent)).expect("both live");
                self.threads.push(child);
                if self.threads.len() > MOST_THREADS {
                    let gone = self.threads.remove(0);
                    self.with(|mm| mm.pages_mut().spaces_mut().end_thread(gone));
                }
            }
            _ => {
                let (node, weight) = (self.node(), self.below(4).to_string());
                let name = format!("mempolicy/weighted_interleave/node{node}");
                let _without_memory = self.with(|mm| order9_procfs::sysctl::write(mm, &name, &weight));
            }
        }
    }

    /// A thread of a program.
    pub(super) fn task(&mut self, space: SpaceId) -> SpaceTask {
        let others: Vec<_> = self.threads.iter().copied().filter(|task| task.space() == space).collect();
        match others.len() as u64 {
            0 => space.into(),
            count => others.get(self.below(count + 1) as usize).copied().unwrap_or_else(|| space.into()),
        }
    }

    fn bind(&mut self) {
        let (space, (start, length), args) = (self.space(), self.range(), self.policy());
        let moves = [None, Some(Movable::Own), Some(Movable::All)][self.below(3) as usize];
        let flags = MbindFlags { strict: self.below(2) == 0, moves };
        let _refused = self.machine.run(mbind(&self.machine, space, start, pages(length), &args, flags));
    }

    /// Another task acts, or the same elsewhere.
    pub(super) fn run_elsewhere(&mut self) {
        let cpu = self.machine.nodes.cpu(&mut self.choices);
        self.machine.run_on(cpu);
    }

    pub(super) fn node(&mut self) -> NodeId {
        self.machine.nodes.node(&mut self.choices)
    }

    fn mask(&mut self) -> NodeMask {
        self.machine.nodes.mask(&mut self.choices)
    }

    fn policy(&mut self) -> MempolicyArgs {
        self.machine.nodes.policy(&mut self.choices)
    }
}
