//! Runs of an earlier validation with those of more boots beside them: what a kernel did then stands, and more of its guests run.

use std::path::Path;

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;

use super::about::About;
use super::guests::Guests;
use super::kept::Kept;
use super::{Referee, usage};
use crate::failure::Failure;

/// Memories of an earlier validation, and of guests that boot now.
pub(super) struct Grown {
    kept: Kept,
    /// Number of memories that were kept, of each experiment.
    there: usize,
    more: Guests,
}

impl Grown {
    /// Adds `more` guests to the runs that were kept.
    pub(super) const fn new(kept: Kept, there: usize, more: Guests) -> Self {
        Self { kept, there, more }
    }
}

impl Referee for Grown {
    fn title(&self) -> String {
        self.more.title()
    }

    fn about(&self) -> About {
        self.more.about()
    }

    fn storage(&self) -> Option<&MachineSpec> {
        self.more.storage()
    }

    fn starts(&mut self, experiment: &str) -> Result<Vec<Snapshot>, Failure> {
        let mut starts = self.kept.starts(experiment)?;
        starts.truncate(self.there);
        starts.extend(self.more.starts(experiment)?);
        Ok(starts)
    }

    fn runs(&self, start: usize, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure> {
        match start.checked_sub(self.there) {
            Some(more) => self.more.runs(more, plan, parameters),
            None => self.kept.runs(start, plan, parameters),
        }
    }

    fn is_new(&self, start: usize) -> bool {
        start >= self.there
    }
}

/// Memories that all of these experiments have below `root` under the kernel with this title.
pub(super) fn kept_starts<'a>(
    root: &Path,
    title: &str,
    machine: Option<MachineSpec>,
    experiments: impl Iterator<Item = &'a str>,
) -> Result<(Kept, usize), Failure> {
    let kept = Kept::new(&root.join(title), machine);
    let there = experiments.map(|experiment| kept.memories(experiment)).min().unwrap_or(0);
    match there {
        1 => Err(usage(format!("{}: runs from one memory cannot be added to; --force replaces them", root.display()))),
        there => Ok((kept, there)),
    }
}
