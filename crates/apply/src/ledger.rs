//! The ledger: a record on disk for each change that was not taken back, and the lock of whoever changes something.

use order9_journal::{DIRECTORY, Journal, Lock, Undone};

use crate::error::ApplyError;
use crate::record::Record;
use crate::root::Root;

/// Records, and the right to change settings.
#[derive(Debug)]
pub struct Ledger {
    pub(crate) root: Root,
    /// In the order of the changes.
    pub(crate) records: Vec<Record>,
    _lock: Lock,
}

/// Folder of the records. It survives restarts of the machine, as the files that keep settings do.
const FOLDER: &str = "/var/lib/order9/apply";

impl Ledger {
    /// Opens the ledger of a host for changes, and puts back what a run that was killed left of its own settings.
    ///
    /// # Errors
    /// Where another instance is at work, or a file cannot be read or written.
    pub fn open(root: Root) -> Result<(Self, Undone), ApplyError> {
        let unreadable = |error| ApplyError::File { path: root.shown(DIRECTORY), error };
        let directory = root.locate(DIRECTORY).map_err(unreadable)?;
        let (lock, undone) = if root.is_host() {
            let (journal, undone) = Journal::open(&directory)?;
            (journal.into_lock(), undone)
        } else {
            // The journal of a run names files of the host that it ran on.
            (Lock::take(&directory)?, Undone::default())
        };
        let records = Self::read(&root)?;
        Ok((Self { root, records, _lock: lock }, undone))
    }

    /// The records of a host, in the order of the changes.
    ///
    /// # Errors
    /// A file that cannot be read, or is no record.
    pub fn read(root: &Root) -> Result<Vec<Record>, ApplyError> {
        let unreadable = |path: &str| {
            let path = root.shown(path);
            |error| ApplyError::File { path, error }
        };
        let names = root.list(FOLDER).map_err(unreadable(FOLDER))?;
        let paths = names.iter().filter(|name| name.ends_with(".json") && !name.starts_with('.'));
        let read = |name: &String| {
            let path = format!("{FOLDER}/{name}");
            let text = root.read(&path).map_err(unreadable(&path))?;
            let refused = |why| ApplyError::Record { path: root.shown(&path), why };
            let record: Record = serde_json::from_str(&text).map_err(|error| refused(error.to_string()))?;
            if path != self::path(record.id) || record.id == u32::MAX {
                return Err(refused(format!("its number is {}, expected that of the file's name", record.id)));
            }
            let is_whole = |path: &str| path.starts_with('/') && path.split('/').all(|part| part != "..");
            if let Some(path) = record.paths().find(|path| !is_whole(path)) {
                return Err(refused(format!("expected a whole path, found {path:?}")));
            }
            Ok(record)
        };
        let mut records: Vec<Record> = paths.map(read).collect::<Result<_, _>>()?;
        records.sort_by_key(|record| record.id);
        Ok(records)
    }

    /// Changes that were not taken back, in the order of the changes.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Writes a record; it is on the disk when this returns.
    pub(crate) fn keep(&self, record: &Record) -> Result<(), ApplyError> {
        let path = path(record.id);
        let text = serde_json::to_string_pretty(record).expect("a record can be written as JSON") + "\n";
        self.root.put(&path, &text).map_err(|error| ApplyError::File { path: self.root.shown(&path), error })
    }

    /// Removes the record of a change that was taken back.
    pub(crate) fn forget(&mut self, id: u32) -> Result<(), ApplyError> {
        let path = path(id);
        self.root.remove(&path).map_err(|error| ApplyError::File { path: self.root.shown(&path), error })?;
        self.records.retain(|record| record.id != id);
        Ok(())
    }
}

fn path(id: u32) -> String {
    format!("{FOLDER}/{id:04}.json")
}
