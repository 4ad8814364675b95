//! Place of a directory of results, which appears whole or not at all: it is written beside its place and renamed.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use order9_units::Bytes;
use tempfile::TempDir;

use crate::failure::{Failure, io_sentence};
use crate::written::Written;

/// A directory in the making.
pub(crate) struct Folder {
    place: PathBuf,
    made: TempDir,
    written: Written,
}

impl Folder {
    /// A directory at `place`, which must be absent or empty.
    pub(crate) fn new(place: &Path) -> Result<Self, Failure> {
        match fs::read_dir(place).map(|mut entries| entries.next().is_none()) {
            Ok(true) => {}
            Ok(false) => return Err(Failure::file(place, "holds files, expected a new or empty directory")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(Failure::file(place, "is a file, expected a new or empty directory"));
            }
            Err(error) => return Err(failed(place, &error)),
        }
        let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(|error| failed(place, &error))?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".order9-").permissions(std::os::unix::fs::PermissionsExt::from_mode(0o777));
        let made = builder.tempdir_in(parent).map_err(|error| failed(place, &error))?;
        Ok(Self { place: place.to_owned(), made, written: Written::default() })
    }

    /// Writes a file of the directory.
    pub(crate) fn file<E: std::fmt::Display>(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> Result<(), E>,
    ) -> Result<(), Failure> {
        let path = self.place.join(name);
        let made = self.made.path().join(name);
        let folder = made.parent().expect("it is in the directory");
        fs::create_dir_all(folder).map_err(|error| failed(&path, &error))?;
        let mut out = BufWriter::new(File::create_new(&made).map_err(|error| failed(&path, &error))?);
        write(&mut out).map_err(|error| Failure::file(&path, error))?;
        let file = out.into_inner().map_err(|error| failed(&path, error.error()))?;
        file.sync_all().map_err(|error| failed(&path, &error))?;
        let length = file.metadata().map_err(|error| failed(&path, &error))?.len();
        self.written.add(&path, Bytes::new(length));
        Ok(())
    }

    /// Gives the directory its name, and says what it holds.
    pub(crate) fn finish(self) -> Result<Written, Failure> {
        fs::rename(self.made.path(), &self.place).map_err(|error| failed(&self.place, &error))?;
        // Nothing is left under the temporary name.
        let _: PathBuf = self.made.keep();
        Ok(self.written)
    }
}

fn failed(path: &Path, error: &io::Error) -> Failure {
    Failure::file(path, format!("cannot be written: {}", io_sentence(error)))
}
