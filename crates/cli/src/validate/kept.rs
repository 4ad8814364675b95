//! Runs of an earlier validation: what a kernel did then stands, and only the lab runs anew.

use std::fs;
use std::path::{Path, PathBuf};

use order9_lab::live_inputs;
use order9_lab::machines::MachineSpec;
use order9_lab::scenario::LivePlan;
use order9_record::{Run, read};
use order9_snapshot::{Snapshot, format};
use order9_workloads::Parameters;

use super::about::About;
use super::part::folder_of_start;
use super::place::{ABOUT, REAL, START, folder_of};
use super::{Referee, usage};
use crate::failure::Failure;

/// Runs of one kernel.
pub(super) struct Kept {
    /// Folder with a folder for each experiment.
    folder: PathBuf,
    machine: Option<MachineSpec>,
    /// The folders of the experiment that was started last, one for each memory, and the kernel there: boots differ in what they leave free.
    current: Vec<(PathBuf, About)>,
}

impl Kept {
    /// Folders of kernels below the directory of a validation.
    pub(super) fn kernels(root: &Path) -> Result<Vec<PathBuf>, Failure> {
        let entries = fs::read_dir(root).map_err(|error| Failure::file(root, error))?;
        let entries = entries.collect::<Result<Vec<_>, _>>().map_err(|error| Failure::file(root, error))?;
        let mut folders: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        Ok(folders)
    }

    pub(super) fn new(folder: &Path, machine: Option<MachineSpec>) -> Self {
        Self { folder: folder.to_owned(), machine, current: Vec::new() }
    }

    /// Whether an experiment has runs from one memory, which have no folder of that memory.
    pub(super) fn is_single(&self, experiment: &str) -> bool {
        self.folder.join(folder_of(experiment)).join(ABOUT).exists()
    }

    /// Number of memories from which runs of an experiment started.
    pub(super) fn memories(&self, experiment: &str) -> usize {
        self.folders(experiment).len()
    }

    /// The folders of an experiment that hold runs, one for each memory from which runs started.
    fn folders(&self, experiment: &str) -> Vec<PathBuf> {
        let folder = self.folder.join(folder_of(experiment));
        let has_runs = |folder: &PathBuf| folder.join(ABOUT).exists();
        if has_runs(&folder) {
            return vec![folder];
        }
        (0..).map(|start| folder.join(folder_of_start(start))).take_while(has_runs).collect()
    }
}

impl Referee for Kept {
    fn title(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn about(&self) -> About {
        self.current.first().expect("an experiment was started").1.clone()
    }

    fn has(&self, experiment: &str) -> bool {
        !self.folders(experiment).is_empty()
    }

    fn storage(&self) -> Option<&MachineSpec> {
        self.machine.as_ref()
    }

    fn starts(&mut self, experiment: &str) -> Result<usize, Failure> {
        self.current.clear();
        for folder in self.folders(experiment) {
            let path = folder.join(ABOUT);
            let text = fs::read_to_string(&path).map_err(|error| Failure::file(&path, error))?;
            let about = serde_json::from_str(&text).map_err(|error| Failure::file(&path, error))?;
            self.current.push((folder, about));
        }
        Ok(self.current.len())
    }

    fn start(&mut self, number: usize) -> Result<Snapshot, Failure> {
        let path = self.current[number].0.join(START);
        let content = fs::read(&path).map_err(|error| Failure::file(&path, error))?;
        format::read(&content[..]).map_err(|error| Failure::file(&path, error))
    }

    fn runs(&self, start: usize, plan: &LivePlan, parameters: &Parameters) -> Result<Vec<Run>, Failure> {
        let (folder, about) = &self.current[start];
        let directory = folder.join(REAL);
        let loaded = read(&directory).map_err(usage)?;
        let asked = live_inputs(plan, parameters, about.machine(), &[&self.title()]);
        let differences = loaded.manifest.inputs.differences(&asked);
        if !differences.is_empty() {
            let names = differences.join(", ");
            return Err(Failure::file(&directory, format!("these runs differ from what is asked for in: {names}")));
        }
        Ok(loaded.runs)
    }

    fn is_new(&self, _: usize) -> bool {
        false
    }
}
