//! Cells that are kept until all have ended.

use std::fs;

use order9_record::{Begin, Digest, Existing, ExtraFile, Kept, Target, WriteError};

use crate::sample::experiment;

#[test]
fn a_cell_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::new(&folder.path().join("run"), Existing::Keep).unwrap();
    let (experiment, build) = (experiment(), Digest::of_bytes(b"this program"));
    let open = |begin| target.partial(build, &experiment.inputs, begin);
    let (partial, left) = open(Begin::New).unwrap();
    assert!(left.is_empty());
    let files = [ExtraFile { name: "a.o9snap".to_owned(), content: vec![0, 200, 255] }];
    experiment.runs.iter().for_each(|run| partial.keep(&experiment.inputs, run, &files).unwrap());
    assert!(matches!(open(Begin::Resume), Err(WriteError::Busy { .. })));
    drop(partial);

    assert!(matches!(open(Begin::New), Err(WriteError::Unfinished { cells: 3, .. })));
    let (partial, left) = open(Begin::Resume).unwrap();
    let expected = experiment.runs.iter().map(|run| Kept {
        inputs: experiment.inputs.clone(),
        run: run.clone(),
        files: files.to_vec(),
    });
    let mut left = left;
    left.sort_by_key(|kept| (kept.run.policy.clone(), kept.run.seed));
    assert_eq!(left, expected.collect::<Vec<_>>());
    assert_eq!(partial.command(), experiment.inputs.command);
    partial.remove().unwrap();
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn only_the_same_can_be_continued() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::new(&folder.path().join("run"), Existing::Keep).unwrap();
    let (experiment, build) = (experiment(), Digest::of_bytes(b"this program"));
    drop(target.partial(build, &experiment.inputs, Begin::New).unwrap());
    let mut other = experiment.inputs.clone();
    other.command = vec!["order9".to_owned(), "--resume".to_owned()];
    drop(target.partial(build, &other, Begin::Resume).unwrap());
    other.seeds.push(9);
    other.cmdline.clear();
    let differs = |build, inputs| target.partial(build, inputs, Begin::Resume).unwrap_err().to_string();
    assert!(differs(build, &other).ends_with("it differs in kernel command line, seeds"));
    assert!(differs(Digest::of_bytes(b"another"), &experiment.inputs).ends_with("it differs in program"));
}

#[test]
fn the_digest_of_inputs_is_that_of_what_decides_results() {
    let inputs = experiment().inputs;
    let mut other = inputs.clone();
    other.command = vec!["order9".to_owned(), "reproduce".to_owned()];
    assert_eq!(other.digest().unwrap(), inputs.digest().unwrap());
    other.seeds.push(9);
    assert_ne!(other.digest().unwrap(), inputs.digest().unwrap());
}

#[test]
fn every_damage_of_a_cell_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let target = Target::new(&folder.path().join("run"), Existing::Keep).unwrap();
    let (experiment, build) = (experiment(), Digest::of_bytes(b"this program"));
    let (partial, _) = target.partial(build, &experiment.inputs, Begin::New).unwrap();
    partial.keep(&experiment.inputs, &experiment.runs[0], &[]).unwrap();
    let cell = fs::read_dir(partial.directory()).unwrap().map(|entry| entry.unwrap().path());
    let cell = cell.into_iter().find(|path| path.extension().is_some_and(|ending| ending == "cell")).unwrap();
    drop(partial);
    let whole = fs::read(&cell).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&cell, bytes).unwrap();
        let (partial, left) = target.partial(build, &experiment.inputs, Begin::Resume).unwrap();
        assert!(left.is_empty(), "byte {at}");
        drop(partial);
    }
    fs::write(&cell, &whole[..whole.len() / 2]).unwrap();
    assert!(target.partial(build, &experiment.inputs, Begin::Resume).unwrap().1.is_empty());
}
