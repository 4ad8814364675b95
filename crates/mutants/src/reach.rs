//! The map: by which defects' places each test comes when it runs by itself without a defect, and how long it takes.
//!
//! A defect whose place a test does not come by cannot change what the test does: it need not be asked. The map of a binary
//! is kept in `target/mutants/reach`, a line for each test, until the binary changes or data that tests read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::binaries::{Binary, With};
use crate::error::Error;
use crate::hunt::Sight;
use crate::jobs;
use crate::run::{End, run};

/// The longest that a test may take without a defect.
const LONGEST: Duration = Duration::from_secs(3600);

/// Behaviour of a test by itself, without a defect.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Alone {
    /// The test passes after `seconds` of a CPU and reaches the places of these defects.
    Passes { seconds: f64, reached: BTreeSet<usize> },
    /// The test fails, so its result with a defect means nothing.
    Fails,
    /// The test was stopped after `seconds`.
    TooLong { seconds: f64 },
}

/// A line of a kept map.
#[derive(Serialize, Deserialize)]
struct Line {
    fingerprint: u64,
    test: String,
    alone: Alone,
}

/// A test that passes without a defect.
#[derive(Debug)]
pub(crate) struct Test {
    /// Position of its binary in the map.
    binary: usize,
    pub(crate) name: String,
    pub(crate) takes: Duration,
    /// Numbers of the defects that it comes by.
    reached: BTreeSet<usize>,
}

/// All tests of all binaries that were asked for.
#[derive(Debug, Default)]
pub(crate) struct Map {
    binaries: Vec<Binary>,
    /// Tests, the fastest first.
    tests: Vec<Test>,
    /// Tests that fail without a defect: binary and name.
    pub(crate) failing: Vec<Sight>,
    /// Tests that took longer than was asked for.
    pub(crate) too_long: Vec<Sight>,
}

impl Map {
    /// Runs every test of `binaries` by itself, `jobs` at a time, unless that was done before. Of tests that take longer than
    /// `longest` nothing but that is known.
    ///
    /// # Errors
    /// Where a test cannot be run, or the map not be kept.
    pub(crate) fn draw(
        folder: &Path,
        binaries: Vec<Binary>,
        longest: Option<Duration>,
        jobs: usize,
    ) -> Result<Self, Error> {
        let longest = longest.unwrap_or(LONGEST);
        fs::create_dir_all(folder).map_err(|error| Error::file(folder, error))?;
        let mut map = Self::default();
        for binary in binaries {
            let alone = of_binary(folder, &binary, longest, jobs)?;
            map.add(binary, alone, longest);
        }
        map.tests.sort_by_key(|test| test.takes);
        Ok(map)
    }

    fn add(&mut self, binary: Binary, alone: BTreeMap<String, Alone>, longest: Duration) {
        for (test, alone) in alone {
            let sight = Sight { binary: binary.name.clone(), test };
            match alone {
                Alone::Passes { seconds, reached } if seconds <= longest.as_secs_f64() => {
                    let takes = Duration::from_secs_f64(seconds);
                    self.tests.push(Test { binary: self.binaries.len(), name: sight.test, takes, reached });
                }
                Alone::Fails => self.failing.push(sight),
                _ => self.too_long.push(sight),
            }
        }
        self.binaries.push(binary);
    }

    /// The tests that come by the defect of this number, the fastest first.
    pub(crate) fn tests(&self, number: usize) -> impl Iterator<Item = &Test> {
        self.tests.iter().filter(move |test| test.reached.contains(&number))
    }

    pub(crate) fn binary(&self, test: &Test) -> &Binary {
        &self.binaries[test.binary]
    }

    /// Name of the test with its binary.
    pub(crate) fn sight(&self, test: &Test) -> Sight {
        Sight { binary: self.binary(test).name.clone(), test: test.name.clone() }
    }

    /// Whether the map says what has become of the test: it is in no binary or test that was left out.
    pub(crate) fn knows(&self, sight: &Sight) -> bool {
        self.binaries.iter().any(|binary| binary.name == sight.binary) && !self.too_long.contains(sight)
    }
}

/// Behaviour of each test of a binary by itself.
fn of_binary(folder: &Path, binary: &Binary, longest: Duration, jobs: usize) -> Result<BTreeMap<String, Alone>, Error> {
    let kept = Kept::open(folder, binary)?;
    let mut alone = kept.read()?;
    let tests = binary.tests()?;
    alone.retain(|test, alone| tests.contains(test) && alone.is_answer(longest));
    let missing: Vec<&String> = tests.iter().filter(|test| !alone.contains_key(*test)).collect();
    if !missing.is_empty() {
        eprintln!("{}: {} tests without a defect", binary.name, missing.len());
    }
    let files = AtomicUsize::new(0);
    let found = jobs::each(&missing, jobs, |test| {
        let places = folder.join(format!("places-{}", files.fetch_add(1, Ordering::Relaxed)));
        let alone = Alone::of(binary, test, &places, longest)?;
        kept.add(test, &alone)?;
        Ok(((*test).clone(), alone))
    })?;
    alone.extend(found);
    Ok(alone)
}

impl Alone {
    fn of(binary: &Binary, test: &str, places: &Path, longest: Duration) -> Result<Self, Error> {
        let fail = |error| Error::file(places, error);
        fs::write(places, "").map_err(fail)?;
        let end = run(&mut binary.command(test, With::Record(places)), longest);
        let text = fs::read_to_string(places).map_err(fail)?;
        fs::remove_file(places).map_err(fail)?;
        let (end, takes) = end.map_err(|error| Error::file(&binary.path, error))?;
        let seconds = takes.as_secs_f64();
        Ok(match end {
            End::Passed => {
                Self::Passes { seconds, reached: text.lines().filter_map(|line| line.parse().ok()).collect() }
            }
            End::Failed => Self::Fails,
            End::TooLong => Self::TooLong { seconds: longest.as_secs_f64() },
        })
    }

    /// Whether nothing more is to be learnt within `longest`.
    fn is_answer(&self, longest: Duration) -> bool {
        !matches!(self, Self::TooLong { seconds } if *seconds < longest.as_secs_f64())
    }
}

/// The kept map of a binary. Lines of other states of it stay: it may come back to one.
struct Kept {
    path: PathBuf,
    file: Mutex<File>,
    fingerprint: u64,
}

impl Kept {
    fn open(folder: &Path, binary: &Binary) -> Result<Self, Error> {
        let path = folder.join(format!("{}.jsonl", binary.name.replace('/', "-")));
        let file = OpenOptions::new().append(true).create(true).open(&path);
        let file = Mutex::new(file.map_err(|error| Error::file(&path, error))?);
        Ok(Self { path, file, fingerprint: binary.fingerprint })
    }

    /// Known behaviour of the tests of this binary. A line that was cut off is skipped.
    fn read(&self) -> Result<BTreeMap<String, Alone>, Error> {
        let text = fs::read_to_string(&self.path).map_err(|error| Error::file(&self.path, error))?;
        let lines = text.lines().filter_map(|line| serde_json::from_str::<Line>(line).ok());
        let known = lines.filter(|line| line.fingerprint == self.fingerprint);
        Ok(known.map(|line| (line.test, line.alone)).collect())
    }

    fn add(&self, test: &str, alone: &Alone) -> Result<(), Error> {
        let line = Line { fingerprint: self.fingerprint, test: test.to_owned(), alone: alone.clone() };
        let line = serde_json::to_string(&line).expect("numbers and names are written") + "\n";
        let mut file = self.file.lock().expect("nobody panics with it");
        file.write_all(line.as_bytes()).map_err(|error| Error::file(&self.path, error))
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    /// A test binary with five tests, which writes down every test that it runs.
    const SCRIPT: &str = r#"#!/bin/sh
case "$*" in
    *--list*) printf 'slow: test\nfast: test\nbroken: test\nendless: test\nbench: benchmark\n'; exit ;;
esac
echo "$2" >> asked
case "$2" in
    slow) i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; printf '7\n8\n' >> "$ORDER9_MUTANT_REACHED" ;;
    fast) echo 7 >> "$ORDER9_MUTANT_REACHED" ;;
    broken) exit 101 ;;
    endless) while :; do :; done ;;
esac
"#;

    fn names<'a>(tests: impl Iterator<Item = &'a Test>) -> Vec<&'a str> {
        tests.map(|test| test.name.as_str()).collect()
    }

    /// Writes the script by another process: a child that another test starts at that moment would inherit the open file, and a file that is
    /// open for writing cannot be run.
    fn write_executable(path: &Path) {
        let mut shell = Command::new("sh");
        shell.args(["-c", r#"cat > "$1" && chmod 755 "$1""#, "sh"]).arg(path).stdin(Stdio::piped());
        let mut shell = shell.spawn().expect("there is a shell");
        shell.stdin.take().expect("it is piped").write_all(SCRIPT.as_bytes()).expect("it reads");
        assert!(shell.wait().expect("it ends").success());
    }

    #[test]
    fn tests_are_asked_once_and_known_by_the_places_that_they_come_by() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("binary");
        write_executable(&path);
        let mut binary = Binary { name: "mm/some".to_owned(), path, folder: folder.path().to_owned(), fingerprint: 1 };
        let second = Some(Duration::from_secs(1));
        let draw =
            |binary: &Binary| Map::draw(&folder.path().join("reach"), vec![binary.clone()], second, 2).expect("a map");
        let asked = || fs::read_to_string(folder.path().join("asked")).expect("tests were asked").lines().count();

        let map = draw(&binary);
        assert_eq!(names(map.tests(7)), ["fast", "slow"]);
        assert_eq!(names(map.tests(8)), ["slow"]);
        assert_eq!(names(map.tests(9)), [""; 0]);
        let sight = |test: &str| Sight { binary: "mm/some".to_owned(), test: test.to_owned() };
        assert_eq!((&map.failing, &map.too_long), (&vec![sight("broken")], &vec![sight("endless")]));
        assert!(map.knows(&sight("fast")) && map.knows(&sight("gone")) && !map.knows(&sight("endless")));
        assert!(!map.knows(&Sight { binary: "mm".to_owned(), test: "fast".to_owned() }), "it was not built");
        assert_eq!(asked(), 4);

        assert_eq!(names(draw(&binary).tests(7)), ["fast", "slow"]);
        assert_eq!(asked(), 4, "the map was kept");
        binary.fingerprint = 2;
        draw(&binary);
        assert_eq!(asked(), 8, "another binary");
    }
}
