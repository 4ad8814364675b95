//! Place of a file of results. The file is written whole or not at all, and the place is tried before the work that
//! fills it.

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};

use order9_units::Bytes;

use crate::failure::{Failure, io_sentence};

/// A place that can be written to.
#[derive(Debug)]
pub(crate) struct Target {
    /// The path as the user named it.
    name: PathBuf,
    place: Place,
}

#[derive(Debug)]
enum Place {
    /// A regular file, there or not yet.
    File(PathBuf),
    /// A device or pipe: takes the bytes as they come, since only a regular file can be replaced.
    Stream(PathBuf),
    /// Standard output, named `-`.
    Output,
}

impl Target {
    /// The file called `name`, or standard output for `-`, which `is_text` lets be a terminal. A link is followed. Nothing
    /// is left there yet.
    pub(crate) fn new(name: &Path, is_text: bool) -> Result<Self, Failure> {
        let place = match name.to_str() {
            Some("-") if is_text || !io::stdout().is_terminal() => Place::Output,
            Some("-") => return Err(Failure::file(name, "is a terminal, expected a pipe or file for a snapshot")),
            _ => place(name)?,
        };
        let target = Self { name: name.to_owned(), place };
        target.tried().map_err(|error| target.failed(&error))?;
        Ok(target)
    }

    /// Name of the target.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Whether results go to standard output, so that nothing else should.
    pub(crate) fn is_output(&self) -> bool {
        matches!(self.place, Place::Output)
    }

    /// Finds out whether it can be written to.
    fn tried(&self) -> io::Result<()> {
        match &self.place {
            Place::File(path) => new_file(folder(path)).map(drop),
            // To open a pipe is to wait for who reads it.
            Place::Stream(path) if is_pipe(&path.metadata()?) => Ok(()),
            Place::Stream(path) => File::options().write(true).open(path).map(drop),
            Place::Output => Ok(()),
        }
    }

    /// Writes it, and says how long it is. What was written is on the disk before it has its name, and the name is before
    /// this returns.
    pub(crate) fn write<E: std::fmt::Display>(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Bytes, Failure> {
        match &self.place {
            Place::File(path) => {
                let file = new_file(folder(path)).map_err(|error| self.failed(&error))?;
                let length = self.fill(file.as_file(), write)?;
                file.as_file().sync_all().map_err(|error| self.failed(&error))?;
                file.persist(path).map_err(|error| self.failed(&error.error))?;
                File::open(folder(path)).and_then(|folder| folder.sync_all()).map_err(|error| self.failed(&error))?;
                Ok(length)
            }
            Place::Stream(path) => {
                let file = File::options().write(true).open(path).map_err(|error| self.failed(&error))?;
                self.fill(file, write)
            }
            Place::Output => {
                let mut out = Counting { out: io::stdout().lock(), length: 0, failed: None };
                let written = write(&mut out);
                match (out.failed.take(), written) {
                    (Some(error), _) => Err(Failure::Output(error)),
                    (None, Err(error)) => Err(Failure::file(&self.name, error)),
                    (None, Ok(())) => out.flush().map(|()| Bytes::new(out.length)).map_err(Failure::Output),
                }
            }
        }
    }

    fn fill<E: std::fmt::Display>(
        &self,
        file: impl Write,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<Bytes, Failure> {
        let mut out = Counting { out: BufWriter::new(file), length: 0, failed: None };
        write(&mut out).map_err(|error| Failure::file(&self.name, error))?;
        out.flush().map_err(|error| self.failed(&error))?;
        Ok(Bytes::new(out.length))
    }

    fn failed(&self, error: &io::Error) -> Failure {
        Failure::file(&self.name, format!("cannot be written: {}", io_sentence(error)))
    }
}

fn place(name: &Path) -> Result<Place, Failure> {
    if name.is_dir() {
        return Err(Failure::file(name, "is a directory, expected a file to write"));
    }
    let path = name.canonicalize().unwrap_or_else(|_| name.to_owned());
    let is_stream = path.metadata().is_ok_and(|found| !found.is_file());
    Ok(if is_stream { Place::Stream(path) } else { Place::File(path) })
}

fn is_pipe(found: &Metadata) -> bool {
    std::os::unix::fs::FileTypeExt::is_fifo(&found.file_type())
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A temporary file in `folder` with the permissions a new file gets.
fn new_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    use std::os::unix::fs::PermissionsExt as _;
    let permissions = std::fs::Permissions::from_mode(0o666);
    tempfile::Builder::new().prefix(".order9-").permissions(permissions).tempfile_in(folder)
}

/// Counts what goes through, and keeps the error of a reader that went away, which a writer of JSON or pictures would wrap.
struct Counting<W> {
    out: W,
    length: u64,
    failed: Option<io::Error>,
}

impl<W: Write> Write for Counting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes).inspect_err(|error| self.failed = Some(error.kind().into()))?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
