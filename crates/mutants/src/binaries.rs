//! The test binaries of the copy: built once, and run with a defect on.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde::Deserialize;

use crate::error::Error;
use crate::tree::Tree;

/// The most memory that a test binary may ask for: a defect may make it ask for ever more.
const MEMORY_MAX: u64 = 16 << 30;

/// A test binary.
#[derive(Clone, Debug)]
pub(crate) struct Binary {
    /// Folder of its crate, and its target unless that is the library: `mm`, `mm/procfs`.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    /// Folder of the crate: tests find their data from there.
    folder: PathBuf,
}

/// How a run of a binary ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Every test passed.
    Passed,
    /// This test failed, or was under way when the binary died.
    Failed(String),
    /// Its time was up.
    TooLong,
}

/// What cargo says of each thing that it has built.
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

/// Builds the tests of `crates` in the copy; of all where none is named.
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
    let mut binaries: Vec<Binary> = Vec::new();
    for line in BufReader::new(cargo.stdout.take().expect("it is piped")).lines().map_while(Result::ok) {
        binaries.extend(serde_json::from_str::<Message>(&line).ok().and_then(Binary::of));
    }
    let built = cargo.wait().map_err(|error| Error::file("cargo", error))?.success();
    if built { Ok(binaries) } else { Err(Error::Build) }
}

impl Binary {
    fn of(message: Message) -> Option<Self> {
        let Message { reason, manifest_path, target, profile, executable } = message;
        let (target, folder) = (target?, manifest_path?.parent()?.to_owned());
        if reason != "compiler-artifact" || !profile?.test {
            return None;
        }
        let package = folder.file_name()?.to_string_lossy().into_owned();
        let is_library = target.kind.iter().any(|kind| kind.ends_with("lib"));
        let name = if is_library { package } else { format!("{package}/{}", target.name) };
        Some(Self { name, path: executable?, folder })
    }

    /// Folder of its crate: `mm`.
    pub(crate) fn package(&self) -> &str {
        self.name.split('/').next().unwrap_or(&self.name)
    }

    /// What runs it by hand with a defect on.
    pub(crate) fn command(&self, mutant: usize) -> String {
        format!("cd {} && ORDER9_MUTANT={mutant} {}", self.folder.display(), self.path.display())
    }

    /// Runs the tests that `filter` selects, one after the other, up to the first that fails or until `limit` is over.
    pub(crate) fn run(&self, mutant: usize, filter: &[&str], limit: Duration) -> Result<End, Error> {
        let fail = |error| Error::file(&self.path, error);
        let mut child = Command::new(&self.path)
            .args(["--test-threads=1"])
            .args(filter)
            .current_dir(&self.folder)
            .env("ORDER9_MUTANT", mutant.to_string())
            // The same cases for every defect; and a finding that is saved would be tried by all later ones.
            .env("PROPTEST_DISABLE_FAILURE_PERSISTENCE", "true")
            .env("PROPTEST_RNG_SEED", "9")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(fail)?;
        let out = child.stdout.take().expect("it is piped");
        // The host may be busy with other things: a run that is waiting for a CPU is not one that goes in circles.
        let seconds = limit.as_secs().max(1);
        restrict(&child, Resource::Cpu, seconds)
            .and_then(|()| restrict(&child, Resource::As, MEMORY_MAX))
            .map_err(fail)?;
        let end = watch(out, Instant::now() + 20 * limit);
        if end.as_ref().is_none_or(|end| *end != End::Passed) {
            let _ = child.kill();
        }
        let status = child.wait().map_err(fail)?;
        Ok(end.unwrap_or(End::TooLong).and(status))
    }
}

fn restrict(child: &Child, what: Resource, most: u64) -> std::io::Result<()> {
    // At the second limit the kernel kills without a word.
    let limit = Rlimit { current: Some(most), maximum: Some(most + 5) };
    match prlimit(Pid::from_raw(child.id() as i32), what, limit) {
        // It has ended already.
        Ok(_) | Err(rustix::io::Errno::SRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl End {
    /// The same with what the exit status says.
    fn and(self, status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt;
        const XCPU: i32 = 24;
        match self {
            Self::Failed(_) if status.signal() == Some(XCPU) => Self::TooLong,
            Self::Passed if !status.success() => Self::Failed("(exit status)".to_owned()),
            end => end,
        }
    }
}

/// What the binary says until it ends or a test fails; `None` where it says nothing until `until`.
fn watch(out: impl Read + Send + 'static, until: Instant) -> Option<End> {
    let (lines, said) = channel();
    std::thread::spawn(move || read(BufReader::new(out), &lines));
    loop {
        match said.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                if let Some(end) = judge(&line) {
                    return Some(end);
                }
            }
            Err(RecvTimeoutError::Timeout) => return None,
            Err(RecvTimeoutError::Disconnected) => return Some(End::Passed),
        }
    }
}

fn read(mut out: impl BufRead, lines: &Sender<String>) {
    let mut line = Vec::new();
    while out.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
            return;
        }
        line.clear();
    }
}

/// What a line of a test binary says: `test NAME ... ok`. The last one is cut off where the binary died.
fn judge(line: &str) -> Option<End> {
    let (name, said) = line.strip_prefix("test ")?.split_once(" ... ")?;
    let name = name.strip_suffix(" - should panic").unwrap_or(name);
    let is_whole = said.ends_with('\n');
    (!is_whole || said.trim_end().ends_with("FAILED")).then(|| End::Failed(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(text: &'static str) -> Option<End> {
        watch(text.as_bytes(), Instant::now() + Duration::from_secs(60))
    }

    #[test]
    fn the_first_test_that_fails_or_dies_ends_a_run() {
        let failed = |name: &str| Some(End::Failed(name.to_owned()));
        assert_eq!(
            says("\nrunning 2 tests\ntest a ... ok\ntest b ... ignored\n\ntest result: ok. 2 passed\n"),
            Some(End::Passed)
        );
        assert_eq!(says("test a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n"), failed("b::c"));
        assert_eq!(says("test a ... ok\ntest b - should panic ... FAILED\n"), failed("b"));
        assert_eq!(says("test a ... ok\ntest b ... "), failed("b"), "it died");
    }

    #[test]
    fn a_run_that_says_nothing_is_over_at_some_time() {
        let (silent, _kept) = std::io::pipe().expect("a pipe can be made");
        assert_eq!(watch(silent, Instant::now() + Duration::from_millis(10)), None);
    }
}
