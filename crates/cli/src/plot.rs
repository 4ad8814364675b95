//! `order9 plot`.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use order9_html::latency::Latency;
use order9_html::timeline::Timeline;
use order9_html::worth::WorthOf;
use order9_html::{Page, Section, groups};
use order9_lab::{Changed, PlotChoice, Plotted, changed, distributions, plot, plot_time, worth};
use order9_record::{Loaded, read};
use order9_report::number::{count_of, grouped};
use order9_report::plot::Size;
use order9_report::table::Table;
use order9_report::terminal::ColourDepth;

use crate::args::PlotArgs;
use crate::failure::Failure;
use crate::output::{print, print_json, say};
use crate::picture_file::PictureFile;
use crate::report;
use crate::target::Target;
use crate::waiting::Waiting;

/// Draws metrics of a stored run, or lists those that there are.
pub(crate) fn run(args: &PlotArgs) -> Result<(), Failure> {
    let choice = choice(args)?;
    if let Some(path) = &args.html {
        let target = Target::new(path, true)?;
        let loaded = loaded(args)?;
        return report::write(&page(args, &loaded, &choice)?, &target);
    }
    let listing = !args.cdf && args.worth.is_none() && choice.metrics.is_empty() && choice.operations.is_empty();
    if listing {
        let loaded = loaded(args)?;
        let changed = changed(&loaded, &choice).map_err(refused)?;
        return if args.json { print_json(&changed) } else { print(&list(&args.directory, &changed)) };
    }
    if args.json {
        return Err(Failure::Usage(
            "--json prints the metrics that there are: expected no metric beside it".to_owned(),
        ));
    }
    let ending = match (args.cdf, &args.worth) {
        (true, _) => "-cdf.svg",
        (_, Some(_)) => "-worth.svg",
        _ => ".svg",
    };
    let file = PictureFile::of(&args.output.clone().map_or_else(|| beside(&args.directory, ending), Ok)?)?;
    let loaded = loaded(args)?;
    let size = Size { width: args.width, height: args.height };
    let (picture, notes) = if let Some(quantity) = &args.worth {
        let Plotted { chart, notes } = worth(&loaded, quantity).map_err(refused)?;
        (chart.draw(args.width), notes)
    } else if args.cdf {
        let Plotted { chart, notes } = distributions(&loaded, &choice).map_err(refused)?;
        (chart.draw(size), notes)
    } else {
        let Plotted { chart, notes } = plot(&loaded, &choice).map_err(refused)?;
        (chart.draw(size), notes)
    };
    file.write(&picture)?;
    let notes: String = notes.iter().map(|note| format!("{note}\n")).collect();
    let written = format!("{notes}written to {}\n", order9_escape::path(file.name()));
    if file.is_output() { say(&notes) } else { print(&written) }
}

fn loaded(args: &PlotArgs) -> Result<Loaded, Failure> {
    let _waiting = Waiting::new("reading the run");
    read(&args.directory).map_err(refused)
}

/// A page with the panels of the picture, or the usual ones where no metric is named.
fn page(args: &PlotArgs, loaded: &Loaded, choice: &PlotChoice) -> Result<Page, Failure> {
    let named = !choice.metrics.is_empty() || !choice.operations.is_empty();
    let section = match &args.worth {
        Some(quantity) => Some(Section::Worth(WorthOf::one(loaded, quantity).map_err(refused)?)),
        None if args.cdf && named => Latency::chosen(loaded, choice).map_err(refused)?.map(Section::Latency),
        None if args.cdf => Latency::of(loaded).map_err(refused)?.map(Section::Latency),
        None if named => Some(Section::Timeline(Timeline::chosen(loaded, choice).map_err(refused)?)),
        None => Timeline::of(loaded).map_err(refused)?.map(Section::Timeline),
    };
    let nothing = || Failure::file(&args.directory, "its runs have nothing of this kind to draw");
    let inputs = &loaded.manifest.inputs;
    Ok(Page {
        title: inputs.workload.name.clone(),
        subtitle: order9_lab::subtitle(inputs),
        groups: groups(loaded, choice),
        sections: vec![section.ok_or_else(nothing)?],
        blobs: Vec::new(),
    })
}

fn refused(error: impl Display) -> Failure {
    Failure::Usage(error.to_string())
}

fn choice(args: &PlotArgs) -> Result<PlotChoice, Failure> {
    let time = |option, text: &Option<String>| text.as_deref().map(|text| plot_time(option, text)).transpose();
    let (metrics, operations) = if args.cdf { (&[][..], args.metrics.as_slice()) } else { (&*args.metrics, &[][..]) };
    let metrics = metrics.iter().map(|text| text.parse().map_err(refused));
    Ok(PlotChoice {
        metrics: metrics.collect::<Result<_, _>>()?,
        operations: [operations, &args.operations].concat(),
        policies: args.policies.clone(),
        seeds: args.seeds.clone(),
        from: time("--from", &args.from).map_err(refused)?,
        to: time("--to", &args.to).map_err(refused)?,
    })
}

/// The name of the directory with another ending. Not inside: only what a run wrote belongs there.
pub(crate) fn beside(directory: &Path, ending: &str) -> Result<PathBuf, Failure> {
    let name =
        |path: &Path| path.file_name().map(|name| path.with_file_name(format!("{}{ending}", name.to_string_lossy())));
    let found = name(directory).or_else(|| name(&directory.canonicalize().ok()?));
    found.ok_or_else(|| Failure::file(directory, "has no name to name the picture after: choose one with -o"))
}

/// The metrics that can be plotted, in groups.
fn list(directory: &Path, changed: &Changed) -> String {
    let mut levels = Table::new(["Levels", "smallest", "largest"]);
    for level in &changed.levels {
        levels.row(vec![level.name.clone(), grouped(level.smallest), grouped(level.largest)]);
    }
    let mut counters = Table::new(["Counters", "growth"]);
    for counter in &changed.counters {
        counters.row(vec![counter.name.clone(), grouped(counter.growth)]);
    }
    let mut samples = Table::new(["Operations, with --sample", "samples"]);
    for operation in &changed.samples {
        samples.row(vec![operation.name.clone(), grouped(operation.samples)]);
    }
    let tables = [levels, counters, samples].into_iter().filter(|table| !table.is_empty());
    let tables: Vec<_> = tables.map(|table| table.render(80, ColourDepth::None)).collect();
    let number = (changed.levels.len() + changed.counters.len()) as u64;
    let counters = count_of(number, "counter");
    format!("{counters} changed during {}\n\n{}", order9_escape::path(directory), tables.join("\n"))
}
