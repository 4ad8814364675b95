//! A folder with a machine of 256 MiB, plans on it, and sweeps without anybody who watches.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use order9_sweep::{Done, Folder, Making, Plan, PlanFileError, Progress, Swept, sweep};
use order9_units::Bytes;

pub(crate) const AVAILABLE: Bytes = Bytes::from_gib(2);

/// Nobody.
pub(crate) struct Nobody;

impl Progress for Nobody {}

pub(crate) struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let tables = "[reserved.boot_tables]\nsize = \"1 MiB\"\nsource = \"Made up: small.\"\n";
        let node = "[[nodes]]\nmemory = \"256 MiB\"\ncpus = 2\ndistances = [10]\n";
        let machine = format!("base = \"xeon-1s\"\n{node}{tables}");
        std::fs::write(folder.path().join("tiny.toml"), machine).expect("the file can be written");
        Self { folder }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A plan in this folder.
    pub(crate) fn plan(&self, text: &str) -> Result<Plan, PlanFileError> {
        let file = self.path("plan.toml");
        std::fs::write(&file, text).expect("the file can be written");
        Plan::read(file.to_str().expect("UTF-8"), AVAILABLE)
    }

    /// The sentence with which a plan is refused, without the folder.
    pub(crate) fn refusal(&self, text: &str) -> String {
        let error = self.plan(text).expect_err("it is wrong").to_string();
        error.replace(&format!("{}/", self.folder.path().display()), "")
    }
}

/// A plan of two policies and two sizes on the tiny machine: 4 points, 8 cells.
pub(crate) const SMALL: &str = "\
workload = \"map-and-write\"
machine = \"tiny.toml\"
policies = [\"linux-5.0\", \"linux-6.18\"]
seeds = 2
[axes.parameters]
size = [\"8M\", \"16M\"]
";

/// Runs the whole plan.
pub(crate) fn run(plan: &Plan, root: &Path, jobs: usize) -> Swept {
    let folder = Folder::open(root, None).expect("a free folder");
    let stop = AtomicBool::new(false);
    let making = Making { jobs: NonZeroUsize::new(jobs).expect("some"), available: AVAILABLE, stop: &stop };
    sweep(plan, plan.points(), &folder, making, &Nobody).expect("it can run")
}

/// All cells of a folder, by name.
pub(crate) fn cells(root: &Path) -> Vec<Done> {
    let folder = Folder::open(root, None).expect("a free folder");
    let names = folder.names().expect("readable");
    names.into_iter().map(|name| folder.get(name).expect("readable").expect("whole")).collect()
}

/// Results of cells, without the times of the host.
pub(crate) fn results(root: &Path) -> Vec<Done> {
    cells(root).into_iter().map(|done| Done { host: order9_sweep::HostTimes::default(), ..done }).collect()
}
