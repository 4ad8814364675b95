//! `order9 report`.

use order9_export::{Exported, perfetto};
use order9_html::claims::Claims;
use order9_html::compaction::{Compaction, fallbacks};
use order9_html::latency::Latency;
use order9_html::maps::Maps;
use order9_html::tables::Tables;
use order9_html::timeline::Timeline;
use order9_html::trace::Traces;
use order9_html::worth::WorthOf;
use order9_html::{Page, Section, groups};
use order9_lab::PlotChoice;
use order9_record::{Loaded, read_events, read_file};
use order9_report::number::size;
use order9_report::stats::Generation;
use order9_snapshot::maps;

use crate::args::ReportArgs;
use crate::compare::{
    Column, Stored, about, all_notes, claim, columns, judged, layout, machines, one_workload, stored, titles,
};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::plot::beside;
use crate::results::tables;
use crate::run::maps_file;
use crate::target::Target;
use crate::waiting::Waiting;
use crate::written::{Written, check_free};

/// Writes a page about stored runs.
pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    let name = args.output.clone().map_or_else(|| beside(&args.directories[0], ".html"), Ok)?;
    check_free(&name, args.json)?;
    let target = Target::new(&name, true)?;
    let waiting = Waiting::new("making the page");
    let page = page(args)?;
    drop(waiting);
    if !args.json {
        return write(&page, &target);
    }
    let mut written = Written::default();
    written.add(&name, target.write(|out| page.write(out))?);
    print_json(&written)
}

/// Writes `page` whole or not at all, and says how long it is.
pub(crate) fn write(page: &Page, target: &Target) -> Result<(), Failure> {
    let length = target.write(|out| page.write(out))?;
    if target.is_output() {
        return Ok(());
    }
    print(&format!("written to {} ({})\n", order9_escape::path(target.name()), size(length)))
}

fn page(args: &ReportArgs) -> Result<Page, Failure> {
    let stored = stored(&args.directories)?;
    let workload = one_workload(&stored)?;
    let titles = titles(&args.directories, &stored)?;
    let all = stored.iter().flat_map(|stored| columns(&stored.loaded));
    let mut columns: Vec<Column<'_>> = titles.iter().map(String::as_str).zip(all).collect();
    let report = |columns: &[Column<'_>], generation| {
        tables(layout(args.layout, !args.claims.is_empty(), columns), workload, columns, generation)
    };
    let mut sections = vec![Section::About(about(&stored, all_notes(&stored, &columns)))];
    for path in &args.claims {
        let claim = claim(path, workload)?;
        let report = report(&columns, claim.generation);
        let (claim, verdicts) = judged(path, claim, &report, &columns, &machines(&stored))?;
        sections.push(Section::Claims(Claims::of(&claim, [columns[0].0, columns[1].0], &verdicts)));
    }
    let loaded = together(&stored, &titles);
    let worth = WorthOf::of(&loaded).map_err(refused)?;
    if worth.is_some() {
        // Both whole policies; the others differ from them in one switch each.
        columns.truncate(2);
    }
    sections.push(Section::Tables(Tables::of(&report(&columns, Generation::default()))));
    sections.extend(worth.map(Section::Worth));
    sections.extend(Latency::of(&loaded).map_err(refused)?.map(Section::Latency));
    sections.extend(Timeline::of(&loaded).map_err(refused)?.map(Section::Timeline));
    let mut page = Page {
        title: format!("{}: {}", workload.name(), titles.join(", ")),
        subtitle: order9_lab::subtitle(&loaded.manifest.inputs),
        groups: groups(&loaded, &PlotChoice::default()),
        sections,
        blobs: Vec::new(),
    };
    recordings(&stored, &titles, &mut page)?;
    if args.perfetto {
        timelines(&stored, &mut page)?;
    }
    Ok(page)
}

/// Adds what runs recorded beside their measurements: maps of memory, and events of compaction.
fn recordings(stored: &[Stored<'_>], titles: &[String], page: &mut Page) -> Result<(), Failure> {
    let (mut maps, mut compaction) = (Maps::new(), Compaction::default());
    let mut titles = titles.iter();
    for Stored { path, loaded } in stored {
        let manifest = &loaded.manifest;
        for (policy, title) in manifest.inputs.policies.iter().zip(&mut titles) {
            let Some(group) = page.groups.iter().position(|group| group == title) else { continue };
            for run in loaded.runs.iter().filter(|run| run.policy == policy.title) {
                let name = format!("{title}, seed {}", run.seed);
                let cell = manifest.cells.iter().find(|cell| (&cell.policy, cell.seed) == (&run.policy, run.seed));
                let events = cell.map(|cell| read_events(path, manifest, cell)).transpose().map_err(refused)?;
                let events = events.unwrap_or_default();
                compaction.add(&name, group, &events);
                let file = maps_file(&run.policy, run.seed);
                if manifest.files.iter().any(|entry| entry.path == file) {
                    let bytes = read_file(path, manifest, &file).map_err(refused)?;
                    let series = maps::read(&bytes).map_err(|error| Failure::file(&path.join(&file), error))?;
                    maps.add(name, &series, fallbacks(&events), page);
                }
            }
        }
    }
    page.sections.extend((!maps.is_empty()).then_some(Section::Maps(maps)));
    page.sections.extend((!compaction.is_empty()).then_some(Section::Compaction(compaction)));
    Ok(())
}

/// Adds a trace of every directory for Perfetto.
fn timelines(stored: &[Stored<'_>], page: &mut Page) -> Result<(), Failure> {
    let mut traces = Traces::default();
    for Stored { path, loaded } in stored {
        let mut trace = Vec::new();
        let exported = Exported { run: Some((path, loaded)), snapshots: Vec::new() };
        perfetto::write(&exported, &mut trace).map_err(refused)?;
        traces.add(&order9_escape::path(path), trace, page);
    }
    page.sections.push(Section::Traces(traces));
    Ok(())
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// The runs of all directories as if they were of one, under the titles of their columns.
fn together(stored: &[Stored<'_>], titles: &[String]) -> Loaded {
    let mut titles = titles.iter();
    let renamed = stored.iter().map(|stored| {
        let mut loaded = stored.loaded.clone();
        let policies = &mut loaded.manifest.inputs.policies;
        let own: Vec<(String, &String)> = policies.iter().map(|policy| policy.title.clone()).zip(&mut titles).collect();
        policies.iter_mut().zip(&own).for_each(|(policy, (_, title))| policy.title.clone_from(title));
        for run in &mut loaded.runs {
            let renamed = own.iter().find(|(policy, _)| *policy == run.policy);
            renamed.into_iter().for_each(|(_, title)| run.policy.clone_from(title));
        }
        loaded
    });
    let joined = renamed.reduce(|mut all, other| {
        let inputs = &mut all.manifest.inputs;
        inputs.policies.extend(other.manifest.inputs.policies);
        let new = other.manifest.inputs.seeds.iter().filter(|seed| !inputs.seeds.contains(seed)).copied();
        let new: Vec<u64> = new.collect();
        inputs.seeds.extend(new);
        all.runs.extend(other.runs);
        all
    });
    joined.expect("the command line demands a directory")
}
