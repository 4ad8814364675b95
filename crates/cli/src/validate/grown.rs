//! Runs of an earlier validation with those of more boots beside them: what a kernel did then stands, and more of its guests run.

use std::collections::BTreeSet;
use std::path::Path;

use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::Run;
use order9_snapshot::Snapshot;
use order9_workloads::Parameters;

use super::Referee;
use super::about::About;
use super::guests::Guests;
use super::kept::Kept;
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

    fn starts(&mut self, experiment: &str) -> Result<usize, Failure> {
        Ok(self.kept.starts(experiment)? + self.more.starts(experiment)?)
    }

    fn start(&mut self, number: usize) -> Result<Snapshot, Failure> {
        match number.checked_sub(self.there) {
            Some(more) => self.more.start(more),
            None => self.kept.start(number),
        }
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

/// Memories that each of these experiments has below `root` under the kernel with this title, at most `wanted`.
///
/// # Errors
/// Where experiments have different numbers of them, or runs are kept that cannot be added to.
pub(super) fn kept_starts(
    root: &Path,
    title: &str,
    machine: Option<MachineSpec>,
    experiments: &[&str],
    wanted: u64,
) -> Result<(Kept, usize), Failure> {
    let kept = Kept::new(&root.join(title), machine);
    let refused = |why: String| Err(Failure::file(root, why));
    if experiments.iter().any(|experiment| kept.is_single(experiment)) {
        return refused("runs from a single memory cannot be added to; --force replaces them".to_owned());
    }
    let memories: BTreeSet<usize> = experiments.iter().map(|experiment| kept.memories(experiment)).collect();
    let (least, most) = (memories.first().copied().unwrap_or(0), memories.last().copied().unwrap_or(0));
    match () {
        () if least < most => {
            refused(format!("experiments there have runs from {least} to {most} boots; --case adds to one of them"))
        }
        () if most as u64 > wanted => {
            refused(format!("runs from {most} boots are there, more than the {wanted} asked for"))
        }
        () => Ok((kept, most)),
    }
}
