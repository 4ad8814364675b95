//! `cpuset.mems`: the nodes that the tasks of a space may have memory on at all.
//!
//! One level of cpusets: each space has its own, of which the machine's nodes with memory are the root.

use alloc::vec::Vec;

use order9_units::NodeMask;

use super::Movable;
use super::migrate_pages::migrate_nodes;
use crate::Pressure;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Errno, SpaceId};
use crate::trace::Tracer;

/// Writes `mems` to `cpuset.mems` of a space, whose policies follow; where `migrates` (`cpuset.memory_migrate`, and always in
/// the second version of cgroups), its pages do as well: those of each node to the node at the same place.
///
/// # Errors
/// `ENOSPC` for no node, `EINVAL` for nodes that do not exist or have no memory, `ESRCH` where there is no such space.
pub async fn set_mems<E: Pressure>(env: &E, space: SpaceId, mems: NodeMask, migrates: bool) -> Result<(), Errno> {
    let before = env.with(|mm| {
        let before = mm.mems_allowed(space)?;
        mm.set_mems(space, mems).map(|()| before)
    })?;
    env.spend().await;
    if migrates {
        migrate_nodes(env, space, before, mems, Movable::All).await;
    }
    Ok(())
}

impl UsedPages {
    /// The same without moving pages.
    pub(crate) fn set_mems(
        &mut self,
        id: SpaceId,
        mems: NodeMask,
        phys: &mut PhysMem<impl Tracer>,
    ) -> Result<(), Errno> {
        let space = self.space(id)?;
        if mems.is_empty() {
            return Err(Errno::Enospc);
        }
        if !mems.is_subset_of(phys.memory_nodes()) {
            return Err(Errno::Einval);
        }
        let bound: Vec<_> = space.vmas.iter().filter_map(|vma| Some((vma.range, vma.policy?))).collect();
        let interface = phys.policy.mempolicy;
        self.living(id).tasks.rebind(mems, interface);
        self.mempolicies.in_use = true;
        for (range, policy) in bound {
            let policy = self.mempolicies.get(policy).rebound(mems, interface);
            self.bind_part(id, range, Some(policy), phys)?;
        }
        Ok(())
    }
}
