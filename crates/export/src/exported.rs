//! The thing that is exported: what a run directory or a snapshot file holds.

use std::path::Path;

use order9_record::Loaded;
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
}
