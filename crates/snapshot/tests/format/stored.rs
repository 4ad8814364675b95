//! Files of earlier versions stay readable: those that the fuzz targets start from.

use std::fs;
use std::path::PathBuf;

use order9_snapshot::format::{Problem, read, write};

fn corpus() -> impl Iterator<Item = (String, Vec<u8>)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/snapshot_read");
    let entries = fs::read_dir(&directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    entries.map(|entry| {
        let path = entry.expect("a directory entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, fs::read(&path).expect("a readable file"))
    })
}

#[test]
fn stored_files_are_read_or_refused_as_before() {
    let mut read_files = 0;
    for (name, bytes) in corpus() {
        match (name.as_str(), read(bytes.as_slice())) {
            ("cut-off" | "header-only", Err(error)) => {
                assert!(matches!(error.problem, Problem::Truncated { .. }), "{name}: {error}");
            }
            (_, Ok(snapshot)) => {
                let mut copy = Vec::new();
                write(&snapshot, &mut copy).expect("what was read can be written");
                assert_eq!(read(copy.as_slice()).expect("and read again"), snapshot, "{name}");
                read_files += 1;
            }
            (_, Err(error)) => panic!("{name}: {error}"),
        }
    }
    assert!(read_files >= 6, "only {read_files} files");
}
