//! A run in a guest, from the order to the record.

use order9_live::{FromGuest, Job, Message, StopKind, Storage, Supervised, ToGuest};
use order9_record::{ExtraFile, ProcFile, Run};
use order9_snapshot::{Snapshot, format};
use order9_units::CounterMeaning;

use super::accel::Accel;
use super::error::GuestError;
use super::machine::{Guest, unexpected};
use super::maps::Maps;
use crate::collector::Collector;

/// A run in a guest.
pub struct InGuest {
    /// The run.
    pub run: Run,
    /// The snapshots that it asked for, with their names.
    pub snapshots: Vec<(String, Snapshot)>,
}

impl Guest {
    /// Runs `job` as the column `title`. A guest that panics or falls silent is an outcome of the run.
    ///
    /// # Errors
    /// Where the run did not start.
    pub fn run(&mut self, job: &Job, title: &str, meaning: Meaning<'_>) -> Result<InGuest, GuestError> {
        // Files of the workload lie on the guest's disk, where it has one.
        let files = self.spec.storage.files.map(|_| Storage::FILES.into());
        self.order(&ToGuest::Run(Job { files, ..job.clone() }))?;
        let mut measured = collect(|| self.answer(), Collector::new(title, job.seed), meaning)?;
        let run = &mut measured.run;
        run.notes.extend(self.accel.note().map(str::to_owned));
        run.notes.push(format!("a guest by {} under Linux {}", self.accel.name(), self.kernel));
        run.notes.extend(notes_on(&self.spec.storage, self.accel));
        run.traces.end.push(ProcFile { path: "/dev/kmsg".to_owned(), content: self.console() });
        Ok(measured)
    }
}

/// Sentences on the guest's disks and swap.
fn notes_on(storage: &Storage, accel: Accel) -> Vec<String> {
    let mib = |size: u64| size >> 20;
    let disk = storage.files.map(|disk| {
        format!("the guest's files are on a disk of {} MiB with {}", mib(disk.size), disk.file_system.name())
    });
    let swap = storage.swap.iter().map(|area| {
        let kind = if area.is_zram { "on zram" } else { "on a disk" };
        format!("the guest has {} MiB of swap {kind}", mib(area.size))
    });
    let time = (accel == Accel::Counted && !storage.disks().is_empty())
        .then(|| "the guest's disks take the host's time: runs with them are not the same again".to_owned());
    disk.into_iter().chain(swap).chain(time).collect()
}

/// Meanings of counters by name.
pub type Meaning<'a> = &'a dyn Fn(&str) -> Option<CounterMeaning>;

/// Takes the answers to the order to run something, until the run has ended. A guest may send anything.
///
/// # Errors
/// Where the run did not start.
pub fn collect(
    mut answer: impl FnMut() -> Result<FromGuest, GuestError>,
    mut collector: Collector,
    meaning: Meaning<'_>,
) -> Result<InGuest, GuestError> {
    let (mut maps, mut snapshots) = (Maps::default(), Vec::new());
    let end = loop {
        match answer() {
            Ok(FromGuest::Said(message)) => collector.take(message, meaning),
            Ok(FromGuest::Map { snapshot, path, deflated }) => {
                if let Err(error) = maps.take(&snapshot, &path, &deflated) {
                    collector.take(Message::Note(error), meaning);
                }
            }
            Ok(FromGuest::MapEnds { snapshot }) => match maps.finish(&snapshot) {
                Ok(map) => snapshots.push((snapshot, map)),
                Err(error) => collector.take(Message::Note(format!("no snapshot {snapshot}: {error}")), meaning),
            },
            Ok(FromGuest::Ended(Ok(end))) => break end,
            Ok(FromGuest::Ended(Err(error))) => return Err(GuestError::NotStarted(error)),
            Ok(other) => break Supervised::Stopped(StopKind::Other, unexpected("its results", &other)),
            Err(error) => break Supervised::Stopped(StopKind::Other, error.to_string()),
        }
    };
    Ok(InGuest { run: collector.finish(end), snapshots })
}

impl InGuest {
    /// The snapshots as files of a run directory.
    #[must_use]
    pub fn files(&self) -> Vec<ExtraFile> {
        let file = |(name, map): &(String, Snapshot)| {
            let mut content = Vec::new();
            // What does not have the form of a snapshot was refused before.
            format::write(map, &mut content).ok()?;
            Some(ExtraFile { name: format!("{}-seed-{}-{name}.o9snap", self.run.policy, self.run.seed), content })
        };
        self.snapshots.iter().filter_map(file).collect()
    }
}
