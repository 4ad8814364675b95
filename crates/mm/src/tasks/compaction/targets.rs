//! Frames that a compaction run holds, as migration takes them.

use order9_frames::Idx;

use crate::Mm;
use crate::compaction::run::control::CompactId;
use crate::tasks::migrate::targets::Targets;
use crate::trace::Tracer;

/// Free frames that a run holds, as targets of migration.
pub(crate) struct RunTargets(pub(crate) CompactId);

impl<T: Tracer> Targets<T> for RunTargets {
    fn take(&mut self, mm: &mut Mm<T>, _: Idx) -> Option<Idx> {
        let run = mm.compact_runs.get_mut(self.0);
        if run.freepages.is_empty() {
            mm.compaction.isolate_freepages(run, &mut mm.phys);
        }
        run.freepages.pop()
    }

    fn give_back(&mut self, mm: &mut Mm<T>, target: Idx) {
        mm.compact_runs.get_mut(self.0).freepages.push(target);
    }
}
