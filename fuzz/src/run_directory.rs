//! Any bytes as the files of a run directory. Lengths and checksums of the manifest are made to match, which a fuzzer cannot
//! guess; the directory is read, or refused.

use std::fs;
use std::path::Path;

use order9_record::{Digest, Manifest, read};

use crate::sections::sections;

const FILES: [&str; 3] = ["manifest.toml", "latencies.parquet", "counters.parquet"];

/// Reads the files of `input`, which are put into `folder`; it holds nothing else.
pub(crate) fn run(input: &[u8], folder: &Path) {
    let root = folder.join("run");
    if root.exists() {
        fs::remove_dir_all(&root).expect("what was written can be removed");
    }
    fs::create_dir(&root).expect("a folder can be made");
    for (file, contents) in sections(input, &FILES) {
        let manifest = std::str::from_utf8(contents).ok().filter(|_| file == FILES[0]);
        match manifest.and_then(|text| Manifest::parse(text, Path::new(file)).ok()) {
            Some(manifest) => fs::write(root.join(file), matching(manifest, input)),
            None => fs::write(root.join(file), contents),
        }
        .expect("a file can be written");
    }
    if let Err(error) = read(&root) {
        let message = error.to_string();
        assert!(!message.is_empty());
    }
}

/// The text of a manifest that agrees with the other files of the input.
fn matching(mut manifest: Manifest, input: &[u8]) -> String {
    for (file, contents) in sections(input, &FILES) {
        if let Some(entry) = manifest.files.iter_mut().find(|entry| entry.path == file) {
            (entry.bytes, entry.digest) = (contents.len() as u64, Digest::of_bytes(contents));
        }
    }
    toml::to_string(&manifest).expect("a manifest can be written")
}
