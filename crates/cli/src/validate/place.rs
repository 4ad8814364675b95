//! Folders that keep results, for good or for the time of the command.

use std::fs;
use std::path::{Path, PathBuf};

use order9_record::{Existing, Experiment, Target};
use order9_snapshot::{Snapshot, format};
use serde::Serialize;
use tempfile::TempDir;

use super::Json;
use super::about::About;
use super::part::Part;
use crate::args::ValidateArgs;
use crate::failure::Failure;
use crate::run::refused;

/// Memory from which both sides of an experiment start.
pub(super) const START: &str = "start.o9snap";
/// Runs of the kernel.
pub(super) const REAL: &str = "real";
/// The kernel's machine and clock.
pub(super) const ABOUT: &str = "kernel.json";

/// Name of the folder of an experiment.
pub(super) fn folder_of(experiment: &str) -> String {
    experiment.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-")
}

/// Root of all folders.
pub(super) struct Place {
    root: PathBuf,
    is_kept: bool,
    existing: Existing,
    _temporary: Option<TempDir>,
}

impl Place {
    pub(super) fn new(args: &ValidateArgs) -> Result<Self, Failure> {
        let existing = if args.force || args.more || args.again.is_some() { Existing::Replace } else { Existing::Keep };
        if let Some(root) = &args.again {
            return Ok(Self { root: root.clone(), is_kept: true, existing, _temporary: None });
        }
        match &args.output {
            Some(root) => {
                let is_full = fs::read_dir(root).is_ok_and(|mut entries| entries.next().is_some());
                if is_full && !args.force && !args.more {
                    return Err(Failure::file(root, "is not empty; --force replaces what it holds, --more adds to it"));
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

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder for a part of an experiment under a kernel.
    pub(super) fn folder(&self, kernel: &str, experiment: &str, part: Part) -> Result<Folder<'_>, Failure> {
        let mut path = self.root.join(kernel).join(folder_of(experiment));
        path.extend(part.folder());
        fs::create_dir_all(&path).map_err(|error| Failure::file(&path, error))?;
        Ok(Folder { place: self, path })
    }

    /// Keeps the verdicts.
    pub(super) fn keep(&self, json: &Json<'_>) -> Result<(), Failure> {
        if !self.is_kept {
            return Ok(());
        }
        write_json(&self.root.join("fidelity.json"), json)
    }
}

/// Folder for a part of an experiment under a kernel.
pub(super) struct Folder<'a> {
    place: &'a Place,
    path: PathBuf,
}

impl Folder<'_> {
    /// Keeps the memory from which both sides start.
    pub(super) fn keep_start(&self, start: &Snapshot) -> Result<PathBuf, Failure> {
        let path = self.start();
        let mut content = Vec::new();
        format::write(start, &mut content).map_err(|error| Failure::file(&path, error))?;
        fs::write(&path, content).map_err(|error| Failure::file(&path, error))?;
        Ok(path)
    }

    /// Place of the memory from which both sides start.
    pub(super) fn start(&self) -> PathBuf {
        self.path.join(START)
    }

    /// Keeps what is known of the kernel, unless everything goes with the command.
    pub(super) fn keep_about(&self, about: &About) -> Result<(), Failure> {
        if self.place.is_kept { write_json(&self.path.join(ABOUT), about) } else { Ok(()) }
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

fn write_json(path: &Path, of: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(of).map_err(|error| Failure::file(path, error))?;
    fs::write(path, text + "\n").map_err(|error| Failure::file(path, error))
}
