//! Tables as plain text, byte for byte in the layout of mmtests.

use super::{Cell, Comparison, Table};

/// Treatment of titles that are wider than their column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fit {
    /// Let them run into their neighbour, as published tables do.
    #[default]
    Published,
    /// The column becomes as wide as the title.
    Widened,
}

/// Characters that a change takes behind the value: a space and `(   0.00%)`.
const CHANGE_WIDTH: usize = 11;

/// The table below its heading, if it has one.
#[must_use]
pub fn with_heading(table: &Table, fit: Fit) -> String {
    match &table.heading {
        Some(heading) => format!("{heading}\n{}", draw(table, fit)),
        None => draw(table, fit),
    }
}

/// The table: two rows of titles, then one line per row.
#[must_use]
pub fn draw(table: &Table, fit: Fit) -> String {
    let longest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let statistic = longest(&mut table.rows.iter().map(|row| width(&row.statistic)));
    let operation = longest(&mut table.rows.iter().map(|row| width(&row.operation)));
    let fields: Vec<_> = (0..table.columns.len()).map(|column| field_width(table, column, fit)).collect();

    let mut out = String::new();
    for line in 0..2 {
        out.push_str(&" ".repeat(statistic + 1 + operation));
        for (title, field) in table.columns.iter().zip(&fields) {
            out.push_str(&format!("{:>field$}", title.lines()[line]));
        }
        out.push('\n');
    }
    for row in &table.rows {
        out.push_str(&format!("{:statistic$} {:operation$}", row.statistic, row.operation));
        for (cell, field) in row.cells.iter().zip(&fields) {
            out.push_str(&format!("{:>field$}", draw_cell(table, cell)));
        }
        out.push('\n');
    }
    out
}

pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

fn field_width(table: &Table, column: usize, fit: Fit) -> usize {
    let change = if table.comparison == Comparison::WithFirst { CHANGE_WIDTH } else { 0 };
    let published = table.field_width + change;
    match fit {
        Fit::Published => published,
        Fit::Widened => {
            table.columns[column].lines().map(|line| width(line) + 1).into_iter().fold(published, usize::max)
        }
    }
}

pub(super) fn draw_cell(table: &Table, cell: &Cell) -> String {
    let (field, decimals) = (table.field_width, table.decimals);
    let value = match cell {
        Cell::Missing => 0.0,
        Cell::Undefined => f64::NAN,
        Cell::Measured { value, .. } => *value,
    };
    let percent = match cell {
        Cell::Missing => 0.0,
        Cell::Undefined | Cell::Measured { .. } => cell.change().map_or(f64::NAN, |change| change.percent),
    };
    let significant = cell.change().is_some_and(|change| change.significant);
    match table.comparison {
        Comparison::None => format!("{value:field$.decimals$}"),
        Comparison::WithFirst if significant => format!("{value:field$.decimals$} *{percent:7.2}%*"),
        Comparison::WithFirst => format!("{value:field$.decimals$} ({percent:7.2}%)"),
    }
}
