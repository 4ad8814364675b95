//! The undo journal of a run: what settings were before they were changed, written before the change, so that they can be put back
//! whatever happens to whoever changed them.
//!
//! A directory holds `lock`, which one instance holds locked ([`Lock`]), and `undo`, a line for each setting in the order of the
//! changes ([`Journal`]). Of what settings mean, only those are known that the kernel changes along with others ([`companions`]).
#![forbid(unsafe_code)]

mod companions;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};

pub use companions::{companions, excluded};

/// Directory of the lock and of the journal on a host.
pub const DIRECTORY: &str = "/run/order9";

/// The lock on the settings of a host: while this value lives, no other instance changes any.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "it is locked as long as it is open")] File);

impl Lock {
    /// Takes the lock that lies in `directory`.
    ///
    /// # Errors
    /// Where another instance has it, or a file cannot be written.
    pub fn take(directory: &Path) -> Result<Self, JournalError> {
        fs::create_dir_all(directory).map_err(of_file(directory))?;
        let path = directory.join("lock");
        let lock = exclusive(&path).map_err(of_file(&path))?;
        lock.map(Self).ok_or(JournalError::Busy(path))
    }
}

/// The journal of this instance.
#[derive(Debug)]
pub struct Journal {
    lock: Lock,
    undo: PathBuf,
}

/// Settings that were put back, in order, with their values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// Settings that have their old values again.
    pub restored: Vec<(String, String)>,
    /// Settings that do not, and why.
    pub failed: Vec<(String, String)>,
}

/// Reason for which there is no journal, or a setting was not changed.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// Another instance holds the lock.
    #[error("another order9 changes settings of this host: wait for its end ({})", .0.display())]
    Busy(PathBuf),
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

fn of_file(path: &Path) -> impl FnOnce(io::Error) -> JournalError + '_ {
    move |error| JournalError::File { path: path.to_owned(), error }
}

impl Journal {
    /// Opens the journal in `directory`, and puts back what an instance left that was killed.
    ///
    /// # Errors
    /// Where another instance is at work, or a file cannot be written.
    pub fn open(directory: &Path) -> Result<(Self, Undone), JournalError> {
        let journal = Self { lock: Lock::take(directory)?, undo: directory.join("undo") };
        let undone = journal.restore()?;
        Ok((journal, undone))
    }

    /// The lock alone, for changes that are written down elsewhere.
    #[must_use]
    pub fn into_lock(self) -> Lock {
        self.lock
    }

    /// File in which [`note`](Self::note) writes.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.undo
    }

    /// Changes a setting; the journal has its old value first.
    ///
    /// # Errors
    /// Where the setting cannot be read or does not take the value.
    pub fn set(&self, path: &str, value: &str) -> Result<(), JournalError> {
        let written = Self::note(&self.undo, path).and_then(|()| fs::write(path, value));
        written.map_err(of_file(Path::new(path)))
    }

    /// Writes what a setting is now to the journal at `undo`, before somebody changes the setting, behind its [`companions`]: they are
    /// put back after it.
    ///
    /// # Errors
    /// Where the setting cannot be read, or the journal not be written.
    pub fn note(undo: &Path, setting: &str) -> io::Result<()> {
        let text = fs::read_to_string(setting)?;
        let line = |path: &str, text: &str| format!("{path}\t{}\n", current(text));
        // A companion that is not there, or not to be read, is none that could change.
        let along = companions(setting).filter_map(|path| Some(line(path, &fs::read_to_string(path).ok()?)));
        let lines = along.collect::<String>() + &line(setting, &text);
        let mut file = OpenOptions::new().append(true).create(true).open(undo)?;
        let length = file.metadata()?.len();
        let written = file.write_all(lines.as_bytes()).and_then(|()| file.sync_data());
        if written.is_err() {
            // What is there of the line must not become the begin of the next.
            file.set_len(length)?;
        }
        written
    }

    /// Puts everything back, the latest change first, and empties the journal. What cannot be put back stays in it.
    ///
    /// # Errors
    /// Where the journal cannot be read or written.
    pub fn restore(&self) -> Result<Undone, JournalError> {
        let text = match fs::read_to_string(&self.undo) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Undone::default()),
            Err(error) => return Err(of_file(&self.undo)(error)),
        };
        let mut undone = Undone::default();
        let mut refused = Vec::new();
        // A line that was not written to its end belongs to a change that was not made.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines().rev() {
            let Some((path, value)) = line.split_once('\t') else { continue };
            // What was put back before may have put this one back; some values can be had in no other way.
            if is(path, value) {
                continue;
            }
            match fs::write(path, value) {
                Ok(()) => undone.restored.push((path.to_owned(), value.to_owned())),
                Err(error) => refused.push((line, path, value, error)),
            }
        }
        let mut left = Vec::new();
        for (line, path, value, error) in refused {
            if is(path, value) {
                undone.restored.push((path.to_owned(), value.to_owned()));
            } else {
                undone.failed.push((path.to_owned(), error.to_string()));
                left.push(format!("{line}\n"));
            }
        }
        left.reverse();
        let written = if left.is_empty() { fs::remove_file(&self.undo) } else { self.replace(&left.concat()) };
        written.map_err(of_file(&self.undo))?;
        Ok(undone)
    }

    /// Gives the journal another text, whole or not at all.
    fn replace(&self, text: &str) -> io::Result<()> {
        let new = self.undo.with_extension("new");
        fs::write(&new, text)?;
        File::open(&new)?.sync_data()?;
        fs::rename(&new, &self.undo)
    }
}

/// The file at `path`, locked for this process as long as it is open; `None` where another one has it.
///
/// # Errors
/// Where the file cannot be written.
pub fn exclusive(path: &Path) -> io::Result<Option<File>> {
    // A link in its place could name any file, which would be made.
    let no_link = OFlags::NOFOLLOW.bits() as i32;
    let lock = OpenOptions::new().write(true).create(true).truncate(false).custom_flags(no_link).open(path)?;
    Ok(flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok().then_some(lock))
}

/// Whether the setting at `path` has this value.
fn is(path: &str, value: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|text| current(&text) == value)
}

/// The value of a setting whose file says `text`: the chosen word where the file lists all.
#[must_use]
pub fn current(text: &str) -> &str {
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(text.trim_end_matches('\n'), |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &Path) -> String {
        fs::read_to_string(path).expect("it is there")
    }

    #[test]
    fn settings_are_put_back_at_the_end_and_after_a_kill() {
        let directory = tempfile::tempdir().expect("a directory");
        let setting = directory.path().join("defrag");
        let path = setting.to_str().expect("a name of letters");
        fs::write(&setting, "7\n").expect("it can be written");
        let (journal, undone) = Journal::open(directory.path()).expect("nobody else is here");
        assert_eq!(undone, Undone::default());
        journal.set(path, "9").expect("it can be written");
        journal.set(path, "11").expect("it can be written");
        assert_eq!(read(&setting), "11");
        let busy = Journal::open(directory.path()).expect_err("the journal is locked");
        assert!(busy.to_string().starts_with("another order9 changes settings of this host"), "{busy}");
        // As a kill does: the lock goes, the journal stays.
        drop(journal);
        let (journal, undone) = Journal::open(directory.path()).expect("nobody else is here");
        assert_eq!(undone.restored, [(path.to_owned(), "9".to_owned()), (path.to_owned(), "7".to_owned())]);
        assert_eq!((read(&setting), journal.path().exists()), ("7".to_owned(), false));
    }

    #[test]
    fn what_cannot_be_put_back_stays_in_the_journal() {
        let directory = tempfile::tempdir().expect("a directory");
        let (kept, gone) = (directory.path().join("kept"), directory.path().join("gone/setting"));
        let undo = directory.path().join("undo");
        fs::write(&undo, format!("{}\t1\n{}\t2\n/half", kept.display(), gone.display())).expect("it can be written");
        let (journal, undone) = Journal::open(directory.path()).expect("nobody else is here");
        assert_eq!((undone.restored.len(), undone.failed.len(), read(&kept)), (1, 1, "1".to_owned()));
        assert_eq!(read(journal.path()), format!("{}\t2\n", gone.display()));
    }

    #[test]
    fn the_chosen_word_of_a_list_is_the_value() {
        assert_eq!(current("always defer [madvise] never\n"), "madvise");
        assert_eq!(current("20\n"), "20");
        assert_eq!(current("256\t256\t32\n"), "256\t256\t32");
    }

    #[test]
    fn a_line_that_is_cut_is_of_a_change_that_was_not_made() {
        let directory = tempfile::tempdir().expect("a directory");
        let [first, second] = ["swappiness", "defrag"].map(|name| directory.path().join(name));
        for setting in [&first, &second] {
            fs::write(setting, "60\n").expect("it can be written");
        }
        let lines = format!("{}\t10\n{}\t6", first.display(), second.display());
        fs::write(directory.path().join("undo"), lines).expect("it can be written");
        let (_journal, undone) = Journal::open(directory.path()).expect("nobody else is here");
        assert_eq!(undone.restored.len(), 1);
        assert_eq!((read(&first), read(&second)), ("10".to_owned(), "60\n".to_owned()));
    }

    #[test]
    fn a_link_in_place_of_the_lock_is_not_followed() {
        let directory = tempfile::tempdir().expect("a directory");
        let elsewhere = directory.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, directory.path().join("lock")).expect("it can be made");
        assert!(Journal::open(directory.path()).is_err());
        assert!(!elsewhere.exists());
    }
}
