//! `--proc-dir`: the files of /proc and /sys as a run goes on, `POLICY/seed-N/SECONDS/proc/vmstat` and so on.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use order9_lab::{machine_files, node_files, process_files, setting_files};
use order9_machine::Tick;

use crate::failure::{Failure, io_sentence};

/// The directory, and the first thing that went wrong with it.
pub(super) struct ProcDir {
    root: PathBuf,
    failed: Mutex<Option<Failure>>,
}

impl ProcDir {
    /// The directory at `root`, which must be absent or empty.
    pub(super) fn new(root: &Path) -> Result<Self, Failure> {
        let taken = match fs::read_dir(root) {
            Ok(mut entries) => entries.next().is_some(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(Failure::file(root, io_sentence(&error))),
        };
        if taken {
            return Err(Failure::file(root, "expected a new or empty directory for the files of /proc"));
        }
        Ok(Self { root: root.to_owned(), failed: Mutex::new(None) })
    }

    /// Writes all files as they are now. After a failure nothing more is written.
    pub(super) fn tick(&self, policy: &str, seed: u64, tick: &Tick<'_>) {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        if failed.is_some() {
            return;
        }
        // So many digits that ten days sort by name.
        let seconds = format!("{:010.3}", tick.now.get() as f64 / 1e9);
        let folder = self.root.join(policy).join(format!("seed-{seed}")).join(seconds);
        let files = [node_files, setting_files, process_files].into_iter().flat_map(|files| files(tick.engine));
        for file in machine_files(tick).into_iter().chain(files) {
            let path = folder.join(file.path.trim_start_matches('/'));
            let written =
                fs::create_dir_all(path.parent().unwrap_or(&folder)).and_then(|()| fs::write(&path, file.content));
            if let Err(error) = written {
                *failed = Some(Failure::file(&path, io_sentence(&error)));
                return;
            }
        }
    }

    /// What went wrong, if anything.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}
