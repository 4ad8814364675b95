//! Recordings of this host.

use std::process::Command;

use order9_live::{Recorded, Recorder, SuperviseError, Supervised};
use order9_record::{ExtraFile, Run};
use order9_units::CounterMeaning;

use crate::here::Here;

/// Seed of the run of a recording, in which nothing was drawn.
pub const RECORDED_SEED: u64 = 1;

/// A recording as a run of the lab's form.
pub struct Recording {
    /// The run.
    pub run: Run,
    /// Snapshots of the start and the end, as files of a run directory.
    pub snapshots: Vec<ExtraFile>,
    /// End of the recording.
    pub end: Recorded,
}

/// Records this host as the column `title`, while `command` runs if there is one. Snapshots name owners where files of control groups are
/// kept.
///
/// # Errors
/// What kept the recording from starting.
pub fn record(
    recorder: &Recorder<'_>,
    command: Option<Command>,
    title: &str,
    meaning: &dyn Fn(&str) -> Option<CounterMeaning>,
) -> Result<Recording, SuperviseError> {
    let mut here = Here::new(title, RECORDED_SEED, meaning);
    here.owners = recorder.cgroups;
    let end = recorder.record(command, &mut here)?;
    // However a recording ends, it is whole.
    Ok(Recording { run: here.collector.finish(Supervised::Completed), snapshots: here.snapshots, end })
}
