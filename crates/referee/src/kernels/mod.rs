//! Kernels to compare with: those of Debian, taken by apt from the mirror that this machine is set up with.
//!
//! apt does what it does for every package: it finds the mirror, checks the signed index and the digests. Its lists and the packages
//! lie in a folder of their own, so that nothing of the machine's own set-up changes. A kernel is a folder of the cache: `vmlinuz`,
//! `modules` with those that guests load, and `package` with the name and version of the package that it came in.

mod apt;
mod modules;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use apt::Apt;
pub use modules::{Module, Modules};

/// Suites of Debian, each with the series of its kernel.
const SUITES: [(&str, &str); 4] = [("bullseye", "5.10"), ("bookworm", "6.1"), ("trixie", "6.12"), ("sid", "7.2")];

/// A kernel that can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Series, `6.12`.
    pub series: &'static str,
    /// Suite of Debian that has it.
    pub suite: &'static str,
    /// The package in the cache, with its version; `None` where it was not fetched.
    pub package: Option<String>,
    /// Whether modules for disks and swap lie beside it.
    pub has_modules: bool,
}

/// Reason for which there is no kernel.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// A name that no kernel has.
    #[error("no kernel is called {name}: expected a bzImage by a path with a /, or one of {}", names())]
    Unknown {
        /// The name as given.
        name: String,
    },
    /// A kernel that was not fetched.
    #[error("Linux {0} is not in the cache: order9 kernels fetch {0} brings it")]
    NotFetched(&'static str),
    /// There is no apt.
    #[error(
        "{program} cannot be started ({error}): kernels come from Debian's mirrors by apt; elsewhere give --kernel a file"
    )]
    NoApt {
        /// The program that was tried.
        program: &'static str,
        /// The error of the system.
        error: io::Error,
    },
    /// apt has no mirror of Debian.
    #[error("apt's sources name no mirror of Debian: give --kernel a file")]
    NoMirror,
    /// apt or dpkg failed.
    #[error("{what}: {said}")]
    Failed {
        /// The attempt.
        what: String,
        /// The last line of what the program said.
        said: String,
    },
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

fn names() -> String {
    SUITES.map(|(_, series)| series).join(", ")
}

fn of_file(path: &Path) -> impl FnOnce(io::Error) -> KernelError + '_ {
    move |error| KernelError::File { path: path.to_owned(), error }
}

/// Kernels of the cache, and how they come there.
#[derive(Clone, Debug)]
pub struct Kernels {
    folder: PathBuf,
}

impl Kernels {
    /// The user's cache: `$XDG_CACHE_HOME/order9/kernels`, or below `~/.cache`.
    #[must_use]
    pub fn cache() -> Self {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let home = || variable("HOME").unwrap_or_else(|| PathBuf::from("/root")).join(".cache");
        Self::in_folder(variable("XDG_CACHE_HOME").unwrap_or_else(home).join("order9/kernels"))
    }

    /// A cache in this folder.
    #[must_use]
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// All that can be had, oldest first.
    #[must_use]
    pub fn list(&self) -> Vec<Kernel> {
        let package = |series: &str| fs::read_to_string(self.folder.join(series).join("package")).ok();
        SUITES
            .map(|(suite, series)| Kernel {
                series,
                suite,
                package: package(series).map(|text| text.trim().to_owned()),
                has_modules: self.folder.join(series).join(Modules::FOLDER).is_dir(),
            })
            .to_vec()
    }

    /// The file that `word` names: a path, or a kernel of the cache as `6.12` or `linux-6.12`.
    ///
    /// # Errors
    /// A name that nothing has, a kernel that was not fetched, a file that is not there.
    pub fn find(&self, word: &str) -> Result<PathBuf, KernelError> {
        if word.contains('/') {
            let path = PathBuf::from(word);
            fs::File::open(&path).map_err(of_file(&path))?;
            return Ok(path);
        }
        let series = series(word)?;
        let path = self.folder.join(series).join("vmlinuz");
        if path.is_file() { Ok(path) } else { Err(KernelError::NotFetched(series)) }
    }

    /// Takes a kernel from Debian's mirror; the package and its version.
    ///
    /// # Errors
    /// What kept it from coming.
    pub fn fetch(&self, word: &str) -> Result<String, KernelError> {
        let series = series(word)?;
        let suite = SUITES.iter().find(|(_, of)| *of == series).map_or("sid", |(suite, _)| suite);
        let apt = Apt::new(&self.folder, suite)?;
        apt.get(&["update"], &format!("the index of {suite}"))?;
        let image = apt.newest(series)?;
        let folder = tempfile::tempdir_in(&self.folder).map_err(of_file(&self.folder))?;
        apt.download(&image, folder.path())?;
        if let Some(modules) = apt::package_of_modules(&image) {
            apt.download(&modules, folder.path())?;
        }
        let unpacked = folder.path().join(apt::UNPACKED);
        let kernel = find(&unpacked, &|name| name.starts_with("vmlinuz")).into_iter().next();
        let kernel = kernel.ok_or_else(|| KernelError::Failed {
            what: image.clone(),
            said: "the package holds no kernel".to_owned(),
        })?;
        let place = self.folder.join(series);
        fs::create_dir_all(&place).map_err(of_file(&place))?;
        modules::keep(&unpacked, &place)?;
        // The name comes last, so that a kernel with a name is whole.
        fs::copy(&kernel, place.join("vmlinuz.new")).map_err(of_file(&kernel))?;
        fs::rename(place.join("vmlinuz.new"), place.join("vmlinuz")).map_err(of_file(&place))?;
        fs::write(place.join("package"), format!("{image}\n")).map_err(of_file(&place))?;
        Ok(image)
    }
}

fn series(word: &str) -> Result<&'static str, KernelError> {
    let wanted = word.strip_prefix("linux-").unwrap_or(word);
    let found = SUITES.iter().find(|(_, series)| *series == wanted).map(|&(_, series)| series);
    found.ok_or_else(|| KernelError::Unknown { name: word.to_owned() })
}

/// All files below `folder` whose names are admitted, in order.
fn find(folder: &Path, admits: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort_unstable();
    let below = |path: PathBuf| {
        let is_link = path.symlink_metadata().is_ok_and(|data| data.is_symlink());
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match path.is_dir() {
            true if !is_link => find(&path, admits),
            _ if admits(name) => vec![path],
            _ => Vec::new(),
        }
    };
    paths.into_iter().flat_map(below).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_path_and_by_name() {
        let folder = tempfile::tempdir().expect("a directory");
        let kernels = Kernels::in_folder(folder.path().to_owned());
        let says = |word: &str| kernels.find(word).expect_err("nothing is there").to_string();
        assert_eq!(says("linux-6.1"), "Linux 6.1 is not in the cache: order9 kernels fetch 6.1 brings it");
        assert!(says("6.2").ends_with("or one of 5.10, 6.1, 6.12, 7.2"), "{}", says("6.2"));
        assert!(says("./bzImage").starts_with("./bzImage: "));
        fs::create_dir(folder.path().join("6.1")).expect("it can be made");
        fs::write(folder.path().join("6.1/vmlinuz"), "kernel").expect("it can be written");
        fs::write(folder.path().join("6.1/package"), "linux-image-6.1\n").expect("it can be written");
        for word in ["6.1", "linux-6.1"] {
            assert_eq!(kernels.find(word).expect("it is there"), folder.path().join("6.1/vmlinuz"));
        }
        let packages: Vec<_> = kernels.list().into_iter().filter_map(|kernel| kernel.package).collect();
        assert_eq!(packages, ["linux-image-6.1"]);
    }
}
