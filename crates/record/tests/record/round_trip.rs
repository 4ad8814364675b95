//! What is written is read back, and the same runs give the same bytes.

use order9_record::{Existing, Run, Target, read, read_manifest};

use crate::sample::{experiment, without_traces};

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
