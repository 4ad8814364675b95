//! `order9 tune`.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use order9_advise::tune::{Cells, Progress, Tune, Tuning};
use order9_host::available_memory;
use order9_report::picture::{png, svg};
use order9_sweep::Making;

use crate::args::TuneArgs;
use crate::failure::Failure;
use crate::folder::Folder;
use crate::interrupt::interruption;
use crate::output::{print, print_json};
use crate::trial::{demand, jobs, refused, trial};
use crate::waiting::Waiting;

/// Searches settings on a copy of the host, prints the trade-off, and writes what was asked for.
pub(crate) fn run(args: &TuneArgs) -> Result<(), Failure> {
    let tune = Tune {
        goal: args.goal,
        limits: args.limits.clone(),
        settings: args.settings.clone(),
        demand: demand(&args.demand)?,
        sample: usize::from(args.sample),
        seed: args.seed,
    };
    // The place is tried before anything runs, and nothing is left there while it does.
    args.output.as_deref().map(Folder::new).transpose().map(drop)?;
    let trial = trial(&args.trial, args.snapshot.as_deref())?;
    let plan = tune.plan(&trial).map_err(refused)?;
    // Without a cache, cells are kept as long as the search goes on.
    let own = tempfile::tempdir()?;
    let folder = order9_sweep::Folder::open(own.path(), args.cache.as_deref()).map_err(refused)?;
    let stop = interruption()?;
    let making = Making { jobs: jobs(&plan)?, available: available_memory(), stop: &stop };
    let tuning = tune.search(&trial, &plan, Cells { folder: &folder, making }, &Shown::default()).map_err(refused)?;
    args.output.as_deref().map(|place| write(&tuning, Folder::new(place)?)).transpose()?;
    let told = args.output.as_deref().map(|place| told(place, &tuning)).unwrap_or_default();
    if args.json { print_json(&tuning) } else { print(&(tuning.to_text() + &told)) }
}

/// Writes the files of a search, all or none.
fn write(tuning: &Tuning, mut folder: Folder) -> Result<(), Failure> {
    if let Some(settings) = tuning.to_settings() {
        folder.file("best.toml", |out| out.write_all(settings.as_bytes()))?;
    }
    folder.file("tune.json", |out| {
        serde_json::to_writer_pretty(&mut *out, tuning)?;
        out.write_all(b"\n")
    })?;
    let picture = tuning.picture();
    folder.file("front.svg", |out| svg::write(&picture, out))?;
    folder.file("front.png", |out| png::write(&picture, out))?;
    folder.finish().map(drop)
}

/// Place of the files, and what is next.
fn told(place: &Path, tuning: &Tuning) -> String {
    let place = order9_escape::path(place);
    let next = match tuning.to_settings() {
        Some(_) => format!("; `order9 apply {}/best.toml` makes the change", place.trim_end_matches('/')),
        None => String::new(),
    };
    format!("written to {place}{next}\n")
}

/// Progress on the terminal: the part that goes on, the runs that are done and those that are expected.
#[derive(Default)]
struct Shown(Mutex<State>);

#[derive(Default)]
struct State {
    waiting: Option<Waiting>,
    done: usize,
}

impl Progress for Shown {
    fn part(&self, name: &'static str, runs: usize, later: usize) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let all = state.done + runs + later;
        let waiting = state.waiting.get_or_insert_with(|| Waiting::of(all, name));
        waiting.goes_on(name);
        waiting.is_of(all);
    }

    fn ended(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += 1;
        if let Some(waiting) = &state.waiting {
            waiting.done(state.done);
        }
    }
}
