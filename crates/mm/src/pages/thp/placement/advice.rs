//! Advice of programs about the place of their huge pages, and the right to give it.

use super::PlacementAdvice;
use crate::phys::PhysMem;
use crate::space::Spaces;
use crate::space::{Errno, Madvise, SpaceId};

impl Spaces {
    /// Takes `CAP_SYS_NICE` from the tasks of a space, or gives it back: every space starts with it, and a child of `fork` has
    /// what its parent has. Whoever lacks it may not harm others for the sake of where its own memory lies.
    ///
    /// # Errors
    /// `ESRCH` where there is no such space.
    pub fn set_sys_nice(&mut self, id: SpaceId, capable: bool) -> Result<(), Errno> {
        self.get_mut(id)?.unprivileged = !capable;
        Ok(())
    }

    /// Whether the tasks of a space have `CAP_SYS_NICE`.
    pub(crate) fn has_sys_nice(&self, id: SpaceId) -> bool {
        self.get(id).is_ok_and(|space| !space.unprivileged)
    }

    /// Whether advice about placement is known, and this space may give it.
    pub(crate) fn may_advise_placement(&self, id: SpaceId, advice: Madvise, phys: &PhysMem) -> Result<(), Errno> {
        let known = phys.policy.thp.placement.rule().advice;
        match advice {
            Madvise::Local if known != PlacementAdvice::Local => Err(Errno::Einval),
            Madvise::HugePageForceLocal if known != PlacementAdvice::ForceLocal => Err(Errno::Einval),
            Madvise::HugePageForceLocal if !self.has_sys_nice(id) && !phys.settings.thp.force_local => {
                Err(Errno::Eperm)
            }
            _ => Ok(()),
        }
    }
}
