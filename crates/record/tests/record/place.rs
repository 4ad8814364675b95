//! Where a run directory may go, and that nothing half-written is ever there.

use std::fs;
use std::path::Path;

use order9_record::{
    Existing, Experiment, ExtraFile, OperationId, Problem, Run, Sample, Target, Unit, WriteError, read,
};
use order9_units::Nanos;

use crate::sample::experiment;

fn write(directory: &Path, existing: Existing, experiment: &Experiment) -> Result<(), WriteError> {
    Target::new(directory, existing)?.write(experiment, &[]).map(drop)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_empty_directory_is_taken_and_a_run_is_only_replaced_on_request() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    fs::create_dir(&directory).unwrap();
    let first = experiment();
    write(&directory, Existing::Keep, &first).unwrap();
    assert!(matches!(write(&directory, Existing::Keep, &first), Err(WriteError::Exists { .. })));

    let mut second = first.clone();
    second.runs.pop();
    write(&directory, Existing::Replace, &second).unwrap();
    assert_eq!(read(&directory).unwrap().manifest.digest, second.digest());
    assert_eq!(names(folder.path()), ["run"], "no temporary directory stays");
}

#[test]
fn what_a_person_put_there_stays() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("mine");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("thesis.tex"), "x").unwrap();
    let error = write(&taken, Existing::Replace, &experiment()).unwrap_err();
    assert!(matches!(error, WriteError::Occupied { .. }), "{error}");

    let run = folder.path().join("run");
    write(&run, Existing::Keep, &experiment()).unwrap();
    fs::write(run.join("linux-5.0/iter-0/notes.txt"), "x").unwrap();
    let error = write(&run, Existing::Replace, &experiment()).unwrap_err().to_string();
    assert!(error.contains("holds linux-5.0/iter-0/notes.txt, which is no part of its run"), "{error}");

    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = write(&file, Existing::Replace, &experiment()).unwrap_err().to_string();
    assert!(error.contains("file: is no directory"), "{error}");
}

#[cfg(unix)]
#[test]
fn a_link_is_followed_and_permissions_are_those_of_any_directory() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let (real, link) = (folder.path().join("real"), folder.path().join("link"));
    fs::create_dir(&real).unwrap();
    let ordinary = fs::metadata(&real).unwrap().mode();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write(&link, Existing::Keep, &experiment()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink() && real.join("manifest.toml").is_file());
    assert_eq!(fs::metadata(&real).unwrap().mode(), ordinary);
}

/// `change` makes the experiment wrong: nothing is written, and the message says why.
#[track_caller]
fn refused(change: impl FnOnce(&mut Experiment), expected: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = experiment();
    change(&mut wrong);
    let error = write(&folder.path().join("run"), Existing::Keep, &wrong).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    assert_eq!(names(folder.path()), Vec::<String>::new(), "nothing is left");
}

#[test]
fn a_place_that_cannot_be_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "x").unwrap();
    let error = Target::new(&file.join("run"), Existing::Keep).unwrap_err().to_string();
    assert!(error.contains("file/run: "), "{error}");
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(folder.path().join("absent"), &link).unwrap();
        let error = Target::new(&link, Existing::Keep).unwrap_err().to_string();
        assert!(error.contains("link: is a link to nothing"), "{error}");
    }
    assert!(Target::new(&folder.path().join("some/where/run"), Existing::Keep).is_ok());
    assert!(!folder.path().join("some").exists(), "nothing is made before there is a run");
}

#[test]
fn cells_that_end_in_any_order_are_put_in_theirs() {
    let mut all = experiment();
    all.runs.rotate_left(1);
    assert_eq!(Experiment::new(all.inputs, all.runs), experiment());
}

#[test]
fn runs_that_contradict_themselves_are_not_written() {
    refused(|all| all.runs[2].seed = 7, "policy linux-5.1, seed 7: its seed is not among the inputs");
    refused(|all| all.runs[0].policy = "linux-4.4".to_owned(), "its policy is not among the inputs");
    refused(|all| all.runs[1].seed = 0, "policy linux-5.0, seed 0: it does not stand behind the cell before it");
    refused(
        |all| all.runs[0].operations[1].name = "fault-both-3".to_owned(),
        "two operations are called 'fault-both-3'",
    );
    refused(|all| all.runs[0].operations.truncate(1), "sample 5 is of operation 1, but there are 1");
    refused(|all| all.runs[0].samples[2].value = f64::NAN, "sample 2 is NaN, expected a finite number");
    refused(|all| all.runs[0].counters.times.swap(0, 2), "row 1 of the counters lies before the one above it");
    refused(|all| all.runs[0].counters.columns[0].name = "seed".to_owned(), "no counter can be called 'seed'");
    refused(|all| all.runs[0].counters.columns[0].name = "pgfault".to_owned(), "two counters are called 'pgfault'");
    refused(|all| all.runs[0].counters.columns[1].values.truncate(2), "counter pgfault: 2 values, expected 3");
    refused(
        |all| all.runs[0].phases[0].at_end.truncate(1),
        "counters at the end of phase 'prepare': 1 values, expected 3",
    );
    refused(|all| all.runs[0].phases[1].end = Nanos::ZERO, "phase 'measure-3' ends before it begins");
}

#[test]
fn names_that_cannot_be_those_of_files_are_refused() {
    let titled = |title: &'static str| {
        move |all: &mut Experiment| {
            all.inputs.policies[0].title = title.to_owned();
            all.runs.iter_mut().filter(|run| run.policy == "linux-5.0").for_each(|run| run.policy = title.to_owned());
        }
    };
    for title in ["", "..", "../x", "a/b", ".hidden", "a\nb"] {
        refused(titled(title), "cannot name a file");
    }
    refused(|all| all.inputs.workload.name = "use/mem".to_owned(), "workload 'use/mem' cannot name a file");
    refused(|all| all.runs[0].traces.monitors[0].name = "../../x".to_owned(), "monitor '../../x' cannot name a file");
    refused(
        |all| all.runs[0].traces.monitors[0].name = "proc-vmstat".to_owned(),
        "two files of the run have this name",
    );
}

#[test]
fn an_extra_file_cannot_replace_one_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::new(&folder.path().join("run"), Existing::Keep).unwrap();
    for (name, expected) in [("manifest.toml", "two files"), ("latencies.parquet", "two files"), ("a/b", "cannot name")]
    {
        let extra = ExtraFile { name: name.to_owned(), content: Vec::new() };
        let error = target.write(&experiment(), &[extra]).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn a_sample_of_another_run_is_found() {
    let mut other = Run::new("a", 0);
    let id: OperationId = other.operation("x", Unit::Count);
    let mut run = Run::new("a", 0);
    run.samples.push(Sample { operation: id, at: Nanos::ZERO, value: 1.0 });
    assert_eq!(run.check(), Err(Problem::UnknownOperation { index: 0, operation: 0, operations: 0 }));
}
