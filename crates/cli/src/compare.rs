//! `order9 compare`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use order9_html::claims::Claims;
use order9_html::runs::{Stored, about};
use order9_html::tables::Tables;
use order9_html::{Page, Section};
use order9_lab::{judge_claim, notes, stored_workload};
use order9_record::{Inputs, Loaded, Run, read};
use order9_report::claims::{Claim, Outcome, Verdict, parse};
use order9_report::compare::Report;
use order9_report::compare::text::Fit;
use order9_report::compare::{csv, latex, markdown};
use order9_report::stats::Generation;
use order9_toml::{nearest, proposal, shown};
use order9_workloads::Workload;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{CompareArgs, Layout, TableFormat};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::results::{brief, is_brief, tables, with_notes};
use crate::target::Target;
use crate::waiting::Waiting;

/// All of it for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    notes: &'a [String],
    report: &'a Report,
    /// Verdicts on the statements of a claim.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdicts: Option<&'a [Verdict]>,
}

/// The runs of a policy, with the title of their column.
pub(crate) type Column<'a> = (&'a str, Vec<&'a Run>);

/// Compares all policies of all directories with the first.
pub(crate) fn run(args: &CompareArgs) -> Result<(), Failure> {
    check_format(args)?;
    let html = args.html.as_deref().map(|path| Target::new(path, true)).transpose()?;
    if html.as_ref().is_some_and(Target::is_output) && (args.json || args.format != TableFormat::Text) {
        return Err(Failure::Usage("--html - with --json or --format: both would go to standard output".to_owned()));
    }
    let stored = stored(&args.directories)?;
    let workload = one_workload(&stored)?;
    let titles = titles(&args.directories, &stored)?;
    let all = stored.iter().flat_map(|stored| columns(&stored.loaded));
    let columns = chosen(&args.policies, titles.iter().map(String::as_str).zip(all).collect())?;
    let claim = args.claim.as_deref().map(|path| Ok::<_, Failure>((path, claim(path, workload)?))).transpose()?;
    // Whoever holds runs against a claim wants to see its rows.
    let generation = claim.as_ref().map_or_else(Generation::default, |(_, claim)| claim.generation);
    let report = tables(layout(args.shown.layout, args.claim.is_some(), &columns), workload, &columns, generation);
    let notes = all_notes(&stored, &columns);
    let machines = machines(&stored);
    let judged = claim.map(|(path, claim)| judged(path, claim, &report, &columns, &machines)).transpose()?;
    if let Some(target) = &html {
        let mut sections = vec![Section::About(about(&stored, notes.clone()))];
        let kernels = || [columns[0].0, columns[1].0];
        sections.extend(judged.iter().map(|(claim, verdicts)| Section::Claims(Claims::of(claim, kernels(), verdicts))));
        sections.push(Section::Tables(Tables::of(&report)));
        let title =
            format!("{}: {}", workload.name(), columns.iter().map(|(title, _)| *title).collect::<Vec<_>>().join(", "));
        let subtitle = order9_lab::subtitle(&stored[0].loaded.manifest.inputs);
        target.write(|out| Page { title, subtitle, sections, ..Page::default() }.write(out))?;
        if target.is_output() {
            return Ok(());
        }
    }
    let kernels: Vec<&str> = columns.iter().map(|(title, _)| *title).collect();
    let verdicts =
        || judged.as_ref().map(|(claim, verdicts)| verdict_text(claim, &kernels, verdicts)).unwrap_or_default();
    match if args.json { TableFormat::Json } else { args.format } {
        TableFormat::Json => {
            let verdicts = judged.as_ref().map(|(_, verdicts)| verdicts.as_slice());
            print_json(&Json { notes: &notes, report: &report, verdicts })
        }
        TableFormat::Csv => print(&csv::draw(&report)),
        TableFormat::Markdown => print(&markdown::draw(&report, &notes)),
        TableFormat::Latex => print(&latex::draw(&report, &notes)),
        TableFormat::Text if is_brief(&args.shown) => {
            let counts: String = verdicts().lines().skip(1).take(2).map(|line| format!("{line}\n")).collect();
            print(&brief(|lines| report.to_brief(lines), &notes, &counts))
        }
        TableFormat::Text => print(&format!("{}{}", with_notes(&report.to_text(Fit::Widened), &notes), verdicts())),
    }
}

/// Refuses forms of the tables that would leave out what was asked for beside them.
fn check_format(args: &CompareArgs) -> Result<(), Failure> {
    let is_drawn = matches!(args.format, TableFormat::Markdown | TableFormat::Latex | TableFormat::Csv);
    let refused = |option, expected| {
        Err(Failure::Usage(format!("{option} cannot be used with this --format: expected --format {expected}")))
    };
    match args.claim {
        Some(_) if is_drawn => refused("--claim", "text or json"),
        _ if args.shown.brief && args.format != TableFormat::Text => refused("--brief", "text"),
        _ => Ok(()),
    }
}

/// The run directories at `paths`.
pub(crate) fn stored(paths: &[PathBuf]) -> Result<Vec<Stored<'_>>, Failure> {
    let _waiting = Waiting::new("reading runs");
    let read = |path: &PathBuf| read(path).map_err(|error| Failure::Usage(error.to_string()));
    paths.iter().map(|path| Ok(Stored { path, loaded: read(path)? })).collect()
}

/// The columns with these titles, in the order of the titles; all where none is named.
fn chosen<'a>(titles: &[String], columns: Vec<Column<'a>>) -> Result<Vec<Column<'a>>, Failure> {
    if titles.is_empty() {
        return Ok(columns);
    }
    let known = || columns.iter().map(|(title, _)| *title);
    let find = |wanted: &String| {
        let found = columns.iter().find(|(title, _)| title == wanted);
        found.cloned().ok_or_else(|| {
            let all = known().collect::<Vec<_>>().join(", ");
            let (wanted, near) = (shown(wanted), proposal(nearest(wanted, known())));
            Failure::Usage(format!("no column is called {wanted}: there are {all}{near}"))
        })
    };
    if let Some(twice) = repeated(titles) {
        return Err(Failure::Usage(format!("{}: named more than once", order9_escape::line(twice))));
    }
    titles.iter().map(find).collect()
}

/// Claims are about pooled iterations: a single run of each policy is judged as one was published. Several are judged by
/// their means, unless somebody wants them pooled.
pub(crate) fn layout(asked: Option<Layout>, is_judged: bool, columns: &[Column<'_>]) -> Layout {
    let single = is_judged && columns.iter().all(|(_, runs)| runs.len() == 1);
    asked.unwrap_or(if single { Layout::Mmtests } else { Layout::Runs })
}

/// A claim about the workload.
pub(crate) fn claim(path: &Path, workload: Workload) -> Result<Claim, Failure> {
    let usage = |sentence: String| Failure::Usage(sentence);
    let text = fs::read_to_string(path).map_err(|error| Failure::file(path, error.to_string()))?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let claim = parse(&name, &text).map_err(|error| usage(error.to_string()))?;
    let about = claim.workload.as_deref().unwrap_or_default();
    if !about.starts_with(workload.name()) {
        let name = workload.name();
        return Err(Failure::file(path, format!("the claim is about the workload {about}, the runs are of {name}")));
    }
    Ok(claim)
}

/// Verdicts on the statements of a claim in the first two columns.
pub(crate) fn judged(
    path: &Path,
    claim: Claim,
    report: &Report,
    columns: &[Column<'_>],
    machines: &[(&str, &Run)],
) -> Result<(Claim, Vec<Verdict>), Failure> {
    let [(_, baseline), (_, patched), ..] = columns else {
        return Err(Failure::file(path, "a claim compares two policies, the runs have one".to_owned()));
    };
    let verdicts = judge_claim(&claim, report, baseline, patched, machines);
    Ok((claim, verdicts))
}

/// One line for each statement, what was found below it.
fn verdict_text(claim: &Claim, kernels: &[&str], verdicts: &[Verdict]) -> String {
    let count = |outcome| verdicts.iter().filter(|verdict| verdict.outcome == outcome).count();
    let mut text = format!(
        "\nClaims of {}, with {} as baseline and {} as patched kernel\n{} hold, {} do not, {} could not be measured\n",
        claim.id,
        kernels[0],
        kernels[1],
        count(Outcome::Holds),
        count(Outcome::Fails),
        count(Outcome::NotMeasured)
    );
    for verdict in verdicts {
        let outcome = match verdict.outcome {
            Outcome::Holds => "holds",
            Outcome::Fails => "does not hold",
            Outcome::NotMeasured => "not measured",
        };
        text += &format!("{outcome:<14} {} ({})\n", verdict.statement, verdict.note);
        for evidence in &verdict.evidence {
            text += &format!("               {evidence}\n");
        }
    }
    text
}

/// Every run with the name of its machine.
pub(crate) fn machines<'a>(stored: &'a [Stored<'_>]) -> Vec<(&'a str, &'a Run)> {
    let of = |stored: &'a Stored<'_>| {
        let machine = stored.loaded.manifest.inputs.machine.name.as_str();
        stored.loaded.runs.iter().map(move |run| (machine, run))
    };
    stored.iter().flat_map(of).collect()
}

/// The runs of each policy.
pub(crate) fn columns(loaded: &Loaded) -> impl Iterator<Item = Vec<&Run>> {
    let of_policy = |title: &str| loaded.runs.iter().filter(|run| run.policy == title).collect();
    loaded.manifest.inputs.policies.iter().map(move |policy| of_policy(&policy.title))
}

pub(crate) fn one_workload(stored: &[Stored<'_>]) -> Result<Workload, Failure> {
    let name = |stored: &Stored<'_>| stored.loaded.manifest.inputs.workload.name.clone();
    let (first, path) = (name(&stored[0]), order9_escape::path(stored[0].path));
    if let Some(other) = stored.iter().find(|stored| name(stored) != first) {
        let (other, other_path) = (name(other), order9_escape::path(other.path));
        let sentence = format!("{path} holds {first}, {other_path} {other}: only runs of one workload can be compared");
        return Err(Failure::Usage(sentence));
    }
    let loaded: Vec<&Loaded> = stored.iter().map(|stored| &stored.loaded).collect();
    stored_workload(&loaded).map_err(|error| Failure::file(stored[0].path, error))
}

/// A title for every column: of its policy, with its directory where others have the same.
pub(crate) fn titles(paths: &[PathBuf], stored: &[Stored<'_>]) -> Result<Vec<String>, Failure> {
    let policies = |stored: &Stored<'_>| {
        stored.loaded.manifest.inputs.policies.iter().map(|policy| policy.title.clone()).collect::<Vec<_>>()
    };
    let by = |name: &dyn Fn(&Path) -> String| -> Vec<String> {
        let titles = stored.iter().flat_map(|stored| {
            let name = name(stored.path);
            policies(stored)
                .into_iter()
                .map(move |title| if name.is_empty() { title } else { format!("{name}-{title}") })
        });
        titles.collect()
    };
    let last = |path: &Path| path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let whole = |path: &Path| order9_escape::path(path);
    let ways: [&dyn Fn(&Path) -> String; 3] = [&|_| String::new(), &last, &whole];
    let distinct = |titles: &Vec<String>| titles.iter().collect::<BTreeSet<_>>().len() == titles.len();
    ways.into_iter().map(by).find(distinct).ok_or_else(|| {
        let path = repeated(paths).unwrap_or(&paths[0]);
        Failure::Usage(format!("{}: named more than once", order9_escape::path(path)))
    })
}

/// The first of some names that has come before.
fn repeated<T: PartialEq>(names: &[T]) -> Option<&T> {
    names.iter().enumerate().find(|(at, name)| names[..*at].contains(name)).map(|(_, name)| name)
}

/// Notes of the runs in these columns, behind the name of their directory where there are several, and in what the inputs of
/// directories differ.
pub(crate) fn all_notes(stored: &[Stored<'_>], columns: &[Column<'_>]) -> Vec<String> {
    let is_shown = |run: &&Run| columns.iter().any(|(_, runs)| runs.iter().any(|shown| std::ptr::eq(*shown, *run)));
    let of = |stored_: &Stored<'_>| {
        let place = if stored.len() > 1 { format!("{}: ", order9_escape::path(stored_.path)) } else { String::new() };
        let runs: Vec<&Run> = stored_.loaded.runs.iter().filter(is_shown).collect();
        let notes = notes(&stored_.loaded.manifest.inputs, &runs);
        let unended = runs
            .iter()
            .filter_map(|run| Some(format!("{}, seed {}: {}", run.policy, run.seed, run.outcome.message()?)));
        unended.chain(notes).map(|note| format!("{place}{note}")).collect::<Vec<_>>()
    };
    let first = &stored[0].loaded.manifest.inputs;
    let differ = stored[1..].iter().filter_map(|other| {
        let differences = differences(first, &other.loaded.manifest.inputs);
        let what = (!differences.is_empty()).then(|| differences.join(", "))?;
        Some(format!(
            "{} differs from {} in its {what}",
            order9_escape::path(other.path),
            order9_escape::path(stored[0].path)
        ))
    });
    differ.chain(stored.iter().flat_map(of)).collect()
}

fn differences(one: &Inputs, other: &Inputs) -> Vec<&'static str> {
    let parts = [
        (one.workload == other.workload, "parameters"),
        (one.machine.text == other.machine.text, "machine"),
        (one.memory == other.memory, "memory"),
        (one.cmdline == other.cmdline, "kernel command line"),
        (one.settings == other.settings, "settings"),
        (one.seeds == other.seeds, "seeds"),
    ];
    parts.into_iter().filter(|(same, _)| !same).map(|(_, what)| what).collect()
}
