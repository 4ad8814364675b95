//! Reasons why nothing is exported.

use std::io;

use order9_record::ReadError;
use order9_record::table::ParquetError;

/// An export that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A run directory that cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A place that cannot be written to.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A row that CSV cannot express, or a place that cannot be written to.
    #[error("{0}")]
    Csv(#[from] ::csv::Error),
    /// A row that JSON cannot express, or a place that cannot be written to.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Values that Parquet cannot express, or a place that cannot be written to.
    #[error("{0}")]
    Parquet(#[from] ParquetError),
    /// A format that needs a run, asked for a snapshot.
    #[error("{format} is made from a run: expected a directory that `order9 run -o` wrote")]
    NeedsRun {
        /// Word of the format.
        format: &'static str,
    },
}
