//! Reclaim runs: begun, advanced by a chunk, ended.

use order9_frames::ZoneId;

use crate::Mm;
use crate::reclaim::control::{ReclaimControl, ReclaimId};
use crate::reclaim::pass::ReclaimStep;

impl Mm {
    /// Begins a pass of the run over the lists that hold pages of `zone`: those of its node or its own, by policy.
    ///
    /// # Panics
    /// If the run has ended.
    pub fn begin_lru_pass(&mut self, id: ReclaimId, zone: ZoneId) {
        self.pages.begin_pass(self.reclaim_runs.get_mut(id), zone, &self.phys);
    }

    /// Advances the pass by at most a chunk, on behalf of `cpu`.
    ///
    /// # Panics
    /// If the run has ended.
    pub fn reclaim_step(&mut self, id: ReclaimId, cpu: usize) -> ReclaimStep {
        let run = self.reclaim_runs.get_mut(id);
        self.reclaim.step(run, cpu, &mut self.phys, &mut self.pages, &self.compaction)
    }
}

impl Mm {
    /// Starts a run.
    pub fn begin_reclaim(&mut self, control: ReclaimControl) -> ReclaimId {
        self.reclaim_runs.begin(control)
    }

    /// A run under way, to be read or told to try harder.
    ///
    /// # Panics
    /// If it has ended.
    pub fn reclaim_mut(&mut self, id: ReclaimId) -> &mut ReclaimControl {
        self.reclaim_runs.get_mut(id)
    }

    /// Ends a run; pages that it still holds go back to their lists.
    ///
    /// # Panics
    /// If it has ended.
    pub fn end_reclaim(&mut self, id: ReclaimId) -> ReclaimControl {
        let mut run = self.reclaim_runs.end(id);
        self.pages.end_passes(&mut run, &mut self.phys);
        run
    }
}
