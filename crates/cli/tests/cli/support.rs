//! Runs the command as a user would, away from any terminal and without settings of the caller.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The host, for one test at a time: some change its settings for a while, and others look at them.
pub(crate) fn host_alone() -> MutexGuard<'static, ()> {
    static HOST: Mutex<()> = Mutex::new(());
    HOST.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs `order9` with `args`.
pub(crate) fn order9<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_order9"));
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM"] {
        command.env_remove(variable);
    }
    let output = command.args(args).env("TERM", "dumb").output().expect("the command starts");
    Ran {
        status: output.status.code().expect("the command ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("output is UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("messages are UTF-8"),
    }
}

/// Runs `order9` with the words of `line`; `{}` stands for `path`.
pub(crate) fn order9_line(line: &str, path: &Path) -> Ran {
    order9(line.split(' ').map(|word| word.replace("{}", path.to_str().expect("a UTF-8 path"))))
}

/// A folder with a machine of 256 MiB and two CPUs, `tiny.toml`.
pub(crate) fn folder_with_machine() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let tables = "[reserved.boot_tables]\nsize = \"1 MiB\"\nsource = \"Made up: small.\"\n";
    let node = "[[nodes]]\nmemory = \"256 MiB\"\ncpus = 2\ndistances = [10]\n";
    let machine = format!("base = \"xeon-1s\"\n{node}{tables}");
    std::fs::write(folder.path().join("tiny.toml"), machine).expect("the file can be written");
    folder
}

/// The arguments of a run that takes a tenth of a second. `{}` is the folder of [`folder_with_machine`].
pub(crate) const SHORT: &str =
    "usemem --machine {}/tiny.toml --param size=64M --param loops=1 --param iterations=2 --threads 1,2 --seeds 1";

/// [`SHORT`] with the default number of seeds.
pub(crate) fn short_repeated() -> &'static str {
    SHORT.strip_suffix(" --seeds 1").expect("its last argument")
}

/// A snapshot that is kept in the repository.
pub(crate) fn bundled(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data").join(name)
}

impl Ran {
    /// The one line of a refusal: status 2, nothing on standard output.
    #[track_caller]
    pub(crate) fn refusal(&self) -> &str {
        assert_eq!((self.status, self.stdout.as_str()), (2, ""), "{}", self.stderr);
        let line = self.stderr.strip_suffix('\n').expect("the message ends its line");
        assert!(line.starts_with("order9: ") && !line.contains('\n'), "expected one line, found:\n{line}");
        &line["order9: ".len()..]
    }

    /// Standard output of a success.
    #[track_caller]
    pub(crate) fn success(self) -> String {
        assert_eq!((self.status, self.stderr.as_str()), (0, ""), "{}", self.stdout);
        self.stdout
    }
}
