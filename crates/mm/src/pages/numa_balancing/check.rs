//! Laws of NUMA balancing.

use alloc::format;

use order9_frames::{Verdict, require};

use super::SpaceBalancing;
use crate::numa_balancing::NumaBalancing;
use crate::pages::UsedPages;
use crate::phys::PhysMem;
use crate::space::{Mapping, Pte, PteFlag, SpaceId, TASK_END};

impl NumaBalancing {
    /// An entry that balancing took the access from has a page, and balancing has been on.
    pub(crate) fn check_hinting(&self, at: Mapping, pte: Pte) -> Verdict {
        let hinting = pte.has(PteFlag::Hinting);
        let sound = !hinting || pte.idx().is_some() && !pte.has(PteFlag::Access) && self.was_on();
        require(sound, "an entry that tells who uses its page has a page and no access", || format!("{at:?}: {pte:?}"))
    }
}

impl UsedPages {
    /// Checks the counters of balancing, and its facts about spaces and tasks.
    pub(crate) fn check_numa_balancing(&self, phys: &PhysMem) -> Verdict {
        let counters = &phys.counters;
        let (all, local) = (counters.numa_hint_faults, counters.numa_hint_faults_local);
        require(local <= all, "local hint faults are hint faults", || format!("{local} of {all}"))?;
        let (pages, huge) = (counters.numa_pte_updates, counters.numa_huge_pte_updates);
        require(512 * huge <= pages, "a huge entry counts as 512 pages", || format!("{huge} in {pages}"))?;
        let (moved, migrated) = (counters.numa_pages_migrated, counters.pgmigrate_success);
        require(moved <= migrated, "what hint faults move is migrated", || format!("{moved} of {migrated}"))?;
        let known = |of: Option<&SpaceBalancing>| of.is_none() || self.balancing.was_on();
        for (id, space) in self.spaces.iter() {
            let of = space.balancing.as_deref();
            require(known(of), "a space is watched once balancing has been on", || format!("{id:?}"))?;
            of.map_or(Ok(()), |of| phys.check_watched(id, of))?;
        }
        Ok(())
    }
}

impl PhysMem {
    fn check_watched(&self, id: SpaceId, of: &SpaceBalancing) -> Verdict {
        require(of.offset <= TASK_END, "a scan goes on within the address space", || {
            format!("{id:?}: {:?}", of.offset)
        })?;
        let nodes = self.frames.nodes().len();
        for (pid, task) in &of.tasks {
            let sized = task.faults.len() == nodes && task.recent.len() == nodes;
            let exists = task.preferred.is_none_or(|node| node.index() < nodes);
            require(sized && exists, "a task has faults on nodes that there are, and prefers one", || {
                format!("{id:?}, task {pid}: {task:?}")
            })?;
        }
        Ok(())
    }
}
