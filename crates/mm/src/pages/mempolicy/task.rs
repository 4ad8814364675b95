//! Policies of tasks: each thread of a space has its own, and a new one begins with that of the thread that starts it.
//!
//! Key types: [`SpaceTask`] (whose policy a call follows), [`TaskPolicies`] (of all tasks of a space, with their cpuset).

use alloc::collections::BTreeMap;
use core::iter;

use order9_units::{NodeId, NodeMask};

use super::{Mempolicy, Mode, Weights};
use crate::policy::MempolicyInterface;
use crate::space::Spaces;
use crate::space::{Errno, SpaceId};

/// A task: whose memory policy a call follows. A space by itself stands for its first task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceTask {
    pub(crate) space: SpaceId,
    /// Number of the thread in the space, 0 for the first; no other task of the space ever has it.
    pub(crate) thread: u32,
}

impl SpaceTask {
    /// The space whose memory it uses.
    #[must_use]
    pub const fn space(self) -> SpaceId {
        self.space
    }
}

impl From<SpaceId> for SpaceTask {
    #[inline]
    fn from(space: SpaceId) -> Self {
        Self { space, thread: 0 }
    }
}

/// Policy of a task, and the turn that it has come to.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskPolicy {
    policy: Option<Mempolicy>,
    /// The node that the last page of its own went to by turns (`il_prev`).
    last: Option<NodeId>,
    /// Pages that this node still gets (`il_weight`).
    left: u8,
}

impl TaskPolicy {
    pub(super) const fn policy(&self) -> Option<Mempolicy> {
        self.policy
    }

    /// Takes a policy, or none. One by turns begins anew.
    pub(super) fn set(&mut self, policy: Option<Mempolicy>) {
        self.policy = policy;
        if policy.is_some_and(|policy| policy.mode().interleaves()) {
            (self.last, self.left) = (None, 0);
        }
    }

    /// The node whose turn it is, and has been then.
    pub(super) fn take_turn(&mut self, weights: &Weights) -> Option<NodeId> {
        let policy = self.policy?;
        let stays = self.left > 0 && self.last.is_some_and(|last| policy.nodes().has(last));
        if policy.mode() != Mode::WeightedInterleave || !stays {
            self.last = policy.nodes().next_in(self.last);
            self.left = self.last.map_or(0, |node| weights.of(node));
        }
        self.left = self.left.saturating_sub(1);
        self.last
    }

    /// The node whose turn is next, as `get_mempolicy` with `MPOL_F_NODE` says it.
    pub(super) fn next_turn(&self, weights: &Weights) -> Option<NodeId> {
        self.clone().take_turn(weights)
    }
}

/// Policies of the living tasks of a space, and their cpuset.
#[derive(Clone, Debug, Default)]
pub(crate) struct TaskPolicies {
    first: TaskPolicy,
    /// Of the other threads, by number.
    others: BTreeMap<u32, TaskPolicy>,
    /// Threads that were ever started beside the first.
    started: u32,
    /// `cpuset.mems`; `None` means every node.
    pub(super) mems: Option<NodeMask>,
}

impl TaskPolicies {
    /// Of a thread; `None` once it has ended.
    pub(super) fn of(&self, thread: u32) -> Option<&TaskPolicy> {
        if thread == 0 { Some(&self.first) } else { self.others.get(&thread) }
    }

    pub(super) fn of_mut(&mut self, thread: u32) -> Option<&mut TaskPolicy> {
        if thread == 0 { Some(&mut self.first) } else { self.others.get_mut(&thread) }
    }

    /// Of every living thread.
    pub(super) fn policies(&self) -> impl Iterator<Item = Option<Mempolicy>> {
        iter::once(&self.first).chain(self.others.values()).map(|task| task.policy)
    }

    /// The node that each living thread has come to by turns.
    pub(super) fn turns(&self) -> impl Iterator<Item = Option<NodeId>> {
        iter::once(&self.first).chain(self.others.values()).map(|task| task.last)
    }

    /// The cpuset has changed to `mems`: every policy follows.
    pub(super) fn rebind(&mut self, mems: NodeMask, interface: MempolicyInterface) {
        for task in iter::once(&mut self.first).chain(self.others.values_mut()) {
            task.policy = task.policy.map(|policy| policy.rebound(mems, interface));
        }
        self.mems = Some(mems);
    }
}

impl Spaces {
    /// `clone` of a thread: a task of the same space as `parent`, with the policy that this one has now.
    ///
    /// # Errors
    /// `ESRCH` where there is no such space, or the parent has ended.
    pub fn start_thread(&mut self, parent: impl Into<SpaceTask>) -> Result<SpaceTask, Errno> {
        let SpaceTask { space, thread } = parent.into();
        let tasks = &mut self.get_mut(space)?.tasks;
        let policy = tasks.of(thread).ok_or(Errno::Esrch)?.clone();
        tasks.started += 1;
        tasks.others.insert(tasks.started, policy);
        Ok(SpaceTask { space, thread: tasks.started })
    }

    /// The end of a thread, and of its policy. The first task ends with its space.
    pub fn end_thread(&mut self, task: SpaceTask) {
        if let Ok(space) = self.get_mut(task.space) {
            space.tasks.others.remove(&task.thread);
        }
    }

    /// Gives the first task of `child` the policy of `parent`, and its cpuset, as `fork` does.
    ///
    /// # Errors
    /// `ESRCH` where one of the two is gone.
    pub fn inherit_mempolicy(&mut self, parent: impl Into<SpaceTask>, child: SpaceId) -> Result<(), Errno> {
        let SpaceTask { space, thread } = parent.into();
        let tasks = &self.get(space)?.tasks;
        let (first, mems) = (tasks.of(thread).ok_or(Errno::Esrch)?.clone(), tasks.mems);
        self.get_mut(child)?.tasks = TaskPolicies { first, mems, ..TaskPolicies::default() };
        Ok(())
    }

    /// The policy of a task itself.
    pub(crate) fn task_policy(&self, task: SpaceTask) -> Option<&Mempolicy> {
        self.get(task.space).ok()?.tasks.of(task.thread)?.policy.as_ref()
    }
}
