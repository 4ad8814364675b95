//! `make install` and `make uninstall`, from the command that is tested.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the script below `root`, with the prefix /usr/local.
fn script(root: &Path, words: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/install.sh");
    let mut command = Command::new("bash");
    command.arg(script).args(words).env("DESTDIR", root).env("PREFIX", "/usr/local");
    command.output().expect("bash is there")
}

fn install(root: &Path) {
    let output = script(root, &["install", env!("CARGO_BIN_EXE_order9")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// All paths below a folder.
fn tree(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { tree(&path) } else { BTreeSet::new() }.into_iter().chain([path]))
        .collect()
}

#[test]
fn an_installation_is_complete_and_goes_without_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let prefix = folder.path().join("usr/local");
    let foreign = prefix.join("share/man/man1/foreign.1");
    fs::create_dir_all(foreign.parent().unwrap()).unwrap();
    fs::write(&foreign, "").unwrap();
    let before = tree(folder.path());
    install(folder.path());
    for file in [
        "share/bash-completion/completions/order9",
        "share/zsh/site-functions/_order9",
        "share/fish/vendor_completions.d/order9.fish",
        "share/man/man1/order9-run.1",
        "share/doc/order9/LICENSE-MIT",
        "share/doc/order9/LICENSE-APACHE",
        "share/order9/scenarios/defrag-modes.toml",
        "share/order9/sweeps/proactiveness.toml",
        "share/order9/claims/002-stutter.toml",
    ] {
        let found = fs::metadata(prefix.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(found.len() > 0 && found.permissions().mode() & 0o777 == 0o644, "{file}: {found:?}");
    }
    let version = Command::new(prefix.join("bin/order9")).arg("--version").output().unwrap();
    assert_eq!(String::from_utf8(version.stdout).unwrap(), format!("order9 {}\n", env!("CARGO_PKG_VERSION")));

    // An installation over an older one leaves nothing of that behind.
    let stale = prefix.join("share/order9/stale");
    fs::write(&stale, "").unwrap();
    let list = prefix.join("share/order9/installed");
    let listed = fs::read_to_string(&list).unwrap();
    fs::write(&list, listed.clone() + "share/order9/stale\n").unwrap();
    install(folder.path());
    assert!(!stale.exists());
    assert_eq!(fs::read_to_string(&list).unwrap(), listed);

    assert!(script(folder.path(), &["uninstall"]).status.success());
    assert_eq!(tree(folder.path()), before, "everything of order9 went, and nothing else");
    let again = script(folder.path(), &["uninstall"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8(again.stderr).unwrap().starts_with("order9: nothing to remove"));
}

#[test]
fn a_list_that_leads_out_of_the_prefix_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    install(folder.path());
    let precious = folder.path().join("precious");
    fs::write(&precious, "").unwrap();
    fs::write(folder.path().join("usr/local/share/order9/installed"), "../../precious\n").unwrap();
    assert_eq!(script(folder.path(), &["uninstall"]).status.code(), Some(2));
    assert!(precious.exists());
}
