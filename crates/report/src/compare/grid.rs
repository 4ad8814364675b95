//! Tables as cells of text, for views that lay them out by themselves: the same words as in [`Report::to_text`].

use schemars::JsonSchema;
use serde::Serialize;

use super::{Cell, Report, Row, Table, run_text, text};

/// A table whose cells are drawn.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Grid {
    /// Line above the table; empty where it has none.
    pub heading: String,
    /// Titles of the columns.
    pub columns: Vec<String>,
    /// The rows that say something.
    pub rows: Vec<GridRow>,
    /// The whole table as text.
    pub text: String,
}

/// One row of a [`Grid`].
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GridRow {
    /// Name of the statistic; empty in tables of counters.
    pub statistic: String,
    /// Operation or counter.
    pub operation: String,
    /// Name of the unit of the values.
    pub unit: &'static str,
    /// One cell per column.
    pub cells: Vec<GridCell>,
}

/// One cell of a [`Grid`].
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct GridCell {
    /// The value, its spread and its change, as the text table has them.
    pub text: String,
    /// The value to sort by; `None` where there is none.
    pub value: Option<f64>,
    /// Whether a marked change is for the better; `None` where no change is marked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<bool>,
}

impl Report {
    /// All tables that have a row, drawn cell by cell.
    #[must_use]
    pub fn grids(&self) -> Vec<Grid> {
        let grid = |table: &Table| match &self.by_run {
            Some(by_run) => run_text::grid(table, by_run),
            None => Some(pooled(table)),
        };
        self.tables.iter().filter_map(grid).collect()
    }
}

/// The table in the layout of mmtests.
fn pooled(table: &Table) -> Grid {
    let cells = |row: &Row| row.cells.iter().map(|cell| text::draw_cell(table, cell).trim().to_owned()).collect();
    let rows = table.rows.iter().map(|row| GridRow::new(row, cells(row))).collect();
    let heading = table.heading.clone().unwrap_or_default();
    Grid::new(table, heading, rows, text::with_heading(table, text::Fit::Widened))
}

impl Grid {
    pub(super) fn new(table: &Table, heading: String, rows: Vec<GridRow>, text: String) -> Self {
        let columns = table.columns.iter().map(|title| title.as_str().to_owned()).collect();
        Self { heading, columns, rows, text }
    }
}

impl GridRow {
    /// The row with these texts, one for each of its cells.
    pub(super) fn new(row: &Row, texts: Vec<String>) -> Self {
        let cell = |(cell, text): (&Cell, String)| {
            let marked = cell.change().filter(|change| change.significant);
            GridCell { text, value: cell.value(), better: marked.map(|change| change.percent > 0.0) }
        };
        Self {
            statistic: row.statistic.clone(),
            operation: row.operation.clone(),
            unit: row.unit.name(),
            cells: row.cells.iter().zip(texts).map(cell).collect(),
        }
    }
}
