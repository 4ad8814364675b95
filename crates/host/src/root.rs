//! Root of the files that are read: the running kernel, or a directory with copies of its files.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use rustix::fs::Dir;

use crate::beneath;

/// The root of the files that a capture reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(Option<PathBuf>);

/// More entries than a directory of the kernel has: 64 TiB in memory blocks of 128 MiB are half as many.
const ENTRIES_MAX: usize = 1 << 20;

impl Root {
    /// The kernel this program runs on.
    #[must_use]
    pub fn live() -> Self {
        Self(None)
    }

    /// A directory that holds copies of a host's files under their own paths: `DIR/proc/zoneinfo`, `DIR/sys/kernel/mm/...`.
    /// It may come from anyone: nothing outside it is read, whatever it holds.
    #[must_use]
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self(Some(path.into()))
    }

    /// Whether this is the running kernel.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0.is_none()
    }

    /// Path at which the file of Linux path `path` is read, for messages.
    pub(crate) fn locate(&self, path: &str) -> PathBuf {
        match &self.0 {
            None => PathBuf::from(path),
            Some(directory) => directory.join(path.trim_start_matches('/')),
        }
    }

    /// Opens a file for reading.
    pub(crate) fn open(&self, path: &str) -> io::Result<File> {
        match &self.0 {
            None => File::open(path),
            Some(directory) => beneath::open(directory, path),
        }
    }

    /// The whole text of a file, of at most `max` bytes.
    pub(crate) fn read_text(&self, path: &str, max: u64) -> io::Result<String> {
        let invalid = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
        let mut bytes = Vec::new();
        let read = self.open(path)?.take(max + 1).read_to_end(&mut bytes)?;
        if read as u64 > max {
            return Err(invalid(format!("longer than {max} bytes")));
        }
        String::from_utf8(bytes).map_err(|_| invalid("no text".to_owned()))
    }

    /// Names in a directory, sorted so that results never depend on the order of the file system; names that are not
    /// UTF-8 are no names of Linux and are left out.
    pub(crate) fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let mut names: Vec<String> = match &self.0 {
            None => {
                let entries = fs::read_dir(path)?.flatten();
                entries.flat_map(|entry| entry.file_name().into_string()).take(ENTRIES_MAX).collect()
            }
            Some(directory) => {
                let entries = Dir::new(beneath::directory(directory, path)?)?.flatten();
                let names = entries.flat_map(|entry| entry.file_name().to_str().map(str::to_owned));
                names.filter(|name| name != "." && name != "..").take(ENTRIES_MAX).collect()
            }
        };
        names.sort_unstable();
        Ok(names)
    }

    /// Fails where `path` is no directory.
    pub(crate) fn check_directory(&self, path: &str) -> io::Result<()> {
        match &self.0 {
            None if fs::metadata(path)?.is_dir() => Ok(()),
            None => Err(io::ErrorKind::NotADirectory.into()),
            Some(directory) => beneath::directory(directory, path).map(drop),
        }
    }

    /// The name to show for this place.
    pub(crate) fn name(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new("/"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_lie_under_their_linux_path() {
        assert_eq!(Root::directory("/bundle").locate("/proc/vmstat"), Path::new("/bundle/proc/vmstat"));
        assert_eq!(Root::live().locate("/proc/vmstat"), Path::new("/proc/vmstat"));
    }

    #[test]
    fn a_text_has_a_limit() {
        let bundle = tempfile::tempdir().unwrap();
        fs::create_dir(bundle.path().join("proc")).unwrap();
        fs::write(bundle.path().join("proc/vmstat"), "12345").unwrap();
        let root = Root::directory(bundle.path());
        assert_eq!(root.read_text("/proc/vmstat", 5).unwrap(), "12345");
        assert_eq!(root.read_text("/proc/vmstat", 4).unwrap_err().to_string(), "longer than 4 bytes");
        assert_eq!(root.list("/proc").unwrap(), ["vmstat"]);
    }
}
