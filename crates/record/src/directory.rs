//! Run directories are written beside their place and renamed: they are there whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, DirEntry};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use crate::files::{Files, check_file, sync_folder};
use crate::manifest::{Experiment, Manifest};
use crate::read::{MANIFEST, read_manifest};
use crate::{Begin, Digest, Inputs, Kept, Partial, ReadError, WriteError, mmtests, tables};

/// Whether a run that stands at the place of a new one may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// The directory stays, and writing fails.
    Keep,
    /// The directory is replaced once the new one is complete.
    Replace,
}

/// A file that the caller makes, such as `report.txt`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtraFile {
    /// Name of the file, which lies in the run directory itself.
    pub name: String,
    /// Contents of the file.
    pub content: Vec<u8>,
}

/// Place of a run directory that is still to be written. Make the target before the run, so that an impossible place is
/// refused before hours of work.
#[derive(Clone, Debug)]
pub struct Target {
    directory: PathBuf,
    existing: Existing,
}

/// State of the place.
enum Place {
    Free,
    Run,
}

impl Target {
    /// A run directory at `directory`, which may be absent, empty, or hold a run that `existing` lets go.
    ///
    /// # Errors
    ///
    /// Anything else stands there, or nothing can be made there.
    pub fn new(directory: &Path, existing: Existing) -> Result<Self, WriteError> {
        // Through links: what a link points at is replaced, not the link.
        let directory = match fs::canonicalize(directory) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => directory.to_owned(),
            Err(cause) => return Err(WriteError::Io { path: directory.to_owned(), cause }),
        };
        let target = Self { directory, existing };
        target.place()?;
        let above = target.parent().ancestors().find(|folder| folder.is_dir());
        sibling(above.unwrap_or(Path::new(".")))?;
        Ok(target)
    }

    /// Path of the run directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// A place for the cells of an experiment until all have ended, and the cells that are there already. `asked` is what
    /// the experiment was given, as far as it is known before any cell has run; `build` is the digest of the program.
    ///
    /// # Errors
    ///
    /// Cells of an interrupted run that `begin` does not allow for, or of another one; another process that writes there; a
    /// file system that refuses.
    pub fn partial(&self, build: Digest, asked: &Inputs, begin: Begin) -> Result<(Partial, Vec<Kept>), WriteError> {
        Partial::open(&self.directory, build, asked, begin)
    }

    /// Writes `experiment` and `extra` files. The manifest that is returned stands in the directory.
    ///
    /// # Errors
    ///
    /// Runs that contradict themselves, names that cannot be those of files, a place that was taken meanwhile, a file
    /// system that refuses. What stood there before is still there then.
    pub fn write(&self, experiment: &Experiment, extra: &[ExtraFile]) -> Result<Manifest, WriteError> {
        experiment.check()?;
        let parent = self.parent();
        fs::create_dir_all(parent).map_err(WriteError::io(parent))?;
        let made = sibling(parent)?;
        let manifest = fill(made.path(), experiment, extra)?;
        self.put(made, parent)?;
        Ok(manifest)
    }

    /// The directory that holds it.
    fn parent(&self) -> &Path {
        let parent = self.directory.parent().filter(|parent| !parent.as_os_str().is_empty());
        parent.unwrap_or(Path::new("."))
    }

    /// Moves the complete directory `made` to its place.
    fn put(&self, made: TempDir, parent: &Path) -> Result<(), WriteError> {
        let failed = || WriteError::io(&self.directory);
        match self.place()? {
            Place::Free => fs::rename(made.path(), &self.directory).map_err(failed())?,
            Place::Run => {
                let aside = sibling(parent)?;
                let old = aside.path().join("run");
                fs::rename(&self.directory, &old).map_err(failed())?;
                if let Err(cause) = fs::rename(made.path(), &self.directory) {
                    fs::rename(&old, &self.directory).map_err(failed())?;
                    return Err(failed()(cause));
                }
            }
        }
        // Nothing is left under the temporary name.
        let _: PathBuf = made.keep();
        sync_folder(parent)
    }

    /// State of the place, if a run may go there.
    fn place(&self) -> Result<Place, WriteError> {
        let directory = &self.directory;
        let occupied = |why: &str| WriteError::Occupied { directory: directory.clone(), why: why.to_owned() };
        let mut entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let link = directory.is_symlink();
                return if link { Err(occupied("is a link to nothing")) } else { Ok(Place::Free) };
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(occupied("is no directory")),
            Err(cause) => return Err(WriteError::Io { path: directory.clone(), cause }),
        };
        if entries.next().is_none() {
            return Ok(Place::Free);
        }
        let manifest = read_manifest(directory).map_err(|error| match error {
            ReadError::NoRun { .. } => occupied("holds files that no run wrote"),
            other => occupied(&format!("its manifest cannot be read ({other})")),
        })?;
        let known: BTreeSet<&str> = manifest.files.iter().map(|file| file.path.as_str()).chain([MANIFEST]).collect();
        if let Some(foreign) = foreign(directory, directory, &known).map_err(WriteError::io(directory))? {
            return Err(occupied(&format!("holds {}, which is no part of its run", foreign.display())));
        }
        match self.existing {
            Existing::Replace => Ok(Place::Run),
            Existing::Keep => Err(WriteError::Exists { directory: directory.clone(), digest: manifest.digest }),
        }
    }
}

/// A new directory beside the place, which goes away unless it is kept; with the permissions that `mkdir` gives.
fn sibling(parent: &Path) -> Result<TempDir, WriteError> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".order9-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
    builder.tempdir_in(parent).map_err(WriteError::io(parent))
}

/// A file somewhere under `folder` that is not `known`; a person put it there.
fn foreign(root: &Path, folder: &Path, known: &BTreeSet<&str>) -> io::Result<Option<PathBuf>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<DirEntry>>>()?;
    entries.sort_by_key(DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let relative = path.strip_prefix(root).unwrap_or(&path).to_owned();
        let found = if entry.file_type()?.is_dir() {
            foreign(root, &path, known)?
        } else {
            let is_known = relative.to_str().is_some_and(|path| known.contains(path));
            (!is_known).then_some(relative)
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Writes all files into the empty directory `root`, the manifest last.
fn fill(root: &Path, experiment: &Experiment, extra: &[ExtraFile]) -> Result<Manifest, WriteError> {
    let mut files = Files::new(root.to_owned());
    tables::write(&mut files, &experiment.runs)?;
    for run in &experiment.runs {
        mmtests::write(&mut files, run, &experiment.inputs.workload.name)?;
    }
    for ExtraFile { name, content } in extra {
        check_file(name)?;
        files.text(name.clone(), |out| out.write_all(content))?;
    }
    let manifest = Manifest { files: files.entries().to_vec(), ..Manifest::of(experiment) };
    if let Some(name) = manifest.odd_name() {
        return Err(WriteError::Name { what: "table or phase", name });
    }
    let text = toml::to_string(&manifest)?;
    files.text(MANIFEST.to_owned(), |out: &mut dyn Write| out.write_all(text.as_bytes()))?;
    files.sync_names()?;
    Ok(manifest)
}
