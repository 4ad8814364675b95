//! A folder of cells that have ended, each a file under its name that is there whole or not at all.
//!
//! One program at a time works in a folder. A cache beside it is shared by any number: a cell that two programs run at once has the same
//! results, and the last one stays.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use order9_record::Digest;

use crate::SweepError;
use crate::plan::Plan;
use crate::point::Point;
use crate::run::Done;
use crate::until::Seeds;

/// Folder of the cells below that of the sweep.
const CELLS: &str = "cells";
const LOCK: &str = "lock";
/// Beginning of names of files that are still written.
const TEMPORARY: &str = ".order9-";
/// First word of the file of a cell; a digest of the rest follows on its line.
const MAGIC: &str = "order9-cell-1";
/// Name of the plan in the folder.
const PLAN: &str = "plan.toml";

/// A folder of cells, locked as long as this lives.
#[derive(Debug)]
pub struct Folder {
    root: PathBuf,
    places: Places,
    /// The locked file.
    lock: File,
}

impl Drop for Folder {
    /// Frees the lock by name: a child of this process that has just been forked holds the file as well, until it runs another program.
    fn drop(&mut self) {
        // What fails frees the lock with the last of the files.
        let _ = self.lock.unlock();
    }
}

/// Places of a cell: the folder, and the cache. Whoever still runs a cell for a sweep that has stopped may keep it without the lock: it
/// gives what another would.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    cells: PathBuf,
    cache: Option<PathBuf>,
}

impl Places {
    pub(crate) fn keep(&self, done: &Done) -> Result<(), SweepError> {
        put(&self.cells, done)?;
        self.cache.as_deref().map_or(Ok(()), |cache| put(cache, done))
    }
}

impl Folder {
    /// The folder at `root`, made where there is none. `cache` is another folder of cells, where cells are looked for, too, and kept.
    ///
    /// # Errors
    /// A folder with other things in it, another program that works there, a file system that refuses.
    pub fn open(root: &Path, cache: Option<&Path>) -> Result<Self, SweepError> {
        check_place(root)?;
        let cells = root.join(CELLS);
        for folder in std::iter::once(cells.as_path()).chain(cache) {
            fs::create_dir_all(folder).map_err(SweepError::io(folder))?;
        }
        let path = root.join(LOCK);
        let lock = File::create(&path).map_err(SweepError::io(&path))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => SweepError::Busy { folder: root.to_owned() },
            TryLockError::Error(cause) => SweepError::Io { path, cause },
        })?;
        remove_temporaries(&cells)?;
        Ok(Self { root: root.to_owned(), places: Places { cells, cache: cache.map(Path::to_owned) }, lock })
    }

    /// Path of the folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The cell called `name`; `None` where it has not ended, or its file is not what was written. A cell of the cache is kept here,
    /// too.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn get(&self, name: Digest) -> Result<Option<Done>, SweepError> {
        let Places { cells, cache } = &self.places;
        if let Some(done) = read(&place(cells, name), name)? {
            return Ok(Some(done));
        }
        let Some(cache) = cache else { return Ok(None) };
        let found = read(&place(cache, name), name)?;
        if let Some(done) = &found {
            put(cells, done)?;
        }
        Ok(found)
    }

    /// Keeps a cell: for good when this returns.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn keep(&self, done: &Done) -> Result<(), SweepError> {
        self.places.keep(done)
    }

    /// The cells of `points` that have ended, as far as `plan` asks for them; these are its points, or some of them.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn cells(&self, plan: &Plan, points: &[Point]) -> Result<Vec<Done>, SweepError> {
        let mut cells = Vec::new();
        for point in points {
            let seeds: Vec<u64> = match plan.seeds(point) {
                Seeds::Named(seeds) => seeds.to_vec(),
                until @ Seeds::Until(_) => (1..=until.most()).collect(),
            };
            for seed in seeds {
                cells.extend(self.get(point.cell_name(seed))?);
            }
        }
        Ok(cells)
    }

    /// Places of cells.
    pub(crate) fn places(&self) -> Places {
        self.places.clone()
    }

    /// Names of all cells of the folder, in order.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn names(&self) -> Result<BTreeSet<Digest>, SweepError> {
        names(&self.root)
    }

    /// Keeps the text of a plan beside the cells, for whoever finds the folder.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn keep_plan(&self, text: &str) -> Result<(), SweepError> {
        write(&self.root, &self.root.join(PLAN), text.as_bytes())
    }
}

/// Places of cells that are only read, beside whoever writes there.
#[derive(Clone, Debug)]
pub struct Kept(Vec<PathBuf>);

impl Kept {
    /// The cells of the sweep at `root`, and of a cache; neither needs to be there.
    #[must_use]
    pub fn of(root: Option<&Path>, cache: Option<&Path>) -> Self {
        Self(root.map(|root| root.join(CELLS)).into_iter().chain(cache.map(Path::to_owned)).collect())
    }

    /// The cell called `name`; `None` where it has not ended.
    ///
    /// # Errors
    /// A file system that refuses.
    pub fn get(&self, name: Digest) -> Result<Option<Done>, SweepError> {
        self.0.iter().find_map(|cells| read(&place(cells, name), name).transpose()).transpose()
    }
}

/// Cells of a folder that is only read.
pub(crate) fn cells_of(root: &Path) -> Result<Vec<Done>, SweepError> {
    let folder = root.join(CELLS);
    if !folder.is_dir() {
        return Err(SweepError::NoSweep { folder: root.to_owned() });
    }
    let names = names(root)?;
    names.into_iter().filter_map(|name| read(&place(&folder, name), name).transpose()).collect()
}

/// Whether a folder with such entries is one of a sweep.
fn check_place(root: &Path) -> Result<(), SweepError> {
    let entries = match fs::read_dir(root) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(SweepError::Io { path: root.to_owned(), cause }),
    };
    let names = entries.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>();
    let names = names.map_err(SweepError::io(root))?;
    let is_own = names.is_empty() || names.iter().any(|name| name == CELLS);
    if is_own { Ok(()) } else { Err(SweepError::Occupied { folder: root.to_owned() }) }
}

/// Removes what an interrupted program left. Nobody else writes here: the folder is locked.
fn remove_temporaries(cells: &Path) -> Result<(), SweepError> {
    let root = cells.parent().expect("cells lie below the folder").to_owned();
    for folder in parts(cells)?.into_iter().chain([root]) {
        for entry in fs::read_dir(&folder).map_err(SweepError::io(&folder))? {
            let path = entry.map_err(SweepError::io(&folder))?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(TEMPORARY)) {
                let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
                removed.map_err(SweepError::io(&path))?;
            }
        }
    }
    Ok(())
}

/// Folders into which cells are spread by the first digits of their names.
fn parts(cells: &Path) -> Result<Vec<PathBuf>, SweepError> {
    let entries = fs::read_dir(cells).map_err(SweepError::io(cells))?;
    let paths =
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>().map_err(SweepError::io(cells))?;
    Ok(paths.into_iter().filter(|path| path.is_dir()).collect())
}

fn names(root: &Path) -> Result<BTreeSet<Digest>, SweepError> {
    let mut names = BTreeSet::new();
    for folder in parts(&root.join(CELLS))? {
        for entry in fs::read_dir(&folder).map_err(SweepError::io(&folder))? {
            let path = entry.map_err(SweepError::io(&folder))?.path();
            names.extend(path.file_stem().and_then(|stem| stem.to_str()?.parse::<Digest>().ok()));
        }
    }
    Ok(names)
}

fn place(cells: &Path, name: Digest) -> PathBuf {
    let name = name.to_string();
    cells.join(&name[..2]).join(format!("{name}.cell"))
}

fn read(path: &Path, name: Digest) -> Result<Option<Done>, SweepError> {
    let text = match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).unwrap_or_default(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(SweepError::Io { path: path.to_owned(), cause }),
    };
    Ok(parse(&text).filter(|done| done.cell == name))
}

/// The cell in the text of its file; `None` where it is not what was written, so that the cell has to run again.
fn parse(text: &str) -> Option<Done> {
    let (head, body) = text.split_once('\n')?;
    let stated = head.strip_prefix(MAGIC)?.trim();
    if Digest::of_bytes(body.as_bytes()).to_string() != stated {
        return None;
    }
    serde_json::from_str(body).ok()
}

fn put(cells: &Path, done: &Done) -> Result<(), SweepError> {
    let path = place(cells, done.cell);
    let body = serde_json::to_string(done).expect("texts and finite numbers can be written as JSON");
    let text = format!("{MAGIC} {}\n{body}", Digest::of_bytes(body.as_bytes()));
    let folder = path.parent().expect("a cell lies in a folder");
    fs::create_dir_all(folder).map_err(SweepError::io(folder))?;
    write(folder, &path, text.as_bytes())
}

/// Writes a file of `folder`: it is on the disk before it has its name.
fn write(folder: &Path, path: &Path, content: &[u8]) -> Result<(), SweepError> {
    let write = || {
        let mut file = tempfile::Builder::new()
            .prefix(TEMPORARY)
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666))
            .tempfile_in(folder)?;
        file.write_all(content)?;
        file.as_file().sync_all()?;
        file.persist(path).map_err(|error| error.error)?;
        File::open(folder)?.sync_all()
    };
    write().map_err(SweepError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::Axes;
    use crate::measures::{Measure, Statistic};
    use crate::run::{End, HostTimes};

    fn done(value: f64) -> Done {
        let word = || "a".to_owned();
        Done {
            cell: Digest::of_bytes(b"cell"),
            axes: Axes {
                workload: word(),
                policy: word(),
                machine: word(),
                memory: word(),
                parameters: Vec::new(),
                settings: Vec::new(),
            },
            seed: 1,
            engine: word(),
            digest: None,
            end: End::Completed,
            message: String::new(),
            measures: vec![Measure { operation: word(), statistic: Statistic::Mean, value, unit: word() }],
            host: HostTimes::default(),
        }
    }

    #[test]
    fn a_cell_comes_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Folder::open(folder.path(), None).unwrap();
        for value in [0.1 + 0.2, 1.0 / 3.0, 5e-324, 8.41, 123_456_789.000_001] {
            kept.keep(&done(value)).unwrap();
            assert_eq!(kept.get(done(value).cell).unwrap(), Some(done(value)));
        }
        assert_eq!(kept.names().unwrap().len(), 1);
    }

    #[test]
    fn a_damaged_cell_has_not_ended() {
        let folder = tempfile::tempdir().unwrap();
        let kept = Folder::open(folder.path(), None).unwrap();
        kept.keep(&done(1.5)).unwrap();
        let path = place(&folder.path().join(CELLS), done(1.5).cell);
        let text = fs::read_to_string(&path).unwrap();
        for damaged in ["", "order9-cell-1", &text[..text.len() - 1], &text.replace("1.5", "1.6")] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(kept.get(done(1.5).cell).unwrap(), None, "{damaged}");
        }
    }

    #[test]
    fn two_programs_do_not_work_in_one_folder() {
        let folder = tempfile::tempdir().unwrap();
        let first = Folder::open(folder.path(), None).unwrap();
        assert!(matches!(Folder::open(folder.path(), None), Err(SweepError::Busy { .. })));
        drop(first);
        fs::write(place(&folder.path().join(CELLS), done(1.0).cell).with_file_name("x"), "").unwrap_err();
        Folder::open(folder.path(), None).unwrap();
    }

    #[test]
    fn a_folder_of_other_things_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("letter.txt"), "dear").unwrap();
        assert!(matches!(Folder::open(folder.path(), None), Err(SweepError::Occupied { .. })));
    }
}
