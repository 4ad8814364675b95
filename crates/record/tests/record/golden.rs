//! The text files of a small run, compared with files in `golden/`.
//!
//! After a wanted change: `UPDATE_GOLDEN=1 cargo test -p order9-record`, then read the difference.

use std::fs;
use std::io::Read;
use std::path::Path;

use order9_record::{Existing, ExtraFile, Target};

use crate::sample::experiment;

#[track_caller]
fn compare(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/record/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, actual).expect("golden files can be written");
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(actual == expected, "{} differs from what is written now:\n{actual}", path.display());
}

fn gunzip(path: &Path) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).expect("gzip of UTF-8");
    text
}

/// All text files of one cell behind their names. Bytes of Parquet and gzip depend on the version of a library and are
/// compared with themselves only.
#[test]
fn a_small_run() {
    let folder = tempfile::tempdir().unwrap();
    let directory = folder.path().join("run");
    let extra = [ExtraFile { name: "report.txt".to_owned(), content: b"a table\n".to_vec() }];
    let manifest = Target::new(&directory, Existing::Keep).unwrap().write(&experiment(), &extra).unwrap();

    let paths: Vec<&str> = manifest.files.iter().map(|file| file.path.as_str()).collect();
    compare("files.txt", &(paths.join("\n") + "\n"));

    let mut cell = String::new();
    for path in paths.iter().filter(|path| path.starts_with("linux-5.0/iter-1/")) {
        let file = directory.join(path);
        let text = if path.ends_with(".gz") { gunzip(&file) } else { fs::read_to_string(&file).unwrap() };
        cell += &format!("==> {path}\n{text}");
    }
    compare("cell.txt", &cell);

    let text = fs::read_to_string(directory.join("manifest.toml")).unwrap();
    let (before_files, _) = text.split_once("[[files]]").expect("a list of files");
    compare("manifest.txt", before_files);
}
