//! `order9 fleet`: reads snapshots into the directory of a fleet.

mod files;
mod folder;
mod query;
mod what_if;

use std::num::NonZeroUsize;

use order9_fleet::groups::Groups;
use order9_fleet::{Fleet, Reading};
use order9_host::available_memory;

use crate::args::{FleetArgs, FleetCommand};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::run::cores;
use crate::waiting::Waiting;

use folder::FleetFolder;

pub(crate) fn run(args: &FleetArgs) -> Result<(), Failure> {
    match &args.command {
        None => read(args),
        Some(FleetCommand::Query(args)) => query::run(args),
        Some(FleetCommand::WhatIf(args)) => what_if::run(args),
    }
}

fn read(args: &FleetArgs) -> Result<(), Failure> {
    let output = args.output.as_deref().expect("the command line demands it");
    let folder = FleetFolder::for_reading(output)?;
    let files = files::listed(&args.snapshots, args.from_file.as_deref())?;
    let known = if args.again { Vec::new() } else { folder.known()? };
    let jobs = args.jobs.map_or(cores(), |jobs| NonZeroUsize::new(jobs.into()).expect("at least 1"));
    let waiting = Waiting::of(files.len(), "reading snapshots");
    let reading = order9_fleet::read(&files, known, (jobs, available_memory()), &|done| waiting.done(done));
    if let (true, Some(first)) = (reading.hosts.is_empty(), reading.unreadable.first()) {
        let all = if reading.unreadable.len() > 1 { ", and no other file can be read either" } else { "" };
        return Err(Failure::Usage(format!("{}: {}{all}", first.file, first.problem)));
    }
    waiting.goes_on("looking for groups");
    let groups = Groups::of(&reading.hosts);
    let fleet = Fleet::of(&reading, &groups, folder.projections());
    waiting.goes_on("writing");
    folder.write_facts(&reading.hosts, &groups)?;
    folder.write_page(&fleet, &reading.hosts, &groups)?;
    drop(waiting);
    if args.json {
        print_json(&fleet)?;
    } else {
        print(&format!(
            "{}Written to {}: facts.parquet, fleet.json, index.html.\n",
            fleet.to_text(),
            order9_escape::path(output)
        ))?;
    }
    told(&reading)
}

/// A failure that says how many files could not be read, if there are any.
fn told(reading: &Reading) -> Result<(), Failure> {
    let unread = reading.unreadable.len();
    let of = unread + reading.hosts.len();
    match unread {
        0 => Ok(()),
        _ => {
            Err(Failure::Short(format!("{unread} of {of} files could not be read; fleet.json and the page name them")))
        }
    }
}
