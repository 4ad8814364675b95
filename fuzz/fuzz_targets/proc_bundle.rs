//! Any bytes as copies of a host's files.
#![no_main]

use std::sync::LazyLock;

use tempfile::TempDir;

#[path = "../src/bundle.rs"]
mod bundle;
#[path = "../src/sections.rs"]
mod sections;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary directory can be made"));

libfuzzer_sys::fuzz_target!(|input: &[u8]| bundle::run(input, FOLDER.path()));
