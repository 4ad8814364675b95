//! The hunt: each defect is on while test binaries run, until one sees it.
//!
//! First the test that saw it last, then the tests of its own module, then those of its crate, then all others, the
//! fastest first.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;

use crate::binaries::End;
use crate::error::Error;
use crate::list::{Lists, Mutant};
use crate::time::Timed;

/// What saw a defect.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sight {
    pub(crate) binary: String,
    /// The test that failed; empty where the binary took too long.
    pub(crate) test: String,
}

/// What came of a defect.
pub(crate) struct Outcome {
    /// Its position in the list.
    pub(crate) mutant: usize,
    pub(crate) seen: Option<Sight>,
}

/// A run of a binary that may see a defect.
struct Step<'a> {
    timed: &'a Timed,
    filter: Vec<&'a str>,
}

/// What a hunt goes by.
pub(crate) struct Hunt<'a> {
    pub(crate) lists: &'a Lists,
    pub(crate) times: Vec<Timed>,
    /// Only the test that saw a defect last is asked.
    pub(crate) again: bool,
}

impl Hunt<'_> {
    /// Tries the defects at the positions `chosen`, `jobs` at a time; what came of each, in that order.
    ///
    /// # Errors
    /// Where a test binary cannot be run, or what saw a defect not be written down.
    pub(crate) fn all(&self, chosen: &[usize], jobs: usize) -> Result<Vec<Outcome>, Error> {
        let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            while let Some(&mutant) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                let outcome = self.one(mutant)?;
                let by = match &outcome.seen {
                    Some(Sight { binary, test }) => format!("{binary} {test}"),
                    None => "NOT SEEN".to_owned(),
                };
                let mut outcomes = outcomes.lock().expect("nobody panics with it");
                outcomes.push(outcome);
                // Who stops the hunt keeps what it has found.
                self.lists.remember(&outcomes)?;
                eprintln!("{:4}/{} {}: {by}", outcomes.len(), chosen.len(), self.lists.mutants[mutant].id);
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..jobs).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
        })?;
        let mut outcomes = outcomes.into_inner().expect("nobody panics with it");
        outcomes.sort_by_key(|outcome| outcome.mutant);
        Ok(outcomes)
    }

    fn one(&self, mutant: usize) -> Result<Outcome, Error> {
        for Step { timed, filter } in self.steps(&self.lists.mutants[mutant]) {
            let test = match timed.binary.run(mutant + 1, &filter, timed.limit())? {
                End::Passed => continue,
                End::Failed(test) => test,
                End::TooLong => String::new(),
            };
            return Ok(Outcome { mutant, seen: Some(Sight { binary: timed.binary.name.clone(), test }) });
        }
        Ok(Outcome { mutant, seen: None })
    }

    /// The runs that may see a defect, in the order in which they are tried.
    fn steps<'a>(&'a self, mutant: &'a Mutant) -> Vec<Step<'a>> {
        let of = |name: &str| self.times.iter().find(|timed| timed.binary.name == name);
        let own = package(&mutant.file);
        let mut steps = Vec::new();
        let last = self.lists.seen.get(&mutant.id);
        if let Some((timed, test)) = last.and_then(|last| Some((of(&last.binary)?, &last.test))) {
            let filter = if test.is_empty() { vec![] } else { vec!["--exact", test.as_str()] };
            steps.push(Step { timed, filter });
        }
        if self.again {
            return steps;
        }
        if let (Some(timed), Some(module)) = (of(own), module(&mutant.file)) {
            steps.push(Step { timed, filter: vec![module] });
        }
        let whole = self.times.iter().filter(|timed| !timed.in_part);
        let (near, far): (Vec<_>, Vec<_>) = whole.partition(|timed| timed.binary.package() == own);
        steps.extend(near.into_iter().chain(far).map(|timed| Step { timed, filter: vec![] }));
        steps
    }
}

/// Folder of the crate of a source file.
fn package(file: &str) -> &str {
    file.split('/').nth(1).unwrap_or(file)
}

/// The top module that a source file belongs to: `reclaim` for `crates/mm/src/reclaim/judge.rs`.
fn module(file: &str) -> Option<&str> {
    let part = file.split('/').nth(3)?;
    let module = Path::new(part).file_stem()?.to_str()?;
    (!["lib", "main"].contains(&module)).then_some(module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crate_and_module_follow_from_the_path() {
        for (file, crate_name, of) in [
            ("crates/mm/src/reclaim/judge.rs", "mm", Some("reclaim")),
            ("crates/mm/src/buddy.rs", "mm", Some("buddy")),
            ("crates/units/src/lib.rs", "units", None),
        ] {
            assert_eq!((package(file), module(file)), (crate_name, of), "{file}");
        }
    }
}
