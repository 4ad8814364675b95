//! `set_mempolicy` and `get_mempolicy`.

use order9_units::NodeId;

use super::{Mempolicy, MempolicyArgs, Mode, PageOf, SpaceTask};
use crate::mempolicy::Mempolicies;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::space::{Errno, SpaceId, VirtAddr};

impl UsedPages {
    /// `set_mempolicy`: the policy of a task, for pages from now on.
    pub(crate) fn set_mempolicy(
        &mut self,
        task: impl Into<SpaceTask>,
        args: &MempolicyArgs,
        phys: &PhysMem,
    ) -> Result<(), Errno> {
        let SpaceTask { space, thread } = task.into();
        let policy = self.spaces.new_mempolicy(space, args, phys)?;
        self.mempolicies.in_use |= policy.is_some();
        self.spaces.get_mut(space)?.tasks.of_mut(thread).ok_or(Errno::Esrch)?.set(policy);
        Ok(())
    }

    /// `get_mempolicy` without flags: the policy of a task; with `MPOL_F_ADDR`: that of the mapping at `addr`,
    /// or of its place in a file of tmpfs. `MPOL_DEFAULT` where there is none.
    ///
    /// # Errors
    /// `EFAULT` where nothing is mapped at `addr`, `ESRCH` where there is no such task.
    pub fn get_mempolicy(&self, task: impl Into<SpaceTask>, addr: Option<VirtAddr>) -> Result<MempolicyArgs, Errno> {
        let SpaceTask { space, thread } = task.into();
        let space = self.spaces.get(space)?;
        let task = space.tasks.of(thread).ok_or(Errno::Esrch)?.policy();
        let policy = match addr {
            None => task.as_ref(),
            Some(addr) => {
                let vma = space.vmas.find(addr.vpn()).ok_or(Errno::Efault)?;
                self.policy_of(PageOf::Mapping(vma, addr.vpn()))
            }
        };
        let shown = |policy: &Mempolicy| MempolicyArgs {
            mode: policy.mode(),
            flags: policy.flags(),
            balances: policy.balances(),
            nodes: policy.shown_nodes(),
        };
        Ok(policy.map_or(MempolicyArgs::DEFAULT, shown))
    }

    /// `get_mempolicy` with `MPOL_F_NODE`: the node that a task's next page goes to by turns. Where a page at an address
    /// lies, with `MPOL_F_ADDR`, says [`Mm::page_at`](crate::Mm::page_at).
    ///
    /// # Errors
    /// `EINVAL` where its policy does not interleave, `ESRCH` where there is no such task.
    pub fn next_interleave_node(&self, task: impl Into<SpaceTask>) -> Result<NodeId, Errno> {
        let SpaceTask { space, thread } = task.into();
        let task = self.spaces.get(space)?.tasks.of(thread).ok_or(Errno::Esrch)?;
        let interleaves = task.policy().is_some_and(|policy| policy.mode().interleaves());
        task.next_turn(&self.mempolicies.weights).filter(|_| interleaves).ok_or(Errno::Einval)
    }
}

impl Mempolicies {
    /// Whether anybody has chosen nodes, by a policy or a cpuset, or had.
    #[must_use]
    pub fn uses_mempolicies(&self) -> bool {
        self.in_use
    }
}

impl Spaces {
    /// The policy that a task of `id` asks for.
    pub(super) fn new_mempolicy(
        &self,
        id: SpaceId,
        args: &MempolicyArgs,
        phys: &PhysMem,
    ) -> Result<Option<Mempolicy>, Errno> {
        let policy = Mempolicy::new(args, &phys.policy, self.mems_allowed(id, phys)?)?;
        // It may take from others on the node what they have there.
        if args.mode == Mode::NodeProximity && !self.has_sys_nice(id) {
            return Err(Errno::Eperm);
        }
        Ok(policy)
    }
}
