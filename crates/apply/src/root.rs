//! The place of the files: this host, or a directory with copies of its files below their own paths.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use order9_journal::current;

/// The root of all files that are read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(Option<PathBuf>);

impl Root {
    /// This host.
    #[must_use]
    pub const fn host() -> Self {
        Self(None)
    }

    /// A directory that holds copies of a host's files: `DIR/proc/sys/vm/swappiness` and so on. Nothing outside it is touched.
    #[must_use]
    pub fn directory(path: impl Into<PathBuf>) -> Self {
        Self(Some(path.into()))
    }

    /// Whether this is the host itself.
    #[must_use]
    pub const fn is_host(&self) -> bool {
        self.0.is_none()
    }

    /// Place of the file that has `path` on a host.
    ///
    /// # Errors
    /// A symbolic link on the way, in a directory: it could lead to any file of this host.
    pub(crate) fn locate(&self, path: &str) -> io::Result<PathBuf> {
        let Some(directory) = &self.0 else { return Ok(path.into()) };
        let mut place = directory.clone();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            place.push(name);
            let is_link = name == ".." || fs::symlink_metadata(&place).is_ok_and(|metadata| metadata.is_symlink());
            if is_link {
                let text =
                    format!("{} is a link, which could lead to any file of this host", order9_escape::path(&place));
                return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
            }
        }
        Ok(place)
    }

    /// The text of a file.
    pub(crate) fn read(&self, path: &str) -> io::Result<String> {
        fs::read_to_string(self.locate(path)?)
    }

    /// The text of a file; `None` where there is none.
    pub(crate) fn read_if_there(&self, path: &str) -> io::Result<Option<String>> {
        match self.read(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a setting. A copy keeps the form that the kernel gives the file: all words, with the chosen one in brackets.
    pub(crate) fn set(&self, path: &str, value: &str) -> io::Result<()> {
        let place = self.locate(path)?;
        if self.is_host() {
            // One call, which the kernel takes or refuses.
            return OpenOptions::new().write(true).open(place)?.write_all(value.as_bytes());
        }
        self.put(path, &shown_as(&fs::read_to_string(place)?, value))
    }

    /// Writes a file so that it is there as a whole, or is as before, and stays after a crash. Folders are made as needed.
    pub(crate) fn put(&self, path: &str, text: &str) -> io::Result<()> {
        let (place, new) = (self.locate(path)?, self.locate(&beside(path))?);
        let folder = place.parent().expect("a file lies in a folder");
        let missing = self.missing_folders(path)?;
        fs::create_dir_all(folder)?;
        for made in &missing {
            // What names a folder is on the disk before anything in it counts.
            File::open(self.locate(made)?.parent().expect("a folder lies in one"))?.sync_all()?;
        }
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o644).open(&new)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &place)?;
        File::open(folder)?.sync_all()
    }

    /// Removes what a [`put`](Self::put) of this file left that was killed.
    pub(crate) fn sweep(&self, path: &str) {
        // It is hardly ever there.
        let _ = self.locate(&beside(path)).and_then(fs::remove_file);
    }

    /// Removes a file for good.
    pub(crate) fn remove(&self, path: &str) -> io::Result<()> {
        self.sweep(path);
        match fs::remove_file(self.locate(path)?) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        match File::open(self.locate(path)?.parent().expect("a file lies in a folder")) {
            Ok(folder) => folder.sync_all(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Folders on the way to a file that are not there yet, the outermost first.
    pub(crate) fn missing_folders(&self, path: &str) -> io::Result<Vec<String>> {
        let ends = path.match_indices('/').map(|(at, _)| &path[..at]).filter(|folder| !folder.is_empty());
        let mut missing = Vec::new();
        for folder in ends {
            if !self.locate(folder)?.exists() {
                missing.push(folder.to_owned());
            }
        }
        Ok(missing)
    }

    /// Removes folders, the last first, as far as they are empty.
    pub(crate) fn remove_folders(&self, folders: &[String]) {
        for folder in folders.iter().rev() {
            // One that holds files of others stays.
            let _ = self.locate(folder).and_then(fs::remove_dir);
        }
    }

    /// Names in a folder, sorted; none where it is not there.
    pub(crate) fn list(&self, path: &str) -> io::Result<Vec<String>> {
        let entries = match fs::read_dir(self.locate(path)?) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names: Vec<_> = entries.flatten().flat_map(|entry| entry.file_name().into_string()).collect();
        names.sort_unstable();
        Ok(names)
    }

    /// The number of this run of the machine: another one after each restart.
    pub(crate) fn boot(&self) -> String {
        self.read("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
    }

    /// The kernel's own name of its release, `6.12.9-amd64` for instance.
    pub(crate) fn release(&self) -> Option<String> {
        self.read("/proc/sys/kernel/osrelease").ok().map(|text| text.trim().to_owned())
    }

    /// The name of a file for messages.
    pub(crate) fn shown(&self, path: &str) -> String {
        let directory = self.0.as_deref().unwrap_or(Path::new("/"));
        order9_escape::path(&directory.join(path.trim_start_matches('/')))
    }
}

/// Path of a file in the making.
fn beside(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').expect("paths begin with a slash");
    format!("{folder}/.{name}.order9-new")
}

/// The text of a setting's file with another value, in the form of the text `before`.
fn shown_as(before: &str, value: &str) -> String {
    let chosen = current(before);
    if !before.contains('[') {
        return format!("{value}\n");
    }
    let word = |word: &str| if word == value { format!("[{word}]") } else { word.to_owned() };
    let words = before.split_whitespace().map(|shown| if shown == format!("[{chosen}]") { chosen } else { shown });
    words.map(word).collect::<Vec<_>>().join(" ") + "\n"
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_copy_keeps_the_form_of_the_kernel() {
        assert_eq!(shown_as("always [madvise] never\n", "never"), "always madvise [never]\n");
        assert_eq!(shown_as("20\n", "60"), "60\n");
    }

    #[test]
    fn a_file_is_whole_and_goes_with_its_folders() {
        let directory = tempfile::tempdir().expect("a directory");
        let root = Root::directory(directory.path());
        let folders = root.missing_folders("/etc/tuned/order9/tuned.conf").expect("nothing is a link");
        assert_eq!(folders, ["/etc", "/etc/tuned", "/etc/tuned/order9"]);
        root.put("/etc/tuned/order9/tuned.conf", "text\n").expect("it can be written");
        assert_eq!(root.list("/etc/tuned/order9").expect("it can be read"), ["tuned.conf"]);
        fs::write(directory.path().join("etc/other"), "").expect("it can be written");
        root.remove("/etc/tuned/order9/tuned.conf").expect("it can be removed");
        root.remove_folders(&folders);
        assert_eq!(root.list("/etc").expect("it can be read"), ["other"]);
        root.remove("/etc/tuned/order9/tuned.conf").expect("what is gone is removed");
    }

    #[test]
    fn no_link_leads_out_of_a_directory() {
        let directory = tempfile::tempdir().expect("a directory");
        symlink("/etc", directory.path().join("etc")).expect("it can be made");
        let root = Root::directory(directory.path());
        let error = root.put("/etc/order9", "").expect_err("it is a link");
        assert!(error.to_string().ends_with("etc is a link, which could lead to any file of this host"), "{error}");
        assert!(root.read("/../secret").is_err());
    }
}
