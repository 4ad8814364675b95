//! `order9 export` and the gauges of `order9 inspect`: read back here, and by the tools that they are for, where these are
//! installed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use order9_export::perfetto::messages::{EventType, Trace};
use prost::Message as _;

use crate::support::{SHORT, bundled, folder_with_machine, order9_line};

/// Events that a timeline is made of.
const EVENTS: &str = "--events sched_switch --events mm_compaction_begin --events mm_compaction_end \
                      --events mm_vmscan_kswapd_wake --events mm_vmscan_kswapd_sleep";

/// A run of two policies, with events, in `{}/run`.
fn stored() -> tempfile::TempDir {
    let folder = folder_with_machine();
    let line = format!("run {SHORT} --policy linux-5.0 --policy linux-6.18 {EVENTS} -o {{}}/run");
    order9_line(&line, folder.path()).success();
    folder
}

fn skipped(what: &str, why: &str) {
    writeln!(std::io::stderr(), "SKIPPED: {what}: {why}").expect("stderr");
}

/// Runs a tool with `input`; `None` where it is not installed.
fn tool(name: &str, args: &[&str], input: &str) -> Option<(bool, String)> {
    let spawned =
        Command::new(name).args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.ok()?;
    child.stdin.take().expect("it is piped").write_all(input.as_bytes()).expect("the tool reads its input");
    let output = child.wait_with_output().expect("the tool ends");
    let said = [output.stdout, output.stderr].concat();
    Some((output.status.success(), String::from_utf8_lossy(&said).into_owned()))
}

fn contrib(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib").join(file)
}

#[test]
fn tables_hold_the_same_rows_in_every_format() {
    let folder = stored();
    let path = |name: &str| folder.path().join(name);
    for format in ["csv", "jsonl", "parquet"] {
        let line = format!("export {{}}/run --to {format} -o {{}}/{format}");
        let said = order9_line(&line, folder.path()).success();
        assert!(said.contains(&format!(": runs.{format}, samples.{format}, counters.{format}, events.")), "{said}");
    }
    for table in ["runs", "samples", "counters", "events"] {
        let csv = fs::read_to_string(path(&format!("csv/{table}.csv"))).expect("a table");
        let jsonl = fs::read_to_string(path(&format!("jsonl/{table}.jsonl"))).expect("a table");
        let header: Vec<&str> = csv.lines().next().expect("a header").split(',').collect();
        assert_eq!(csv.lines().count() - 1, jsonl.lines().count(), "{table}");
        assert!(jsonl.lines().count() > 1, "{table} has rows");
        for line in jsonl.lines() {
            let row: serde_json::Map<String, serde_json::Value> = serde_json::from_str(line).expect("an object");
            assert!(header.iter().all(|name| row.contains_key(*name)) && row.len() == header.len(), "{line}");
        }
        let parquet = fs::read(path(&format!("parquet/{table}.parquet"))).expect("a table");
        assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"), "{table}");
    }
    let schema = fs::read_to_string(path("csv/schema.json")).expect("a schema");
    let schema: serde_json::Value = serde_json::from_str(&schema).expect("JSON");
    assert_eq!((schema["version"].as_u64(), schema["tables"][1]["name"].as_str()), (Some(1), Some("samples")));
    let stdout = order9_line("export {}/run --to csv --table samples -o -", folder.path()).success();
    assert_eq!(stdout, fs::read_to_string(path("csv/samples.csv")).expect("a table"));
    let one = order9_line("export {}/run --to csv --table runs --policy linux-5.0 -o -", folder.path()).success();
    assert_eq!(one.lines().count(), 2, "{one}");
}

#[test]
fn wrong_words_and_taken_places_are_refused() {
    let folder = stored();
    fs::create_dir(folder.path().join("taken")).expect("a directory");
    fs::write(folder.path().join("taken/mine"), "mine").expect("a file");
    let snapshot = bundled("host-fresh.o9snap");
    let snapshot = snapshot.to_str().expect("a UTF-8 path");
    for (line, expected) in [
        ("export {}/run --to parqet -o {}/x", "a similar value exists: 'parquet'"),
        ("export {}/run --to csv --table sampels -o -", "events; did you mean samples?"),
        ("export {}/run --to perfetto --table samples -o {}/x", "--table is for tables: expected --to csv"),
        ("export {}/run --to csv --policy linux-5.1 -o {}/x", "the run has none; expected linux-5.0, linux-6.18"),
        ("export {}/run --to csv --seed 9 -o {}/x", "--seed 9: the run has none; expected 1"),
        ("export {}/run --to csv -o {}/taken", "holds files, expected a new or empty directory"),
        ("export {}/run --to csv -o {}/tiny.toml", "is a file, expected a new or empty directory"),
        ("export {}/nowhere --to csv -o {}/x", "no manifest.toml here"),
        (&format!("export {snapshot} --to perfetto -o {{}}/x"), "perfetto is made from a run"),
        (&format!("export {snapshot} --to csv --table events -o -"), "no such table here; expected facts"),
    ] {
        let ran = order9_line(line, folder.path());
        assert!(ran.refusal().contains(expected), "{line}: {}", ran.stderr);
        assert!(!folder.path().join("x").exists(), "{line} leaves nothing behind");
    }
    assert_eq!(fs::read_dir(folder.path().join("taken")).expect("it is there").count(), 1);
    let hidden = fs::read_dir(folder.path()).expect("it is there").filter_map(Result::ok);
    assert_eq!(hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with(".order9-")).count(), 0);
}

#[test]
fn damaged_events_are_refused() {
    let folder = stored();
    let trace = folder.path().join("run/linux-5.0/iter-1/trace.txt");
    let mut text = fs::read_to_string(&trace).expect("a trace");
    text = text.replacen("sched_switch", "sched_swotch", 1);
    fs::write(&trace, text).expect("a file");
    let ran = order9_line("export {}/run --to perfetto -o {}/x", folder.path());
    assert!(ran.refusal().contains("it was changed or damaged since the run"), "{}", ran.stderr);
    assert!(!folder.path().join("x").exists());
}

#[test]
fn facts_of_a_snapshot_are_a_table() {
    let folder = folder_with_machine();
    let snapshot = bundled("host-fragmented.o9snap");
    let line = format!("export {} --to csv --table facts -o -", snapshot.to_str().expect("a UTF-8 path"));
    let csv = order9_line(&line, folder.path()).success();
    assert!(csv.starts_with("snapshot,node,zone,fact,order,migratetype,value,unit\n"), "{csv}");
    assert!(csv.contains("\nhost-fragmented,,,pageblock_order,,,9,order\n"), "{csv}");
    assert!(csv.contains("\nhost-fragmented,0,Normal,free_blocks,10,,"), "{csv}");
}

/// Time in slices by track, after each track's slices were seen to begin and end in turn.
fn time_in_slices(trace: &Trace) -> BTreeMap<String, u64> {
    let (mut names, mut open, mut sums) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut last = 0;
    for packet in &trace.packet {
        let at = packet.timestamp.expect("each packet has a time");
        assert!(at >= last, "packets stand in order of time");
        last = at;
        if let Some(track) = &packet.track_descriptor {
            let parent = track.parent_uuid.map(|parent| names.get(&Some(parent)).cloned().expect("parents come first"));
            let name = track.name.clone().expect("each track has a name");
            names.insert(track.uuid, parent.map(|parent: String| format!("{parent} / {name}")).unwrap_or(name));
        }
        let Some(event) = &packet.track_event else { continue };
        let track = names.get(&event.track_uuid).expect("tracks come before their events").clone();
        match event.r#type() {
            EventType::SliceBegin => assert_eq!(open.insert(track, at), None, "slices of a track do not overlap"),
            EventType::SliceEnd => {
                let begin = open.remove(&track).expect("a slice has begun");
                *sums.entry(track).or_insert(0) += at - begin;
            }
            EventType::Instant | EventType::Counter => {}
            EventType::Unspecified => panic!("{event:?}"),
        }
    }
    assert!(open.is_empty(), "{open:?}");
    sums
}

#[test]
fn a_timeline_shows_who_ran_on_which_cpu() {
    let folder = stored();
    let path = folder.path().join("run.pftrace");
    order9_line("export {}/run --to perfetto -o {}/run.pftrace", folder.path()).success();
    let bytes = fs::read(&path).expect("a trace");
    let trace = Trace::decode(bytes.as_slice()).expect("a trace of Perfetto");
    let sums = time_in_slices(&trace);
    // The CPUs were busy as long as the counter of the run says.
    let counters =
        order9_line("export {}/run --to csv --table counters --policy linux-5.0 -o -", folder.path()).success();
    let busy =
        counters.lines().filter_map(|line| line.split_once(",order9_cpu_busy_ns,")?.1.split(',').next()?.parse().ok());
    let busy: u64 = busy.max().expect("the counter is there");
    let on_cpus: u64 =
        sums.iter().filter(|(name, _)| name.starts_with("linux-5.0, seed 1 / CPU ")).map(|(_, sum)| sum).sum();
    // Times of events are cut to microseconds, and those after the last reading are in no counter.
    assert!(on_cpus.abs_diff(busy) < busy / 50, "{on_cpus} ns on CPUs, {busy} ns busy: {sums:?}");
    assert!(sums.keys().any(|name| name == "linux-6.18, seed 1 / phases"), "{sums:?}");
    order9_line("export {}/run --to perfetto -o {}/again.pftrace", folder.path()).success();
    assert!(fs::read(folder.path().join("again.pftrace")).expect("a trace") == bytes, "equal runs give equal bytes");
    perfetto_reads(&path);
}

/// Asks Perfetto's own code: its trace_processor where it can be had, else its definitions of the format.
fn perfetto_reads(path: &Path) {
    const SCRIPT: &str = "
import os, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
trace = pb.Trace()
trace.ParseFromString(open(sys.argv[1], 'rb').read())
slices = sum(packet.track_event.type == 1 for packet in trace.packet)
print('definitions:', slices)
shell = os.environ.get('TRACE_PROCESSOR_SHELL')
if shell:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
    processor = TraceProcessor(trace=sys.argv[1], config=TraceProcessorConfig(bin_path=shell))
    found = next(iter(processor.query('select count(*) as n from slice where dur >= 0'))).n
    assert found >= slices, (found, slices)
    errors = processor.query(\"select name, value from stats where severity = 'error' and value > 0\")
    errors = [(row.name, row.value) for row in errors]
    assert not errors, errors
    print('trace_processor:', found)
";
    let path = path.to_str().expect("a UTF-8 path");
    let Some((ok, said)) = tool("python3", &["-", path], SCRIPT) else {
        return skipped("Perfetto reads a timeline", "there is no python3");
    };
    if said.contains("ModuleNotFoundError") {
        return skipped("Perfetto reads a timeline", "python3 has no package perfetto");
    }
    assert!(ok && !said.contains("definitions: 0"), "{said}");
    if !said.contains("trace_processor:") {
        skipped("trace_processor reads a timeline", "TRACE_PROCESSOR_SHELL names no trace_processor_shell");
    }
}

#[test]
fn gauges_are_those_that_prometheus_takes() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let snapshot = bundled("host-fragmented.o9snap");
    let line = format!("inspect {} --prometheus", snapshot.to_str().expect("a UTF-8 path"));
    let text = order9_line(&line, folder.path()).success();
    assert!(text.starts_with("# HELP order9_info "), "{text}");
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    for sample in samples {
        let name = sample.split(['{', ' ']).next().expect("a name");
        assert!(text.contains(&format!("\n# TYPE {name} gauge\n")), "{sample}");
    }
    order9_line(&format!("{line} --textfile {{}}"), folder.path()).success();
    let files: Vec<_> = fs::read_dir(folder.path()).expect("it is there").filter_map(Result::ok).collect();
    assert_eq!(files.len(), 1, "nothing but the file: {files:?}");
    assert_eq!(fs::read_to_string(folder.path().join("order9.prom")).expect("the file"), text);
    let refused = order9_line(&format!("{line} --textfile {{}}/nowhere"), folder.path());
    assert!(refused.refusal().contains("is no directory"), "{}", refused.stderr);

    match tool("promtool", &["check", "metrics"], &text) {
        Some(checked) => assert_eq!(checked, (true, String::new())),
        None => skipped("promtool checks gauges", "promtool is not installed"),
    }
}

#[test]
fn alerts_and_dashboard_ask_for_gauges_that_there_are() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let snapshot = bundled("host-fragmented.o9snap");
    let line = format!("inspect {} --prometheus", snapshot.to_str().expect("a UTF-8 path"));
    let text = order9_line(&line, folder.path()).success();
    let rules = fs::read_to_string(contrib("prometheus/order9.rules.yml")).expect("rules");
    let dashboard = fs::read_to_string(contrib("grafana/order9.json")).expect("a dashboard");
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let asked = [&rules, &dashboard].into_iter().flat_map(|file| file.split(|c| !is_word(c)));
    let asked: Vec<&str> = asked.filter(|word| word.starts_with("order9_")).collect();
    assert!(asked.len() > 20, "{asked:?}");
    for name in asked {
        assert!(text.contains(&format!("# TYPE {name} gauge\n")), "{name}");
    }

    // Every expression of the dashboard as a rule.
    let dashboard: serde_json::Value = serde_json::from_str(&dashboard).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("panels");
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().expect("targets"));
    let exprs = targets.map(|target| target["expr"].as_str().expect("an expression").replace("$__rate_interval", "5m"));
    let records = exprs.enumerate().map(|(at, expr)| format!("      - record: panel_{at}\n        expr: {expr:?}\n"));
    let made = format!("groups:\n  - name: dashboard\n    rules:\n{}", records.collect::<String>());
    let path = folder.path().join("dashboard.yml");
    fs::write(&path, made).expect("a file");
    for (command, file) in [
        ("check", contrib("prometheus/order9.rules.yml")),
        ("check", path),
        ("test", contrib("prometheus/order9.test.yml")),
    ] {
        match tool("promtool", &[command, "rules", file.to_str().expect("a UTF-8 path")], "") {
            Some((ok, said)) => assert!(ok, "{said}"),
            None => skipped("promtool checks rules", "promtool is not installed"),
        }
    }
}

#[test]
fn charts_are_specifications_that_vega_lite_compiles() {
    let folder = stored();
    order9_line("export {}/run --to vega-lite -o {}/charts", folder.path()).success();
    let charts = folder.path().join("charts");
    let chart = fs::read_to_string(charts.join("nr_free_pages.vl.json")).expect("a chart");
    let chart: serde_json::Value = serde_json::from_str(&chart).expect("JSON");
    assert_eq!(chart["$schema"], "https://vega.github.io/schema/vega-lite/v6.json");
    let policies: std::collections::BTreeSet<&str> =
        chart["data"]["values"].as_array().expect("rows").iter().filter_map(|row| row["policy"].as_str()).collect();
    assert_eq!(policies.len(), 2, "{policies:?}");

    const SCRIPT: &str = "
import fs from 'fs';
import { createRequire } from 'module';
import { pathToFileURL } from 'url';
const at = name => pathToFileURL(createRequire(process.env.VEGA_LITE_MODULES + '/').resolve(name));
const [lite, vega] = [await import(at('vega-lite')), await import(at('vega'))];
for (const file of fs.readdirSync(process.argv[2])) {
  const chart = JSON.parse(fs.readFileSync(process.argv[2] + '/' + file));
  const warn = (...words) => { throw new Error(file + ': ' + words); };
  const logger = { warn, error: warn, info() { return this; }, debug() { return this; }, level() { return this; } };
  const view = new vega.View(vega.parse(lite.compile(chart, { logger }).spec), { renderer: 'none' });
  if (!(await view.toSVG()).includes('<path')) warn('nothing is drawn');
}
";
    if std::env::var_os("VEGA_LITE_MODULES").is_none() {
        return skipped("vega-lite compiles charts", "VEGA_LITE_MODULES names no node_modules with vega and vega-lite");
    }
    let charts = charts.to_str().expect("a UTF-8 path");
    match tool("node", &["--input-type=module", "-", charts], SCRIPT) {
        Some((ok, said)) => assert!(ok, "{said}"),
        None => skipped("vega-lite compiles charts", "there is no node"),
    }
}

#[test]
fn the_dashboard_is_one_by_the_types_of_grafana() {
    let Some(modules) = std::env::var_os("GRAFANA_MODULES").map(PathBuf::from) else {
        let why = "GRAFANA_MODULES names no node_modules with @grafana/schema and typescript";
        return skipped("types of Grafana check the dashboard", why);
    };
    // Beside the modules, where their types are looked for.
    let folder = tempfile::tempdir_in(modules.parent().expect("it is in a folder")).expect("a temporary directory");
    let dashboard = fs::read_to_string(contrib("grafana/order9.json")).expect("a dashboard");
    // An enumeration is no text for TypeScript, though it is one in the file.
    let dashboard = dashboard.replace("\"absolute\"", "ThresholdsMode.Absolute");
    let imports = "import { type Dashboard, ThresholdsMode } from '@grafana/schema';\n";
    let file = folder.path().join("dashboard.ts");
    fs::write(&file, format!("{imports}export const dashboard: Dashboard = {dashboard};\n")).expect("a file");
    let compiler = modules.join(".bin/tsc");
    let options = "--noEmit --strict --skipLibCheck --moduleResolution bundler --module esnext";
    let mut arguments: Vec<&str> = options.split(' ').collect();
    arguments.push(file.to_str().expect("a UTF-8 path"));
    let checked = tool(compiler.to_str().expect("a UTF-8 path"), &arguments, "");
    assert_eq!(checked, Some((true, String::new())));
}
