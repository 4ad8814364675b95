//! `order9 export`.

use std::collections::BTreeSet;

use order9_export::schema::Table;
use order9_export::tables::{self, Format, tables};
use order9_export::{ExportError, Exported, mmtests, perfetto, schema, vega_lite};
use order9_lab::{PlotChoice, changed, plot};
use order9_record::{Loaded, read};
use order9_report::plot::Metric;
use order9_snapshot::Snapshot;
use order9_toml::{nearest, proposal, shown};

use crate::args::{ExportArgs, ExportFormat};
use crate::failure::Failure;
use crate::folder::Folder;
use crate::output::{print, print_json};
use crate::source;
use crate::target::Target;
use crate::waiting::Waiting;
use crate::written::{Written, check_free};

/// The source of an export in memory.
struct Input {
    run: Option<Loaded>,
    snapshots: Vec<(String, Snapshot)>,
}

/// Writes a run or a snapshot in the format of another tool.
pub(crate) fn run(args: &ExportArgs) -> Result<(), Failure> {
    if args.table.is_some() && table_format(args.to).is_none() {
        return Err(Failure::Usage("--table is for tables: expected --to csv, jsonl or parquet".to_owned()));
    }
    check_free(&args.output, args.json)?;
    let waiting = Waiting::new("reading");
    let input = Input::read(args)?;
    drop(waiting);
    let run = input.run.as_ref().map(|loaded| (args.source.as_path(), loaded));
    let exported = Exported { run, snapshots: input.snapshots };
    match (args.to, table_format(args.to), &args.table) {
        (_, Some(format), Some(name)) => one_table(args, &exported, named(&exported, name)?, format),
        (_, Some(format), None) => all_tables(args, &exported, format),
        (ExportFormat::Perfetto, ..) => {
            needed(&exported, "perfetto")?;
            file(args, |out| perfetto::write(&exported, out))
        }
        (ExportFormat::VegaLite, ..) => charts(args, needed(&exported, "vega-lite")?),
        _ => mmtests_files(args, needed(&exported, "mmtests")?),
    }
}

impl Input {
    fn read(args: &ExportArgs) -> Result<Self, Failure> {
        if args.source.is_file() {
            let name = args.source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !args.policies.is_empty() || !args.seeds.is_empty() {
                return Err(Failure::Usage("a snapshot has neither policies nor seeds: expected a run".to_owned()));
            }
            return Ok(Self { run: None, snapshots: vec![(name, source::read(&args.source)?.0)] });
        }
        let mut loaded = read(&args.source).map_err(refused)?;
        choose(&mut loaded, args)?;
        let files = loaded.manifest.files.iter().map(|file| file.path.clone());
        let stored = files.filter(|path| path.ends_with(".o9snap"));
        let snapshot = |path: String| {
            let name = path.trim_end_matches(".o9snap").to_owned();
            Ok::<_, Failure>((name, source::read(&args.source.join(path))?.0))
        };
        Ok(Self { snapshots: stored.map(snapshot).collect::<Result<_, _>>()?, run: Some(loaded) })
    }
}

/// Keeps the cells that were asked for.
fn choose(loaded: &mut Loaded, args: &ExportArgs) -> Result<(), Failure> {
    let titles: BTreeSet<&str> = loaded.runs.iter().map(|run| run.policy.as_str()).collect();
    if let Some(unknown) = args.policies.iter().find(|title| !titles.contains(title.as_str())) {
        let near = proposal(nearest(unknown, titles.iter().copied()));
        let all = titles.into_iter().collect::<Vec<_>>().join(", ");
        let sentence = format!("--policy {}: the run has none; expected {all}{near}", shown(unknown));
        return Err(Failure::Usage(sentence));
    }
    let seeds: BTreeSet<u64> = loaded.runs.iter().map(|run| run.seed).collect();
    if let Some(unknown) = args.seeds.iter().find(|seed| !seeds.contains(seed)) {
        let all = seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
        return Err(Failure::Usage(format!("--seed {unknown}: the run has none; expected {all}")));
    }
    let is_chosen = |policy: &String, seed: u64| {
        (args.policies.is_empty() || args.policies.contains(policy))
            && (args.seeds.is_empty() || args.seeds.contains(&seed))
    };
    loaded.manifest.cells.retain(|cell| is_chosen(&cell.policy, cell.seed));
    loaded.runs.retain(|run| is_chosen(&run.policy, run.seed));
    Ok(())
}

const fn table_format(to: ExportFormat) -> Option<Format> {
    match to {
        ExportFormat::Csv => Some(Format::Csv),
        ExportFormat::Jsonl => Some(Format::Jsonl),
        ExportFormat::Parquet => Some(Format::Parquet),
        ExportFormat::Perfetto | ExportFormat::VegaLite | ExportFormat::Mmtests => None,
    }
}

/// The table of this name.
fn named(exported: &Exported<'_>, name: &str) -> Result<Table, Failure> {
    let there = tables(exported);
    let names = || there.iter().map(|table| table.name);
    there.iter().copied().find(|table| table.name == name).ok_or_else(|| {
        let near = proposal(nearest(name, names()));
        let all = names().collect::<Vec<_>>().join(", ");
        Failure::Usage(format!("--table {}: no such table here; expected {all}{near}", shown(name)))
    })
}

fn needed<'a>(exported: &Exported<'a>, format: &'static str) -> Result<&'a Loaded, Failure> {
    exported.needed_run(format).map(|(_, loaded)| loaded).map_err(refused)
}

fn refused(error: impl std::fmt::Display) -> Failure {
    Failure::Usage(error.to_string())
}

/// Writes a file, or standard output.
fn file(args: &ExportArgs, write: impl FnOnce(&mut Vec<u8>) -> Result<(), ExportError>) -> Result<(), Failure> {
    let is_text = matches!(args.to, ExportFormat::Csv | ExportFormat::Jsonl);
    let target = Target::new(&args.output, is_text)?;
    let mut bytes = Vec::new();
    write(&mut bytes).map_err(refused)?;
    let length = target.write(|out| out.write_all(&bytes))?;
    if target.is_output() {
        return Ok(());
    }
    let mut files = Written::default();
    files.add(&args.output, length);
    tell(args, &files, "")
}

fn one_table(args: &ExportArgs, exported: &Exported<'_>, table: Table, format: Format) -> Result<(), Failure> {
    file(args, |out| tables::write(exported, table, format, out))
}

fn all_tables(args: &ExportArgs, exported: &Exported<'_>, format: Format) -> Result<(), Failure> {
    let mut folder = Folder::new(&args.output)?;
    let mut names = Vec::new();
    for table in tables(exported) {
        let name = format!("{}.{}", table.name, format.ending());
        folder.file(&name, |out| tables::write(exported, table, format, out))?;
        names.push(name);
    }
    folder.file("schema.json", |out| out.write_all(schema::to_json().as_bytes()))?;
    let files = folder.finish()?;
    tell(args, &files, &format!(": {}, schema.json", names.join(", ")))
}

/// A chart for each level and counter that changed, and for each operation.
fn charts(args: &ExportArgs, loaded: &Loaded) -> Result<(), Failure> {
    let there = changed(loaded, &PlotChoice::default()).map_err(refused)?;
    let levels = there.levels.iter().map(|level| level.name.clone());
    let metrics = levels.chain(there.counters.iter().map(|counter| format!("{}/s", counter.name)));
    let metrics = metrics.map(|text| text.parse::<Metric>().map(|metric| (Some(metric), None)).map_err(refused));
    let operations = there.samples.iter().map(|operation| Ok((None, Some(operation.name.clone()))));
    let mut folder = Folder::new(&args.output)?;
    let mut count = 0;
    for choice in metrics.chain(operations) {
        let (metric, operation) = choice?;
        let choice = PlotChoice {
            metrics: metric.into_iter().collect(),
            operations: operation.into_iter().collect(),
            ..PlotChoice::default()
        };
        let chart = plot(loaded, &choice).map_err(refused)?.chart;
        for panel in &chart.panels {
            let name = format!("{}.vl.json", panel.title.replace("/s", "-per-second").replace(['/', ' '], "-"));
            folder.file(&name, |out| vega_lite::write(&chart, panel, out))?;
            count += 1;
        }
    }
    let files = folder.finish()?;
    tell(args, &files, &format!(": {}", order9_report::number::count_of(count, "chart")))
}

fn mmtests_files(args: &ExportArgs, loaded: &Loaded) -> Result<(), Failure> {
    let mut folder = Folder::new(&args.output)?;
    for (name, content) in &mmtests::files(loaded).map_err(refused)? {
        folder.file(name, |out| out.write_all(content))?;
    }
    let written = folder.finish()?;
    let what = format!(": {}", order9_report::number::count_of(written.files.len() as u64, "file"));
    tell(args, &written, &what)
}

/// Says what was written, and `what` in words.
fn tell(args: &ExportArgs, written: &Written, what: &str) -> Result<(), Failure> {
    if args.json {
        return print_json(written);
    }
    print(&format!("written to {}{what}\n", order9_escape::path(&args.output)))
}
