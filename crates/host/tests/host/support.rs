//! Small made-up hosts: directories with the files that a test names.

use std::fs;
use std::path::Path;

use order9_host::{CaptureError, Options, Root, capture};
use order9_snapshot::Snapshot;
use tempfile::TempDir;

/// A directory with copies of a host's files.
pub(crate) struct Bundle(TempDir);

impl Bundle {
    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().expect("a temporary directory"))
    }

    /// Adds or replaces a text file, by its Linux path.
    pub(crate) fn with(self, path: &str, text: &str) -> Self {
        self.with_bytes(path, text.as_bytes())
    }

    /// Adds or replaces a file of 64-bit words.
    pub(crate) fn with_words(self, path: &str, words: &[u64]) -> Self {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        self.with_bytes(path, &bytes)
    }

    pub(crate) fn with_bytes(self, path: &str, bytes: &[u8]) -> Self {
        let real = self.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(real.parent().expect("a path below the bundle")).expect("its directory");
        fs::write(real, bytes).expect("a file of the bundle");
        self
    }

    /// Takes a file away.
    pub(crate) fn without(self, path: &str) -> Self {
        fs::remove_file(self.path().join(path.trim_start_matches('/'))).expect("the file was there");
        self
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn try_capture(&self) -> Result<Snapshot, CaptureError> {
        capture(&Root::directory(self.path()), Options::default())
    }

    pub(crate) fn capture(&self) -> Snapshot {
        self.try_capture().expect("a snapshot")
    }
}

/// Why `path` is missing from `snapshot`; empty where it is not.
pub(crate) fn reason<'a>(snapshot: &'a Snapshot, path: &str) -> &'a str {
    snapshot.missing.iter().find(|missing| missing.path == path).map_or("", |missing| &missing.reason)
}
