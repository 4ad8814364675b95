//! Node of a page that a task has just used, by memory policy and by the users before (`mpol_misplaced`).

use order9_frames::Idx;
use order9_units::NodeId;

use super::NumaTask;
use super::users::PageUser;
use crate::mempolicy::{PageOf, SpaceTask};
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::space::{SpaceId, Vma, Vpn};

/// Passes in which the pages of a task follow it from wherever it was.
const EARLY_PASSES: u32 = 4;

impl UsedPages {
    /// Whether pages of a mapping move to who uses them: the policy of the system lets them, others only by
    /// `MPOL_F_NUMA_BALANCING` (`vma_policy_mof`). A file of tmpfs has no policy that does.
    pub(super) fn policy_moves_on_fault(&self, task: SpaceTask, vma: &Vma) -> bool {
        if vma.kind.file().is_some_and(|file| !self.cache.files.is_on_disk(file)) {
            return false;
        }
        self.policy_in_force(task, PageOf::Mapping(vma, vma.range.start)).is_none_or(|policy| policy.balances())
    }

    /// The node that a page should move to since `task` has used it; `None` where it stays. Notes that the task has.
    pub(super) fn misplaced_on_fault(
        &mut self,
        of: SpaceTask,
        vma: &Vma,
        vpn: Vpn,
        idx: Idx,
        task: NumaTask,
        phys: &PhysMem,
    ) -> Option<NodeId> {
        let (here, there) = (phys.node_of_cpu(task.cpu), phys.node_of(idx));
        if let Some(policy) = self.policy_in_force(of, PageOf::Mapping(vma, vpn)) {
            // Within the nodes of the policy a page follows its user; beyond them it stays.
            let lets = policy.balances() && policy.nodes().has(here);
            if !lets {
                return None;
            }
        }
        let user = self.balancing.user(idx);
        self.balancing.set_user(idx, PageUser::of(task));
        (self.spaces.follows(of.space, task, user, here, phys) && here != there).then_some(here)
    }
}

impl Spaces {
    /// Whether a page follows `task` to `here`: unless somebody has used it from elsewhere before
    /// (`should_numa_migrate_memory`).
    fn follows(&self, id: SpaceId, task: NumaTask, before: PageUser, here: NodeId, phys: &PhysMem) -> bool {
        let from_here = before.cpu().is_none_or(|cpu| phys.node_of_cpu(cpu) == here);
        from_here || before.may_be(task) && self.is_early(id, task, phys)
    }

    /// Whether a task is so young that pages follow it from wherever it was.
    fn is_early(&self, id: SpaceId, task: NumaTask, phys: &PhysMem) -> bool {
        let balancing = self.get(id).ok().and_then(|space| space.balancing.as_deref());
        let of_task = balancing.and_then(|balancing| balancing.tasks.get(&task.pid));
        let young = of_task.is_none_or(|of| of.preferred.is_none() || of.pass <= EARLY_PASSES);
        phys.policy.numa_balancing.early_moves && young
    }
}
