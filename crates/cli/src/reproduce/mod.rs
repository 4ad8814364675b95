//! `order9 reproduce`: published experiments run again, and their claims judged.

mod kept;
pub(crate) mod list;

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use order9_host::available_memory;
use order9_lab::Plan;
use order9_lab::reproduce::{
    Causes, Changes, Entry, Judged, Made, Reproduction, Size, Table, claim_text, claims, judged, page, summary,
};
use order9_record::{Outcome, Run};
use order9_report::claims::Claim;
use order9_report::number::count_of;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::ReproduceArgs;
use crate::failure::{Failure, io_sentence};
use crate::output::{print, print_json, say};
use crate::run::{asked_jobs, coarse, command, cores};
use crate::target::Target;
use kept::{Kept, Place};

/// File of verdicts in the directory of a reproduction.
const VERDICTS: &str = "reproduce.json";
/// File of the verdicts as tables.
const TABLES: &str = "reproduce.md";

/// Verdicts for programs, and what changed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    #[serde(flatten)]
    reproduction: &'a Reproduction,
    #[serde(skip_serializing_if = "Option::is_none")]
    worse: Option<usize>,
}

/// Reproduces what the arguments name.
pub(crate) fn run(args: &ReproduceArgs) -> Result<(), Failure> {
    let table = Table::built_in();
    let mut chosen = table.chosen(&args.names).map_err(Failure::Usage)?;
    let Some(output) = args.output.as_deref().filter(|_| !args.list) else {
        return list::run(&table, &chosen, args);
    };
    let before = args.against.as_deref().map(read).transpose()?;
    let size = if args.quick { Size::Quick } else { Size::Full };
    check_size(size, before.as_ref(), args.against.as_deref())?;
    let jobs = args.jobs.as_deref().map_or_else(|| Ok(cores()), asked_jobs)?;
    if let Some(seeds) = &args.seeds {
        let refused = |error: order9_lab::scenario::ScenarioError| Failure::Usage(error.to_string());
        chosen.iter_mut().try_for_each(|entry| entry.argument("--seeds", seeds)).map_err(refused)?;
    }
    let files = files(output)?;
    let place = Place::new(output, jobs, args.any_build)?;
    let of_table = claims();
    let of =
        |name: &str| of_table.iter().find(|claim| claim.id == name).expect("the table names claims that there are");
    let experiments: Vec<Planned<'_>> =
        chosen.iter().map(|entry| Planned::new(entry, size)).collect::<Result<_, _>>()?;
    if !experiments.is_empty() {
        say(&outlook(&experiments, &place, size, jobs)?)?;
    }
    let mut all = Vec::new();
    let total = experiments.len();
    for (nth, experiment) in experiments.iter().enumerate() {
        all.extend(experiment.judge(&place, size, &format!(" ({} of {total})", nth + 1), &of)?);
    }
    let not_judged = table.chosen_not_judged(&args.names);
    all.extend(not_judged.iter().map(|not| Judged::without_experiment(of(&not.claim), not)));
    let reproduction = Reproduction::new(size, all);
    for (file, text) in files.iter().zip([reproduction.to_json(), page(&reproduction)]) {
        file.write(|out| out.write_all(text.as_bytes()))?;
    }
    answer(args, &reproduction, before.as_ref(), output)
}

/// Prints the verdicts and what changed.
fn answer(
    args: &ReproduceArgs,
    reproduction: &Reproduction,
    before: Option<&Reproduction>,
    output: &Path,
) -> Result<(), Failure> {
    let changes = before.map(|before| Changes::between(before, reproduction));
    let worse = changes.as_ref().map(Changes::worse);
    if args.json {
        print_json(&Json { reproduction, worse })?;
    } else {
        let named = reproduction.claims.iter().filter(|_| !args.names.is_empty());
        let statements: String = named.map(|claim| claim_text(claim) + "\n").collect();
        let changes = changes.map(|changes| format!("\n{changes}")).unwrap_or_default();
        let tables = order9_escape::path(&output.join(TABLES));
        print(&format!("{statements}{}{changes}\nevery statement: {tables}\n", summary(reproduction)))?;
    }
    let lost: Vec<String> = reproduction.claims.iter().filter_map(Judged::why_not_run).collect();
    if let Some(first) = lost.first() {
        let others = if lost.len() > 1 { format!(" (and {} more claims)", lost.len() - 1) } else { String::new() };
        return Err(Failure::Usage(format!("not every claim could be judged: {first}{others}")));
    }
    match worse {
        Some(worse) if worse > 0 => Err(Failure::Short(format!("{} got worse", count_of(worse as u64, "verdict")))),
        _ => Ok(()),
    }
}

/// Places of the verdicts, tried before anything runs.
fn files(output: &Path) -> Result<[Target; 2], Failure> {
    fs::create_dir_all(output)
        .map_err(|error| Failure::file(output, format!("cannot be made: {}", io_sentence(&error))))?;
    Ok([Target::new(&output.join(VERDICTS), true)?, Target::new(&output.join(TABLES), true)?])
}

/// An earlier reproduction: in its directory, or a file of verdicts.
fn read(path: &Path) -> Result<Reproduction, Failure> {
    let file: PathBuf = if path.is_dir() { path.join(VERDICTS) } else { path.to_owned() };
    let text = fs::read_to_string(&file).map_err(|error| Failure::file(&file, io_sentence(&error)))?;
    Reproduction::parse(&text).map_err(|error| Failure::file(&file, error))
}

/// Refuses to compare experiments of different sizes.
fn check_size(size: Size, before: Option<&Reproduction>, path: Option<&Path>) -> Result<(), Failure> {
    match (before, path) {
        (Some(before), Some(path)) if before.size != size => {
            let (found, expected) = (before.size.name(), size.name());
            Err(Failure::file(path, format!("holds verdicts at {found} size, expected {expected} size")))
        }
        _ => Ok(()),
    }
}

/// An experiment with what it runs.
struct Planned<'a> {
    entry: &'a Entry,
    plans: Vec<Plan>,
}

impl<'a> Planned<'a> {
    fn new(entry: &'a Entry, size: Size) -> Result<Self, Failure> {
        let plans = entry.plans(size, available_memory(), &command());
        Ok(Self { entry, plans: plans.map_err(|error| Failure::Usage(error.to_string()))? })
    }

    /// Number of all its runs, and of those that are not kept.
    fn runs(&self, place: &Place) -> Result<(usize, usize), Failure> {
        let (mut total, mut missing) = (0, 0);
        for plan in &self.plans {
            let runs = plan.cells().count();
            total += runs;
            missing += if place.has(self.entry, plan)? { 0 } else { runs };
        }
        Ok((total, missing))
    }

    /// Makes the runs that are not kept, and judges the claims.
    fn judge<'c>(
        &self,
        place: &Place,
        size: Size,
        of_all: &str,
        claim: &impl Fn(&str) -> &'c Claim,
    ) -> Result<Vec<Judged>, Failure> {
        let kept = self.plans.iter().map(|plan| place.runs(self.entry, plan, of_all)).collect::<Result<Vec<_>, _>>()?;
        let kept: Result<Vec<Kept>, String> = kept.into_iter().collect();
        let causes = Causes::built_in();
        let judge = |of| {
            let made = Made::of(self.entry, of, &self.plans);
            let claim = claim(&of.claim);
            let kept = match kept.as_ref().map_err(String::clone).and_then(|kept| ended(kept).map(|()| kept)) {
                Ok(kept) => kept,
                Err(why) => return Judged::not_run(claim, made, why),
            };
            let digests = kept.iter().map(|kept| kept.digest).collect();
            let made = Made { digests, other_build: kept.iter().any(|kept| kept.other_build), ..made };
            let ran: Vec<(&Plan, &[Run])> =
                self.plans.iter().zip(kept).map(|(plan, kept)| (plan, kept.runs.as_slice())).collect();
            judged(claim, made, &ran, size, &causes)
        };
        Ok(self.entry.claims.iter().map(judge).collect())
    }
}

/// Says of runs that did not come to their end why.
fn ended(kept: &[Kept]) -> Result<(), String> {
    let runs = kept.iter().flat_map(|kept| &kept.runs).filter(|run| run.outcome != Outcome::Completed);
    let message = |run: &Run| Some(format!("{}, seed {}: {}", run.policy, run.seed, run.outcome.message()?));
    runs.filter_map(message).next().map_or(Ok(()), Err)
}

/// Number of runs that are to be made, and the time that they will take.
fn outlook(experiments: &[Planned<'_>], place: &Place, size: Size, jobs: NonZeroUsize) -> Result<String, Failure> {
    let (mut total, mut missing, mut seconds) = (0, 0, 0);
    for experiment in experiments {
        let (of_all, of_missing) = experiment.runs(place)?;
        total += of_all;
        missing += of_missing;
        seconds += experiment.entry.wait(of_missing, of_all, jobs);
    }
    let experiments = count_of(experiments.len() as u64, "experiment");
    let runs = count_of(total as u64, "run");
    let time = std::time::Duration::from_secs(seconds);
    Ok(match (missing, size) {
        (0, _) => format!("order9: {experiments}, all of {runs} kept: nothing to run\n"),
        (_, Size::Quick) => format!("order9: {experiments}, {missing} of {runs} to make\n"),
        (_, Size::Full) => {
            let jobs = count_of(jobs.get() as u64, "job");
            format!("order9: {experiments}, {missing} of {runs} to make: about {} with {jobs}\n", coarse(time))
        }
    })
}
