//! Replays of recordings that a test has made: what is replayed, and bad recordings.

use std::fs;
use std::path::{Path, PathBuf};

use order9_lab::scenario::recorded_plan;
use order9_lab::{counter_meaning, live_inputs};
use order9_record::{Counters, Existing, Experiment, ExtraFile, Inputs, Machine, Phase, Run, Target, read};
use order9_units::{Bytes, Nanos};
use order9_workloads::{Facts, Workload};

use crate::support::{bundled, order9_line};

/// Counters of a kernel, with their growth in each second.
const GROWTH: [(&str, u64); 10] = [
    ("nr_anon_pages", 600),
    ("nr_anon_transparent_hugepages", 1),
    ("nr_file_pages", 40),
    ("nr_shmem", 0),
    ("nr_dirtied", 4),
    ("pgalloc_normal", 1500),
    ("pgfree", 800),
    ("pgfault", 700),
    ("thp_fault_alloc", 1),
    ("thp_fault_fallback", 0),
];
const SECONDS: u64 = 5;

/// A recording with a small guest's memory at its start.
fn recorded() -> (Run, Inputs) {
    let mut run = Run::new("live-7.2", 1);
    let names = GROWTH.iter().map(|(name, _)| (*name, counter_meaning(name).expect("the lab has it")));
    run.counters = Counters::new(names);
    let row = |second: u64| GROWTH.map(|(_, growth)| 1000 + second * growth);
    for second in 0..=SECONDS {
        run.counters.push(Nanos::new(second * 1_000_000_000), &row(second));
    }
    run.durations.elapsed = Nanos::new(SECONDS * 1_000_000_000);
    let (begin, end) = (Nanos::ZERO, run.durations.elapsed);
    let (at_begin, at_end) = (row(0).to_vec(), row(SECONDS).to_vec());
    run.phases = vec![Phase { name: "run".to_owned(), begin, end, at_begin, at_end }];
    let plan = recorded_plan(&run, Nanos::new(1_000_000_000), vec!["a test".to_owned()]);
    let memory = Bytes::from_gib(1);
    let facts = Facts { memory, cpus: 2, nodes: vec![memory], disk: None, available: Some(memory) };
    let parameters = plan.parameters(&facts).expect("they are admitted");
    let machine = Machine { name: "live".to_owned(), text: "kernel = \"7.2\"\n".to_owned() };
    (run, live_inputs(&plan, &parameters, machine, &["live-7.2"]))
}

/// Writes a recording into a folder of its own, and says where.
fn written(folder: &Path, change: impl FnOnce(&mut Run, &mut Inputs), start: Option<&str>) -> PathBuf {
    let (mut run, mut inputs) = recorded();
    change(&mut run, &mut inputs);
    let content = fs::read(bundled("captures/fresh-7.2.o9snap")).expect("it is bundled");
    let files: Vec<_> = start.map(|name| ExtraFile { name: name.to_owned(), content }).into_iter().collect();
    let directory = folder.join("rec");
    let target = Target::new(&directory, Existing::Replace).expect("there is room");
    target.write(&Experiment::new(inputs, vec![run]), &files).expect("it is a run");
    directory
}

const START: &str = "live-7.2-seed-1-start.o9snap";

#[test]
fn a_recording_is_replayed_from_its_start_and_again_from_the_manifest_alone() {
    let folder = tempfile::tempdir().expect("a directory");
    let recording = written(folder.path(), |_, _| (), Some(START));
    let text = order9_line("run trace {}/rec --seeds 1 -o {}/play", folder.path()).success();
    let squeezed = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["which runs as linux-7.2", "recorded-faults", "taken from the snapshot", "and not by whom"] {
        assert!(squeezed.contains(part), "no {part} in {text}");
    }
    let play = read(&folder.path().join("play")).expect("a run");
    let [run] = play.runs.as_slice() else { panic!("one run") };
    let growth = |name: &str| {
        let at = run.counters.position(name).expect("it is counted");
        run.phases[0].at_end[at] - run.phases[0].at_begin[at]
    };
    assert_eq!((run.phases[0].name.as_str(), growth("pgfault")), ("replay", 700 * SECONDS));
    assert_eq!((growth("thp_fault_alloc"), run.values("behind").count()), (SECONDS, 1));
    assert!(growth("pgfree").abs_diff(800 * SECONDS) < 100, "{}", growth("pgfree"));
    let compared = order9_line("compare {}/rec {}/play", folder.path()).success();
    assert!(compared.contains("differs from") && !compared.contains("its parameters"), "{compared}");
    fs::remove_dir_all(recording.join("live-7.2")).expect("texts for people are not needed");
    order9_line("run --repeat {}/play", folder.path()).success();
}

/// Growth of a counter over the first phase of the only run in `directory`.
fn growth(directory: &Path, phase: &str, name: &str) -> u64 {
    let loaded = read(directory).expect("a run");
    let [run] = loaded.runs.as_slice() else { panic!("one run") };
    let at = run.counters.position(name).expect("it is counted");
    let phase = run.phases.iter().find(|of| of.name == phase).expect("a phase of the program");
    phase.at_end[at] - phase.at_begin[at]
}

#[test]
fn a_host_goes_on_as_in_its_recording_alone_and_beside_another_program() {
    let folder = tempfile::tempdir().expect("a directory");
    written(folder.path(), |_, _| (), Some(START));
    order9_line("run like-host {}/rec --param time=12s --seeds 1 -o {}/alone", folder.path()).success();
    assert_eq!(
        growth(&folder.path().join("alone"), "replay", "pgfault"),
        700 * 12,
        "over and over, and cut at the end"
    );
    let line = "run idle --param beside={}/rec --param time=8s --seeds 1 -o {}/beside";
    let text = order9_line(line, folder.path()).success();
    assert!(!text.contains("fault-huge"), "only the program is measured: {text}");
    let faults = growth(&folder.path().join("beside"), "measure", "pgfault");
    assert!((700 * 7..=700 * 9).contains(&faults), "{faults}");
    let line = "advise --demand {}/rec --want 64M --param hold=0s --seeds 2 {}/rec/live-7.2-seed-1-start.o9snap";
    let guard = "guard --simulate {}/rec/live-7.2-seed-1-start.o9snap --demand {}/rec --param size=64M --param pause=1s \
                 --param hold=0s --seeds 1";
    for line in [line, guard] {
        let answer = order9_line(line, folder.path()).success();
        let squeezed = answer.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(squeezed.contains(&format!("beside={}/rec", folder.path().display())), "{answer}");
    }
}

#[test]
fn a_scenario_file_names_a_recording_beside_it_and_other_memory() {
    let folder = tempfile::tempdir().expect("a directory");
    written(folder.path(), |_, _| (), None);
    let text = "workload = \"trace\"\nmachine = \"desktop-8g\"\nseeds = 1\n[parameters]\nrecording = \"rec\"\nreplayers = 1\n\
                [memory]\nstart = \"empty\"\n";
    fs::write(folder.path().join("replay.toml"), text).expect("it can be written");
    let text = order9_line("run {}/replay.toml", folder.path()).success();
    assert!(text.contains("recorded-faults") && text.contains("6.18"), "{text}");
}

#[test]
fn what_is_no_recording_is_refused_in_a_line_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a directory");
    let refused = |line: &str, says: &str| {
        let ran = order9_line(&format!("run {line} -o {{}}/play"), folder.path());
        assert!(ran.refusal().contains(says), "{line}: {}", ran.stderr);
        let left: Vec<_> =
            fs::read_dir(folder.path()).expect("a directory").flatten().map(|entry| entry.file_name()).collect();
        assert!(left.iter().all(|name| name == "rec" || name == "lab"), "{left:?}");
    };
    refused("trace {}/rec", "no manifest.toml here");
    refused("idle {}/rec", "idle replays no recording");
    refused("trace --param recording={}/nothing", "no manifest.toml here");
    written(folder.path(), |_, _| (), None);
    refused("trace {}/rec", "holds no snapshot of its start: --memory names what to start from");
    written(folder.path(), |_, inputs| inputs.workload.name = "idle".to_owned(), Some(START));
    refused("trace {}/rec", "holds a run of idle, expected a recording");
    written(folder.path(), |_, inputs| inputs.memory = order9_record::Memory::Empty, Some(START));
    refused("trace {}/rec", "holds a run of trace, expected a recording");
    let without = |name: &'static str| {
        move |run: &mut Run, _: &mut Inputs| {
            let at = run.counters.position(name).expect("it is there");
            run.counters.columns.remove(at);
            run.phases.iter_mut().for_each(|phase| {
                phase.at_begin.remove(at);
                phase.at_end.remove(at);
            });
        }
    };
    written(folder.path(), without("pgfree"), Some(START));
    refused("trace {}/rec", "has no counter pgfree, which a replay needs");
    let mad = |run: &mut Run, _: &mut Inputs| run.counters.columns[7].values[3] = u64::MAX;
    written(folder.path(), mad, Some(START));
    refused("trace {}/rec", "interval 2: faults is 18446744073709549215, expected up to 2^32");
    written(
        folder.path(),
        |run, _| {
            run.counters = Counters::new(
                run.counters.columns.iter().map(|column| (column.name.clone(), column.meaning.expect("it has one"))),
            );
        },
        Some(START),
    );
    refused("trace {}/rec", "0 intervals, expected 1");
    let recording = written(folder.path(), |_, _| (), Some(START));
    let damage = |file: &str| {
        let path = recording.join(file);
        let mut bytes = fs::read(&path).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 0x55;
        fs::write(&path, bytes).expect("it can be written");
    };
    damage(START);
    refused("trace {}/rec", START);
    fs::remove_file(recording.join(START)).expect("it is there");
    refused("trace {}/rec", "no such file or directory");
    damage("counters.parquet");
    refused("trace {}/rec", "checksum");
}

#[test]
fn workloads_have_a_trace_and_it_runs_without_a_recording() {
    let page = order9_line("workloads show trace", Path::new("")).success();
    assert!(page.contains("ten seconds that are made up") && page.contains("order9 record"), "{page}");
    assert_eq!(Workload::Trace.name(), "trace");
    let text = order9_line("run trace --machine desktop-8g --seeds 1", Path::new("")).success();
    assert!(text.contains("recorded-faults"), "{text}");
}
