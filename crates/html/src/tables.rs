//! Comparison tables, and what tests say about the quantities that decide.

use order9_report::compare::text::Fit;
use order9_report::compare::{Grid, Report};
use serde::Serialize;

/// Tables of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Tables {
    /// Verdicts on each policy but the first.
    pub verdicts: Vec<Compared>,
    /// The tables.
    pub tables: Vec<Grid>,
    /// All of it as text, to be copied.
    pub text: String,
}

/// Verdicts on one policy.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    /// Title of the policy.
    pub policy: String,
    /// Title of the policy that it is compared with.
    pub against: String,
    /// Whether its results are those of the other.
    pub identical: bool,
    /// Quantity, outcome in a word, and outcome in numbers.
    pub rows: Vec<(String, &'static str, String)>,
}

impl Tables {
    /// The tables of `report`.
    #[must_use]
    pub fn of(report: &Report) -> Self {
        let mut verdicts = Vec::new();
        if let Some(by_run) = &report.by_run {
            for (at, column) in by_run.columns.iter().enumerate().skip(1) {
                let rows = by_run.main.iter().filter_map(|row| {
                    let verdict = row.verdicts[at].as_ref()?;
                    Some((row.quantity.label(), verdict.outcome.name(), verdict.to_string()))
                });
                verdicts.push(Compared {
                    policy: column.title.as_str().to_owned(),
                    against: by_run.columns[0].title.as_str().to_owned(),
                    identical: column.identical_to_first,
                    rows: rows.collect(),
                });
            }
        }
        Self { verdicts, tables: report.grids(), text: report.to_text(Fit::Widened) }
    }
}
