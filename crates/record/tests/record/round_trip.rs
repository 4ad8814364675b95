//! What is written is read back, and the same runs give the same bytes.

use std::collections::BTreeSet;
use std::fs;

use order9_record::{
    Counters, Digest, Existing, Experiment, Outcome, Phase, Run, Sample, Target, Unit, read, read_manifest,
};
use order9_units::{CounterMeaning, CounterUnit, Nanos};
use proptest::prelude::*;

use crate::sample::{experiment, inputs, without_traces};

#[test]
fn a_run_directory_holds_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("runs/one");
    let written = experiment();
    let manifest = Target::new(&directory, Existing::Keep).unwrap().write(&written, &[]).unwrap();
    assert_eq!(manifest.digest, written.digest());
    let loaded = read(&directory).unwrap();
    assert_eq!(loaded.manifest, manifest);
    assert_eq!(loaded.manifest.inputs, written.inputs);
    assert_eq!(loaded.runs, written.runs.iter().map(without_traces).collect::<Vec<Run>>());
    assert_eq!(read_manifest(&directory).unwrap(), manifest);
}

#[test]
fn a_run_that_does_not_say_what_its_counters_mean_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let mut written = experiment();
    let columns = |run: &mut Run| run.counters.columns.iter_mut().for_each(|column| column.meaning = None);
    written.runs.iter_mut().for_each(columns);
    Target::new(&directory, Existing::Keep).unwrap().write(&written, &[]).unwrap();
    let loaded = read(&directory).unwrap();
    assert!(loaded.runs.iter().flat_map(|run| &run.counters.columns).all(|column| column.meaning.is_none()));
    assert_eq!(loaded.manifest.digest, experiment().digest(), "meanings are no results");
}

#[test]
fn any_seed_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let mut written = experiment();
    written.inputs.seeds[1] = u64::MAX;
    written.runs[1].seed = u64::MAX;
    Target::new(&directory, Existing::Keep).unwrap().write(&written, &[]).unwrap();
    let loaded = read(&directory).unwrap();
    assert_eq!((loaded.manifest.inputs.seeds[1], loaded.runs[1].seed), (u64::MAX, u64::MAX));
}

fn bytes(experiment: &Experiment) -> Vec<(String, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let manifest = Target::new(&directory, Existing::Keep).unwrap().write(experiment, &[]).unwrap();
    let paths = manifest.files.iter().map(|file| file.path.clone()).chain(["manifest.toml".to_owned()]);
    paths.map(|path| (path.clone(), fs::read(directory.join(path)).unwrap())).collect()
}

#[test]
fn the_same_runs_give_the_same_bytes_anywhere_and_any_time() {
    assert!(bytes(&experiment()) == bytes(&experiment()));
}

#[test]
fn a_digest_covers_every_field() {
    let changes: [fn(&mut Run); 17] = [
        |run| run.policy.push('x'),
        |run| run.seed += 1,
        |run| run.operations[0].unit = Unit::Count,
        |run| run.operations[0].name.push('x'),
        |run| run.samples.swap(0, 1),
        |run| run.samples[0].at += Nanos::new(1),
        |run| run.samples[0].value += 1e-9,
        |run| run.phases[0].name.push('x'),
        |run| run.phases[0].at_end[0] += 1,
        |run| run.counters.columns[0].values[0] += 1,
        |run| run.counters.times[0] += Nanos::new(1),
        |run| run.durations.system += Nanos::new(1),
        |run| run.outcome = Outcome::Stalled { message: "kswapd0 waits for itself".to_owned() },
        |run| run.notes.clear(),
        |run| run.traces.events[0].fields.push('x'),
        |run| run.traces.end[0].content.push('x'),
        |run| run.traces.monitors[0].readings[0].content.push('x'),
    ];
    let original = experiment().runs.remove(0);
    let mut digests: BTreeSet<Digest> = [original.digest()].into();
    for change in changes {
        let mut changed = original.clone();
        change(&mut changed);
        digests.insert(changed.digest());
    }
    assert_eq!(digests.len(), changes.len() + 1);
}

/// A change of the encoding is a new version of it, which this number reminds of.
#[test]
fn the_digest_of_a_run_stays() {
    assert_eq!(experiment().runs[0].digest().to_string(), "d07c98de140501d2c97345165f90e746");
    assert_eq!(experiment().digest().to_string(), "589091f0d1190e4d12054294261c8d3a");
    let text = experiment().digest().to_string();
    assert_eq!(text.parse(), Ok(experiment().digest()));
    assert!(text.to_uppercase().parse::<Digest>().is_err() && text[1..].parse::<Digest>().is_err());
}

#[test]
fn counters_grow_from_the_first_phase_to_the_last() {
    let run = &experiment().runs[0];
    assert_eq!(run.growth("pgfault"), Some(2 * 3 * 512));
    assert_eq!(run.growth("nr_free_pages"), Some(-2));
    assert_eq!(run.growth("pgmajfault"), None);
    assert_eq!(run.values("1-files/sec").collect::<Vec<_>>(), [0.1 * 3.0]);
    assert_eq!(run.values("unknown").count(), 0);
}

/// Any texts, times and numbers in one cell; names are such as can be seen.
fn any_run() -> impl Strategy<Value = Run> {
    let name = "\\PC{0,8}".prop_filter("it can be seen", |name: &String| name.chars().all(order9_escape::is_plain));
    let numbers = prop::collection::vec(any::<u64>(), 0..40);
    let values = prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::ZERO, 0..40);
    let times = prop::collection::vec(any::<u64>(), 0..40);
    (numbers, values, times, name, prop::collection::vec("\\PC{0,20}", 0..3)).prop_map(
        |(numbers, values, mut times, name, notes)| {
            let mut run = Run::new("linux-5.0", 0);
            let operation = run.operation("latency", Unit::Nanos);
            let sample = |(at, value)| Sample { operation, at: Nanos::new(at), value };
            run.samples = times.iter().copied().zip(values).map(sample).collect();
            times.sort_unstable();
            run.counters = Counters::new([
                (format!("{name}_"), CounterMeaning::level(CounterUnit::Blocks)),
                ("pgfault".to_owned(), CounterMeaning::event(CounterUnit::Events)),
            ]);
            for (&at, &number) in times.iter().zip(&numbers) {
                run.counters.push(Nanos::new(at), &[number, !number]);
            }
            let ends = numbers.first().map_or([0; 2], |&number| [number, number.rotate_left(7)]);
            let (begin, end) = (Nanos::new(3), Nanos::new(i64::MAX.cast_unsigned()));
            run.phases = vec![Phase { name, begin, end, at_begin: ends.to_vec(), at_end: ends.to_vec() }];
            run.notes = notes;
            run
        },
    )
}

#[test]
fn a_name_that_nobody_would_see_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let mut experiment = experiment();
    experiment.runs[0].phases[0].name = "fill\u{e01e0}".to_owned();
    let told = Target::new(&directory, Existing::Keep).unwrap().write(&experiment, &[]).unwrap_err().to_string();
    assert!(told.contains("fill\\u{e01e0}"), "{told}");
    assert!(!directory.exists());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_run_is_read_back(run in any_run()) {
        let folder = tempfile::tempdir().unwrap();
        let directory = folder.path().join("run");
        let written = Experiment { inputs: inputs(), runs: vec![run] };
        Target::new(&directory, Existing::Keep).unwrap().write(&written, &[]).unwrap();
        prop_assert_eq!(read(&directory).unwrap().runs, written.runs);
    }
}
