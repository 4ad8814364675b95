//! The test binaries of the copy: built once, and asked for one test at a time.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{fs, io};

use serde::Deserialize;

use crate::error::Error;
use crate::tree::Tree;

/// A test binary.
#[derive(Clone, Debug)]
pub(crate) struct Binary {
    /// Folder of its crate, and its target unless that is the library: `mm`, `mm/procfs`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Folder of the crate: tests find their data from there.
    pub(crate) folder: PathBuf,
    /// Differs where the binary, a program of its crate or data that tests read are not as they were.
    pub(crate) fingerprint: u64,
}

/// Defect with which a test runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum With<'a> {
    /// The defect of this number; 0 is none.
    Defect(usize),
    /// No defect, and a file that takes the numbers of the places that it comes by.
    Record(&'a Path),
}

/// Message of cargo about one thing that it has built.
#[derive(Deserialize)]
struct Message {
    reason: String,
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// An executable that cargo has built.
struct Built {
    binary: Binary,
    is_test: bool,
}

/// Builds the tests of `crates` in the copy, of all where none is named; in the order of their names.
pub(crate) fn build(tree: &Tree, crates: &[String]) -> Result<Vec<Binary>, Error> {
    eprintln!("building the tests with every defect in them");
    let packages = match crates {
        [] => vec!["--workspace".to_owned()],
        names => names.iter().map(|name| format!("--package=order9-{name}")).collect(),
    };
    let mut cargo = Command::new("cargo")
        .arg("test")
        .args(packages)
        .args(["--lib", "--bins", "--tests", "--no-run", "--message-format=json-render-diagnostics"])
        .current_dir(tree.copy())
        // Nobody looks at a backtrace here, and the switches bring warnings that say nothing.
        .env("CARGO_TARGET_DIR", tree.work.join("build"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("RUSTFLAGS", "-Awarnings")
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| Error::file("cargo", error))?;
    let lines = BufReader::new(cargo.stdout.take().expect("it is piped")).lines().map_while(Result::ok);
    let built: Vec<Built> = lines.filter_map(|line| serde_json::from_str(&line).ok().and_then(Built::of)).collect();
    if !cargo.wait().map_err(|error| Error::file("cargo", error))?.success() {
        return Err(Error::Build);
    }
    let (mut tests, programs): (Vec<Built>, Vec<Built>) = built.into_iter().partition(|built| built.is_test);
    let data = tree.data()?;
    for Built { binary, .. } in &mut tests {
        let own = programs.iter().filter(|program| program.binary.folder == binary.folder);
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        for path in own.map(|program| &program.binary.path).chain([&binary.path]) {
            fs::read(path).map_err(|error| Error::file(path, error))?.hash(&mut hasher);
        }
        binary.fingerprint = hasher.finish();
    }
    let mut binaries: Vec<Binary> = tests.into_iter().map(|built| built.binary).collect();
    binaries.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(binaries)
}

impl Built {
    fn of(message: Message) -> Option<Self> {
        let Message { reason, manifest_path, target, profile, executable } = message;
        let (target, folder) = (target?, manifest_path?.parent()?.to_owned());
        if reason != "compiler-artifact" {
            return None;
        }
        let package = folder.file_name()?.to_string_lossy().into_owned();
        let is_library = target.kind.iter().any(|kind| kind.ends_with("lib"));
        let name = if is_library { package } else { format!("{package}/{}", target.name) };
        let binary = Binary { name, path: executable?, folder, fingerprint: 0 };
        Some(Self { binary, is_test: profile?.test })
    }
}

impl Binary {
    /// Names of its tests.
    pub(crate) fn tests(&self) -> Result<Vec<String>, Error> {
        let listed = Command::new(&self.path).args(["--list", "--format=terse"]).current_dir(&self.folder).output();
        let listed = listed.and_then(|listed| String::from_utf8(listed.stdout).map_err(io::Error::other));
        let listed = listed.map_err(|error| Error::file(&self.path, error))?;
        Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }

    /// Runs one test and nothing else.
    pub(crate) fn command(&self, test: &str, with: With<'_>) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["--exact", test]).current_dir(&self.folder);
        match with {
            With::Defect(number) => command.env("ORDER9_MUTANT", number.to_string()),
            With::Record(file) => command.env("ORDER9_MUTANT_REACHED", file),
        };
        // The same cases for every defect; and a finding that is saved would be tried by all later ones.
        command.env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true").env("PROPTEST_RNG_SEED", "9");
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(json: &str) -> Option<(String, bool)> {
        let built = Built::of(serde_json::from_str(json).expect("a message"))?;
        Some((built.binary.name, built.is_test))
    }

    #[test]
    fn binaries_are_called_by_their_crate_and_target() {
        let message = |reason: &str, name: &str, kind: &str, test: bool| {
            let target = format!(r#"{{"name":"{name}","kind":["{kind}"]}}"#);
            let head = format!(r#"{{"reason":"{reason}","manifest_path":"/a/crates/mm/Cargo.toml","target":{target}"#);
            built(&format!(r#"{head},"profile":{{"test":{test}}},"executable":"/b/c"}}"#))
        };
        let artifact = "compiler-artifact";
        assert_eq!(message(artifact, "order9_mm", "lib", true), Some(("mm".to_owned(), true)));
        assert_eq!(message(artifact, "procfs", "test", true), Some(("mm/procfs".to_owned(), true)));
        assert_eq!(message(artifact, "order9", "bin", false), Some(("mm/order9".to_owned(), false)));
        assert_eq!(message("build-script-executed", "order9_mm", "lib", true), None);
    }
}
