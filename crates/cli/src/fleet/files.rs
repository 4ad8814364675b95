//! Files of a fleet: those that were named, those below directories, those of a list.

use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use order9_snapshot::format::EXTENSION;

use crate::failure::{Failure, io_sentence};

/// All files, in the order in which they were named, those of a directory by name; each once.
pub(crate) fn listed(named: &[PathBuf], list: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let of_list = list.map(names).transpose()?.unwrap_or_default();
    let mut files = Vec::new();
    for path in named.iter().chain(&of_list) {
        if path.is_dir() {
            let before = files.len();
            below(path, &mut files)?;
            if files.len() == before {
                return Err(Failure::file(path, format!("no *.{EXTENSION} is in this directory or below it")));
            }
        } else {
            files.push(path.clone());
        }
    }
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    if files.is_empty() {
        return Err(Failure::Usage("no snapshot was named: expected files, directories or --from-file".to_owned()));
    }
    Ok(files)
}

/// Names in a list, one on each line.
fn names(list: &Path) -> Result<Vec<PathBuf>, Failure> {
    let text = if list.as_os_str() == "-" {
        let mut text = String::new();
        io::stdin().lock().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(list)
    };
    let text = text.map_err(|error| Failure::file(list, io_sentence(&error)))?;
    Ok(text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect())
}

/// Adds the snapshots in `directory` and in those below it. Links to directories are not followed.
fn below(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::file(directory, io_sentence(&error));
    let mut entries = fs::read_dir(directory).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type().map_err(failed)?.is_dir() {
            below(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == EXTENSION) {
            files.push(path);
        }
    }
    Ok(())
}
