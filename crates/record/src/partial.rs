//! Cells of an experiment that goes on, kept as they end, so that an interrupted experiment can be continued.
//!
//! They stand in a hidden directory beside the place of the run directory, each a file that is on the disk before it has its
//! name, and checked when it is read: one that was damaged is as good as none. What was asked for stands beside them, and
//! only the same can be continued, by the same program.

use std::borrow::Cow;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};

use crate::files::sync_folder;
use crate::{Digest, ExtraFile, Inputs, Run, WriteError};

/// First bytes of the file of a cell.
const MAGIC: &[u8; 16] = b"order9 cell 1\r\n\n";
/// Name of the file that holds the inputs.
const KEY: &str = "asked.toml";
const LOCK: &str = "lock";
const CELL: &str = "cell";

/// Treatment of cells of an earlier attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// There must be none.
    New,
    /// The cells are kept if the inputs are equal.
    Resume,
    /// The cells are thrown away.
    Discard,
}

/// Cells that are kept beside the place of a run directory. Nobody else writes there meanwhile.
#[derive(Debug)]
pub struct Partial {
    directory: PathBuf,
    key: Key,
    /// The locked file. Dropping it frees the lock.
    _lock: File,
}

/// A cell that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// Inputs of all cells of the experiment.
    pub inputs: Inputs,
    /// Results of the cell.
    pub run: Run,
    /// Files that it adds to the run directory.
    pub files: Vec<ExtraFile>,
}

/// Inputs of an interrupted run, and the program that took them.
#[derive(Debug, Serialize, Deserialize)]
struct Key {
    /// Digest of the program.
    build: Digest,
    asked: Inputs,
}

/// A kept cell in its file.
#[derive(Serialize, Deserialize)]
struct Payload<'a> {
    /// The inputs as TOML, the form in which they are stored.
    inputs: String,
    digest: Digest,
    run: Cow<'a, Run>,
    files: Cow<'a, [ExtraFile]>,
}

impl Partial {
    /// A place beside `directory` for the cells of the experiment `asked`, run by the program whose digest is `build`; and
    /// the cells that are there already.
    pub(crate) fn open(
        directory: &Path,
        build: Digest,
        asked: &Inputs,
        begin: Begin,
    ) -> Result<(Self, Vec<Kept>), WriteError> {
        let place = place(directory);
        let failed = |cause| WriteError::Io { path: place.clone(), cause };
        fs::create_dir_all(&place).map_err(failed)?;
        let lock = File::create(place.join(LOCK)).map_err(failed)?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => WriteError::Busy { directory: directory.to_owned() },
            TryLockError::Error(cause) => failed(cause),
        })?;
        let cells = cells(&place).map_err(failed)?;
        let before = read_key(&place.join(KEY))?;
        let partial = |key| Self { directory: place.clone(), key, _lock: lock };
        match before {
            Some(_) if begin == Begin::New => {
                Err(WriteError::Unfinished { directory: directory.to_owned(), cells: cells.len() })
            }
            Some(key) if begin == Begin::Resume => {
                let differences = key.differences(build, asked);
                if !differences.is_empty() {
                    let what = differences.join(", ");
                    return Err(WriteError::OtherInputs { directory: directory.to_owned(), what });
                }
                let kept = cells.iter().filter_map(|path| read_cell(path, asked)).collect();
                Ok((partial(key), kept))
            }
            _ => {
                cells.iter().try_for_each(fs::remove_file).map_err(failed)?;
                let partial = partial(Key { build, asked: asked.clone() });
                partial.put(KEY, toml::to_string(&partial.key)?.as_bytes())?;
                Ok((partial, Vec::new()))
            }
        }
    }

    /// The command line that asked first.
    #[must_use]
    pub fn command(&self) -> &[String] {
        &self.key.asked.command
    }

    /// Directory that keeps the cells.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps a cell that was given `inputs` and adds `files` to the run directory: for good when this returns.
    ///
    /// # Errors
    ///
    /// A file system that refuses, inputs that TOML cannot express.
    pub fn keep(&self, inputs: &Inputs, run: &Run, files: &[ExtraFile]) -> Result<(), WriteError> {
        let payload = Payload {
            inputs: toml::to_string(inputs)?,
            digest: run.digest(),
            run: Cow::Borrowed(run),
            files: Cow::Borrowed(files),
        };
        let bytes = encode(&payload).map_err(WriteError::io(&self.directory))?;
        let content = [MAGIC, Digest::of_bytes(&bytes).to_string().as_bytes(), &bytes].concat();
        self.put(&format!("{}-{}.{CELL}", run.policy, run.seed), &content)
    }

    /// Throws all cells away: the run directory has them, or nobody wants them.
    ///
    /// # Errors
    ///
    /// A file system that refuses.
    pub fn remove(self) -> Result<(), WriteError> {
        fs::remove_dir_all(&self.directory).map_err(WriteError::io(&self.directory))
    }

    /// Writes the file `name` whole or not at all.
    fn put(&self, name: &str, content: &[u8]) -> Result<(), WriteError> {
        let path = self.directory.join(name);
        let write = || {
            let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
            file.write_all(content)?;
            file.as_file().sync_all()?;
            file.persist(&path).map_err(|error| error.error).map(drop)
        };
        write().map_err(WriteError::io(&path))?;
        sync_folder(&self.directory)
    }
}

impl Key {
    fn differences(&self, build: Digest, asked: &Inputs) -> Vec<&'static str> {
        let build = (self.build != build).then_some("program");
        build.into_iter().chain(self.asked.differences(asked)).collect()
    }
}

/// Directory that keeps the cells of the run directory `directory`.
fn place(directory: &Path) -> PathBuf {
    let name = directory.file_name().unwrap_or_default().to_string_lossy();
    directory.with_file_name(format!(".order9-partial-{name}"))
}

/// Files of cells, by name.
fn cells(place: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(place)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == CELL) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn read_key(path: &Path) -> Result<Option<Key>, WriteError> {
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).map(Some).map_err(|_| WriteError::Key { path: path.to_owned() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(WriteError::Io { path: path.to_owned(), cause }),
    }
}

/// A cell of the experiment `asked`; `None` if its file is not what was written, so that it has to run again.
fn read_cell(path: &Path, asked: &Inputs) -> Option<Kept> {
    const DIGITS: usize = 32;
    let file = fs::read(path).ok()?;
    let (stated, bytes) = file.strip_prefix(MAGIC)?.split_at_checked(DIGITS)?;
    if Digest::of_bytes(bytes).to_string().as_bytes() != stated {
        return None;
    }
    let Payload { inputs, digest, run, files } = decode(bytes).ok()?;
    let is_asked = matches!(asked.place(&run), (Some(_), Some(_)));
    let is_sound = is_asked && run.check().is_ok() && run.digest() == digest;
    let inputs = toml::from_str(&inputs).ok()?;
    is_sound.then(|| Kept { inputs, run: run.into_owned(), files: files.into_owned() })
}

fn encode(payload: &Payload<'_>) -> io::Result<Vec<u8>> {
    let mut out = GzEncoder::new(Vec::new(), Compression::fast());
    rmp_serde::encode::write_named(&mut out, payload).map_err(io::Error::other)?;
    out.finish()
}

fn decode(bytes: &[u8]) -> io::Result<Payload<'static>> {
    let mut raw = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut raw)?;
    rmp_serde::from_slice(&raw).map_err(io::Error::other)
}
