//! Any bytes as the files of a run directory: what the fuzz target starts from, and such bytes with pieces changed.

use std::fs;
use std::path::Path;

use order9_record::{Existing, Target};
use proptest::prelude::*;

use crate::run_directory;
use crate::sample::experiment;

/// The files of a small run as one input.
fn small_run() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    Target::new(&directory, Existing::Keep).unwrap().write(&experiment(), &[]).unwrap();
    let file = |name: &str| [format!("== {name}\n").as_bytes(), &fs::read(directory.join(name)).unwrap()].concat();
    [file("manifest.toml"), file("latencies.parquet"), b"\n".to_vec(), file("counters.parquet")].concat()
}

#[test]
fn inputs_that_the_fuzzer_starts_from_are_read_or_refused() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/run_directory");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(corpus.join("small-run"), small_run()).expect("the corpus can be written");
    }
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = fs::read_dir(corpus).expect("there is a corpus").collect();
    assert!(files.len() >= 2);
    for file in files {
        run_directory::run(&fs::read(file.unwrap().path()).unwrap(), folder.path());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_of_a_run_may_change(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let (folder, mut input) = (tempfile::tempdir().unwrap(), small_run());
        for (at, byte) in changes {
            let at = at.index(input.len());
            input[at] = byte;
        }
        run_directory::run(&input, folder.path());
    }
}
