//! Results for the report scripts of mmtests: its JSON, and logs of fault latencies where those scripts look for them.
//!
//! The keys of the JSON, the numbers of units and the fields of a line are file formats of mmtests; no code of it is here. A
//! kernel of mmtests is a policy, and an iteration is a seed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};
use order9_record::{Loaded, Run, Sample, Unit};
use serde::Serialize;

/// Units of operations, each of which has a JSON file of its own: mmtests knows one unit for all data of a benchmark.
const UNITS: [Unit; 5] = [Unit::Nanos, Unit::Seconds, Unit::Percent, Unit::Count, Unit::PerSecond];

/// Number of a unit (`_DataType`): `DATA_TIME_NSECONDS` is 2.
const fn data_type(unit: Unit) -> u32 {
    match unit {
        Unit::Seconds => 1,
        Unit::Nanos => 2,
        Unit::Count => 7,
        Unit::PerSecond => 10,
        Unit::Percent => 18,
    }
}

/// Data of one kernel, as `extract-mmtests.pl --print-json` prints it.
#[derive(Serialize)]
struct Extract<'a> {
    #[serde(rename = "_ModuleName")]
    module_name: &'static str,
    #[serde(rename = "_TestName")]
    test_name: &'a str,
    #[serde(rename = "_DataType")]
    data_type: u32,
    #[serde(rename = "_Operations")]
    operations: Vec<&'a str>,
    #[serde(rename = "_ResultData")]
    result_data: BTreeMap<&'a str, Vec<Iteration>>,
}

/// Samples of one operation in one iteration.
#[derive(Serialize)]
struct Iteration {
    #[serde(rename = "SampleNrs")]
    sample_nrs: Vec<usize>,
    #[serde(rename = "Values")]
    values: Vec<f64>,
}

/// Files by their paths: `POLICY/BENCH-UNIT.json`, and `POLICY/iter-SEED/BENCH/logs/threads-N.log.gz` for workloads that
/// measure faults of base and huge pages.
///
/// # Errors
/// Compression that fails, which it does not in memory.
pub fn files(loaded: &Loaded) -> io::Result<Vec<(String, Vec<u8>)>> {
    let bench = &loaded.manifest.inputs.workload.name;
    let policies: BTreeSet<&str> = loaded.runs.iter().map(|run| run.policy.as_str()).collect();
    let mut files = Vec::new();
    for policy in policies {
        let runs: Vec<&Run> = loaded.runs.iter().filter(|run| run.policy == policy).collect();
        for unit in UNITS {
            let extract = extract(policy, &runs, unit);
            if !extract.operations.is_empty() {
                files.push((format!("{policy}/{bench}-{}.json", unit.name()), serde_json::to_vec(&extract)?));
            }
        }
        for run in runs {
            for (threads, samples) in faults(run) {
                let path = format!("{policy}/iter-{}/{bench}/logs/threads-{threads}.log.gz", run.seed);
                files.push((path, fault_log(&samples)?));
            }
        }
    }
    Ok(files)
}

fn extract<'a>(policy: &'a str, runs: &[&'a Run], unit: Unit) -> Extract<'a> {
    let (mut operations, mut result_data) = (Vec::new(), BTreeMap::new());
    for operation in runs.iter().flat_map(|run| &run.operations).filter(|operation| operation.unit == unit) {
        let name = operation.name.as_str();
        if result_data.contains_key(name) {
            continue;
        }
        let iterations: Vec<Iteration> = runs.iter().map(|run| iteration(run, name)).collect();
        if iterations.iter().any(|iteration| !iteration.values.is_empty()) {
            operations.push(name);
            result_data.insert(name, iterations);
        }
    }
    Extract { module_name: "order9", test_name: policy, data_type: data_type(unit), operations, result_data }
}

fn iteration(run: &Run, operation: &str) -> Iteration {
    let values: Vec<f64> = run.values(operation).collect();
    Iteration { sample_nrs: (1..=values.len()).collect(), values }
}

/// Samples of faults by number of threads, each with the kind of its page: operations `fault-base-3` and `fault-huge-3`.
fn faults(run: &Run) -> BTreeMap<u32, Vec<(&'static str, &Sample)>> {
    let mut by_threads: BTreeMap<u32, Vec<_>> = BTreeMap::new();
    for sample in &run.samples {
        let operation = &run.operations[sample.operation.index()];
        if let Some((page, threads)) = fault(&operation.name).filter(|_| operation.unit == Unit::Nanos) {
            by_threads.entry(threads).or_default().push((page, sample));
        }
    }
    by_threads
}

fn fault(operation: &str) -> Option<(&'static str, u32)> {
    let (page, threads) = operation.strip_prefix("fault-")?.split_once('-')?;
    let page = ["base", "huge"].into_iter().find(|known| *known == page)?;
    Some((page, threads.parse().ok()?))
}

/// A line for each fault: `fault`, a word that nobody reads, the kind of page, microseconds.
fn fault_log(samples: &[(&str, &Sample)]) -> io::Result<Vec<u8>> {
    const UNKNOWN_SYSTEM: u8 = 255;
    let gzip = GzBuilder::new().mtime(0).operating_system(UNKNOWN_SYSTEM);
    let mut gzip = gzip.write(Vec::new(), Compression::default());
    for (page, sample) in samples {
        writeln!(gzip, "fault - {page} {}", sample.value / 1000.0)?;
    }
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    /// Two faults of base pages and one of a huge page, with three threads.
    fn run() -> Run {
        let mut run = Run::new("linux-5.0", 1);
        for (operation, value) in [("fault-base-3", 1500.0), ("fault-huge-3", 90_000.0), ("fault-base-3", 2000.0)] {
            let operation = run.operation(operation, Unit::Nanos);
            run.samples.push(Sample { operation, at: order9_units::Nanos::new(9), value });
        }
        run
    }

    #[test]
    fn data_of_a_kernel_is_read_by_operation_and_iteration() {
        let run = run();
        let extract = extract("linux-5.0", &[&run, &run], Unit::Nanos);
        let found = serde_json::to_value(&extract).expect("JSON");
        let base = serde_json::json!({"SampleNrs": [1, 2], "Values": [1500.0, 2000.0]});
        let huge = serde_json::json!({"SampleNrs": [1], "Values": [90000.0]});
        let expected = serde_json::json!({
            "_ModuleName": "order9",
            "_TestName": "linux-5.0",
            "_DataType": 2,
            "_Operations": ["fault-base-3", "fault-huge-3"],
            "_ResultData": {"fault-base-3": [base, base], "fault-huge-3": [huge, huge]},
        });
        assert_eq!(found, expected);
    }

    /// The report script takes lines that begin with `fault`, splits them at blanks, and takes the third and fourth field.
    #[test]
    fn logs_of_faults_have_the_fields_that_are_read() {
        let run = run();
        let faults = faults(&run);
        assert_eq!(faults.keys().collect::<Vec<_>>(), [&3]);
        let mut text = String::new();
        GzDecoder::new(fault_log(&faults[&3]).expect("memory").as_slice()).read_to_string(&mut text).expect("gzip");
        let fields: Vec<(&str, f64)> = text
            .lines()
            .filter(|line| line.starts_with("fault"))
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .map(|fields| (fields[2], fields[3].parse().expect("a number")))
            .collect();
        assert_eq!(fields, [("base", 1.5), ("huge", 90.0), ("base", 2.0)]);
    }
}
