//! Damaged run directories are refused with the name of the file, and never panic.

use std::fs;
use std::path::{Path, PathBuf};

use order9_record::{Digest, Existing, Manifest, ReadError, Target, read, read_manifest};
use proptest::prelude::*;

use crate::sample::experiment;

const PARSED: [&str; 3] = ["manifest.toml", "latencies.parquet", "counters.parquet"];

fn written() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    Target::new(&directory, Existing::Keep).unwrap().write(&experiment(), &[]).unwrap();
    (folder, directory)
}

/// What is said when `change` was made to the manifest.
fn after(change: impl FnOnce(String) -> String) -> ReadError {
    let (_folder, directory) = written();
    let path = directory.join("manifest.toml");
    fs::write(&path, change(fs::read_to_string(&path).unwrap())).unwrap();
    read(&directory).unwrap_err()
}

#[test]
fn no_run() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().to_owned(), folder.path().join("absent")] {
        let error = read(&path).unwrap_err();
        assert!(matches!(error, ReadError::NoRun { .. }), "{error}");
    }
}

#[test]
fn another_version() {
    let error = after(|text| text.replacen("format = 1", "format = 2", 1)).to_string();
    assert!(error.contains("manifest.toml: format 2, expected 1: another version of order9 wrote it"), "{error}");
}

#[test]
fn a_manifest_that_is_none_is_refused_with_its_line() {
    let error = after(|text| text.replacen("order9 = ", "order9 = = ", 1));
    assert!(matches!(&error, ReadError::Manifest { line: 5, .. }), "{error}");
    let error = after(|text| text.replacen("unit = \"nanos\"", "unit = \"hours\"", 1)).to_string();
    assert!(error.contains("unknown variant `hours`, expected one of `nanos`"), "{error}");
    let error = after(|text| text.replacen("seed = 1", "seed = 2", 1));
    assert!(matches!(error, ReadError::Digest { .. }), "{error}");
}

#[test]
fn tables_that_are_not_those_that_were_written() {
    for name in &PARSED[1..] {
        let (_folder, directory) = written();
        let path = directory.join(name);
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        let error = read(&directory).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("bytes, expected"), "{error}");
        fs::remove_file(&path).unwrap();
        let error = read(&directory).unwrap_err();
        assert!(matches!(&error, ReadError::Io { file, .. } if file.ends_with(name)), "{error}");
    }
}

/// A manifest that somebody changed in places that no digest covers must agree with the tables all the same.
#[test]
fn a_manifest_that_contradicts_the_tables() {
    let error = after(|text| text.replacen("name = \"1-files/sec\"", "name = \"other\"", 1));
    assert!(matches!(&error, ReadError::Table { file, .. } if file.ends_with("latencies.parquet")), "{error}");
    let error =
        after(|text| text.replacen("[[cells.phases]]\nname = \"prepare\"\nbegin_ns = 0\nend_ns = 1000000000\n", "", 1));
    assert!(matches!(&error, ReadError::Table { .. }), "{error}");
}

fn read_changed(file: &str, directory: &Path, at: usize, byte: u8) -> (bool, Result<(), ReadError>) {
    let path = directory.join(file);
    let original = fs::read(&path).unwrap();
    let mut bytes = original.clone();
    let at = at % bytes.len();
    bytes[at] = byte;
    fs::write(&path, &bytes).unwrap();
    let result = read(directory).map(drop);
    fs::write(&path, &original).unwrap();
    (bytes == original, result)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_byte_may_change(changes in prop::collection::vec((0..PARSED.len(), any::<usize>(), any::<u8>()), 20)) {
        let (_folder, directory) = written();
        for (file, at, byte) in changes {
            let (same, result) = read_changed(PARSED[file], &directory, at, byte);
            prop_assert!(!same || result.is_ok());
            prop_assert!(same || file == 0 || result.is_err(), "{} changed at {at} unnoticed", PARSED[file]);
        }
    }

    /// With a checksum to match, which only a person could have written.
    #[test]
    fn any_byte_may_be_forged(changes in prop::collection::vec((1..PARSED.len(), any::<usize>(), any::<u8>()), 12)) {
        let (_folder, directory) = written();
        let manifest = read_manifest(&directory).unwrap();
        for (file, at, byte) in changes {
            let mut forged = manifest.clone();
            let entry = forged.files.iter_mut().find(|entry| entry.path == PARSED[file]).expect("a table");
            let original = fs::read(directory.join(&entry.path)).unwrap();
            let mut bytes = original.clone();
            let at = at % bytes.len();
            bytes[at] = byte;
            entry.digest = Digest::of_bytes(&bytes);
            fs::write(directory.join(&entry.path), &bytes).unwrap();
            fs::write(directory.join("manifest.toml"), toml::to_string(&forged).unwrap()).unwrap();
            if let Err(error) = read(&directory) {
                prop_assert!(matches!(error, ReadError::Table { .. }), "{error}");
            }
            fs::write(directory.join(PARSED[file]), &original).unwrap();
        }
    }

    #[test]
    fn any_text_may_stand_where_a_manifest_should(text in "\\PC{0,60}|format = 1\n(digest|inputs|cells) ?= ?[\\[{\"a-f0-9]{0,40}") {
        prop_assert!(Manifest::parse(&text, Path::new("manifest.toml")).is_err());
    }
}
