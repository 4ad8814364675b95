//! `order9 schema`: the form of everything that the command prints or writes as JSON, made of the types that are written.

use order9_advise::advice::Advice;
use order9_advise::ask::Answer;
use order9_advise::guard::Beside;
use order9_advise::tune::Tuning;
use order9_advise::what_if::Comparison;
use order9_apply::UndoneRecord;
use order9_fleet::Fleet;
use order9_fleet::trial::Projection;
use order9_lab::reproduce::Reproduction;
use order9_lab::{Changed, GapList, machines};
use order9_policy::{Diff, List, Show};
use order9_record::Manifest;
use order9_report::{facts, inspect};
use order9_sweep::Outlook;
use order9_toml::{nearest, proposal, shown};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::Serialize;

use crate::args::SchemaArgs;
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::run::table;
use crate::written::Written;
use crate::{apply, compare, kernels, repeat, reproduce, results, sweep, validate, workloads};

/// A form of JSON.
#[derive(Serialize, JsonSchema)]
struct Form {
    /// Words of a command that prints it with --json, or the name of a file.
    name: &'static str,
    /// Contents, in words.
    meaning: &'static str,
    #[serde(skip)]
    schema: fn() -> Schema,
}

/// All forms: of commands in the order of their names, then of files.
const FORMS: &[Form] = &[
    form::<Advice>("advise", "remedies for a host that are worth it, their worth, risks and commands, and all others"),
    form::<Answer>("ask", "whether a program would get huge pages now, and the first obstacle"),
    form::<apply::Applied<'_>>(
        "apply",
        "settings that were changed, with their values before, and texts that keep them",
    ),
    form::<results::Json<'_>>("bench", "runs on real kernels: tables, notes, digests"),
    form::<facts::Facts<'_>>("capture", "facts of the snapshot that was written"),
    form::<order9_calibrate::Tables>("calibrate", "measurements of a kernel, prices that follow, and sums of prices"),
    form::<compare::Json<'_>>("compare", "tables of stored runs, and verdicts on a claim"),
    form::<Vec<String>>("doc", "names of all subjects, or the texts about one"),
    form::<Written>("export", "files of another tool that were written"),
    form::<GapList<'_>>("fidelity", "every quantity outside its goal, with its cause"),
    form::<Fleet>("fleet", "many hosts: distributions of facts, owners, groups, outliers"),
    form::<Projection>("fleet what-if", "settings tried on a sample of hosts, projected to the fleet"),
    form::<Beside>("guard", "a guard in the lab beside the kernel's own compaction, by proactiveness"),
    form::<inspect::Report<'_>>("inspect", "an inspection: huge pages, bounds of compaction, obstacles, settings"),
    form::<Vec<kernels::Json<'_>>>("kernels fetch", "kernels that the cache has now"),
    form::<Vec<kernels::Json<'_>>>("kernels list", "kernels that can be had, and those of the cache"),
    form::<machines::List>("machines list", "the built-in machines"),
    form::<machines::Show>("machines show", "a machine: every figure with its source"),
    form::<sweep::Json<'_>>(
        "merge",
        "cells of several sweeps put together: figures by point and by axis, failures, digest",
    ),
    form::<Written>("man", "the manual pages that were written"),
    form::<Changed>("plot", "counters and operations of a stored run that changed"),
    form::<Diff>("policies diff", "switches that differ between two policies"),
    form::<List>("policies list", "the built-in policies"),
    form::<Show>("policies show", "a policy: every switch"),
    form::<results::Json<'_>>("record", "a recording of this host: tables, notes, digests"),
    form::<Written>("report", "the page that was written"),
    form::<reproduce::Json<'_>>("reproduce", "verdicts on published claims"),
    form::<reproduce::list::Json>("reproduce list", "claims, their experiments, and how long these take"),
    form::<results::Json<'_>>("run", "an experiment: tables of policies or of switches, notes, digests"),
    form::<table::Json<'_>>("run cases", "a scenario with cases: one table, and what it says"),
    form::<repeat::Repetition>("run repeat", "digests of a stored run and of its repetition"),
    form::<Vec<Form>>("schema", "names of all schemas"),
    form::<facts::Facts<'_>>("snapshot anonymise", "facts of the copy that was written"),
    form::<facts::Facts<'_>>("snapshot info", "facts of a snapshot"),
    form::<facts::Facts<'_>>("snapshot synth", "facts of the snapshot that was written"),
    form::<sweep::Json<'_>>("sweep", "a sweep: figures by point and by axis, failures, the stop rule, digest"),
    form::<Outlook>("sweep dry-run", "what a sweep would take: cells, time of CPUs, memory"),
    form::<Tuning>(
        "tune",
        "settings that were searched for a goal: trade-off, effects of settings, all that was tried",
    ),
    form::<Vec<UndoneRecord>>("undo", "changes that were taken back: settings and files"),
    form::<Vec<order9_apply::Record>>("undo list", "changes that can be taken back"),
    form::<validate::Json<'_>>("validate", "verdicts on the lab beside real kernels"),
    form::<Comparison>("what-if", "settings beside those of the host: measures, differences, verdicts"),
    form::<Vec<workloads::Listed>>("workloads", "the workloads, and what can be chosen about each"),
    form::<workloads::Listed>("workloads show", "a workload"),
    form::<validate::Json<'_>>("fidelity.json", "the verdicts that `order9 validate -o` keeps"),
    form::<Manifest>("manifest.toml", "inputs and results of a run directory, a TOML file"),
    form::<Reproduction>("reproduce.json", "the verdicts that `order9 reproduce -o` keeps"),
    form::<results::StoredTables<'_>>("report.json", "the tables of a run directory"),
];

const fn form<T: JsonSchema>(name: &'static str, meaning: &'static str) -> Form {
    Form { name, meaning, schema: of::<T> }
}

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>()
}

/// Names the schemas, or prints one.
pub(crate) fn run(args: &SchemaArgs) -> Result<(), Failure> {
    let name = args.name.join(" ");
    match (name.as_str(), args.json) {
        ("", true) => print_json(&FORMS),
        ("", false) => print(&list()),
        _ => print_json(&find(&name)?),
    }
}

/// A line for each schema.
fn list() -> String {
    FORMS.iter().map(|form| format!("{:<16}{}\n", form.name, form.meaning)).collect()
}

/// The schema called `name`, which says so itself.
fn find(name: &str) -> Result<Schema, Failure> {
    let found = FORMS.iter().find(|form| form.name == name).ok_or_else(|| {
        let near = proposal(nearest(name, FORMS.iter().map(|form| form.name)));
        Failure::Usage(format!("no schema is called {}: `order9 schema` names all{near}", shown(name)))
    })?;
    let mut schema = (found.schema)();
    schema.insert("title".to_owned(), found.name.into());
    schema.insert("description".to_owned(), found.meaning.into());
    Ok(schema)
}
