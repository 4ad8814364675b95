//! Opens files beneath a directory that may come from anyone: a support bundle is read as root, and must never name a file
//! of this host.
//!
//! [`open`] walks from the directory down, holding each step open, and refuses whatever would lead elsewhere: symbolic and
//! magic links, and mounts. It opens nothing but regular files, so that no pipe is waited for and no device is touched. A
//! hard link cannot be told from a file; whoever reads checks that a file looks like what the kernel writes there.
//!
//! Each step is one openat2(2) where the kernel has it (5.6); elsewhere it is openat(2) without following links, and the
//! mount is compared by its number.

use std::fmt;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, fstat, fstatfs, openat, openat2, statat};
use rustix::io::Errno;

/// Why something beneath a directory was not opened, although it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// A symbolic link, by its path beneath the directory.
    Link(String),
    /// The root of another mount, by its path beneath the directory.
    Mount(String),
    /// The path leads to something other than a regular file: the kind of file it is.
    Kind(&'static str),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link(path) => write!(f, "refused: {path} is a link, which could lead to any file of this host"),
            Self::Mount(path) => write!(f, "refused: {path} is another mount, and not part of this directory"),
            Self::Kind(kind) => write!(f, "refused: {kind}, expected a regular file"),
        }
    }
}

impl std::error::Error for Refusal {}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::InvalidInput, refusal)
    }
}

const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The regular file at `path` beneath `root`.
pub(crate) fn open(root: &Path, path: &str) -> io::Result<File> {
    Ok(File::from(Walk::new(root, OPEN)?.down(path, FILE)?))
}

/// The directory at `path` beneath `root`.
pub(crate) fn directory(root: &Path, path: &str) -> io::Result<OwnedFd> {
    Walk::new(root, OPEN)?.down(path, DIRECTORY)
}

/// Opens one name in a directory.
type Open = fn(BorrowedFd<'_>, &str, OFlags) -> io::Result<OwnedFd>;

/// The way to open a name without following links: one call that cannot be deceived, or a comparison of mounts on
/// kernels without that call.
const OPEN: Open = |directory, name, flags| match with_openat2(directory, name, flags) {
    Err(Errno::NOSYS | Errno::PERM) => with_openat(directory, name, flags),
    opened => Ok(opened?),
};

fn with_openat2(directory: BorrowedFd<'_>, name: &str, flags: OFlags) -> rustix::io::Result<OwnedFd> {
    let stay = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_XDEV;
    openat2(directory, name, flags, Mode::empty(), stay)
}

fn with_openat(directory: BorrowedFd<'_>, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
    let opened = openat(directory, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    if mount_of(directory.as_raw_fd())? == mount_of(opened.as_raw_fd())? { Ok(opened) } else { Err(Errno::XDEV.into()) }
}

/// The number of the mount that an open file lies on.
fn mount_of(file: i32) -> io::Result<u64> {
    let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{file}"))?;
    let number = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    number.ok_or_else(|| io::Error::new(io::ErrorKind::Unsupported, "this kernel does not tell mounts apart"))
}

/// A walk down from a directory.
struct Walk {
    open: Open,
    here: OwnedFd,
}

impl Walk {
    fn new(root: &Path, open: Open) -> io::Result<Self> {
        Ok(Self { open, here: openat(CWD, root, DIRECTORY, Mode::empty())? })
    }

    /// Opens what lies at `path`, with `flags` for its last part.
    fn down(mut self, path: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let mut walked = String::new();
        let mut names = path.split('/').filter(|name| !name.is_empty()).peekable();
        while let Some(name) = names.next() {
            let is_top = walked.is_empty();
            if !is_top {
                walked.push('/');
            }
            walked.push_str(name);
            let flags = if names.peek().is_some() { DIRECTORY } else { flags };
            self.here = match self.step(name, &walked, flags) {
                Err(error) if is_top && is_mount(&error) => self.kernel_mount(name)?,
                step => step?,
            };
        }
        Ok(self.here)
    }

    fn step(&self, name: &str, walked: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let expects_directory = flags.contains(OFlags::DIRECTORY);
        // Before opening, since to open some devices is to set them off, and again after it.
        let kind = FileType::from_raw_mode(statat(&self.here, name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        check_kind(kind, expects_directory, walked)?;
        use std::os::fd::AsFd as _;
        let opened = (self.open)(self.here.as_fd(), name, flags).map_err(|error| {
            let errno = Errno::from_io_error(&error);
            match errno {
                Some(Errno::LOOP) => Refusal::Link(walked.to_owned()).into(),
                Some(Errno::XDEV) => Refusal::Mount(walked.to_owned()).into(),
                _ => error,
            }
        })?;
        check_kind(FileType::from_raw_mode(fstat(&opened)?.st_mode), expects_directory, walked)?;
        Ok(opened)
    }

    /// A container has the /proc and /sys of its host mounted somewhere: these are what they are called, whoever mounted
    /// them, and are no way to a file of a disk.
    fn kernel_mount(&self, name: &str) -> io::Result<OwnedFd> {
        const PROC: i128 = 0x9fa0;
        const SYSFS: i128 = 0x6265_6572;
        let mount = openat(&self.here, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
        match (name, i128::from(fstatfs(&mount)?.f_type)) {
            ("proc", PROC) | ("sys", SYSFS) => Ok(mount),
            _ => Err(Refusal::Mount(name.to_owned()).into()),
        }
    }
}

fn is_mount(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
    matches!(inner, Some(Refusal::Mount(_)))
}

fn check_kind(kind: FileType, expects_directory: bool, walked: &str) -> io::Result<()> {
    let found = match kind {
        FileType::RegularFile if !expects_directory => return Ok(()),
        FileType::Directory if expects_directory => return Ok(()),
        FileType::Symlink => return Err(Refusal::Link(walked.to_owned()).into()),
        // As for every path with a file where a directory was expected: what is asked for is not there.
        _ if expects_directory => return Err(Errno::NOTDIR.into()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "of an unknown kind",
    };
    Err(Refusal::Kind(found).into())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read as _;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A directory with a file of its own, and links to a secret outside, opened in both ways.
    fn each_way(check: impl Fn(&dyn Fn(&str) -> Result<String, String>)) {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let bundle = tempfile::tempdir().unwrap();
        let root = bundle.path();
        fs::create_dir_all(root.join("proc/sys")).unwrap();
        fs::write(root.join("proc/sys/own"), "own").unwrap();
        symlink(outside.path().join("secret"), root.join("proc/file")).unwrap();
        symlink(outside.path(), root.join("proc/directory")).unwrap();
        symlink("sys/own", root.join("proc/inside")).unwrap();
        symlink("/proc/self/root", root.join("proc/magic")).unwrap();
        let openat_only: Open = with_openat;
        for way in [OPEN, openat_only] {
            check(&|path| {
                let file = Walk::new(root, way).unwrap().down(path, FILE).map_err(|error| error.to_string())?;
                let mut text = String::new();
                File::from(file).read_to_string(&mut text).unwrap();
                Ok(text)
            });
        }
    }

    #[test]
    fn what_lies_beneath_is_opened_and_no_link_is_followed() {
        each_way(|read| {
            assert_eq!(read("/proc/sys/own").as_deref(), Ok("own"));
            let of = |path: &str, link: &str| {
                let expected = format!("refused: {link} is a link, which could lead to any file of this host");
                assert_eq!(read(path), Err(expected), "{path}");
            };
            of("/proc/file", "proc/file");
            of("/proc/inside", "proc/inside");
            of("/proc/directory/secret", "proc/directory");
            of("/proc/magic/etc/passwd", "proc/magic");
            assert_eq!(read("/proc/sys"), Err("refused: a directory, expected a regular file".to_owned()));
        });
    }

    #[test]
    fn a_link_put_there_between_the_look_and_the_opening_is_not_followed() {
        let bundle = tempfile::tempdir().unwrap();
        symlink("/etc/passwd", bundle.path().join("proc")).unwrap();
        use std::os::fd::AsFd as _;
        let here = Walk::new(bundle.path(), OPEN).unwrap().here;
        for way in [OPEN, with_openat] {
            let error = way(here.as_fd(), "proc", FILE).unwrap_err();
            assert_eq!(Errno::from_io_error(&error), Some(Errno::LOOP));
        }
    }

    #[test]
    fn a_mount_of_the_kernel_itself_is_entered_and_another_is_not() {
        // The root of this host, on which /proc is a mount.
        assert!(open(Path::new("/"), "/proc/version").is_ok());
        let error = open(Path::new("/"), "/proc/self/status").unwrap_err().to_string();
        assert!(error.starts_with("refused: proc/self is a link"), "{error}");
    }

    #[test]
    fn mounts_have_numbers() {
        let proc = File::open("/proc/version").unwrap();
        let root = File::open("/").unwrap();
        assert_ne!(mount_of(proc.as_raw_fd()).unwrap(), mount_of(root.as_raw_fd()).unwrap());
    }
}
