//! What came of runs, as text, as JSON and as files of a run directory.

use std::path::Path;

use order9_lab::{Day, days, days_text, notes, report};
use order9_record::{Digest, Experiment, ExtraFile, Outcome, Run};
use order9_report::compare::text::Fit;
use order9_report::compare::{Report, Style};
use order9_report::stats::Generation;
use order9_report::table::wrap;
use order9_workloads::Workload;
use serde::Serialize;

/// Tables, notes and the digest of an experiment.
pub(crate) struct Results {
    report: Report,
    days: Vec<Day>,
    notes: Vec<String>,
    digest: Digest,
    runs: Vec<RunEnd>,
}

/// How a run ended.
#[derive(Clone, Serialize)]
struct RunEnd {
    policy: String,
    seed: u64,
    digest: Digest,
    outcome: Outcome,
}

/// All of it for programs.
#[derive(Serialize)]
pub(crate) struct Json<'a> {
    digest: Digest,
    directory: Option<&'a Path>,
    runs: &'a [RunEnd],
    notes: &'a [String],
    report: &'a Report,
    #[serde(skip_serializing_if = "<[Day]>::is_empty")]
    days: &'a [Day],
}

impl Results {
    /// Of an experiment: a column for each policy.
    pub(crate) fn of(workload: Workload, experiment: &Experiment) -> Self {
        let of_policy = |title: &str| experiment.runs.iter().filter(|run| run.policy == title).collect::<Vec<&Run>>();
        let titles = experiment.inputs.policies.iter().map(|policy| policy.title.as_str());
        let columns: Vec<_> = titles.map(|title| (title, of_policy(title))).collect();
        let end = |run: &Run| RunEnd {
            policy: run.policy.clone(),
            seed: run.seed,
            digest: run.digest(),
            outcome: run.outcome.clone(),
        };
        Self {
            report: report(workload, &columns, style()),
            days: days(&experiment.runs),
            notes: notes(&experiment.inputs, &experiment.runs),
            digest: experiment.digest(),
            runs: experiment.runs.iter().map(end).collect(),
        }
    }

    /// Tables and notes, the digest, and where the directory is.
    pub(crate) fn text(&self, directory: Option<&Path>) -> String {
        let written = directory.map(|directory| format!("written to {}\n", directory.display())).unwrap_or_default();
        format!("{}\ndigest {}\n{written}", self.tables(), self.digest)
    }

    fn tables(&self) -> String {
        tables(&self.report, &days_text(&self.days), &self.notes)
    }

    pub(crate) fn json<'a>(&'a self, directory: Option<&'a Path>) -> Json<'a> {
        let Self { digest, runs, notes, report, days } = self;
        Json { digest: *digest, directory, runs, notes, report, days }
    }

    /// The files of a run directory that hold tables.
    pub(crate) fn files(&self) -> [ExtraFile; 2] {
        let file = |name: &str, content: String| ExtraFile { name: name.to_owned(), content: content.into_bytes() };
        [file("report.txt", self.tables()), file("report.json", self.report.to_json() + "\n")]
    }
}

/// By which statistics columns are compared.
pub(crate) fn style() -> Style {
    Generation::default().into()
}

/// Columns of notes.
const NOTE_WIDTH: usize = 98;

/// Tables as they are printed, with those of days and notes below.
pub(crate) fn tables(report: &Report, days: &str, notes: &[String]) -> String {
    let notes: String = notes.iter().map(|note| item(note)).collect();
    let heading = if notes.is_empty() { "" } else { "\nNotes\n" };
    format!("{}{days}{heading}{notes}", report.to_text(Fit::Widened))
}

/// A note as an item of a list.
fn item(note: &str) -> String {
    format!("- {}\n", wrap(note, NOTE_WIDTH).trim_end().replace('\n', "\n  "))
}
