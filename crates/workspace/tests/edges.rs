//! The list of allowed dependencies between the crates of this workspace.
//!
//! A crate stays small and testable by what it does not know: see "What each crate must never know" in
//! docs/architecture.md. A new edge is a decision about the design: it is made there and here, in one commit.

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use std::collections::BTreeSet;

const PREFIX: &str = "order9-";

/// For every crate, the crates of the workspace that it may use. `cli` stands above all and may use any.
const ALLOWED: &[(&str, &[&str])] = &[
    ("units", &[]),
    ("escape", &[]),
    ("frames", &["units"]),
    ("mm", &["units", "frames"]),
    ("procfs", &["units", "mm"]),
    ("workloads", &["units"]),
    ("machine", &["units", "mm", "procfs", "workloads", "guard"]),
    ("guard", &["units", "toml"]),
    ("calibrate", &["trace"]),
    ("trace", &[]),
    ("journal", &[]),
    ("apply", &["escape", "journal", "procfs", "toml"]),
    ("live", &["units", "workloads", "calibrate", "trace", "journal"]),
    ("guest", &["apply", "live", "calibrate"]),
    ("snapshot", &["units", "escape"]),
    ("host", &["units", "snapshot"]),
    ("import", &["units", "mm", "procfs", "snapshot"]),
    ("policy", &["mm", "toml"]),
    ("toml", &["escape"]),
    (
        "lab",
        &[
            "units",
            "mm",
            "procfs",
            "machine",
            "workloads",
            "snapshot",
            "import",
            "policy",
            "record",
            "report",
            "toml",
            "escape",
            "guard",
        ],
    ),
    (
        "advise",
        &[
            "guard",
            "policy",
            "units",
            "mm",
            "procfs",
            "machine",
            "workloads",
            "snapshot",
            "import",
            "lab",
            "measures",
            "record",
            "report",
            "sweep",
            "toml",
        ],
    ),
    ("measures", &["units", "record", "report", "toml"]),
    ("sweep", &["units", "escape", "procfs", "workloads", "lab", "measures", "record", "report", "toml"]),
    ("referee", &["units", "host", "live", "calibrate", "record", "snapshot"]),
    ("record", &["units", "escape"]),
    ("report", &["units", "snapshot", "escape"]),
    ("html", &["units", "snapshot", "record", "report", "lab", "fleet"]),
    ("export", &["units", "record", "report", "snapshot"]),
    ("fleet", &["units", "advise", "lab", "record", "report", "snapshot"]),
    ("testkit", &["units", "mm", "procfs"]),
    (
        "python",
        &[
            "units",
            "mm",
            "procfs",
            "machine",
            "workloads",
            "snapshot",
            "host",
            "html",
            "import",
            "policy",
            "lab",
            "record",
            "report",
            "export",
            "toml",
            "sweep",
        ],
    ),
    (
        "cli",
        &[
            "advise",
            "apply",
            "guard",
            "journal",
            "toml",
            "units",
            "escape",
            "export",
            "fleet",
            "mm",
            "procfs",
            "machine",
            "workloads",
            "snapshot",
            "host",
            "html",
            "import",
            "policy",
            "lab",
            "live",
            "calibrate",
            "referee",
            "record",
            "report",
            "sweep",
        ],
    ),
    ("workspace", &[]),
    ("mutants", &[]),
    (
        "fuzz",
        &[
            "fleet",
            "guard",
            "host",
            "import",
            "lab",
            "live",
            "mm",
            "policy",
            "procfs",
            "record",
            "referee",
            "report",
            "snapshot",
            "sweep",
            "testkit",
            "trace",
            "units",
            "workloads",
        ],
    ),
];

/// Crates that every crate may have as a development dependency: what only tests, benches and fuzz targets use, and the
/// built-in policies, for what must hold under all of them.
const FOR_TESTS: &[&str] = &["testkit", "policy"];

/// The members of the workspace as cargo sees them; nothing is resolved, so neither network nor lock file is needed.
fn workspace() -> Metadata {
    MetadataCommand::new().no_deps().exec().expect("`cargo metadata` describes this workspace")
}

/// Name without the common prefix: the name of the folder.
fn short(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// The row of `package` in [`ALLOWED`].
fn allowed(package: &Package) -> &'static [&'static str] {
    let name = short(&package.name);
    let row = ALLOWED.iter().find(|(of, _)| *of == name);
    row.unwrap_or_else(|| panic!("crate {name} has no row in ALLOWED: say there what it may depend on")).1
}

/// The package called `name`, without prefix.
fn package<'a>(workspace: &'a Metadata, name: &str) -> &'a Package {
    let found = workspace.packages.iter().find(|package| short(&package.name) == name);
    found.unwrap_or_else(|| panic!("no crate {name} in the workspace"))
}

/// Names of what `package` needs to be built, as `kept` selects; its tests may need more.
fn needs(package: &Package, kept: impl Fn(&cargo_metadata::Dependency) -> bool) -> BTreeSet<&str> {
    let built = package.dependencies.iter().filter(|dependency| dependency.kind != DependencyKind::Development);
    built.filter(|dependency| kept(dependency)).map(|dependency| dependency.name.as_str()).collect()
}

#[test]
fn crates_depend_only_on_those_they_may_know() {
    let workspace = workspace();
    let mut forbidden = Vec::new();
    for package in &workspace.packages {
        let allowed = allowed(package);
        for dependency in &package.dependencies {
            let Some(target) = dependency.name.strip_prefix(PREFIX) else { continue };
            let for_tests = dependency.kind == DependencyKind::Development && FOR_TESTS.contains(&target);
            if !allowed.contains(&target) && !for_tests {
                forbidden.push(format!("{} -> {target} ({})", short(&package.name), dependency.kind));
            }
        }
    }
    assert!(forbidden.is_empty(), "not in the list of allowed dependencies: {forbidden:#?}");
}

#[test]
fn the_engine_needs_nothing_but_frames_and_units() {
    let workspace = workspace();
    assert_eq!(needs(package(&workspace, "frames"), |_| true), BTreeSet::from(["order9-units"]));
    assert_eq!(needs(package(&workspace, "mm"), |_| true), BTreeSet::from(["order9-frames", "order9-units"]));
}

#[test]
fn the_units_need_nothing_that_is_not_optional() {
    let workspace = workspace();
    let units = package(&workspace, "units");
    assert_eq!(needs(units, |dependency| !dependency.optional), BTreeSet::new());
    assert_eq!(units.features.get("default"), None, "a default feature would bring the optional ones back");
}

#[test]
fn a_crate_is_found_where_its_name_says() {
    for package in &workspace().packages {
        let folder = package.manifest_path.parent().and_then(|folder| folder.file_name());
        assert_eq!(folder, Some(short(&package.name)), "folder of {}", package.name);
    }
}

#[test]
fn every_crate_may_be_used_under_both_licences() {
    for package in &workspace().packages {
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "licence of {}", package.name);
    }
}
