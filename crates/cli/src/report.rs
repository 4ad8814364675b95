//! `order9 report`.

use order9_export::{Exported, perfetto};
use order9_html::claims::Claims;
use order9_html::runs::{self, Judged, Stored, together};
use order9_html::trace::Traces;
use order9_html::worth::WorthOf;
use order9_html::{Page, Section};
use order9_report::number::size;
use order9_report::stats::Generation;

use crate::args::ReportArgs;
use crate::compare::{Column, all_notes, claim, columns, judged, layout, machines, one_workload, stored, titles};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::plot::beside;
use crate::results::tables;
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
    let mut claims = Vec::new();
    for path in &args.claims {
        let claim = claim(path, workload)?;
        let report = report(&columns, claim.generation);
        let (claim, verdicts) = judged(path, claim, &report, &columns, &machines(&stored))?;
        claims.push(Claims::of(&claim, [columns[0].0, columns[1].0], &verdicts));
    }
    let notes = all_notes(&stored, &columns);
    let loaded = together(&stored, &titles);
    let worth = WorthOf::of(&loaded).map_err(refused)?;
    if worth.is_some() {
        // Both whole policies; the others differ from them in one switch each.
        columns.truncate(2);
    }
    let report = report(&columns, Generation::default());
    let judged = Judged { report: &report, claims, worth, notes };
    let mut page = runs::page(&stored, &titles, &loaded, judged).map_err(refused)?;
    if args.perfetto {
        timelines(&stored, &mut page)?;
    }
    Ok(page)
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
