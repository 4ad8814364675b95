//! Why a plan is no good, or a sweep cannot go on: one sentence.

use std::io;
use std::path::{Path, PathBuf};

use order9_lab::scenario::{self, RepeatError, ScenarioError};
use order9_record::Digest;
use order9_toml::{FileError, proposal};
use order9_units::Bytes;

/// A plan that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PlanFileError {
    /// The file, or a line of it.
    #[error(transparent)]
    File(#[from] FileError<Problem>),
    /// A policy, machine, memory, parameter or setting that a line names.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Errors at a line of a plan.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// An error that a scenario file can have, too.
    #[error(transparent)]
    Scenario(Box<scenario::Problem>),
    /// An error that any kind of file can have.
    #[error(transparent)]
    Any(#[from] order9_toml::Problem),
    /// A key of scenarios that means nothing in a sweep.
    #[error("{key} has no place in a sweep: {why}")]
    NotInSweeps {
        /// The key.
        key: String,
        /// Reason, in words.
        why: &'static str,
    },
    /// Two keys of which only one can stand.
    #[error("a plan has either {0} or {1}")]
    Either(&'static str, &'static str),
    /// A parameter that none of the workloads has.
    #[error("none of {workloads} has a parameter {key}{}", proposal(*.nearest))]
    NoParameter {
        /// Names of the workloads.
        workloads: String,
        /// The key as given.
        key: String,
        /// The parameter that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A parameter or setting that is said both of all cells and as an axis.
    #[error("{0} is an axis, and has one value for all cells above")]
    Both(String),
    /// Two values of an axis with the same label.
    #[error("{axis} has {label} twice")]
    Twice {
        /// Name of the axis.
        axis: String,
        /// The label.
        label: String,
    },
    /// A memory without a name beside others.
    #[error("expected a name of this memory, such as name = \"aged\"")]
    Unnamed,
    /// An exclusion by something that is no axis.
    #[error("no axis is called '{name}'{}", proposal(nearest.as_deref()))]
    NoAxis {
        /// The name as given.
        name: String,
        /// The axis that was probably meant.
        nearest: Option<String>,
    },
    /// An exclusion by a value that the axis does not have.
    #[error("{axis} never is {value}, expected {expected}")]
    NoValue {
        /// Name of the axis.
        axis: String,
        /// The value as given.
        value: String,
        /// Values of the axis.
        expected: String,
    },
    /// Nothing is left.
    #[error("every combination is excluded")]
    Empty,
    /// More than anybody could run.
    #[error("{cells} cells, expected at most {most}")]
    TooMany {
        /// Number of cells that were asked for.
        cells: u64,
        /// Largest number.
        most: u64,
    },
    /// A measure that a workload does not have.
    #[error("{workload} has no measure '{measure}', expected {expected}")]
    NoMeasure {
        /// Name of the workload.
        workload: &'static str,
        /// The measure as given.
        measure: String,
        /// Operations of the workload, and words of statistics.
        expected: String,
    },
}

impl From<scenario::Problem> for Problem {
    fn from(problem: scenario::Problem) -> Self {
        Self::Scenario(Box::new(problem))
    }
}

/// A sweep that cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The file system refuses.
    #[error("{}: {}", .path.display(), sentence(cause))]
    Io {
        /// Path that could not be read or written.
        path: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// Two sweeps at once.
    #[error("{}: another order9 works in this folder", .folder.display())]
    Busy {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder that is none of a sweep.
    #[error("{}: holds no cells; expected a folder that `order9 sweep -o` wrote", .folder.display())]
    NoSweep {
        /// The folder.
        folder: PathBuf,
    },
    /// A folder with other things.
    #[error("{}: holds files that no sweep wrote; expected a new or empty folder, or one of a sweep", .folder.display())]
    Occupied {
        /// The folder.
        folder: PathBuf,
    },
    /// Values that Parquet cannot express.
    #[error("{}: {cause}", .path.display())]
    Parquet {
        /// Path of the file.
        path: PathBuf,
        /// The refusal of the Parquet library.
        cause: order9_record::table::ParquetError,
    },
    /// A cell with two results.
    #[error("cell {cell} has two results: {one} and {other}; one of both hosts does not compute as the other")]
    TwoResults {
        /// Name of the cell.
        cell: Digest,
        /// Digest of the one result.
        one: String,
        /// Digest of the other.
        other: String,
    },
    /// A cell that this host has no memory for.
    #[error("a cell on {machine} takes {} MiB of memory, this host has {} MiB for it", needs.get() >> 20, available.get() >> 20)]
    Memory {
        /// Label of its machine.
        machine: String,
        /// Memory that it takes.
        needs: Bytes,
        /// Memory that there is.
        available: Bytes,
    },
    /// A description that is not the one of its name.
    #[error("cell {stated} is described as {computed}: another order9 wrote the description, or it was changed")]
    OtherCell {
        /// Name in the description.
        stated: Digest,
        /// Name that follows from it.
        computed: Digest,
    },
    /// Inputs that cannot be had again.
    #[error("{0}")]
    Inputs(#[from] RepeatError),
}

impl SweepError {
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |cause| Self::Io { path: path.to_owned(), cause }
    }
}

/// The sentence of the operating system, without its number.
fn sentence(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
