//! `--proc-dir`: the files of /proc and /sys as a run goes on, `POLICY/seed-N/SECONDS/proc/vmstat` and so on. The map of frames
//! takes 16 bytes for each and is written once, at the end.

use std::fs;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use order9_lab::{MAP_RELEASE, machine_files, node_files, process_files, setting_files, write_map};
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
        *failed = write_all(&folder, tick).err();
    }

    /// Ends the writing. Returns the first error, if any.
    pub(super) fn finish(self) -> Result<(), Failure> {
        self.failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Writes all files below `folder`.
fn write_all(folder: &Path, tick: &Tick<'_>) -> Result<(), Failure> {
    let files = [node_files, setting_files, process_files].into_iter().flat_map(|files| files(tick.engine));
    for file in machine_files(tick).into_iter().chain(files) {
        create(folder, &file.path, |out| out.write_all(file.content.as_bytes()))?;
    }
    if tick.is_last {
        create(folder, "/proc/sys/kernel/osrelease", |out| out.write_all(MAP_RELEASE.as_bytes()))?;
        create(folder, "/proc/kpageflags", |flags| {
            let counts = fs::File::create(folder.join("proc/kpagecount"))?;
            let mut counts = BufWriter::new(counts);
            write_map(tick.engine, flags, &mut counts)?;
            counts.flush()
        })?;
    }
    Ok(())
}

/// Creates the file of the Linux path `path` below `folder`.
fn create(
    folder: &Path,
    path: &str,
    fill: impl FnOnce(&mut BufWriter<fs::File>) -> io::Result<()>,
) -> Result<(), Failure> {
    let path = folder.join(path.trim_start_matches('/'));
    let filled = || {
        fs::create_dir_all(path.parent().unwrap_or(folder))?;
        let mut out = BufWriter::new(fs::File::create(&path)?);
        fill(&mut out)?;
        out.flush()
    };
    filled().map_err(|error| Failure::file(&path, io_sentence(&error)))
}
