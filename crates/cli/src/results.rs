//! Results of runs, as text, as JSON and as files of a run directory.

use std::io::{self, IsTerminal as _};
use std::path::Path;

use order9_lab::{Day, Plan, ablation_notes, ablation_report, days, days_text, notes, pooled_report, report};
use order9_record::{Digest, Experiment, ExtraFile, Outcome, Run};
use order9_report::ablation::AblationReport;
use order9_report::compare::Report;
use order9_report::compare::text::Fit;
use order9_report::number::count_of;
use order9_report::stats::Generation;
use order9_report::table::wrap;
use order9_workloads::Workload;
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::{Layout, ShownArgs};

/// Tables, notes and the digest of an experiment.
pub(crate) struct Results {
    tables: Tables,
    notes: Vec<String>,
    digest: Digest,
    runs: Vec<RunEnd>,
}

/// The tables that answer what was asked.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Tables {
    /// Policies beside each other.
    Policies {
        report: Report,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        days: Vec<Day>,
    },
    /// A policy taken apart.
    Switches { ablation: AblationReport },
}

/// End of a run.
#[derive(Clone, Serialize, JsonSchema)]
struct RunEnd {
    policy: String,
    seed: u64,
    digest: Digest,
    outcome: Outcome,
}

impl RunEnd {
    fn of(run: &Run) -> Self {
        Self { policy: run.policy.clone(), seed: run.seed, digest: run.digest(), outcome: run.outcome.clone() }
    }
}

/// All of it for programs.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Json<'a> {
    digest: Digest,
    /// Directory in which everything was stored, if any.
    #[schemars(with = "Option<String>")]
    directory: Option<&'a Path>,
    runs: &'a [RunEnd],
    notes: &'a [String],
    #[serde(flatten)]
    tables: &'a Tables,
}

impl Results {
    /// The results of an experiment.
    pub(crate) fn of(plan: &Plan, experiment: &Experiment, layout: Layout) -> Self {
        let of_runs = match plan.ablation {
            Some(_) => ablation_notes(plan, experiment),
            None => notes(&experiment.inputs, &experiment.runs.iter().collect::<Vec<_>>()),
        };
        Self {
            tables: Tables::of(plan, experiment, layout),
            notes: plan.notes.iter().cloned().chain(of_runs).collect(),
            digest: experiment.digest(),
            runs: experiment.runs.iter().map(RunEnd::of).collect(),
        }
    }

    /// The results of an experiment on real kernels, a column for each title.
    pub(crate) fn of_live(workload: Workload, experiment: &Experiment, titles: &[&str], layout: Layout) -> Self {
        let runs: Vec<&Run> = experiment.runs.iter().collect();
        let of_title = |title: &str| runs.iter().copied().filter(|run| run.policy == title).collect::<Vec<&Run>>();
        let columns: Vec<_> = titles.iter().map(|&title| (title, of_title(title))).collect();
        let report = tables(layout, workload, &columns, Generation::default());
        Self {
            tables: Tables::Policies { report, days: days(&experiment.runs) },
            notes: notes(&experiment.inputs, &runs),
            digest: experiment.digest(),
            runs: experiment.runs.iter().map(RunEnd::of).collect(),
        }
    }

    /// Tables and notes, the digest, and where the directory is.
    pub(crate) fn text(&self, shown: &ShownArgs, directory: Option<&Path>) -> String {
        let written =
            directory.map(|directory| format!("written to {}\n", order9_escape::path(directory))).unwrap_or_default();
        let end = format!("digest {}\n{written}", self.digest);
        if is_brief(shown) {
            brief(|lines| self.tables.to_brief(lines), &self.notes, &end)
        } else {
            format!("{}\n{end}", self.tables())
        }
    }

    fn tables(&self) -> String {
        with_notes(&self.tables.to_text(), &self.notes)
    }

    pub(crate) fn json<'a>(&'a self, directory: Option<&'a Path>) -> Json<'a> {
        Json { digest: self.digest, directory, runs: &self.runs, notes: &self.notes, tables: &self.tables }
    }

    /// The files of a run directory that hold tables.
    pub(crate) fn files(&self) -> [ExtraFile; 2] {
        let file = |name: &str, content: &str| ExtraFile { name: name.to_owned(), content: content.into() };
        let (text, json) = (self.tables(), self.tables.to_json() + "\n");
        [file("report.txt", &order9_escape::text(&text)), file("report.json", &order9_escape::json(&json))]
    }
}

impl Tables {
    /// A column for each policy, or a row for each switch.
    fn of(plan: &Plan, experiment: &Experiment, layout: Layout) -> Self {
        if let Some(ablation) = &plan.ablation {
            return Self::Switches { ablation: ablation_report(plan, ablation, experiment) };
        }
        let of_policy = |title: &str| experiment.runs.iter().filter(|run| run.policy == title).collect::<Vec<&Run>>();
        let titles = plan.policies.iter().map(|policy| policy.name.as_str());
        let columns: Vec<_> = titles.map(|title| (title, of_policy(title))).collect();
        let report = tables(layout, plan.workload, &columns, Generation::default());
        Self::Policies { report, days: days(&experiment.runs) }
    }

    fn to_text(&self) -> String {
        match self {
            Self::Policies { report, days } => report.to_text(Fit::Widened) + &days_text(days),
            Self::Switches { ablation } => ablation.to_text(),
        }
    }

    fn to_brief(&self, lines: usize) -> String {
        match self {
            Self::Policies { report, .. } => report.to_brief(lines),
            Self::Switches { ablation } => ablation.to_brief(lines),
        }
    }

    fn to_json(&self) -> String {
        let tables = match self {
            Self::Policies { report, .. } => StoredTables::Policies(report),
            Self::Switches { ablation } => StoredTables::Switches(ablation),
        };
        serde_json::to_string_pretty(&tables).expect("strings and finite numbers can be written as JSON")
    }
}

/// Tables as a run directory keeps them, in report.json.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum StoredTables<'a> {
    /// Policies beside each other.
    Policies(&'a Report),
    /// A policy taken apart.
    Switches(&'a AblationReport),
}

/// Columns of runs as tables.
pub(crate) fn tables(
    layout: Layout,
    workload: Workload,
    columns: &[(&str, Vec<&Run>)],
    generation: Generation,
) -> Report {
    match layout {
        Layout::Runs => report(workload, columns, generation),
        Layout::Mmtests => pooled_report(workload, columns, generation.into()),
    }
}

/// Lines of a terminal that a brief report leaves free of scrolling.
const BRIEF_LINES: usize = 20;

/// Whether to print a few lines: where asked for, and on a terminal, unless all rows or a published layout was asked for.
pub(crate) fn is_brief(shown: &ShownArgs) -> bool {
    let everything = shown.full || shown.layout == Some(Layout::Mmtests);
    shown.brief || !everything && io::stdout().is_terminal()
}

/// A report of few lines, those of `end` included: notes as far as there is room for them, and how to see more.
pub(crate) fn brief(report: impl Fn(usize) -> String, notes: &[String], end: &str) -> String {
    // The line that says how to see more has to fit, too.
    let lines = BRIEF_LINES - end.lines().count() - 1;
    let mut text = report(lines);
    let mut left = 0;
    for note in notes {
        let item = item(note);
        if text.lines().count() + item.lines().count() <= lines {
            text.push_str(&item);
        } else {
            left += 1;
        }
    }
    let left = if left == 0 { String::new() } else { format!("{} and ", count_of(left, "more note")) };
    format!("{text}{end}{left}all rows: --full\n")
}

/// Width of notes, in columns.
const NOTE_WIDTH: usize = 98;

/// Tables as they are printed, with notes below.
pub(crate) fn with_notes(tables: &str, notes: &[String]) -> String {
    let notes: String = notes.iter().map(|note| item(note)).collect();
    let heading = if notes.is_empty() { "" } else { "\nNotes\n" };
    format!("{tables}{heading}{notes}")
}

/// A note as an item of a list.
fn item(note: &str) -> String {
    format!("- {}\n", wrap(note, NOTE_WIDTH).trim_end().replace('\n', "\n  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_reports_have_the_notes_that_there_is_room_for() {
        let [long, short] = [["word"; 60].join(" "), "nr_hugepages: 6 of 8".to_owned()];
        let table = |of: usize| move |lines: usize| "row\n".repeat(of.min(lines));
        let text = brief(table(1), &[long.clone(), short.clone()], "digest 1\n");
        assert_eq!((text.lines().count(), text.matches("word").count()), (8, 60), "{text}");
        assert!(text.ends_with("\n- nr_hugepages: 6 of 8\ndigest 1\nall rows: --full\n"), "{text}");
        let text = brief(table(16), &[long, short.clone()], "digest 1\n");
        assert!(text.ends_with("row\n- nr_hugepages: 6 of 8\ndigest 1\n1 more note and all rows: --full\n"), "{text}");
        let text = brief(table(99), &[short], "digest 1\n");
        assert_eq!(text.lines().count(), BRIEF_LINES, "{text}");
        assert!(text.ends_with("row\ndigest 1\n1 more note and all rows: --full\n"), "{text}");
    }
}
