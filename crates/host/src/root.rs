//! Where the files are: the running kernel, or a directory with copies of them.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Where a capture reads from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(Option<PathBuf>);

/// No text file of the kernel comes near this, not even /proc/zoneinfo of the largest machine.
const TEXT_MAX: u64 = 64 << 20;

impl Root {
    /// The kernel this program runs on.
    #[must_use]
    pub fn live() -> Self {
        Self(None)
    }

    /// A directory that holds copies of a host's files under their own paths: `DIR/proc/zoneinfo`, `DIR/sys/kernel/mm/...`.
    #[must_use]
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self(Some(path.into()))
    }

    /// Whether this is the running kernel.
    #[must_use]
    pub fn is_live(&self) -> bool {
        self.0.is_none()
    }

    /// Where the file of Linux path `path` really is.
    pub(crate) fn locate(&self, path: &str) -> PathBuf {
        match &self.0 {
            None => PathBuf::from(path),
            Some(directory) => directory.join(path.trim_start_matches('/')),
        }
    }

    /// Opens a regular file for reading. Copies may come from anyone, so a link, pipe or device among them is refused: it
    /// would read another file of this host or wait for ever.
    pub(crate) fn open(&self, path: &str) -> io::Result<File> {
        let real = self.locate(path);
        if !self.is_live() && !fs::symlink_metadata(&real)?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        File::open(real)
    }

    /// The whole text of a file.
    pub(crate) fn read_text(&self, path: &str) -> io::Result<String> {
        let mut text = String::new();
        let read = self.open(path)?.take(TEXT_MAX).read_to_string(&mut text)?;
        if read as u64 == TEXT_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "longer than 64 MiB"));
        }
        Ok(text)
    }

    /// Names in a directory, sorted so that results never depend on the order of the file system; names that are not
    /// UTF-8 are no names of Linux and are left out.
    pub(crate) fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = fs::read_dir(self.locate(path))?;
        let mut names: Vec<String> = entries.flatten().flat_map(|entry| entry.file_name().into_string()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// Whether `path` is a directory and no link to one.
    pub(crate) fn is_directory(&self, path: &str) -> bool {
        fs::symlink_metadata(self.locate(path)).is_ok_and(|meta| meta.is_dir())
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

    #[cfg(unix)]
    #[test]
    fn links_among_copies_are_not_followed() {
        let bundle = tempfile::tempdir().unwrap();
        fs::write(bundle.path().join("secret"), "x").unwrap();
        std::os::unix::fs::symlink(bundle.path().join("secret"), bundle.path().join("vmstat")).unwrap();
        let root = Root::directory(bundle.path());
        assert_eq!(root.read_text("/secret").unwrap(), "x");
        assert_eq!(root.read_text("/vmstat").unwrap_err().to_string(), "not a regular file");
    }
}
