//! The Parquet files, as programs other than order9 see them.

use std::fs::File;
use std::io::{Write, stderr};
use std::path::Path;
use std::process::Command;

use order9_record::{Existing, Target};
use parquet::file::reader::{FileReader, SerializedFileReader};

use crate::sample::experiment;

/// Rows as text, and the schema, through the library's generic reader, which knows nothing of this crate's columns.
fn rows(path: &Path) -> (String, Vec<String>) {
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr().columns().to_vec();
    let columns: Vec<String> = schema.iter().map(|column| column.name().to_owned()).collect();
    let rows = reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
    (columns.join(" "), rows)
}

#[test]
fn a_row_per_sample() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    Target::new(&directory, Existing::Keep).unwrap().write(&experiment(), &[]).unwrap();
    let (columns, rows) = rows(&directory.join("latencies.parquet"));
    assert_eq!(columns, "policy seed operation at_ns value unit");
    assert_eq!(rows.len(), 18);
    let key = r#"policy: "linux-5.0", seed: 0"#;
    let latency = r#"operation: "fault-both-3", at_ns: 333333333, value: 3003.0, unit: "nanos""#;
    assert_eq!(rows[1], format!("{{{key}, {latency}}}"));
    assert!(
        rows[5].contains(r#"operation: "1-files/sec""#) && rows[5].contains(r#"unit: "per-second""#),
        "{}",
        rows[5]
    );
}

#[test]
fn a_row_per_end_of_a_phase_and_per_reading() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let mut experiment = experiment();
    experiment.runs[2].counters.columns.pop();
    experiment.runs[2].phases.iter_mut().for_each(|phase| {
        phase.at_begin.pop();
        phase.at_end.pop();
    });
    Target::new(&directory, Existing::Keep).unwrap().write(&experiment, &[]).unwrap();
    let (columns, rows) = rows(&directory.join("counters.parquet"));
    assert_eq!(columns, "policy seed at_ns phase edge nr_free_pages pgfault order9_lock_wait_ns");
    assert_eq!(rows.len(), 21);
    let row = |n: usize| rows[n].split_once("at_ns: ").expect("a time").1;
    let counters = "nr_free_pages: 999, pgfault: 1536, order9_lock_wait_ns: 1}";
    assert_eq!(row(1), format!(r#"1000000000, phase: "prepare", edge: "end", {counters}"#));
    assert_eq!(row(5), format!(r#"1000000000, phase: "", edge: "", {counters}"#));
    // The last cell lacks a counter.
    assert_eq!(
        row(14),
        r#"0, phase: "prepare", edge: "begin", nr_free_pages: 1000, pgfault: 0, order9_lock_wait_ns: null}"#
    );
}

/// An implementation that shares no code with ours. Skipped, with a line that says so, where it is not installed.
#[test]
fn pyarrow_reads_the_same() {
    let python = std::env::var("ORDER9_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let run = |program: &str, argument: &Path| Command::new(&python).args(["-c", program]).arg(argument).output();
    if !run("import pyarrow.parquet", Path::new("")).is_ok_and(|output| output.status.success()) {
        // Unlike `eprintln`, this is seen where tests pass.
        writeln!(stderr(), "skipped: {python} has no pyarrow; ORDER9_PYTHON names another interpreter").unwrap();
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    Target::new(&directory, Existing::Keep).unwrap().write(&experiment(), &[]).unwrap();
    let program = "
import sys, pyarrow.parquet as parquet
latencies = parquet.read_table(sys.argv[1] + '/latencies.parquet').to_pylist()
counters = parquet.read_table(sys.argv[1] + '/counters.parquet')
print(len(latencies), latencies[1])
print(counters.num_rows, counters.column('pgfault').to_pylist()[:7], counters.schema.field('pgfault').type)
";
    let output = run(program, &directory).unwrap();
    let (text, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let expected = "18 {'policy': 'linux-5.0', 'seed': 0, 'operation': 'fault-both-3', 'at_ns': 333333333, \
                    'value': 3003.0, 'unit': 'nanos'}\n\
                    21 [0, 1536, 1536, 3072, 0, 1536, 3072] uint64\n";
    assert_eq!(text, expected, "{errors}");
}
