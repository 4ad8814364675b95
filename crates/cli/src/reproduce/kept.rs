//! Runs of a reproduction, each experiment in a directory named after the digest of its inputs: what is there already, and was
//! made by this build, is not made again.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use order9_lab::reproduce::Entry;
use order9_lab::{Plan, asked};
use order9_record::{
    Begin, Digest, Existing, ExtraFile, Partial, Run, Target, WriteError, read, read_file, read_manifest,
};

use crate::args::Layout;
use crate::failure::{Failure, io_sentence};
use crate::results::Results;
use crate::run::{Making, Ran, experiment, fitting, own_digest, refused};

/// File of a run directory that holds the digest of the program that made it.
const BUILD: &str = "build.txt";

/// Place of the runs.
pub(super) struct Place {
    runs: PathBuf,
    jobs: NonZeroUsize,
    /// Whether runs of other builds are good enough.
    any_build: bool,
    build: Digest,
}

/// Runs of an experiment on one machine.
pub(super) struct Kept {
    pub(super) runs: Vec<Run>,
    pub(super) digest: Digest,
    /// Whether another build of order9 made them.
    pub(super) other_build: bool,
}

impl Place {
    /// Below the directory `output`.
    pub(super) fn new(output: &Path, jobs: NonZeroUsize, any_build: bool) -> Result<Self, Failure> {
        Ok(Self { runs: output.join("runs"), jobs, any_build, build: own_digest()? })
    }

    /// Directory of the runs of a plan: equal inputs, equal directory.
    fn directory(&self, entry: &Entry, plan: &Plan) -> Result<PathBuf, Failure> {
        let digest = asked(plan).digest().map_err(|error| refused(&error))?.to_string();
        Ok(self.runs.join(format!("{}-{}", entry.name, &digest[..16])))
    }

    /// Whether the runs are there, and may be taken.
    pub(super) fn has(&self, entry: &Entry, plan: &Plan) -> Result<bool, Failure> {
        Ok(self.usable(&self.directory(entry, plan)?).is_some())
    }

    /// Whether another build made the run directory; `None` where there is none that may be taken.
    fn usable(&self, directory: &Path) -> Option<bool> {
        let manifest = read_manifest(directory).ok()?;
        let build = read_file(directory, &manifest, BUILD).ok()?;
        let other_build = build != self.build.to_string().as_bytes();
        (self.any_build || !other_build).then_some(other_build)
    }

    /// The runs of a plan, which are made where they are not kept, under the name of the experiment and `of_all`. A plan that
    /// this host has no memory for is refused in a sentence.
    pub(super) fn runs(&self, entry: &Entry, plan: &Plan, of_all: &str) -> Result<Result<Kept, String>, Failure> {
        let directory = self.directory(entry, plan)?;
        if let Some(other_build) = self.usable(&directory)
            && let Ok(loaded) = read(&directory)
        {
            return Ok(Ok(Kept { runs: loaded.runs, digest: loaded.manifest.digest, other_build }));
        }
        let jobs = match fitting(plan) {
            Ok(fit) => fit.min(self.jobs),
            Err(failure) => return Ok(Err(failure.to_string())),
        };
        let title = format!("{}{of_all}", entry.name);
        self.make(&title, plan, &directory, jobs).map(Ok)
    }

    /// Makes the runs of a plan and stores them.
    fn make(&self, title: &str, plan: &Plan, directory: &Path, jobs: NonZeroUsize) -> Result<Kept, Failure> {
        std::fs::create_dir_all(&self.runs).map_err(|error| Failure::file(&self.runs, io_sentence(&error)))?;
        let target = Target::new(directory, Existing::Replace).map_err(|error| refused(&error))?;
        let (begin, title) = (self.begin(&target, plan)?, Some(title));
        let making = Making { jobs, proc_dir: None, stores: true, begin, to_go_on: "the same command", title };
        let Ran { experiment, snapshots, kept } = experiment(&making, plan, Some(&target))?;
        let results = Results::of(plan, &experiment, Layout::default());
        let build = ExtraFile { name: BUILD.to_owned(), content: self.build.to_string().into_bytes() };
        let files = [results.files().as_slice(), &snapshots, &[build]].concat();
        let manifest = target.write(&experiment, &files).map_err(|error| refused(&error))?;
        kept.map_or(Ok(()), Partial::remove).map_err(|error| refused(&error))?;
        Ok(Kept { runs: experiment.runs, digest: manifest.digest, other_build: false })
    }

    /// Runs of an interrupted attempt are taken over, if this build made them.
    fn begin(&self, target: &Target, plan: &Plan) -> Result<Begin, Failure> {
        match target.partial(self.build, &asked(plan), Begin::Resume) {
            Ok(_) => Ok(Begin::Resume),
            Err(WriteError::OtherInputs { .. } | WriteError::Key { .. }) => Ok(Begin::Discard),
            Err(error) => Err(refused(&error)),
        }
    }
}
