//! The lists: which defects there are, which are known to stay unseen and why, and which test saw each last time.
//!
//! Defects stand in `tests/mutants/*.toml`, by subject. `survivors.toml` holds the unseen ones, `seen.toml` what saw the
//! others: a later run asks that test first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::Error;
use crate::hunt::{Fate, Outcome, Sight};
use crate::reach::Map;

/// A defect.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutant {
    /// Name of the defect.
    pub(crate) id: String,
    /// File with the defect: a path from the top folder.
    pub(crate) file: String,
    /// The text before it from which on `find` is looked for; the whole file otherwise.
    pub(crate) after: Option<String>,
    /// An expression, or whole statements: once in the file, or the first time after `after`.
    pub(crate) find: String,
    /// Text of the defect in place of the found text.
    pub(crate) replace: String,
    /// The rule that it breaks.
    pub(crate) why: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MutantFile {
    mutant: Vec<Mutant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SurvivorFile {
    #[serde(default)]
    survivor: Vec<Survivor>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Survivor {
    id: String,
    reason: String,
}

/// All lists.
pub(crate) struct Lists {
    folder: PathBuf,
    /// Defects in the order of their files and places; number 1 is the first.
    pub(crate) mutants: Vec<Mutant>,
    /// Why a defect stays unseen, by its name.
    pub(crate) survivors: BTreeMap<String, String>,
    /// The test that saw a defect last, by the name of the defect.
    pub(crate) seen: BTreeMap<String, Sight>,
}

impl Lists {
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        let mut mutants: Vec<Mutant> = Vec::new();
        let entries = fs::read_dir(folder).map_err(|error| Error::file(folder, error))?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.sort();
        let kept = [folder.join("survivors.toml"), folder.join("seen.toml")];
        for file in
            files.iter().filter(|file| file.extension().is_some_and(|end| end == "toml") && !kept.contains(file))
        {
            mutants.extend(parse::<MutantFile>(file)?.mutant);
        }
        let mut names: Vec<&String> = mutants.iter().map(|mutant| &mutant.id).collect();
        names.sort();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(Error::SameName(pair[0].clone()));
        }
        let survivors: BTreeMap<_, _> =
            parse::<SurvivorFile>(&kept[0])?.survivor.into_iter().map(|known| (known.id, known.reason)).collect();
        if let Some(id) = survivors.keys().find(|id| !mutants.iter().any(|mutant| mutant.id == **id)) {
            return Err(Error::NoSuchSurvivor(id.clone()));
        }
        let seen = if kept[1].exists() { parse(&kept[1])? } else { BTreeMap::new() };
        Ok(Self { folder: folder.to_owned(), mutants, survivors, seen })
    }

    /// Positions of the defects whose names begin with one of `ids`; of all where there are none.
    pub(crate) fn chosen(&self, ids: &[String]) -> Result<Vec<usize>, Error> {
        let matches = |mutant: &Mutant, id: &String| mutant.id.starts_with(id);
        if let Some(id) = ids.iter().find(|id| !self.mutants.iter().any(|mutant| matches(mutant, id))) {
            return Err(Error::NoSuchDefect(id.clone()));
        }
        let wanted = |at: &usize| ids.is_empty() || ids.iter().any(|id| matches(&self.mutants[*at], id));
        Ok((0..self.mutants.len()).filter(wanted).collect())
    }

    /// Writes down what saw the defects that were tried. What saw one before stays where its test was left out of `map`.
    pub(crate) fn remember(&self, outcomes: &[Outcome], map: &Map) -> Result<(), Error> {
        let mut sights = self.seen.clone();
        for Outcome { mutant, fate } in outcomes {
            let id = &self.mutants[*mutant].id;
            match fate {
                Fate::Seen(sight) => _ = sights.insert(id.clone(), sight.clone()),
                Fate::Unseen { .. } if sights.get(id).is_some_and(|sight| map.knows(sight)) => _ = sights.remove(id),
                Fate::Unseen { .. } => {}
            }
        }
        sights.retain(|id, _| self.mutants.iter().any(|mutant| mutant.id == *id));
        let path = self.folder.join("seen.toml");
        let mut text =
            "# What saw each defect last: written by `make mutants`, which asks it first the next time.\n".to_owned();
        for (id, Sight { binary, test }) in &sights {
            text += &format!("{id} = {{ binary = {binary:?}, test = {test:?} }}\n");
        }
        fs::write(&path, text).map_err(|error| Error::file(path, error))
    }
}

fn parse<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, Error> {
    let text = fs::read_to_string(path).map_err(|error| Error::file(path, error))?;
    toml::from_str(&text).map_err(|error| Error::Toml { path: path.to_owned(), error: Box::new(error) })
}
