//! JSON of commands and files that commands write, held against the schemas that `order9 schema` prints.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use boon::{Compiler, Schemas};
use serde_json::{Value, json};

use crate::cases;
use crate::support::{SHORT, bundled, folder_with_machine, order9, order9_line};

fn schema(name: &str) -> Value {
    let text = order9(["schema"].into_iter().chain(name.split(' '))).success();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Lets an object have those fields only that its schema names, so that a forgotten one is found. Objects that are put together
/// of several schemas are left as they are.
fn close(schema: &mut Value) {
    const JOINTS: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];
    match schema {
        Value::Object(fields) if fields.contains_key("properties") => {
            let is_joined = JOINTS.iter().any(|key| fields.contains_key(*key));
            if !is_joined && !fields.contains_key("additionalProperties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            fields.iter_mut().filter(|(key, _)| !JOINTS.contains(&key.as_str())).for_each(|(_, value)| close(value));
        }
        Value::Object(fields) => fields.values_mut().for_each(close),
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Holds `value` against the schema called `name`.
#[track_caller]
pub(crate) fn hold(name: &str, value: &Value) {
    let mut schema = schema(name);
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{name}");
    close(&mut schema);
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("order9.json", schema).unwrap();
    let compiled = compiler.compile("order9.json", &mut schemas).unwrap_or_else(|error| panic!("{name}: {error}"));
    if let Err(error) = schemas.validate(value, compiled) {
        panic!("{name}: {error:#}\n{value:#}");
    }
}

/// Holds what `line` prints against the schema; `{}` stands for `path`.
#[track_caller]
fn hold_printed(name: &str, line: &str, path: &Path) {
    let text = order9_line(&format!("{line} --json"), path).success();
    hold(name, &serde_json::from_str(&text).unwrap_or_else(|error| panic!("{line}: {error}\n{text}")));
}

#[test]
fn listings_and_facts_keep_to_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("map.o9snap");
    hold_printed("snapshot synth", "snapshot synth --size 256M -o {}", &map);
    for path in [&map, &bundled("host-fragmented.o9snap"), &bundled("host-fresh.o9snap")] {
        hold_printed("snapshot info", "snapshot info {}", path);
        hold_printed("inspect", "inspect {}", path);
    }
    hold_printed("snapshot anonymise", "snapshot anonymise {} {}.anonymous", &map);
    for (name, line) in [
        ("doc", "doc"),
        ("doc", "doc pageblock"),
        ("man", "man -o {}/man"),
        ("kernels list", "kernels list"),
        ("machines list", "machines list"),
        ("machines show", "machines show xeon-2s"),
        ("policies diff", "policies diff linux-5.0 linux-5.1"),
        ("policies list", "policies list"),
        ("policies show", "policies show linux-4.19-noretry"),
        ("schema", "schema"),
        ("workloads", "workloads"),
        ("workloads show", "workloads show usemem"),
    ] {
        hold_printed(name, line, folder.path());
    }
}

#[test]
fn runs_keep_to_their_schemas() {
    let folder = folder_with_machine();
    let path = folder.path();
    hold_printed("run", &format!("run {SHORT} --policy linux-5.0 --policy linux-5.1 -o {{}}/d"), path);
    hold_printed("run repeat", "run --repeat {}/d", path);
    hold_printed("compare", "compare {}/d", path);
    hold_printed("plot", "plot {}/d", path);
    let manifest: toml::Value = toml::from_str(&fs::read_to_string(path.join("d/manifest.toml")).unwrap()).unwrap();
    hold("manifest.toml", &serde_json::to_value(manifest).unwrap());
    let report = |run: &str| serde_json::from_slice(&fs::read(path.join(run).join("report.json")).unwrap()).unwrap();
    hold("report.json", &report("d"));
    hold_printed("run", &format!("run {SHORT} --ablate linux-5.1 --against linux-5.0 -o {{}}/a"), path);
    hold("report.json", &report("a"));
    hold_printed("run", &format!("run {SHORT} --layout mmtests"), path);
    hold_printed("report", "report {}/d -o {}/d.html", path);
    for to in ["jsonl", "perfetto", "vega-lite", "mmtests"] {
        hold_printed("export", &format!("export {{}}/d --to {to} -o {{}}/{to}"), path);
    }
    let ran = order9_line("report {}/d -o - --json", path);
    assert_eq!(ran.refusal(), "-o -: --json takes standard output, expected a file or a directory for the results");
}

#[test]
fn a_table_of_cases_keeps_to_its_schema() {
    let folder = cases::folder();
    hold_printed("run cases", "run {}/cases.toml", folder.path());
}

#[test]
fn verdicts_on_claims_keep_to_their_schemas() {
    let folder = tempfile::tempdir().unwrap();
    hold_printed("reproduce list", "reproduce --list", folder.path());
    let line = "reproduce --quick 000-unmovable-backoff 000-score-cycle -o {}/d --json";
    let printed = order9_line(line, folder.path());
    assert_eq!(printed.status, 0, "{}", printed.stderr);
    hold("reproduce", &serde_json::from_str(&printed.stdout).unwrap());
    let kept = fs::read_to_string(folder.path().join("d/reproduce.json")).unwrap();
    hold("reproduce.json", &serde_json::from_str(&kept).unwrap());
}

#[test]
fn every_json_option_has_a_schema() {
    let known = order9(["schema", "--json"]).success();
    let known: Vec<Value> = serde_json::from_str(&known).unwrap();
    let known: BTreeSet<_> = known.iter().map(|form| form["name"].as_str().unwrap().to_owned()).collect();
    // A page has the words of its command with dashes between, whether or not a word has one itself.
    let pages: BTreeSet<_> = known.iter().map(|name| name.replace('-', " ")).collect();
    let folder = tempfile::tempdir().unwrap();
    order9_line("man -o {}/man", folder.path()).success();
    for page in fs::read_dir(folder.path().join("man")).unwrap() {
        let path = page.unwrap().path();
        let words = path.file_stem().unwrap().to_str().unwrap().replace('-', " ");
        let takes_json = fs::read_to_string(&path).unwrap().contains("\\-\\-json\\fR\n");
        let name = words.strip_prefix("order9 ").unwrap_or_default();
        assert!(!takes_json || pages.contains(name), "{name} has --json and no schema: {known:?}");
    }
    for name in &known {
        let schema = schema(name);
        assert!(schema["title"] == name.as_str() && schema["description"].is_string(), "{schema:#}");
    }
}

#[test]
fn an_unknown_schema_is_refused_with_the_nearest() {
    let ran = order9(["schema", "polices", "list"]);
    assert_eq!(
        ran.refusal(),
        "no schema is called polices list: `order9 schema` names all; did you mean policies list?"
    );
}
