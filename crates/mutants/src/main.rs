//! Plants the defects of `tests/mutants/` in a copy of the sources, one at a time, and says which test sees each.
//!
//! The copy holds all of them (`plant`), switched by a number in the environment, so that one build serves all. Each test runs
//! once without a defect and says which ones it comes by (`reach`); each defect then runs those tests (`hunt`) up to the first
//! that fails. `make mutants` starts it. A development tool: nothing that is shipped uses it.
#![forbid(unsafe_code)]

mod binaries;
mod error;
mod hunt;
mod jobs;
mod list;
mod plant;
mod reach;
mod report;
mod run;
mod tree;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use crate::error::Error;
use crate::hunt::Hunt;
use crate::list::Lists;
use crate::reach::Map;
use crate::tree::Tree;

const USAGE: &str =
    "usage: order9-mutants [--list] [--again | --unseen] [--jobs N] [--longest SECONDS] [--crate NAME]... [ID...]

Builds the tests once with every defect of tests/mutants/ planted, runs each test by itself to learn by which
defects it comes, and then with each of these on until one test sees it. There is a verdict only where all tests
may see all defects.

  --list             only look whether the text of every defect is still found
  --again            only defects that were seen before, each by the test that saw it
  --unseen           only defects that nothing has seen yet
  --jobs N           as many tests at a time (default: one for each CPU)
  --longest SECONDS  no tests that take longer without a defect
  --crate NAME       only tests of this crate; may be given more than once
  ID...              only defects whose names begin with one of these";

/// Options of the command line.
struct Options {
    list_only: bool,
    again: bool,
    unseen: bool,
    jobs: usize,
    longest: Option<Duration>,
    crates: Vec<String>,
    ids: Vec<String>,
}

fn main() -> ExitCode {
    match options().and_then(|options| run(&options)) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("order9-mutants: {error}");
            ExitCode::from(2)
        }
    }
}

fn options() -> Result<Options, Error> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let mut options = Options {
        list_only: false,
        again: false,
        unseen: false,
        jobs: cpus,
        longest: None,
        crates: Vec::new(),
        ids: Vec::new(),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|number| number.parse().ok()).filter(|&number: &u64| number > 0);
        match word.as_str() {
            "--help" => {
                println!("{USAGE}");
                std::process::exit(0);
            }
            "--list" => options.list_only = true,
            "--again" => options.again = true,
            "--unseen" => options.unseen = true,
            "--jobs" => options.jobs = number().ok_or(Error::Usage(USAGE))? as usize,
            "--longest" => options.longest = Some(Duration::from_secs(number().ok_or(Error::Usage(USAGE))?)),
            "--crate" => options.crates.push(words.next().ok_or(Error::Usage(USAGE))?),
            _ if word.starts_with('-') => return Err(Error::Usage(USAGE)),
            _ => options.ids.push(word),
        }
    }
    Ok(options)
}

fn run(options: &Options) -> Result<ExitCode, Error> {
    let root = root()?;
    let lists = Lists::read(&root.join("tests/mutants"))?;
    let tree = Tree::of(&root);
    let sources = tree.plant(&lists.mutants)?;
    if options.list_only {
        println!("{} defects, all found in the sources", lists.mutants.len());
        return Ok(ExitCode::SUCCESS);
    }
    let mut chosen = lists.chosen(&options.ids)?;
    if options.again {
        chosen.retain(|&at| lists.seen.contains_key(&lists.mutants[at].id));
    }
    if options.unseen {
        chosen.retain(|&at| !lists.seen.contains_key(&lists.mutants[at].id));
    }
    tree.write(&sources)?;
    let binaries = binaries::build(&tree, &options.crates)?;
    let map = Map::draw(&tree.work.join("reach"), binaries, options.longest, options.jobs)?;
    let hunt = Hunt { lists: &lists, map, again: options.again };
    let outcomes = hunt.all(&chosen, options.jobs)?;
    let all_tests = !options.again && options.longest.is_none() && options.crates.is_empty();
    Ok(report::print(&lists, &hunt.map, &outcomes, all_tests && chosen.len() == lists.mutants.len()))
}

/// The top folder of the repository: the nearest one above that holds the lists.
fn root() -> Result<PathBuf, Error> {
    let here = std::env::current_dir().map_err(|error| Error::file(".", error))?;
    here.ancestors().find(|folder| folder.join("tests/mutants").is_dir()).map(PathBuf::from).ok_or(Error::NoLists)
}
