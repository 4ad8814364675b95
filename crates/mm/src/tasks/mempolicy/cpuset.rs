//! A cpuset gets other nodes, and pages follow.

use order9_units::NodeMask;

use super::migrate_pages::migrate_nodes;
use crate::Pressure;
use crate::pages::mempolicy::Movable;
use crate::space::{Errno, SpaceId};

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
