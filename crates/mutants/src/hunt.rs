//! The hunt: each defect is on while tests run that come by its place, one after the other, until one sees it.
//!
//! First the test that saw it last, then those that saw another defect of the same file, then all others, of each the fastest
//! first.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use serde::Deserialize;

use crate::binaries::With;
use crate::error::Error;
use crate::jobs;
use crate::list::{Lists, Mutant};
use crate::reach::{Map, Test};
use crate::run::{End, run};

/// A test that saw a defect: it failed, or took too long.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sight {
    pub(crate) binary: String,
    pub(crate) test: String,
}

/// Result for a defect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    Seen(Sight),
    /// None of these tests, which reach the defect, saw it.
    Unseen {
        tests: usize,
    },
}

/// A defect, by its position in the list, and its result.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) mutant: usize,
    pub(crate) fate: Fate,
}

/// Inputs of a hunt.
pub(crate) struct Hunt<'a> {
    pub(crate) lists: &'a Lists,
    pub(crate) map: Map,
    /// Only the test that saw a defect last is asked.
    pub(crate) again: bool,
}

impl Hunt<'_> {
    /// Tries the defects at the positions `chosen`, `jobs` at a time; what came of each, in that order.
    ///
    /// # Errors
    /// Where a test cannot be run, or what saw a defect not be written down.
    pub(crate) fn all(&self, chosen: &[usize], jobs: usize) -> Result<Vec<Outcome>, Error> {
        let found: Mutex<Vec<Outcome>> = Mutex::default();
        jobs::each(chosen, jobs, |&mutant| {
            let near = self.near(mutant, &found.lock().expect("nobody panics with it"));
            let outcome = Outcome { mutant, fate: self.one(mutant, &near)? };
            let by = match &outcome.fate {
                Fate::Seen(Sight { binary, test }) => format!("{binary} {test}"),
                Fate::Unseen { tests: 0 } => "NO TEST COMES BY".to_owned(),
                Fate::Unseen { tests } => format!("NOT SEEN by {tests} tests"),
            };
            let mut found = found.lock().expect("nobody panics with it");
            found.push(outcome.clone());
            // Who stops the hunt keeps what it has found.
            self.lists.remember(&found, &self.map)?;
            eprintln!("{:4}/{} {}: {by}", found.len(), chosen.len(), self.lists.mutants[mutant].id);
            Ok(outcome)
        })
    }

    /// The tests that have seen a defect of the same file, now or before.
    fn near(&self, mutant: usize, found: &[Outcome]) -> BTreeSet<Sight> {
        let mutants = &self.lists.mutants;
        let is_near = |other: &Mutant| other.file == mutants[mutant].file;
        let before = mutants.iter().filter(|other| is_near(other)).filter_map(|other| self.lists.seen.get(&other.id));
        let now = found.iter().filter(|outcome| is_near(&mutants[outcome.mutant])).filter_map(|outcome| match &outcome
            .fate
        {
            Fate::Seen(sight) => Some(sight),
            Fate::Unseen { .. } => None,
        });
        before.chain(now).cloned().collect()
    }

    fn one(&self, mutant: usize, near: &BTreeSet<Sight>) -> Result<Fate, Error> {
        let last = self.lists.seen.get(&self.lists.mutants[mutant].id);
        let is_last = |test: &&Test| last == Some(&self.map.sight(test));
        let mut tests: Vec<&Test> = self.map.tests(mutant + 1).filter(|test| !self.again || is_last(test)).collect();
        tests.sort_by_key(|test| (!is_last(test), !near.contains(&self.map.sight(test))));
        for test in &tests {
            // A loop that the defect makes endless takes longer.
            let limit = 5 * test.takes + Duration::from_secs(10);
            let binary = self.map.binary(test);
            let end = run(&mut binary.command(&test.name, With::Defect(mutant + 1)), limit);
            let (end, _) = end.map_err(|error| Error::file(&binary.path, error))?;
            if end != End::Passed {
                return Ok(Fate::Seen(self.map.sight(test)));
            }
        }
        Ok(Fate::Unseen { tests: tests.len() })
    }
}
