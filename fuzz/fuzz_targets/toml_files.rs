//! Any text as each kind of file that people write or keep: policy, machine, scenario, guard, plan of a sweep, manifest. None may panic, and a
//! refusal is one line.
#![no_main]

use std::fmt::Display;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use order9_guard::GuardFile;
use order9_lab::scenario::Scenario;
use order9_record::Manifest;
use order9_sweep::Plan;
use order9_units::Bytes;
use tempfile::TempDir;

static FOLDER: LazyLock<TempDir> = LazyLock::new(|| TempDir::new().expect("a temporary directory can be made"));

libfuzzer_sys::fuzz_target!(|text: &str| {
    let file = FOLDER.path().join("fuzzed.toml");
    fs::write(&file, text).expect("a file can be written there");
    let name = file.to_str().expect("temporary directories have plain names");
    one_line(order9_policy::load(name));
    one_line(order9_lab::machines::load(name));
    one_line(Scenario::named(name));
    one_line(GuardFile::parse(name, text));
    one_line(Plan::parse(name, text.to_owned(), Bytes::from_gib(1)));
    let _ = Manifest::parse(text, Path::new("manifest.toml"));
});

fn one_line<T, E: Display>(read: Result<T, E>) {
    if let Err(error) = read {
        let message = error.to_string();
        assert!(!message.chars().any(char::is_control), "{message:?}");
    }
}
