//! Digests of experiments, held to `tests/golden/digests.txt` together with what the runs came to.
//!
//! A digest says that something changed. Next to it stand the counters at the end of each run and the means of its samples,
//! so that a change of behaviour is seen as one: which counter, of which run, by how much.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use order9_lab::Plan;
use order9_record::{Experiment, Outcome, Run};
use order9_workloads::Workload;

use crate::{on, plan};

/// Holds the digests of experiments, of the plain seed and a varied one, to those of the golden file, and different seeds to
/// be different; `UPDATE_GOLDEN=1` writes the file anew. They change with every
/// change of behaviour, prices or policies, and with nothing else.
#[test]
fn digests_are_the_same_on_one_core_and_two_and_those_of_the_golden_file() {
    let mut found = String::new();
    for workload in Workload::ALL {
        let all = Plan { seeds: vec![1, 2, 3], ..plan(workload) };
        let mut two = on(2, &all).expect("it runs");
        let one = on(1, &Plan { seeds: vec![2], ..all }).expect("it runs");
        let again = two.runs.iter().filter(|run| run.seed == 2);
        assert!(again.eq(&one.runs), "{}: a seed gives the same results again", workload.name());
        assert_different(&two);
        two.runs.retain(|run| run.seed < 3);
        found += &Section::of(&two).to_text();
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/digests.txt");
    let expected = fs::read_to_string(&golden).unwrap_or_default();
    let changes = changes(&expected, &found);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&golden, &found).expect("the golden file can be written");
        println!("{changes}");
        return;
    }
    assert!(found == expected, "UPDATE_GOLDEN=1 if this is meant:\n{changes}");
}

/// Panics unless every two seeds of a policy came to something else, in more than the times at which it was read.
fn assert_different(experiment: &Experiment) {
    for (at, run) in experiment.runs.iter().enumerate() {
        let others = experiment.runs[..at].iter().filter(|other| other.policy == run.policy);
        for other in others {
            let differ = (&run.samples, &run.durations) != (&other.samples, &other.durations);
            let name = &experiment.inputs.workload.name;
            assert!(differ, "{name} under {}: seeds {} and {} are copies", run.policy, other.seed, run.seed);
        }
    }
}

/// Runs of a workload, side by side: in each row a number for every run.
#[derive(Default)]
struct Section {
    workload: String,
    /// Policy and seed of each.
    runs: Vec<String>,
    /// In the order in which they are read.
    rows: Vec<(String, Vec<String>)>,
}

/// Starts the line with the name of a workload.
const TITLE: &str = "# ";
const NAME_WIDTH: usize = 40;
const VALUE_WIDTH: usize = 33;

impl Section {
    fn of(experiment: &Experiment) -> Self {
        let runs = &experiment.runs;
        let rows = runs.iter().enumerate().fold(Rows::default(), |mut rows, (at, run)| {
            facts(run).for_each(|(name, value)| rows.put(name, value, at, runs.len()));
            rows
        });
        Self {
            workload: experiment.inputs.workload.name.clone(),
            runs: runs.iter().map(|run| format!("{}/{}", run.policy, run.seed)).collect(),
            rows: rows.0,
        }
    }

    fn to_text(&self) -> String {
        let line = |name: &str, values: &[String]| {
            let values: String = values.iter().map(|value| format!(" {value:>VALUE_WIDTH$}")).collect();
            format!("{name:<NAME_WIDTH$}{values}\n")
        };
        let rows: String = self.rows.iter().map(|(name, values)| line(name, values)).collect();
        format!("{TITLE}{}\n{}{rows}", self.workload, line("", &self.runs))
    }

    /// The other way round; what is no section is none.
    fn all_of(text: &str) -> Vec<Self> {
        let mut sections: Vec<Self> = Vec::new();
        for line in text.lines() {
            if let Some(workload) = line.strip_prefix(TITLE) {
                sections.push(Self { workload: workload.to_owned(), ..Self::default() });
                continue;
            }
            let Some(section) = sections.last_mut() else { continue };
            let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            if section.runs.is_empty() {
                section.runs = words;
            } else {
                let values = words.split_off(words.len().saturating_sub(section.runs.len()));
                section.rows.push((words.join(" "), values));
            }
        }
        sections
    }

    /// Every number by the run and row that it stands in.
    fn numbers(&self) -> BTreeMap<(&str, &str), &str> {
        let mut numbers = BTreeMap::new();
        for (name, values) in &self.rows {
            numbers.extend(
                self.runs.iter().zip(values).map(|(run, value)| ((run.as_str(), name.as_str()), value.as_str())),
            );
        }
        numbers
    }
}

/// Rows by the order in which they first came.
#[derive(Default)]
struct Rows(Vec<(String, Vec<String>)>);

impl Rows {
    fn put(&mut self, name: String, value: String, at: usize, runs: usize) {
        let row = self.0.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
            self.0.push((name, vec!["0".to_owned(); runs]));
            self.0.len() - 1
        });
        self.0[row].1[at] = value;
    }
}

/// What a run came to; zeros are left out.
fn facts(run: &Run) -> impl Iterator<Item = (String, String)> {
    let outcome = match &run.outcome {
        Outcome::Completed => "completed",
        Outcome::OutOfMemory { .. } => "out-of-memory",
        Outcome::Stalled { .. } => "stalled",
        Outcome::Failed { .. } => "failed",
    };
    let words = [("digest", run.digest().to_string()), ("outcome", outcome.to_owned())];
    let times = [("elapsed, ns", run.durations.elapsed), ("system, ns", run.durations.system)];
    let words = words.into_iter().chain(times.map(|(name, time)| (name, time.get().to_string())));
    let samples = run.operations.iter().flat_map(|operation| {
        let values: Vec<f64> = run.values(&operation.name).collect();
        let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
        let name = format!("{}, {}", operation.name, operation.unit.name());
        [(format!("samples of {name}"), values.len().to_string()), (format!("mean of {name}"), format!("{mean:.3}"))]
    });
    let counters = run.counters.columns.iter().filter_map(|column| {
        let last = column.values.last().filter(|last| **last > 0)?;
        Some((column.name.to_string(), last.to_string()))
    });
    words.map(|(name, value)| (name.to_owned(), value)).chain(samples).chain(counters)
}

/// How `found` differs from `expected`, a line for each number.
fn changes(expected: &str, found: &str) -> String {
    let (expected, found) = (Section::all_of(expected), Section::all_of(found));
    let mut said = String::new();
    for section in &found {
        let Some(before) = expected.iter().find(|before| before.workload == section.workload) else {
            said += &format!("{}: new\n", section.workload);
            continue;
        };
        let (old, new) = (before.numbers(), section.numbers());
        let keys = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
        let mut changed: Vec<_> = keys.filter(|key| old.get(*key) != new.get(*key)).collect();
        changed.sort_unstable();
        for key @ (run, row) in changed {
            let (old, new) = (old.get(key).unwrap_or(&"0"), new.get(key).unwrap_or(&"0"));
            said += &format!("{} {run}: {row}: {old} -> {new}{}\n", section.workload, by(old, new));
        }
    }
    let gone = expected.iter().filter(|before| found.iter().all(|section| section.workload != before.workload));
    gone.for_each(|before| said += &format!("{}: gone\n", before.workload));
    said
}

/// The change in per cent, where both are numbers.
fn by(old: &str, new: &str) -> String {
    match (old.parse::<f64>(), new.parse::<f64>()) {
        (Ok(old), Ok(new)) if old != 0.0 => format!(" ({:+.2} %)", (new / old - 1.0) * 100.0),
        _ => String::new(),
    }
}

#[test]
fn a_changed_golden_names_run_counter_and_size_of_the_change() {
    let text = |pgfault: u64, digest: &str| {
        let row = |name: &str, value: String| (name.to_owned(), vec![value]);
        Section {
            workload: "usemem".to_owned(),
            runs: vec!["linux-4.4/1".to_owned()],
            rows: vec![row("digest", digest.to_owned()), row("pgfault", pgfault.to_string())],
        }
        .to_text()
    };
    assert_eq!(changes(&text(100, "aa"), &text(100, "aa")), "");
    let said = changes(&text(100, "aa"), &text(103, "ab"));
    assert_eq!(said, "usemem linux-4.4/1: digest: aa -> ab\nusemem linux-4.4/1: pgfault: 100 -> 103 (+3.00 %)\n");
    assert_eq!(changes("", &text(1, "aa")), "usemem: new\n");
}
