//! The table as text: Markdown that reads well as it is, the least time of each line in bold.

use order9_report::number::decimal;

use super::{CaseCell, CaseRow, CaseTable, MILLIONS};

const GIB: f64 = (1_u64 << 30) as f64;

/// A line of a row: what it is called, and what a cell says.
type Line = (String, fn(&CaseCell, usize) -> String, usize);

impl CaseTable {
    /// Writes the table.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut lines = vec![["case".to_owned(), String::new()].into_iter().chain(self.columns()).collect::<Vec<_>>()];
        for row in &self.rows {
            lines.extend(row.lines());
        }
        let widths: Vec<usize> = (0..lines[0].len())
            .map(|column| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0))
            .collect();
        let mut text = String::new();
        for (nth, line) in lines.iter().enumerate() {
            let cells = line.iter().zip(&widths).map(|(cell, width)| format!(" {cell:width$} |"));
            text += &format!("|{}\n", cells.collect::<String>());
            if nth == 0 {
                text += &format!(
                    "|{}\n",
                    widths.iter().map(|width| format!("{}|", "-".repeat(width + 2))).collect::<String>()
                );
            }
        }
        text
    }

    /// Titles of the columns: policies without what all of their names begin with.
    pub(super) fn columns(&self) -> Vec<String> {
        let whole = |first: &str| first.rfind('-').map_or("", |end| &first[..=end]).to_owned();
        let mut prefix = self.policies.first().map(|first| whole(first)).unwrap_or_default();
        while !self.policies.iter().all(|policy| policy.starts_with(&prefix)) {
            prefix = whole(&prefix[..prefix.len() - 1]);
        }
        let prefix = if self.policies.len() > 1 { prefix.len() } else { 0 };
        self.policies.iter().map(|policy| policy[prefix..].to_owned()).collect()
    }
}

impl CaseRow {
    /// Title of the column.
    pub(super) fn title(&self) -> String {
        format!("{}, `{}`", self.case, self.machine)
    }

    fn lines(&self) -> Vec<Vec<String>> {
        let seconds = |nth: usize| -> Line {
            let what = match MILLIONS[nth] {
                0 => "touching, s".to_owned(),
                millions => format!("and {millions} M accesses, s"),
            };
            (what, seconds, nth)
        };
        let mut of_row: Vec<Line> = vec![seconds(0)];
        of_row.push(("huge local + remote, %".to_owned(), shares, 0));
        of_row.push(("swapped out, GiB".to_owned(), swapped, 0));
        of_row.extend((1..MILLIONS.len()).map(seconds));
        let line = |(nth, (what, says, of)): (usize, Line)| {
            let mut cells: Vec<String> = self.cells.iter().map(|cell| says(cell, of)).collect();
            if what.ends_with(", s") {
                self.mark_least(&mut cells, of);
            }
            let title = if nth == 0 { self.title() } else { String::new() };
            [title, what].into_iter().chain(cells).collect()
        };
        of_row.into_iter().enumerate().map(line).collect()
    }

    /// Sets those cells in bold that say the same as the least; none where all do.
    fn mark_least(&self, cells: &mut [String], nth: usize) {
        let Some(least) = self.least(nth).map(number) else { return };
        if cells.iter().any(|cell| *cell != least) {
            cells.iter_mut().filter(|cell| **cell == least).for_each(|cell| *cell = format!("**{cell}**"));
        }
    }
}

fn seconds(cell: &CaseCell, nth: usize) -> String {
    cell.after(nth).map_or_else(|| "did not end".to_owned(), number)
}

fn shares(cell: &CaseCell, _: usize) -> String {
    format!("{:.0} + {:.0}", cell.huge_local, cell.huge_remote)
}

fn swapped(cell: &CaseCell, _: usize) -> String {
    if cell.swapped == 0.0 { "0".to_owned() } else { format!("{:.2}", cell.swapped / GIB) }
}

/// Three digits or more.
pub(super) fn number(value: f64) -> String {
    decimal(
        value,
        match value {
            _ if value < 10.0 => 2,
            _ if value < 100.0 => 1,
            _ => 0,
        },
    )
}
