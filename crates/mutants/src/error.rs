//! Why there is no result.

use std::io;
use std::path::{Path, PathBuf};

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}")]
    Usage(&'static str),
    #[error("no folder tests/mutants here or above")]
    NoLists,
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{}: {error}", path.display())]
    Toml { path: PathBuf, error: Box<toml::de::Error> },
    #[error("two defects are called {0}")]
    SameName(String),
    #[error("no defect is called {0}, nor does a name begin with that")]
    NoSuchDefect(String),
    #[error("tests/mutants/survivors.toml: no defect is called {0}")]
    NoSuchSurvivor(String),
    #[error("{id}: {file} no longer holds {text:?}{within}")]
    NotFound { id: String, file: String, text: String, within: String },
    #[error("{id}: {file} holds {text:?} {times} times; say with `after` where it is meant")]
    NotUnique { id: String, file: String, text: String, times: usize },
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Several(Vec<Error>),
    #[error("{id} and {other} change parts of {file} that overlap and do not contain one another")]
    Overlap { id: String, other: String, file: String },
    #[error("{id}: the replacement is the text itself")]
    Same { id: String },
    #[error("the copy with the defects does not build; see above")]
    Build,
}

impl Error {
    pub(crate) fn file(path: impl AsRef<Path>, error: io::Error) -> Self {
        Self::File { path: path.as_ref().to_owned(), error }
    }
}
