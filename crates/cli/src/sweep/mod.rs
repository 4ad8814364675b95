//! `order9 sweep` and `order9 merge`.

mod progress;
mod text;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use order9_host::available_memory;
use order9_sweep::emit::Job;
use order9_sweep::{
    Done, Folder, Kept, Making, Outlook, Plan, Point, Probe, Shard, Summary, SweepError, Swept, outlook, sample,
    verify, write_results,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{EngineChoice, MergeArgs, SweepArgs};
use crate::failure::Failure;
use crate::interrupt::interruption;
use crate::output::{print, print_json};
use crate::run::cores;
use progress::Shown;

/// Folder of an emitted job where none is named.
const OUTPUT: &str = "sweep";
/// Time limit of the cell that a dry run measures.
const PROBE: Duration = Duration::from_secs(30);

/// A sweep for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    /// Folder of cells and results.
    #[schemars(with = "String")]
    directory: &'a Path,
    /// Cells that ran now.
    ran: u64,
    /// Cells that had run before.
    kept: u64,
    /// Cells that were run again to compare digests; none without --verify.
    verified: Option<usize>,
    #[serde(flatten)]
    summary: &'a Summary,
}

/// Runs a plan, or says what that would take, or how an engine would do it.
pub(crate) fn run(args: &SweepArgs) -> Result<(), Failure> {
    let plan = Plan::read(&args.plan, available_memory()).map_err(|error| Failure::Usage(error.to_string()))?;
    let points = args.shard.unwrap_or(Shard::ALL).of(plan.points().to_vec());
    match (&args.output, args.emit) {
        (_, Some(engine)) => emit(args, &plan, engine),
        (_, None) if args.dry_run => look(args, &plan, &points),
        (Some(output), None) => make(args, &plan, &points, output),
        (None, None) => unreachable!("clap asks for a folder"),
    }
}

/// Prints a job file.
fn emit(args: &SweepArgs, plan: &Plan, engine: EngineChoice) -> Result<(), Failure> {
    let output = args.output.as_ref().map_or_else(|| OUTPUT.to_owned(), |output| order9_escape::path(output));
    let job = Job {
        plan: &args.plan,
        text: plan.text(),
        output: &output,
        parts: args.shards,
        jobs: args.jobs.unwrap_or(NonZeroUsize::MIN),
        memory_of_a_cell: plan.points().iter().map(Point::needs).max().unwrap_or_default(),
    };
    let text = job.emit(engine.into()).map_err(|why| Failure::Usage(format!("--shards {}: {why}", args.shards)))?;
    print(&text)
}

/// Says what the sweep would take.
fn look(args: &SweepArgs, plan: &Plan, points: &[Point]) -> Result<(), Failure> {
    let kept = Kept::of(args.output.as_deref(), args.cache.as_deref());
    let outlook: Outlook = outlook(plan, points, &kept, Probe::Within(PROBE)).map_err(refused)?;
    if args.json { print_json(&outlook) } else { print(&text::outlook(&outlook, plan, args.jobs.unwrap_or(cores()))) }
}

/// Runs what is missing, and writes the results.
fn make(args: &SweepArgs, plan: &Plan, points: &[Point], output: &Path) -> Result<(), Failure> {
    let folder = Folder::open(output, args.cache.as_deref()).map_err(refused)?;
    folder.keep_plan(plan.text()).map_err(refused)?;
    let stop = interruption()?;
    let making = Making { jobs: args.jobs.unwrap_or(cores()), available: available_memory(), stop: &stop };
    let shown = Shown::new();
    let swept = order9_sweep::sweep(plan, points, &folder, making, &shown);
    drop(shown);
    let swept = swept.map_err(|error| kept_beside(&error, &folder, plan, points))?;
    let cells = folder.cells(plan, points).map_err(refused)?;
    write_results(&folder, cells.clone()).map_err(refused)?;
    let verified = args
        .verify
        .filter(|_| !stop.load(Ordering::Relaxed))
        .map(|share| again(points, &sample(&cells, share, args.verify_seed)));
    let verified = verified.transpose()?;
    let summary = Summary::of(cells, plan.until());
    tell(&summary, output, swept, verified, args.json)?;
    match swept.left {
        0 => some_completed(&summary),
        left => {
            let ended = swept.ran + swept.kept;
            Err(Failure::Usage(format!(
                "interrupted: {ended} cells are kept, {left} are left; the same command goes on"
            )))
        }
    }
}

/// The error, and what is kept in spite of it.
fn kept_beside(error: &SweepError, folder: &Folder, plan: &Plan, points: &[Point]) -> Failure {
    let kept = folder.cells(plan, points).map_or(0, |cells| cells.len());
    Failure::Usage(format!("{error}; {kept} cells are kept, the same command goes on"))
}

/// Runs a sample again.
fn again(points: &[Point], sample: &[&Done]) -> Result<usize, Failure> {
    let waiting = crate::waiting::Waiting::of(sample.len(), "running cells again");
    for (at, kept) in sample.iter().enumerate() {
        if let Some(differs) = verify(points, kept) {
            return Err(Failure::Short(text::differs(&differs)));
        }
        waiting.done(at + 1);
    }
    Ok(sample.len())
}

/// Prints the summary.
fn tell(summary: &Summary, output: &Path, swept: Swept, verified: Option<usize>, json: bool) -> Result<(), Failure> {
    if json {
        let Swept { ran, kept, .. } = swept;
        return print_json(&Json { directory: output, ran, kept, verified, summary });
    }
    print(&(summary.to_text() + &text::end(summary, output, swept, verified)))
}

/// A sweep of which no cell completed was asked for by mistake.
fn some_completed(summary: &Summary) -> Result<(), Failure> {
    match summary.failures.first() {
        Some(first) if summary.completed == 0 => {
            Err(Failure::Usage(format!("no cell completed: {}: {}", first.end.word(), first.message)))
        }
        _ => Ok(()),
    }
}

/// Puts folders together.
pub(crate) fn merge(args: &MergeArgs) -> Result<(), Failure> {
    let folder = Folder::open(&args.output, None).map_err(refused)?;
    let cells = order9_sweep::merge(&args.parts, &folder).map_err(|error| match error {
        SweepError::TwoResults { .. } => Failure::Short(error.to_string()),
        _ => refused(error),
    })?;
    write_results(&folder, cells.clone()).map_err(refused)?;
    let summary = Summary::of(cells, None);
    let swept = Swept { kept: summary.cells as u64, ..Swept::default() };
    tell(&summary, &args.output, swept, None, args.json)
}

#[allow(clippy::needless_pass_by_value, reason = "map_err gives it away")]
fn refused(error: SweepError) -> Failure {
    Failure::Usage(error.to_string())
}
