//! `set_mempolicy_home_node`: which of the nodes of a policy is looked on first, whatever CPU the task runs on. 5.17+.

use alloc::vec::Vec;

use order9_units::{Bytes, NodeId};

use crate::addr::range_of_call;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::policy::MempolicyInterface;
use crate::space::{Errno, SpaceId, VirtAddr};

impl UsedPages {
    /// `set_mempolicy_home_node`: mappings without policy are passed over; those before one that is refused keep their home.
    pub(crate) fn set_mempolicy_home_node(
        &mut self,
        id: SpaceId,
        addr: VirtAddr,
        length: Bytes,
        home: NodeId,
        phys: &mut PhysMem,
    ) -> Result<(), Errno> {
        self.spaces.get(id)?;
        if phys.policy.mempolicy < MempolicyInterface::HomeNode {
            return Err(Errno::Enosys);
        }
        if home.index() >= phys.frames.nodes().len() {
            return Err(Errno::Einval);
        }
        let range = range_of_call(addr, length, Errno::Einval)?;
        if range.is_empty() {
            return Ok(());
        }
        let with_policy = self.spaces.living(id).vmas.within(range).filter(|vma| vma.policy.is_some());
        let parts: Vec<_> = with_policy.map(|vma| (vma.range.intersect(range), vma.policy)).collect();
        if parts.is_empty() {
            return Err(Errno::Enoent);
        }
        for (part, policy) in parts {
            let Some(policy) = policy.map(|policy| *self.mempolicies.get(policy)) else { continue };
            if !policy.takes_home() {
                return Err(Errno::Eopnotsupp);
            }
            self.bind_part(id, part, Some(policy.with_home(home)), phys)?;
        }
        Ok(())
    }
}
