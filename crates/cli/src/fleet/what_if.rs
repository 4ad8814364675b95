//! `order9 fleet what-if`: tries settings on a sample of the hosts.

use std::num::NonZeroUsize;

use order9_fleet::sample::sample;
use order9_fleet::trial::{self, Projection, Question};
use order9_fleet::{Fleet, Reading};
use order9_host::available_memory;

use super::folder::FleetFolder;
use crate::args::FleetWhatIfArgs;
use crate::failure::{Failure, io_sentence};
use crate::output::{print, print_json};
use crate::run::{command, cores};
use crate::trial::demand;
use crate::waiting::Waiting;

pub(crate) fn run(args: &FleetWhatIfArgs) -> Result<(), Failure> {
    let folder = FleetFolder::open(&args.fleet)?;
    let question = Question {
        settings: args.settings.clone(),
        demand: demand(&args.demand)?,
        policy: args.trial.policy.clone(),
        prices: args.trial.prices.clone(),
        seeds: args.trial.seeds,
        command: command(),
    };
    let (hosts, groups) = folder.hosts()?;
    let sample = sample(&hosts, &groups, args.sample as usize, args.seed);
    let sampled = sample.iter().map(Vec::len).sum();
    if sampled == 0 {
        return Err(Failure::file(&args.fleet, "no host of this fleet has a map of its memory to try settings on"));
    }
    let answers = folder.answers(&question);
    let waiting = Waiting::of(sampled, "trying on hosts");
    let threads: NonZeroUsize = cores();
    let tried =
        trial::run((&question, &hosts, &sample), &answers, (threads, available_memory()), &|done| waiting.done(done));
    drop(waiting);
    let tried =
        tried.map_err(|error| Failure::file(&answers, format!("cannot be written: {}", io_sentence(&error))))?;
    let projection = Projection::of(&question, args.seed, (&hosts, &groups, &sample), &tried);
    if projection.untried.len() == sampled {
        // The problem of most hosts is that of the question.
        let alike = |problem: &str| projection.untried.iter().filter(|of| of.problem == problem).count();
        let usual = projection.untried.iter().max_by_key(|of| alike(&of.problem)).expect("hosts were sampled");
        return Err(Failure::Usage(format!(
            "{}: {}; no other host of the sample could be tried either",
            usual.file, usual.problem
        )));
    }
    folder.keep(&question, &projection)?;
    let reading = Reading { hosts, ..Reading::default() };
    let fleet = Fleet { unreadable: folder.unreadable(), ..Fleet::of(&reading, &groups, folder.projections()) };
    folder.write_page(&fleet, &reading.hosts, &groups)?;
    if args.json { print_json(&projection) } else { print(&projection.to_text()) }
}
