//! `order9 inspect`.

use std::path::Path;

use order9_export::prometheus;
use order9_host::available_memory;
use order9_html::maps::Maps;
use order9_html::{Page, Section, Text};
use order9_report::inspect::{self, Report, View, ViewError};
use order9_report::picture::Picture;
use order9_report::terminal::{Canvas, ColourDepth};
use order9_snapshot::Snapshot;
use order9_snapshot::maps::MapSeries;
use order9_units::NodeId;

use crate::args::InspectArgs;
use crate::failure::Failure;
use crate::output::{height, print, print_json, print_styled, width};
use crate::picture_file::PictureFile;
use crate::source::{self, When, Wish};
use crate::target::Target;
use crate::timing::Timing;
use crate::watch;

/// Prints what there is to say about a memory map.
pub(crate) fn run(args: &InspectArgs) -> Result<(), Failure> {
    let picture = args.map.as_deref().map(PictureFile::of).transpose()?;
    if args.json && picture.as_ref().is_some_and(PictureFile::is_output) {
        return Err(Failure::Usage("--json with --map -: both would go to standard output".to_owned()));
    }
    let html = args.html.as_deref().map(|path| Target::new(path, true)).transpose()?;
    if html.as_ref().is_some_and(Target::is_output)
        && (args.json || args.prometheus || picture.as_ref().is_some_and(PictureFile::is_output))
    {
        return Err(Failure::Usage("--html -: something else would go to standard output, too".to_owned()));
    }
    if let Some(interval) = args.watch {
        return watch::run(args, interval);
    }
    let mut timing = Timing::start();
    let snapshot = match &args.snapshot {
        Some(file) => source::read(file)?.0,
        None => source::capture(
            args.root.as_deref(),
            Wish {
                prices: if args.no_calibrate { When::Never } else { When::After },
                owners: args.owners,
                ..Wish::default()
            },
        )?,
    };
    timing.phase(if args.snapshot.is_some() { "read the file" } else { "capture" });
    let view = view(&snapshot, args.node)?;
    timing.phase("analyse");
    if let Some(picture) = &picture {
        draw(picture, &view)?;
        timing.phase("draw the picture");
        if picture.is_output() {
            return Ok(());
        }
    }
    if let Some(target) = &html {
        target.write(|out| page(args, &view)?.write(out))?;
        timing.phase("write the page");
        if target.is_output() {
            return Ok(());
        }
    }
    if args.prometheus {
        return gauges(args.textfile.as_deref(), &view);
    }
    if args.json {
        return print_json(&Report::new(&view.inspection));
    }
    let mut text = inspect::text(&view.inspection, view.map.as_ref(), canvas(args));
    timing.phase("draw the text");
    if args.timing {
        let root = if args.snapshot.is_none() { Some(source::root(args.root.as_deref())?) } else { None };
        text.push_str(&timing.text(root.as_ref(), snapshot.cost.frames));
    }
    print_styled(&text)
}

/// The map, and the text without it.
fn page(args: &InspectArgs, view: &View) -> std::io::Result<Page> {
    const COLUMNS: usize = 100;
    let name = args.snapshot.as_deref().map_or_else(|| "this host".to_owned(), order9_escape::path);
    let canvas = Canvas { width: COLUMNS, lines: 0, colour: ColourDepth::None };
    let text = order9_escape::text(&inspect::text(&view.inspection, None, canvas)).into_owned();
    let mut page = Page { title: format!("Memory of {name}"), ..Page::default() };
    let mut maps = Maps::new();
    if let Some(census) = &view.census {
        maps.add(name, &MapSeries::of(census), Vec::new(), &mut page);
    }
    page.sections.extend((!maps.is_empty()).then_some(Section::Maps(maps)));
    page.sections.push(Section::Text(Text { title: "In words".to_owned(), text }));
    Ok(page)
}

/// Prints gauges, or writes them where a collector looks for them: a reader never sees half of the file.
fn gauges(textfile: Option<&Path>, view: &View) -> Result<(), Failure> {
    let text = prometheus::text(&view.inspection);
    let Some(folder) = textfile else { return print(&text) };
    if !folder.is_dir() {
        return Err(Failure::file(folder, "is no directory, expected that of the textfile collector"));
    }
    Target::new(&folder.join("order9.prom"), true)?.write(|out| out.write_all(text.as_bytes())).map(drop)
}

fn draw(file: &PictureFile, view: &View) -> Result<(), Failure> {
    let Some(map) = &view.map else {
        return Err(Failure::file(file.name(), inspect::missing_map(&view.inspection)));
    };
    file.write(&Picture::new(map, &inspect::caption(&view.inspection)))
}

/// Canvas of the output. A map in a file fits a screen, but is large enough to show a machine at a glance.
pub(crate) fn canvas(args: &InspectArgs) -> Canvas {
    const MAP_LINES_MIN: usize = 30;
    Canvas { width: width(args.width), lines: height().max(MAP_LINES_MIN), colour: args.color.depth() }
}

/// Analyses `snapshot`, or one node of it.
pub(crate) fn view(snapshot: &Snapshot, node: Option<u16>) -> Result<View, Failure> {
    View::of(snapshot, node.map(NodeId), available_memory()).map_err(|error| match (&error, node) {
        (ViewError::NoSuchNode { .. }, Some(node)) => Failure::Usage(format!("--node {node}: {error}")),
        _ => Failure::Usage(error.to_string()),
    })
}
