//! Files that a command wrote, for programs.

use std::path::{Path, PathBuf};

use order9_units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

use crate::failure::Failure;

/// A list of files, in the order in which they were written.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Written {
    pub(crate) files: Vec<WrittenFile>,
}

/// A file with its length.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WrittenFile {
    #[schemars(with = "String")]
    path: PathBuf,
    bytes: Bytes,
}

impl Written {
    /// Adds a file.
    pub(crate) fn add(&mut self, path: &Path, bytes: Bytes) {
        self.files.push(WrittenFile { path: path.to_owned(), bytes });
    }
}

/// Refuses `--json` where standard output is the place of the results.
pub(crate) fn check_free(output: &Path, json: bool) -> Result<(), Failure> {
    if json && output == Path::new("-") {
        let sentence = "-o -: --json takes standard output, expected a file or a directory for the results";
        return Err(Failure::Usage(sentence.to_owned()));
    }
    Ok(())
}
