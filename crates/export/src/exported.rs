//! The thing that is exported: what a run directory or a snapshot file holds.

use std::path::Path;

use order9_record::{Cell, Event, Loaded, read, read_events};
use order9_snapshot::Snapshot;

use crate::ExportError;

/// A run, a snapshot, or both.
#[derive(Debug)]
pub struct Exported<'a> {
    /// The run with the path of its directory, from which events are read cell by cell.
    pub run: Option<(&'a Path, &'a Loaded)>,
    /// Snapshots with their names.
    pub snapshots: Vec<(String, Snapshot)>,
}

impl<'a> Exported<'a> {
    /// The run, for a format that needs one.
    ///
    /// # Errors
    /// There is none.
    pub fn needed_run(&self, format: &'static str) -> Result<(&'a Path, &'a Loaded), ExportError> {
        self.run.ok_or(ExportError::NeedsRun { format })
    }

    /// Reads a run directory.
    ///
    /// # Errors
    /// No run there, or one that is damaged.
    pub fn load(directory: &Path) -> Result<Loaded, ExportError> {
        Ok(read(directory)?)
    }
}

/// The events of a cell.
pub(crate) fn events(directory: &Path, loaded: &Loaded, cell: &Cell) -> Result<Vec<Event>, ExportError> {
    Ok(read_events(directory, &loaded.manifest, cell)?)
}
