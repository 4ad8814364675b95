//! Results as JSON of mmtests: the data that its `extract-mmtests.pl --print-json` prints of one kernel and benchmark.
//!
//! The keys and the order of the fields in its rows are the file format of mmtests; no code of it is here. A kernel of
//! mmtests is a policy, and an iteration is a seed.

use order9_record::{Loaded, Operation, Run, Unit};
use serde::Serialize;

/// Types of data by their numbers in mmtests (`DATA_TIME_SECONDS` and so on).
const fn data_type(unit: Unit) -> u32 {
    match unit {
        Unit::Seconds => 1,
        Unit::Nanos => 2,
        Unit::Count => 6,
        Unit::PerSecond => 8,
        Unit::Percent => 16,
    }
}

/// Data of one kernel: operations of one unit.
#[derive(Serialize)]
#[allow(non_snake_case)]
struct Extract<'a> {
    _ModuleName: &'static str,
    _TestName: &'a str,
    _DataType: u32,
    _FieldLength: u32,
    _Operations: Vec<&'a str>,
    /// Rows: operation, number of the sample, value.
    _ResultData: Vec<(&'a str, u64, f64)>,
}

/// Files by name: one for each policy, seed and unit.
#[must_use]
pub fn files(loaded: &Loaded) -> Vec<(String, String)> {
    let bench = &loaded.manifest.inputs.workload.name;
    loaded.runs.iter().flat_map(|run| of_run(run, bench)).collect()
}

fn of_run(run: &Run, bench: &str) -> Vec<(String, String)> {
    Vec::from([Unit::Nanos, Unit::Seconds, Unit::Percent, Unit::Count, Unit::PerSecond])
        .into_iter()
        .filter_map(|unit| {
            let operations: Vec<&Operation> = run.operations.iter().filter(|of| of.unit == unit).collect();
            if operations.is_empty() {
                return None;
            }
            let extract = extract(run, unit, &operations);
            let text = serde_json::to_string(&extract).expect("names and finite numbers can be written as JSON");
            Some((format!("{}/iter-{}/{bench}-{}.json", run.policy, run.seed, unit.name()), text + "\n"))
        })
        .collect()
}

fn extract<'a>(run: &'a Run, unit: Unit, operations: &[&'a Operation]) -> Extract<'a> {
    let rows = operations.iter().flat_map(|operation| {
        (1..).zip(run.values(&operation.name)).map(|(number, value)| (operation.name.as_str(), number, value))
    });
    Extract {
        _ModuleName: "order9",
        _TestName: &run.policy,
        _DataType: data_type(unit),
        _FieldLength: 12,
        _Operations: operations.iter().map(|operation| operation.name.as_str()).collect(),
        _ResultData: rows.collect(),
    }
}
