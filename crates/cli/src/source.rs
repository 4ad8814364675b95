//! Sources of a snapshot: a file, this host, or a directory with copies of a host's files.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use order9_host::{Options, Progress, Root, available_memory, calibrate};
use order9_snapshot::{Missing, Snapshot, format};
use order9_units::Bytes;

use crate::failure::{Failure, io_sentence};

/// Amount of a host's state to keep.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wish {
    /// The kernel's release with its local part.
    pub(crate) full_release: bool,
    /// When prices of memory work are measured on the host.
    pub(crate) prices: When,
    /// Whether owners of memory are looked for.
    pub(crate) owners: bool,
}

/// When prices of memory work are measured on a live host: the measurement takes memory and gives it back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum When {
    #[default]
    Never,
    /// Before the map is read: the map is memory as a program finds it that starts afterwards.
    Before,
    /// After the map was read: the map is memory as it was.
    After,
}

/// Reads the snapshot file at `path`, or the one on standard input for `-`, and says how long it is.
pub(crate) fn read(path: &Path) -> Result<(Snapshot, Bytes), Failure> {
    if path.as_os_str() == "-" {
        let input = io::stdin().lock();
        return if input.is_terminal() {
            Err(Failure::file(path, "is a terminal, expected a snapshot from a pipe or file"))
        } else {
            read_from(input, path)
        };
    }
    if path.is_dir() {
        let hint = "is a directory, expected a snapshot file; for a directory with copies of /proc use --root";
        return Err(Failure::file(path, hint));
    }
    let file = File::open(path).map_err(|error| Failure::file(path, io_sentence(&error)))?;
    read_from(file, path)
}

fn read_from(input: impl Read, path: &Path) -> Result<(Snapshot, Bytes), Failure> {
    let mut counting = Counting { input, length: 0 };
    let read = format::read_within(&mut counting, available_memory());
    let snapshot = read.map_err(|error| Failure::file(path, error))?;
    Ok((snapshot, Bytes::new(counting.length)))
}

/// Counts what is read.
struct Counting<R> {
    input: R,
    length: u64,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.length += read as u64;
        Ok(read)
    }
}

/// Captures this host, or the copies of a host's files below `directory`.
pub(crate) fn capture(directory: Option<&Path>, wish: Wish) -> Result<Snapshot, Failure> {
    let root = root(directory)?;
    capture_from(&root, wish, &progress_bar())
}

/// Captures like [`capture`], without a progress bar.
pub(crate) fn capture_quietly(directory: Option<&Path>, wish: Wish) -> Result<Snapshot, Failure> {
    capture_from(&root(directory)?, wish, &ProgressBar::hidden())
}

fn capture_from(root: &Root, wish: Wish, bar: &ProgressBar) -> Result<Snapshot, Failure> {
    let mut report = |progress: Progress| {
        if let Some(total) = progress.total {
            bar.set_length(total.get());
        }
        bar.set_position(progress.done.get());
    };
    let measure = |when: When| (wish.prices == when && root.is_live()).then(calibrate);
    let before = measure(When::Before);
    let captured = order9_host::capture(
        root,
        Options { progress: Some(&mut report), full_release: wish.full_release, owners: wish.owners },
    );
    bar.finish_and_clear();
    let mut snapshot = captured.map_err(|error| Failure::Usage(error.to_string()))?;
    match before.or_else(|| measure(When::After)) {
        Some(Ok(calibration)) => snapshot.calibration = Some(calibration),
        Some(Err(reason)) => snapshot.missing.push(Missing { path: "prices of this host".to_owned(), reason }),
        None => {}
    }
    Ok(snapshot)
}

/// Root of the files to read.
pub(crate) fn root(directory: Option<&Path>) -> Result<Root, Failure> {
    match directory {
        None => Ok(Root::live()),
        Some(directory) if directory.is_dir() => match nearest_root(directory) {
            Some(below) => {
                let hint = format!(
                    "holds neither proc/ nor sys/; expected a directory such as {}",
                    order9_escape::path(&below)
                );
                Err(Failure::file(directory, hint))
            }
            None => Ok(Root::directory(directory)),
        },
        Some(file) if file.exists() => {
            Err(Failure::file(file, "is a file, expected a directory that holds proc/ and sys/"))
        }
        Some(nothing) => Err(Failure::file(nothing, "no such directory")),
    }
}

/// The last directory below one without files of a kernel that has some, as `--proc-dir` of a run makes them; nothing where it
/// has some itself, or none has.
fn nearest_root(directory: &Path) -> Option<PathBuf> {
    const LEVELS: usize = 3;
    let is_root = |path: &PathBuf| ["proc", "sys"].iter().any(|name| path.join(name).symlink_metadata().is_ok());
    let mut level = vec![directory.to_owned()];
    for _ in 0..=LEVELS {
        if let Some(found) = level.iter().filter(|path| is_root(path)).max() {
            return Some(found.clone()).filter(|found| found != directory);
        }
        let entries = level.iter().flat_map(|path| path.read_dir().into_iter().flatten().flatten());
        level = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()).collect();
    }
    None
}

/// A bar on standard error where that is a terminal, else nothing.
fn progress_bar() -> ProgressBar {
    let style = ProgressStyle::with_template("reading memory map {bar:32} {percent} %").expect("the template is sound");
    let target = ProgressDrawTarget::stderr_with_hz(8);
    ProgressBar::with_draw_target(None, target).with_style(style)
}
