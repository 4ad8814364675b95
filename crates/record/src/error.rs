//! Why a run directory could not be written or read: one sentence that names the file.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Digest, FORMAT, Problem};

/// A run directory that was not written. Nothing half-written stays behind.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The place of a run directory is taken by something else.
    #[error("{}: {why}; expected a new or empty directory, or one that holds nothing but a run", .directory.display())]
    Occupied {
        /// The directory asked for.
        directory: PathBuf,
        /// Reason why it is no run directory.
        why: String,
    },
    /// A run directory stands there, and replacing it was not asked for.
    #[error("{}: holds the run {digest} already, and a run is only replaced on request", .directory.display())]
    Exists {
        /// The directory asked for.
        directory: PathBuf,
        /// Of the run that is there.
        digest: Digest,
    },
    /// Cells of an interrupted run are kept there.
    #[error("{}: an interrupted run with {cells} finished cells is kept beside it", .directory.display())]
    Unfinished {
        /// The directory asked for.
        directory: PathBuf,
        /// Number of cells that have ended.
        cells: usize,
    },
    /// The interrupted run had other inputs.
    #[error("{}: the interrupted run beside it is another one: it differs in {what}", .directory.display())]
    OtherInputs {
        /// The directory asked for.
        directory: PathBuf,
        /// Inputs that differ, in words.
        what: String,
    },
    /// Two processes at once.
    #[error("{}: another order9 is running for this directory", .directory.display())]
    Busy {
        /// The directory asked for.
        directory: PathBuf,
    },
    /// The inputs of an interrupted run cannot be read.
    #[error("{}: the inputs of the interrupted run are not readable there", .path.display())]
    Key {
        /// Path of the file.
        path: PathBuf,
    },
    /// A run that contradicts itself.
    #[error("policy {policy}, seed {seed}: {problem}")]
    Invalid {
        /// Title of its column.
        policy: String,
        /// Seed of the run.
        seed: u64,
        /// The contradiction.
        problem: Problem,
    },
    /// A name that cannot be one of a file.
    #[error(
        "{what} '{name}' cannot name a file: expected 1 to 200 bytes of printable characters without /, and no dot first"
    )]
    Name {
        /// Kind of thing that has this name.
        what: &'static str,
        /// The refused name.
        name: String,
    },
    /// A policy that is called like a file of the run.
    #[error("policy '{title}': its directory would be called like a file of the run; give it a name without .{ending}")]
    Title {
        /// Title of the policy.
        title: String,
        /// Ending of the title that belongs to files.
        ending: &'static str,
    },
    /// A file that is called like the directory of a policy could be.
    #[error("file '{name}': expected a name that ends in .{expected}")]
    Ending {
        /// Name of the file.
        name: String,
        /// Accepted endings.
        expected: String,
    },
    /// Two files of one name.
    #[error("{path}: two files of the run have this name")]
    Twice {
        /// Path from the run directory on.
        path: String,
    },
    /// Inputs that TOML cannot express.
    #[error("manifest.toml: {0}")]
    Manifest(#[from] toml::ser::Error),
    /// Values that Parquet cannot express.
    #[error("{file}: {cause}")]
    Parquet {
        /// Name of the file.
        file: &'static str,
        /// The refusal of the Parquet library.
        cause: parquet::errors::ParquetError,
    },
    /// The file system refuses.
    #[error("{}: {cause}", .path.display())]
    Io {
        /// Path that could not be written.
        path: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
}

impl WriteError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { path: path.to_owned(), cause }
    }
}

/// A run directory that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The directory holds no run.
    #[error("{}: no manifest.toml here; expected a directory that `order9 run -o` wrote", .directory.display())]
    NoRun {
        /// Path of the directory.
        directory: PathBuf,
    },
    /// A file that cannot be read.
    #[error("{}: {cause}", .file.display())]
    Io {
        /// Path of the file.
        file: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// A text that is no manifest.
    #[error("{}, line {line}: {problem}", .file.display())]
    Manifest {
        /// Path of the file.
        file: PathBuf,
        /// Number of the line, from 1 on.
        line: usize,
        /// The error, with the expected text.
        problem: String,
    },
    /// A directory of another version.
    #[error("{}: format {found}, expected {FORMAT}: another version of order9 wrote it", .file.display())]
    Version {
        /// Path of the manifest.
        file: PathBuf,
        /// The version it names.
        found: u32,
    },
    /// A name that would not be printed as it is.
    #[error("{}: '{name}' is a name that nobody can read: expected printable characters", .file.display())]
    Name {
        /// Path of the manifest.
        file: PathBuf,
        /// The name, written out.
        name: String,
    },
    /// A manifest whose digest is not that of its cells.
    #[error("{}: digest {stated}, but its cells give {computed}: it was changed", .file.display())]
    Digest {
        /// Path of the manifest.
        file: PathBuf,
        /// Digest in the manifest.
        stated: Digest,
        /// Digest of the contents.
        computed: Digest,
    },
    /// A file that is not the one that was written.
    #[error("{}: {problem}: it was changed or damaged since the run", .file.display())]
    Damaged {
        /// Path of the file.
        file: PathBuf,
        /// Length or checksum, as found and as expected.
        problem: String,
    },
    /// A table that does not hold what the manifest says.
    #[error("{}: {problem}", .file.display())]
    Table {
        /// Path of the file.
        file: PathBuf,
        /// The found and the expected contents.
        problem: String,
    },
}

impl ReadError {
    pub(crate) fn manifest(file: &Path, text: &str, error: &toml::de::Error) -> Self {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
        Self::Manifest { file: file.to_owned(), line, problem: error.message().to_owned() }
    }

    pub(crate) fn io(file: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { file: file.to_owned(), cause }
    }
}
