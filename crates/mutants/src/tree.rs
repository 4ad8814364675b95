//! The copy of the sources in `target/mutants/tree`. Files that are as they were are not written again, so that only what
//! has changed is built again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::list::Mutant;
use crate::plant::{MODULE, plant};

/// Folders that are no part of the copy: what is built, what git keeps, and this tool, whose lists name the sources as they
/// are.
const LEFT_OUT: [&str; 5] = ["target", ".git", "fuzz/artifacts", "runs", "crates/mutants"];

/// The sources and their copy.
pub(crate) struct Tree {
    root: PathBuf,
    /// The folder that the tool keeps its own things in.
    pub(crate) work: PathBuf,
}

/// Texts of the files that differ from the sources, by path from the top folder.
pub(crate) type Planted = BTreeMap<PathBuf, String>;

impl Tree {
    pub(crate) fn of(root: &Path) -> Self {
        Self { root: root.to_owned(), work: root.join("target/mutants") }
    }

    /// The folder of the copy.
    pub(crate) fn copy(&self) -> PathBuf {
        self.work.join("tree")
    }

    /// The sources with all defects, the first of which has number 1.
    pub(crate) fn plant(&self, mutants: &[Mutant]) -> Result<Planted, Error> {
        let mut of_file: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for (at, mutant) in mutants.iter().enumerate() {
            of_file.entry(&mutant.file).or_default().push((at + 1, mutant));
        }
        let mut planted = Planted::new();
        let mut lost = Vec::new();
        for (file, defects) in of_file {
            match self.source(Path::new(file)).and_then(|text| plant(&text, &defects)) {
                Ok(text) => _ = planted.insert(file.into(), text),
                Err(error) => lost.push(error),
            }
        }
        if !lost.is_empty() {
            return Err(Error::Several(lost));
        }
        let sources: BTreeSet<PathBuf> = planted.keys().filter_map(|file| source_folder(file)).collect();
        for folder in sources {
            let top = ["lib.rs", "main.rs"].map(|name| folder.join(name));
            let top = top.into_iter().find(|file| self.root.join(file).exists()).expect("a crate has a top file");
            let text = match planted.remove(&top) {
                Some(text) => text,
                None => self.source(&top)?,
            };
            planted.insert(top, text + "\nmod planted;\n");
            planted.insert(folder.join("planted.rs"), MODULE.to_owned());
        }
        Ok(planted)
    }

    fn source(&self, file: &Path) -> Result<String, Error> {
        let path = self.root.join(file);
        fs::read_to_string(&path).map_err(|error| Error::file(path, error))
    }

    /// Makes the copy like the sources with `planted` in it.
    pub(crate) fn write(&self, planted: &Planted) -> Result<(), Error> {
        let mut kept = BTreeSet::new();
        self.copy_folder(Path::new(""), planted, &mut kept)?;
        for (file, text) in planted {
            self.write_file(file, text.as_bytes())?;
            kept.insert(file.clone());
        }
        self.remove_others(Path::new(""), &kept)
    }

    fn copy_folder(&self, folder: &Path, planted: &Planted, kept: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
        for name in names(&self.root.join(folder))? {
            let file = folder.join(name);
            if LEFT_OUT.iter().any(|left_out| file == Path::new(left_out)) || planted.contains_key(&file) {
                continue;
            }
            let path = self.root.join(&file);
            if path.is_dir() {
                self.copy_folder(&file, planted, kept)?;
            } else if path.is_file() {
                self.write_file(&file, &fs::read(&path).map_err(|error| Error::file(path, error))?)?;
                kept.insert(file);
            }
        }
        Ok(())
    }

    fn write_file(&self, file: &Path, contents: &[u8]) -> Result<(), Error> {
        let path = self.copy().join(file);
        match fs::read(&path) {
            Ok(there) if there == contents => return Ok(()),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(Error::file(path, error)),
            _ => {}
        }
        let folder = path.parent().expect("a file lies in a folder");
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, contents)).map_err(|error| Error::file(path, error))
    }

    /// Differs where files of the copy are not as they were that tests may read: all but sources, documents and the lists.
    pub(crate) fn data(&self) -> Result<u64, Error> {
        let mut hasher = DefaultHasher::new();
        self.hash_folder(Path::new(""), &mut hasher)?;
        Ok(hasher.finish())
    }

    fn hash_folder(&self, folder: &Path, hasher: &mut DefaultHasher) -> Result<(), Error> {
        let mut names = names(&self.copy().join(folder))?;
        names.sort();
        for name in names {
            let file = folder.join(name);
            let path = self.copy().join(&file);
            if path.is_dir() {
                if file != Path::new("tests/mutants") {
                    self.hash_folder(&file, hasher)?;
                }
            } else if file.extension().is_none_or(|end| end != "rs" && end != "md") {
                let contents = fs::read(&path).map_err(|error| Error::file(path, error))?;
                (file, contents).hash(hasher);
            }
        }
        Ok(())
    }

    /// Removes files of the copy that the sources no longer have.
    fn remove_others(&self, folder: &Path, kept: &BTreeSet<PathBuf>) -> Result<(), Error> {
        for name in names(&self.copy().join(folder))? {
            let file = folder.join(name);
            let path = self.copy().join(&file);
            if path.is_dir() {
                self.remove_others(&file, kept)?;
            } else if !kept.contains(&file) && file != Path::new("Cargo.lock") {
                fs::remove_file(&path).map_err(|error| Error::file(path, error))?;
            }
        }
        Ok(())
    }
}

/// The folder of a crate's sources that a file of it lies in: `crates/mm/src`.
fn source_folder(file: &Path) -> Option<PathBuf> {
    file.ancestors().find(|folder| folder.ends_with("src")).map(Path::to_owned)
}

fn names(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(|error| Error::file(folder, error))?;
    Ok(entries.flatten().map(|entry| entry.file_name().into()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Lists;

    #[test]
    fn every_defect_is_still_found_in_the_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let lists = Lists::read(&root.join("tests/mutants")).unwrap_or_else(|error| panic!("{error}"));
        let planted = Tree::of(&root).plant(&lists.mutants).unwrap_or_else(|error| panic!("{error}"));
        assert!(planted.len() > 2 && lists.mutants.len() >= 200, "{} defects", lists.mutants.len());
    }

    #[test]
    fn data_differ_where_a_file_does_that_is_no_source() {
        let folder = tempfile::tempdir().expect("a folder");
        let tree = Tree::of(folder.path());
        let write = |file: &str, text: &str| tree.write_file(Path::new(file), text.as_bytes()).expect("written");
        write("tests/data/a.csv", "1");
        let data = tree.data().expect("data");
        for file in ["crates/mm/src/lib.rs", "docs/a.md", "tests/mutants/a.toml"] {
            write(file, "other");
            assert_eq!(tree.data().expect("data"), data, "{file}");
        }
        write("tests/data/a.csv", "2");
        assert_ne!(tree.data().expect("data"), data);
    }

    #[test]
    fn sources_lie_in_the_folder_of_their_crate() {
        assert_eq!(source_folder(Path::new("crates/mm/src/pages/lru/mod.rs")), Some("crates/mm/src".into()));
    }
}
