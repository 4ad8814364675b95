//! The digest of everything in this repository that decides what a cell gives: sources of the engine, of the lab and of statistics, and
//! the versions of their dependencies. It is the same on every platform, as results are.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

use xxhash_rust::xxh3::xxh3_128;

/// Folders and files that decide, from the top folder on.
const DECIDES: &[&str] = &[
    "Cargo.lock",
    "crates/frames/src",
    "crates/guard/src",
    "crates/import/src",
    "crates/lab/src",
    "crates/machine/src",
    "crates/measures/src",
    "crates/mm/src",
    "crates/policy/src",
    "crates/procfs/src",
    "crates/record/src",
    "crates/report/src/stats",
    "crates/snapshot/src",
    "crates/sweep/src/measures.rs",
    "crates/units/src",
    "crates/workloads/src",
];

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for path in DECIDES.iter().map(|path| root.join(path)).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
        collect(&path, &mut files)?;
    }
    files.sort();
    let mut text = env::var("CARGO_PKG_VERSION").expect("cargo sets it").into_bytes();
    for file in files {
        let name = file.strip_prefix(&root).expect("it was found there").to_string_lossy().replace('\\', "/");
        text.extend(name.into_bytes());
        text.extend(xxh3_128(&fs::read(&file)?).to_le_bytes());
    }
    println!("cargo::rustc-env=ORDER9_ENGINE={:032x}", xxh3_128(&text));
    Ok(())
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    } else {
        files.push(path.to_owned());
    }
    Ok(())
}
