//! Pages that a compaction run moves and frames that it holds, as migration takes them.

use alloc::vec::Vec;

use order9_frames::Idx;
use order9_units::Order;

use crate::Mm;
use crate::compaction::run::control::CompactId;
use crate::tasks::migrate::sources::Sources;
use crate::tasks::migrate::targets::Targets;

/// Pages that a run has isolated, which stay its own until they are moved.
pub(crate) struct RunSources(pub(crate) CompactId);

impl Sources for RunSources {
    fn list<'a>(&'a mut self, mm: &'a mut Mm) -> &'a mut Vec<Idx> {
        &mut mm.compact_runs.get_mut(self.0).migratepages
    }
}

/// Free frames that a run holds, as targets of migration.
pub(crate) struct RunTargets(pub(crate) CompactId);

impl Targets for RunTargets {
    fn take(&mut self, mm: &mut Mm, _: Idx) -> Option<Idx> {
        let run = mm.compact_runs.get_mut(self.0);
        if run.freepages.is_empty() {
            mm.compaction.isolate_freepages(run, &mut mm.phys);
        }
        run.freepages.pop()
    }

    fn take_block(&mut self, mm: &mut Mm, order: Order) -> Option<Idx> {
        let run = mm.compact_runs.get_mut(self.0);
        run.take_target_block(order).or_else(|| {
            mm.compaction.isolate_free_block(run, order, &mut mm.phys);
            run.take_target_block(order)
        })
    }

    fn give_back(&mut self, mm: &mut Mm, target: Idx) {
        mm.compact_runs.get_mut(self.0).freepages.push(target);
    }
}
