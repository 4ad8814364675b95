//! `order9 apply` and `order9 undo`.

mod watch;

use std::fs;
use std::path::Path;

use order9_apply::{
    ApplyError, Change, Form, Ledger, Plan, Record, Restored, Root, UndoneRecord, Who, Wish, argument, joined, plan,
    settings_file,
};
use order9_journal::Undone;
use order9_referee::check_rights;
use schemars::JsonSchema;
use serde::Serialize;

use self::watch::{Watch, Watched};
use crate::args::{ApplyArgs, UndoArgs};
use crate::failure::{Failure, io_sentence};
use crate::output::{print, print_json, say};
use crate::target::Target;
use crate::written::check_free;

/// A change for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Applied<'a> {
    /// Number of the change, for `order9 undo`; none where nothing was to be changed.
    id: Option<u32>,
    /// The settings, in the order in which they were written.
    settings: &'a [Change],
    /// Settings that the kernel changed along with them.
    companions: Vec<&'a Change>,
    /// Texts that keep the settings.
    forms: &'a [Form],
    /// Prices of the change, where it was watched.
    watched: Option<Watched>,
}

impl From<ApplyError> for Failure {
    fn from(error: ApplyError) -> Self {
        Self::Usage(error.to_string())
    }
}

/// Applies settings, or says what that would do.
pub(crate) fn apply(args: &ApplyArgs) -> Result<(), Failure> {
    let wishes = wishes(args)?;
    let texts = texts(args)?;
    let root = root(args.root.as_deref())?;
    if args.dry_run {
        let plan = plan(&root, &wishes, &args.kinds, &Ledger::read(&root)?)?;
        return show(args, texts.as_ref(), &unchanged(&plan));
    }
    let mut ledger = open(root.clone())?;
    if let Some(undone) = ledger.recover()? {
        tell_recovered(&undone)?;
    }
    let plan = plan(&root, &wishes, &args.kinds, ledger.records())?;
    if is_idle(&plan) {
        return show(args, texts.as_ref(), &unchanged(&plan));
    }
    carry_out(args, texts.as_ref(), &mut ledger, plan)
}

/// Makes the change, and watches it where that was asked for.
fn carry_out(args: &ApplyArgs, texts: Option<&Target>, ledger: &mut Ledger, plan: Plan) -> Result<(), Failure> {
    let watch = args.watch.map(|time| Watch::open(time, &args.limits)).transpose()?;
    let forms = plan.forms.clone();
    let Record { id, settings, companions, .. } = ledger.apply(plan, Who::of_process())?.clone();
    let companions = companions.iter().filter(|change| change.is_change()).collect();
    let mut applied = Applied { id: Some(id), settings: &settings, companions, forms: &forms, watched: None };
    let Some(watch) = watch else { return show(args, texts, &applied) };
    // A reader of the table who goes away ends no watch.
    let shown = if args.json { Ok(()) } else { show(args, texts, &applied) };
    let watched = applied.watched.insert(watch.run(ledger)?);
    shown?;
    match args.json {
        false => print(&watched.line())?,
        true => show(args, texts, &applied)?,
    }
    applied.watched.map_or(Ok(()), |watched| watched.verdict())
}

/// A plan that was not carried out.
fn unchanged(plan: &Plan) -> Applied<'_> {
    Applied { id: None, settings: &plan.settings, companions: Vec::new(), forms: &plan.forms, watched: None }
}

/// Takes changes back, or names them.
pub(crate) fn undo(args: &UndoArgs) -> Result<(), Failure> {
    let root = root(args.root.as_deref())?;
    if args.list {
        let records = Ledger::read(&root)?;
        return if args.json { print_json(&records) } else { print(&list(&records)) };
    }
    let undone = open(root)?.undo(args.last.map(usize::from), args.force)?;
    if args.json { print_json(&undone) } else { print(&taken_back(&undone)) }
}

fn root(directory: Option<&Path>) -> Result<Root, Failure> {
    match directory {
        None => Ok(Root::host()),
        Some(directory) if directory.is_dir() => Ok(Root::directory(directory)),
        Some(directory) => Err(Failure::file(directory, "is no directory, expected one with copies of a host's files")),
    }
}

/// The ledger for changes, on a host that this user may change.
fn open(root: Root) -> Result<Ledger, Failure> {
    if root.is_host() {
        check_rights().map_err(|error| Failure::Usage(error.to_string()))?;
    }
    let (ledger, Undone { restored, failed }) = Ledger::open(root)?;
    for (path, value) in restored {
        say(&format!("order9: {path} = {value} again: left by an order9 that was killed\n"))?;
    }
    for (path, error) in failed {
        say(&format!("order9: {path} could not be put back: {error}\n"))?;
    }
    Ok(ledger)
}

/// All settings that were asked for.
fn wishes(args: &ApplyArgs) -> Result<Vec<Wish>, Failure> {
    let file = match &args.file {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| Failure::file(path, io_sentence(&error)))?;
            settings_file(&order9_escape::path(path), &text)?
        }
        None => Vec::new(),
    };
    let arguments = args.settings.iter().map(|text| argument(text)).collect::<Result<_, _>>()?;
    Ok(joined(file, arguments))
}

/// Whether a plan would leave everything as it is.
fn is_idle(plan: &Plan) -> bool {
    let is_same = |change: &Change| change.wanted.as_ref() == Some(&change.before);
    plan.settings.iter().all(is_same) && plan.forms.iter().all(|form| form.path.is_none())
}

/// The file for texts that belong elsewhere; none where they are printed.
fn texts(args: &ApplyArgs) -> Result<Option<Target>, Failure> {
    let Some(output) = &args.output else { return Ok(None) };
    check_free(output, args.json)?;
    if !args.kinds.iter().any(|kind| kind.is_text()) {
        let sentence = "-o is for the text of --persist cmdline or ansible, and neither is given";
        return Err(Failure::Usage(sentence.to_owned()));
    }
    Ok(Some(Target::new(output, true)?).filter(|target| !target.is_output()))
}

/// Prints a change, and writes the texts that have a file.
fn show(args: &ApplyArgs, texts: Option<&Target>, applied: &Applied<'_>) -> Result<(), Failure> {
    if let Some(target) = texts {
        let mut texts = applied.forms.iter().filter(|form| form.kind.is_text()).map(|form| form.text.as_str());
        target.write(|out| texts.try_for_each(|text| out.write_all(text.as_bytes())))?;
    }
    if args.json {
        return print_json(applied);
    }
    let Applied { id, settings, companions, forms, .. } = applied;
    let mut text = table(settings.iter().chain(companions.iter().copied()).map(row));
    for form in forms.iter().filter(|_| !args.dry_run) {
        text.extend(form.path.iter().map(|path| format!("{}: {path} written\n", form.kind.word())));
    }
    text.extend(args.kinds.iter().filter_map(|kind| kind.remark()).map(|remark| format!("{remark}\n")));
    text += match id {
        Some(_) => "`order9 undo --last 1` takes this back\n",
        None => "nothing was changed\n",
    };
    let is_shown = |form: &&Form| if form.kind.is_text() { texts.is_none() } else { args.dry_run };
    for Form { kind, path, text: form } in forms.iter().filter(is_shown) {
        text += &format!("\n==> {} <==\n{form}", path.as_deref().unwrap_or(kind.word()));
    }
    print(&text)
}

/// A setting with its path and values, as a row.
fn row(change: &Change) -> [String; 4] {
    let Change { name, path, before, wanted, after } = change;
    let after = match (wanted, after) {
        (Some(wanted), None) => wanted.clone(),
        // A pool of huge pages becomes as large as it can.
        (Some(wanted), Some(after)) if !is_same(wanted, after) => format!("{after} (of {wanted})"),
        (_, after) => after.clone().unwrap_or_default(),
    };
    [name.clone(), path.clone(), before.clone(), after]
}

/// Whether a file shows the value that was asked for; it may have more numbers than were given.
fn is_same(wanted: &str, after: &str) -> bool {
    wanted.split_whitespace().zip(after.split_whitespace()).all(|(wanted, after)| wanted == after)
}

fn table(rows: impl Iterator<Item = [String; 4]>) -> String {
    let header = ["setting", "path", "before", "after"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(header).chain(rows.map(|row| row.map(|cell| cell.replace('\t', " ")))).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let [one, two, three] = [0, 1, 2].map(width);
    rows.iter()
        .map(|[name, path, before, after]| format!("{name:one$}  {path:two$}  {before:three$}  {after}\n"))
        .collect()
}

/// Changes that can be taken back, the latest first.
fn list(records: &[Record]) -> String {
    if records.is_empty() {
        return "nothing was applied\n".to_owned();
    }
    let entry = |record: &Record| {
        let Record { id, time, by, under_way, .. } = record;
        let name = by.name.as_ref().map_or_else(|| format!("user {}", by.uid), Clone::clone);
        let interrupted = if *under_way { ", interrupted" } else { "" };
        let files: String = record.files.iter().map(|file| format!("{}: {}\n", file.kind.word(), file.path)).collect();
        format!("change {id} of {time} by {name}{interrupted}\n{}{files}", table(record.settings.iter().map(row)))
    };
    records.iter().rev().map(entry).collect::<Vec<_>>().join("\n")
}

/// The text about changes that were taken back.
fn taken_back(undone: &[UndoneRecord]) -> String {
    if undone.is_empty() {
        return "nothing was applied: there is nothing to take back\n".to_owned();
    }
    let rows = undone.iter().flat_map(|record| &record.settings).map(|restored| {
        let Restored { name, path, before, after } = restored.clone();
        [name, path, before, after]
    });
    let mut rows = rows.peekable();
    let mut text = if rows.peek().is_some() { table(rows) } else { String::new() };
    for UndoneRecord { id, restarted, files, left, .. } in undone {
        if *restarted {
            text += &format!(
                "change {id}: the machine was restarted since, so that its settings had gone; values that a file wrote at boot stay until the next\n"
            );
        }
        for file in files {
            text += &format!("{file}: as before change {id}\n");
        }
        text.extend(left.iter().map(|left| format!("left as it is: {left}\n")));
    }
    text
}

/// Says that a change was put back that had been interrupted.
fn tell_recovered(undone: &UndoneRecord) -> Result<(), Failure> {
    let UndoneRecord { id, settings, files, .. } = undone;
    say(&format!(
        "order9: change {id} was interrupted, and was put back: {} settings, {} files\n",
        settings.len(),
        files.len()
    ))
}
