//! Folders that keep results, for good or for the time of the command.

use std::fs;
use std::path::PathBuf;

use order9_record::{Existing, Experiment, Target};
use order9_snapshot::{Snapshot, format};
use tempfile::TempDir;

use super::Json;
use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::run::refused;

/// Root of all folders.
pub(super) struct Place {
    root: PathBuf,
    is_kept: bool,
    existing: Existing,
    _temporary: Option<TempDir>,
}

impl Place {
    pub(super) fn new(args: &ValidateArgs) -> Result<Self, Failure> {
        let existing = if args.force { Existing::Replace } else { Existing::Keep };
        match &args.output {
            Some(root) => {
                let is_full = fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some());
                if is_full && !args.force {
                    return Err(Failure::file(root, "is not empty; --force replaces what it holds"));
                }
                Ok(Self { root: root.clone(), is_kept: true, existing, _temporary: None })
            }
            None => {
                let temporary = tempfile::tempdir()?;
                let root = temporary.path().to_owned();
                Ok(Self { root, is_kept: false, existing, _temporary: Some(temporary) })
            }
        }
    }

    /// The folder of an experiment under a kernel.
    pub(super) fn folder(&self, kernel: &str, experiment: &str) -> Result<Folder<'_>, Failure> {
        let name = experiment.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let path = self.root.join(kernel).join(name);
        fs::create_dir_all(&path).map_err(|error| Failure::file(&path, error))?;
        Ok(Folder { place: self, path })
    }

    /// Keeps the verdicts.
    pub(super) fn keep(&self, json: &Json<'_>) -> Result<(), Failure> {
        if !self.is_kept {
            return Ok(());
        }
        let path = self.root.join("fidelity.json");
        let text = serde_json::to_string_pretty(json).map_err(|error| Failure::file(&path, error))?;
        fs::write(&path, text + "\n").map_err(|error| Failure::file(&path, error))
    }
}

/// Folder of an experiment under a kernel.
pub(super) struct Folder<'a> {
    place: &'a Place,
    path: PathBuf,
}

impl Folder<'_> {
    /// Keeps the memory from which both sides start.
    pub(super) fn keep_start(&self, start: &Snapshot) -> Result<PathBuf, Failure> {
        let path = self.path.join("start.o9snap");
        let mut content = Vec::new();
        format::write(start, &mut content).map_err(|error| Failure::file(&path, error))?;
        fs::write(&path, content).map_err(|error| Failure::file(&path, error))?;
        Ok(path)
    }

    /// Keeps the runs of a side, unless everything goes with the command.
    pub(super) fn keep_runs(&self, side: &str, experiment: &Experiment) -> Result<(), Failure> {
        if !self.place.is_kept {
            return Ok(());
        }
        let target = Target::new(&self.path.join(side), self.place.existing).map_err(|error| refused(&error))?;
        target.write(experiment, &[]).map(drop).map_err(|error| refused(&error))
    }
}
