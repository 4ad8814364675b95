//! Gaps that experiments leave to be explained: every quantity outside its goal, with its cause where somebody has found it, as a page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::table::number;
use super::{Fidelity, Judged, Verdict};

/// Causes of gaps that people have found, in the order in which they are asked.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Causes {
    #[serde(default, rename = "cause")]
    causes: Vec<Cause>,
}

/// A cause, and the quantities that it explains. A list that is empty leaves nothing out.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cause {
    title: String,
    text: String,
    #[serde(default)]
    quantities: Vec<String>,
    /// Releases of kernels, such as 6.12.
    #[serde(default)]
    kernels: Vec<String>,
    #[serde(default)]
    experiments: Vec<String>,
}

/// Refusal of a file of causes.
#[derive(Clone, Debug, Error)]
pub enum CausesError {
    /// The file does not have the form.
    #[error("{0}")]
    Form(String),
    /// A cause names what no experiment has.
    #[error(
        "the cause \"{title}\" explains nothing: there is no quantity outside its goal of that name, kernel and experiment"
    )]
    ExplainsNothing {
        /// Title of the cause.
        title: String,
    },
}

impl Causes {
    /// Reads a file of causes.
    ///
    /// # Errors
    /// A text that is no such file.
    pub fn parse(text: &str) -> Result<Self, CausesError> {
        toml::from_str(text).map_err(|error| CausesError::Form(error.to_string().trim_end().to_owned()))
    }
}

/// The release in the title of a kernel: 6.12 of live-6.12.94-amd64.
fn release(title: &str) -> &str {
    let version = title.strip_prefix("live-").unwrap_or(title);
    let end = version.match_indices('.').nth(1).map_or(version.len(), |(at, _)| at);
    &version[..end]
}

impl Cause {
    fn explains(&self, gap: &Gap<'_>) -> bool {
        let admits = |list: &[String], value: &str| list.is_empty() || list.iter().any(|one| one == value);
        admits(&self.quantities, &gap.row.quantity)
            && admits(&self.kernels, release(&gap.of.kernel))
            && admits(&self.experiments, &gap.of.experiment)
    }
}

/// A quantity outside its goal.
struct Gap<'a> {
    of: &'a Fidelity,
    row: &'a Judged,
    severity: f64,
}

/// Gaps of all experiments, for programs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GapList<'a> {
    /// Quantities that were judged.
    judged: usize,
    /// Quantities that are good enough.
    good: usize,
    /// Quantities outside their goal: those with a cause first, the worst first in each.
    gaps: Vec<ListedGap<'a>>,
}

/// A quantity outside its goal.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedGap<'a> {
    experiment: &'a str,
    kernel: &'a str,
    /// Title of the cause; absent where nobody has found one.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<&'a str>,
    /// Distance from the real median in goals.
    times_the_goal: f64,
    #[serde(flatten)]
    of: &'a Judged,
}

/// All experiments, and their gaps by cause.
pub struct Gaps<'a> {
    judged: &'a [Fidelity],
    /// Gaps by cause, the worst first in both.
    explained: Vec<(&'a Cause, Vec<Gap<'a>>)>,
    unexplained: Vec<Gap<'a>>,
}

impl<'a> Gaps<'a> {
    /// Sorts the gaps of all experiments by their causes.
    ///
    /// # Errors
    /// A cause that explains nothing.
    pub fn new(judged: &'a [Fidelity], causes: &'a Causes) -> Result<Self, CausesError> {
        let mut by_cause: BTreeMap<Option<usize>, Vec<Gap<'a>>> = BTreeMap::new();
        for of in judged {
            for row in &of.rows {
                let Verdict::Outside { severity, .. } = row.verdict else { continue };
                let gap = Gap { of, row, severity };
                let cause = causes.causes.iter().position(|cause| cause.explains(&gap));
                by_cause.entry(cause).or_default().push(gap);
            }
        }
        by_cause.values_mut().for_each(|gaps| gaps.sort_by(|a, b| b.severity.total_cmp(&a.severity)));
        let unexplained = by_cause.remove(&None).unwrap_or_default();
        let gaps_of = |(number, cause)| by_cause.remove(&Some(number)).map(|gaps| (cause, gaps)).ok_or(cause);
        let explained: Result<Vec<_>, &Cause> = causes.causes.iter().enumerate().map(gaps_of).collect();
        let mut explained = explained.map_err(|cause| CausesError::ExplainsNothing { title: cause.title.clone() })?;
        explained.sort_by(|(_, a), (_, b)| b[0].severity.total_cmp(&a[0].severity));
        Ok(Self { judged, explained, unexplained })
    }

    /// Number of gaps that nobody has explained.
    #[must_use]
    pub fn unexplained(&self) -> usize {
        self.unexplained.len()
    }

    /// All gaps as a list.
    #[must_use]
    pub fn list(&self) -> GapList<'_> {
        let (judged, good) = self.score();
        let listed = |cause, gap: &Gap<'a>| ListedGap {
            experiment: &gap.of.experiment,
            kernel: &gap.of.kernel,
            cause,
            times_the_goal: gap.severity,
            of: gap.row,
        };
        let explained = self
            .explained
            .iter()
            .flat_map(|(cause, gaps)| gaps.iter().map(|gap| listed(Some(cause.title.as_str()), gap)));
        GapList { judged, good, gaps: explained.chain(self.unexplained.iter().map(|gap| listed(None, gap))).collect() }
    }

    /// Quantities that were judged, and those that are good enough.
    fn score(&self) -> (usize, usize) {
        self.judged.iter().map(Fidelity::score).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
    }

    /// The page, as Markdown; `origin` says when and where the experiments ran.
    #[must_use]
    pub fn page(&self, origin: &str) -> String {
        let (all, good) = self.score();
        let share = if all == 0 { 0.0 } else { 100.0 * good as f64 / all as f64 };
        let mut page = format!(
            "# Where the lab differs from real kernels\n\n{origin}\n\n\
             {good} of {all} quantities ({share:.0} %) are good enough: inside the range of the real runs, within the goal around their median, \
             or too little to matter. {}\n\n## Experiments\n\n",
            match self.unexplained() {
                0 => "The others are explained below.".to_owned(),
                1 => "1 of the others has no explanation yet.".to_owned(),
                unexplained => format!("{unexplained} of the others have no explanation yet."),
            }
        );
        page.push_str(&self.overview());
        page.push_str("\n## Known gaps by cause, the worst first\n\nThe last column is the distance from the real median in goals.\n");
        for (cause, gaps) in &self.explained {
            section(&mut page, &cause.title, &cause.text, gaps);
        }
        if !self.unexplained.is_empty() {
            section(&mut page, "Not explained yet", "Nobody knows why.", &self.unexplained);
        }
        page
    }

    /// Quantities that are good enough, of those judged: experiments by kernels.
    fn overview(&self) -> String {
        let mut kernels: Vec<&str> = Vec::new();
        let mut experiments: Vec<&str> = Vec::new();
        for of in self.judged {
            if !kernels.contains(&of.kernel.as_str()) {
                kernels.push(&of.kernel);
            }
            if !experiments.contains(&of.experiment.as_str()) {
                experiments.push(&of.experiment);
            }
        }
        let scores: BTreeMap<(&str, &str), (usize, usize)> =
            self.judged.iter().map(|of| ((of.experiment.as_str(), of.kernel.as_str()), of.score())).collect();
        let mut text = format!("| | {} |\n|---|{}\n", kernels.join(" | "), "---|".repeat(kernels.len()));
        for experiment in experiments {
            let cell = |kernel: &&str| {
                scores.get(&(experiment, *kernel)).map_or("-".to_owned(), |(all, good)| format!("{good} of {all}"))
            };
            let cells: Vec<String> = kernels.iter().map(cell).collect();
            writeln!(text, "| {experiment} | {} |", cells.join(" | ")).expect("text can be written");
        }
        text
    }

    /// Experiments under a kernel that somebody has judged twice.
    #[must_use]
    pub fn repeated(judged: &[Fidelity]) -> Option<(&str, &str)> {
        let mut seen = BTreeSet::new();
        judged.iter().map(|of| (of.experiment.as_str(), of.kernel.as_str())).find(|key| !seen.insert(*key))
    }
}

fn section(page: &mut String, title: &str, text: &str, gaps: &[Gap<'_>]) {
    let head = "| experiment | kernel | quantity | lab median | lab range | real median | real range | goal | times the goal |";
    write!(page, "\n### {title}\n\n{}\n\n{head}\n|---|---|---|---|---|---|---|---|---|\n", text.trim())
        .expect("text can be written");
    for Gap { of, row, severity } in gaps {
        let (lab, real, range) = (number(row.lab), number(row.real), row.range_text());
        let lab_range = row.lab_range_text();
        let (kernel, goal, quantity) = (release(&of.kernel), row.goal, &row.quantity);
        writeln!(
            page,
            "| {} | {kernel} | {quantity} | {lab} | {lab_range} | {real} | {range} | {goal} | {severity:.1} |",
            of.experiment
        )
        .expect("text can be written");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::Goal;

    fn judged() -> Vec<Fidelity> {
        let row = |quantity: &str, verdict| Judged {
            quantity: quantity.to_owned(),
            lab: Some(20.0),
            lab_range: Some((10.0, 30.0)),
            real: Some(10.0),
            range: Some((9.0, 11.0)),
            groups: None,
            goal: Goal::Factor(1.5),
            verdict,
        };
        let outside = |severity| Verdict::Outside { by: Some(2.0), severity };
        let of = |kernel: &str, rows| Fidelity {
            experiment: "defrag always".to_owned(),
            kernel: kernel.to_owned(),
            policy: "host-linux-6.1".to_owned(),
            real_runs: 3,
            lab_runs: 3,
            rows,
        };
        vec![
            of("live-6.1.0-50-amd64", vec![row("pages moved", outside(1.33)), row("stalls", Verdict::WithinGoal)]),
            of("live-6.12.94", vec![row("pages moved", outside(4.0)), row("stalls", outside(1.2))]),
        ]
    }

    #[test]
    fn gaps_stand_below_their_causes_and_the_rest_is_unexplained() {
        let causes = "[[cause]]\ntitle = \"Time\"\ntext = \"It passes.\"\nquantities = [\"pages moved\"]\nkernels = [\"6.12\"]\n";
        let causes = Causes::parse(causes).expect("it has the form");
        let judged = judged();
        let gaps = Gaps::new(&judged, &causes).expect("the cause explains a gap");
        assert_eq!(gaps.unexplained(), 2);
        let expected = "\
# Where the lab differs from real kernels

Today, here.

1 of 4 quantities (25 %) are good enough: inside the range of the real runs, within the goal around their median, or too little to matter. 2 of the others have no explanation yet.

## Experiments

| | live-6.1.0-50-amd64 | live-6.12.94 |
|---|---|---|
| defrag always | 1 of 2 | 0 of 2 |

## Known gaps by cause, the worst first

The last column is the distance from the real median in goals.

### Time

It passes.

| experiment | kernel | quantity | lab median | lab range | real median | real range | goal | times the goal |
|---|---|---|---|---|---|---|---|---|
| defrag always | 6.12 | pages moved | 20.00 | 10.00 .. 30.00 | 10.00 | 9.00 .. 11.00 | a factor of 1.5 | 4.0 |

### Not explained yet

Nobody knows why.

| experiment | kernel | quantity | lab median | lab range | real median | real range | goal | times the goal |
|---|---|---|---|---|---|---|---|---|
| defrag always | 6.1 | pages moved | 20.00 | 10.00 .. 30.00 | 10.00 | 9.00 .. 11.00 | a factor of 1.5 | 1.3 |
| defrag always | 6.12 | stalls | 20.00 | 10.00 .. 30.00 | 10.00 | 9.00 .. 11.00 | a factor of 1.5 | 1.2 |
";
        assert_eq!(gaps.page("Today, here."), expected);
    }

    #[test]
    fn causes_that_explain_nothing_are_refused() {
        let judged = judged();
        let causes = Causes::parse("[[cause]]\ntitle = \"Time\"\ntext = \"It passes.\"\nkernels = [\"5.10\"]\n");
        let error = Gaps::new(&judged, &causes.expect("it has the form")).err().expect("it is refused");
        assert!(error.to_string().contains("\"Time\" explains nothing"), "{error}");
        assert!(Causes::parse("[[cause]]\ntitel = \"Time\"\n").is_err());
    }

    #[test]
    fn experiments_are_judged_once() {
        let mut judged = judged();
        assert_eq!(Gaps::repeated(&judged), None);
        judged.push(judged[1].clone());
        assert_eq!(Gaps::repeated(&judged), Some(("defrag always", "live-6.12.94")));
    }
}
