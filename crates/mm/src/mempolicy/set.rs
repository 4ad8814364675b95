//! `set_mempolicy` and `get_mempolicy`; what a task's policy passes on.

use order9_units::NodeId;

use super::{Mempolicy, MempolicyArgs, PageOf};
use crate::Mm;
use crate::space::{Errno, SpaceId, VirtAddr};
use crate::trace::Tracer;

impl<T: Tracer> Mm<T> {
    /// `set_mempolicy`: the policy of the tasks of a space, for pages from now on.
    ///
    /// # Errors
    /// Those of [`Mempolicy::new`], `ESRCH` where there is no such space.
    pub fn set_mempolicy(&mut self, id: SpaceId, args: &MempolicyArgs) -> Result<(), Errno> {
        let policy = self.new_mempolicy(id, args)?;
        self.user.mempolicies.in_use |= policy.is_some();
        let task = &mut self.user.space_mut(id)?.task;
        task.policy = policy;
        if policy.is_some_and(|policy| policy.mode().interleaves()) {
            (task.last, task.left) = (None, 0);
        }
        Ok(())
    }

    /// Whether anybody has chosen nodes, by a policy or a cpuset, or had.
    #[must_use]
    pub const fn uses_mempolicies(&self) -> bool {
        self.user.mempolicies.in_use
    }

    /// The policy that a task of `id` asks for.
    pub(super) fn new_mempolicy(&self, id: SpaceId, args: &MempolicyArgs) -> Result<Option<Mempolicy>, Errno> {
        Mempolicy::new(args, self.policy.mempolicy, self.mems_allowed(id)?)
    }

    /// `get_mempolicy` without flags: the policy of the tasks of a space; with `MPOL_F_ADDR`: that of the mapping at `addr`,
    /// or of its place in a file of tmpfs. `MPOL_DEFAULT` where there is none.
    ///
    /// # Errors
    /// `EFAULT` where nothing is mapped at `addr`, `ESRCH` where there is no such space.
    pub fn get_mempolicy(&self, id: SpaceId, addr: Option<VirtAddr>) -> Result<MempolicyArgs, Errno> {
        let space = self.user.space(id)?;
        let policy = match addr {
            None => space.task.policy.as_ref(),
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
    /// lies, with `MPOL_F_ADDR`, says [`Mm::page_at`].
    ///
    /// # Errors
    /// `EINVAL` where its policy does not interleave, `ESRCH` where there is no such space.
    pub fn next_interleave_node(&self, id: SpaceId) -> Result<NodeId, Errno> {
        let task = &self.user.space(id)?.task;
        let interleaves = task.policy.is_some_and(|policy| policy.mode().interleaves());
        task.next_turn(&self.user.mempolicies.weights).filter(|_| interleaves).ok_or(Errno::Einval)
    }

    /// Gives the tasks of `child` the policy and cpuset of those of `parent`, as `fork` does.
    ///
    /// # Errors
    /// `ESRCH` where one of the two is gone.
    pub fn inherit_mempolicy(&mut self, parent: SpaceId, child: SpaceId) -> Result<(), Errno> {
        let task = self.user.space(parent)?.task.clone();
        self.user.space_mut(child)?.task = task;
        Ok(())
    }
}
