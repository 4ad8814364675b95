//! Several folders of cells become one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use order9_record::Digest;

use crate::SweepError;
use crate::folder::{Folder, cells_of};
use crate::run::Done;

/// Puts the cells of `parts` into `folder`, beside those that it has, and gives all of them.
///
/// # Errors
/// A folder without cells, a cell with two different results, a file system that refuses.
pub fn merge(parts: &[PathBuf], folder: &Folder) -> Result<Vec<Done>, SweepError> {
    let mut cells: BTreeMap<Digest, Done> = BTreeMap::new();
    let own = cells_of(folder.root())?;
    own.into_iter().for_each(|done| drop(cells.insert(done.cell, done)));
    for part in parts {
        for done in of_part(part)? {
            if let Some(other) = cells.get(&done.cell) {
                same(other, &done)?;
            } else {
                folder.keep(&done)?;
                cells.insert(done.cell, done);
            }
        }
    }
    Ok(cells.into_values().collect())
}

fn of_part(part: &Path) -> Result<Vec<Done>, SweepError> {
    let cells = cells_of(part)?;
    if cells.is_empty() { Err(SweepError::NoSweep { folder: part.to_owned() }) } else { Ok(cells) }
}

/// Refuses two results of one cell. Times of hosts differ, and nothing else may.
fn same(one: &Done, other: &Done) -> Result<(), SweepError> {
    if one.digest == other.digest && one.end == other.end {
        return Ok(());
    }
    let shown = |done: &Done| done.digest.map_or_else(|| done.end.word().to_owned(), |digest| digest.to_string());
    Err(SweepError::TwoResults { cell: one.cell, one: shown(one), other: shown(other) })
}
