//! A comparison, complete.

use schemars::JsonSchema;
use serde::Serialize;

use super::{ByRun, Comparison, Table, Unit, brief, run_text, text};
use crate::stats::{Generation, Rule};

/// Statistics by which pooled columns are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Style {
    /// Release of mmtests that defines the statistics.
    pub generation: Generation,
    /// Rule that marks a difference; `None` marks nothing.
    pub rule: Option<Rule>,
}

impl From<Generation> for Style {
    /// The tables of this generation as they were.
    fn from(generation: Generation) -> Self {
        Self { generation, rule: generation.rule() }
    }
}

/// All tables of one comparison, in the order of mmtests: the benchmark's own, `Duration`, counters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Report {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Statistics by which the columns are compared.
    pub style: Style,
    /// Number of runs, and quantities that decide between policies; `None` where runs were not told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_run: Option<ByRun>,
    /// The tables.
    pub tables: Vec<Table>,
}

impl Report {
    /// All tables. Below them stand the verdicts, by which statistics they were made, and the units, which the layout of
    /// mmtests leaves to the reader to know. Pooled columns are drawn in exactly that layout.
    #[must_use]
    pub fn to_text(&self, fit: text::Fit) -> String {
        if let Some(by_run) = &self.by_run {
            return run_text::draw(self, by_run);
        }
        let tables: Vec<_> = self.tables.iter().map(|table| text::with_heading(table, fit)).collect();
        let marks = self.style.rule.map_or("nothing is marked", Rule::explanation);
        let units = self.units();
        format!("{}\nStatistics as of {}; {marks}.\nUnits: {units}.\n", tables.join("\n"), self.style.generation)
    }

    /// A few lines that say what decides between policies; all tables where iterations were pooled.
    #[must_use]
    pub fn to_brief(&self, lines: usize) -> String {
        self.by_run
            .as_ref()
            .map_or_else(|| self.to_text(text::Fit::Widened), |by_run| brief::draw(&self.benchmark, by_run, lines))
    }

    /// Units of the benchmark's own tables and durations.
    pub(super) fn units(&self) -> String {
        let of_own = |table: &Table| match table.comparison {
            Comparison::WithFirst => Some(format!("{} {}", table.heading.as_ref()?, table.rows.first()?.unit)),
            Comparison::None => None,
        };
        let own = self.tables.iter().filter_map(of_own);
        own.chain([format!("Duration {}", Unit::Seconds)]).collect::<Vec<_>>().join(", ")
    }

    /// The tables for other programs. A value that is not a number is `null` or its cell says why there is none.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("strings and finite numbers can be written as JSON")
    }
}
