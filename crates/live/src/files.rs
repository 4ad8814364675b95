//! The directory for files of a program, below one that a user has named. It goes once the program is gone, however that ended: those who
//! kill a program, and those who start another one, remove what it has left.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

/// Beginning of the names, behind which stands the number of the process.
const PREFIX: &str = "order9-files-";
/// Time that processes which were killed have to leave.
const PATIENCE: Duration = Duration::from_secs(10);

/// The directory of this process, which is locked as long as this value lives.
#[derive(Debug)]
pub(crate) struct FilesDirectory {
    path: PathBuf,
    _lock: File,
}

fn path_of(parent: &Path, program: u32) -> PathBuf {
    parent.join(format!("{PREFIX}{program}"))
}

impl FilesDirectory {
    pub(crate) fn create(parent: &Path) -> io::Result<Self> {
        let path = path_of(parent, std::process::id());
        fs::create_dir(&path)?;
        let lock = File::open(&path)?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes the directories below `parent` whose programs are gone; those that could not be removed, in words.
pub(crate) fn remove_left(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX));
    let remove = |path: PathBuf| {
        let removed = is_free(&path).and_then(|free| if free { fs::remove_dir_all(&path) } else { Ok(()) });
        removed.err().map(|error| format!("files are left in {}: {error}", path.display()))
    };
    ours.map(|entry| entry.path()).filter_map(remove).collect()
}

/// Removes the directory of a program that has ended, or was killed: children of a killed one can hold it for a moment.
pub(crate) fn remove_of(parent: &Path, program: u32) -> Vec<String> {
    let path = path_of(parent, program);
    let until = Instant::now() + PATIENCE;
    loop {
        let failed = remove_left(parent);
        if !failed.is_empty() || !path.exists() {
            return failed;
        }
        if Instant::now() > until {
            return vec![format!("files are left in {}: a process of the program is still there", path.display())];
        }
        sleep(Duration::from_millis(10));
    }
}

/// Whether nobody holds the directory locked any more.
fn is_free(path: &Path) -> io::Result<bool> {
    match flock(&File::open(path)?, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_stays_as_long_as_its_program() {
        let parent = tempfile::tempdir().expect("a directory");
        let other = parent.path().join("mine");
        fs::create_dir(&other).expect("a directory");
        let files = FilesDirectory::create(parent.path()).expect("a directory");
        let path = files.path().to_owned();
        fs::write(path.join("0"), "content").expect("a file");
        assert_eq!(remove_left(parent.path()), [""; 0]);
        assert!(path.join("0").exists(), "it is locked");
        drop(files);
        assert_eq!(remove_left(parent.path()), [""; 0]);
        assert!(!path.exists() && other.exists());
        assert_eq!(remove_left(&path), [""; 0], "a parent that is gone has nothing left");
    }
}
