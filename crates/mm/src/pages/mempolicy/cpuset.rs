//! `cpuset.mems`: the nodes that the tasks of a space may have memory on at all.
//!
//! One level of cpusets: each space has its own, of which the machine's nodes with memory are the root.

use alloc::vec::Vec;

use order9_units::NodeMask;

use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, SpaceId};

impl UsedPages {
    /// Sets the nodes of a cpuset without moving pages.
    pub(crate) fn set_mems(&mut self, id: SpaceId, mems: NodeMask, phys: &mut PhysMem) -> Result<(), Errno> {
        let space = self.spaces.get(id)?;
        if mems.is_empty() {
            return Err(Errno::Enospc);
        }
        if !mems.is_subset_of(phys.memory_nodes()) {
            return Err(Errno::Einval);
        }
        let bound: Vec<_> = space.vmas.iter().filter_map(|vma| Some((vma.range, vma.policy?))).collect();
        let interface = phys.policy.mempolicy;
        self.spaces.living(id).tasks.rebind(mems, interface);
        self.mempolicies.in_use = true;
        for (range, policy) in bound {
            let policy = self.mempolicies.get(policy).rebound(mems, interface);
            self.bind_part(id, range, Some(policy), phys)?;
        }
        Ok(())
    }
}
