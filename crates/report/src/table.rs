//! Tables of text: columns aligned, numbers to the right, no lines drawn.

use crate::terminal::ColourDepth;

/// A table in the making. Cells are text already; the first column is a label, all others align right unless they are labels, too.
#[derive(Clone, Debug)]
pub struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Columns that are words, from the left.
    labels: usize,
    /// Text of a cell that is 0.
    zero: &'static str,
}

/// Text of an empty or zero cell, which makes all others stand out.
const NOTHING: &str = "-";
const INDENT: usize = 2;
const GAP: usize = 2;

impl Table {
    /// A table with these column titles, which name the unit where there is one.
    #[must_use]
    pub fn new<const N: usize>(header: [&str; N]) -> Self {
        Self::with_header(header.map(str::to_owned).to_vec())
    }

    /// A table whose number of columns depends on the data.
    #[must_use]
    pub fn with_header(header: Vec<String>) -> Self {
        Self { header, rows: Vec::new(), labels: 1, zero: NOTHING }
    }

    /// The table with its first `labels` columns being words, which align left.
    #[must_use]
    pub fn with_labels(mut self, labels: usize) -> Self {
        self.labels = labels;
        self
    }

    /// The table with 0 shown as such, where it is a choice and not nothing.
    #[must_use]
    pub fn with_zeros(mut self) -> Self {
        self.zero = "0";
        self
    }

    /// Adds a row; missing cells stay empty.
    pub fn row(&mut self, cells: Vec<String>) {
        let cells = cells.into_iter().map(|cell| if cell == "0" { self.zero.to_owned() } else { cell });
        self.rows.push(cells.collect());
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Removes the columns, but the first, in which no row says anything.
    #[must_use]
    pub fn without_empty_columns(mut self) -> Self {
        for column in (1..self.header.len()).rev() {
            let says = |row: &Vec<String>| row.get(column).is_some_and(|cell| !cell.is_empty() && cell != NOTHING);
            if !self.rows.iter().any(says) {
                self.header.remove(column);
                for row in self.rows.iter_mut().filter(|row| column < row.len()) {
                    row.remove(column);
                }
            }
        }
        self
    }

    /// The table as lines, header first. Columns that do not fit in `width` follow below, with the labels repeated.
    #[must_use]
    pub fn render(&self, width: usize, colour: ColourDepth) -> String {
        let widths: Vec<_> = (0..self.header.len()).map(|column| self.width(column)).collect();
        let mut parts = vec![vec![0]];
        let mut used = INDENT + widths[0];
        for column in 1..widths.len() {
            let part = parts.last_mut().expect("there is a first part");
            if part.len() > 1 && used + GAP + widths[column] > width {
                parts.push(vec![0, column]);
                used = INDENT + widths[0] + GAP + widths[column];
            } else {
                part.push(column);
                used += GAP + widths[column];
            }
        }
        let parts: Vec<_> = parts.iter().map(|columns| self.render_columns(columns, &widths, colour)).collect();
        parts.join("\n")
    }

    fn render_columns(&self, columns: &[usize], widths: &[usize], colour: ColourDepth) -> String {
        let mut out = colour.dim(&self.line(&self.header, columns, widths));
        out.push('\n');
        for row in &self.rows {
            out.push_str(&self.line(row, columns, widths));
            out.push('\n');
        }
        out
    }

    fn width(&self, column: usize) -> usize {
        let lines = std::iter::once(&self.header).chain(&self.rows);
        lines.filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], columns: &[usize], widths: &[usize]) -> String {
        let mut out = " ".repeat(INDENT);
        for &column in columns {
            let (cell, width) = (cells.get(column).map_or("", String::as_str), widths[column]);
            let gap = if column == 0 { 0 } else { GAP };
            if column < self.labels {
                out.push_str(&format!("{:gap$}{cell:width$}", ""));
            } else {
                out.push_str(&format!("{:gap$}{cell:>width$}", ""));
            }
        }
        out.trim_end().to_owned()
    }
}

/// The end of a text, which tells paths apart, in at most so many characters.
#[must_use]
pub fn ending(text: &str, width: usize) -> String {
    let skipped = text.chars().count().saturating_sub(width);
    if skipped == 0 { text.to_owned() } else { format!("…{}", text.chars().skip(skipped + 1).collect::<String>()) }
}

/// `text` broken into lines of at most `width` columns.
#[must_use]
pub fn wrap(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if column > 0 && column + 1 + length > width {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_their_ends() {
        assert_eq!(ending("/usr/bin/java", 36), "/usr/bin/java");
        let long = ending(&format!("/usr/lib/{}/libjvm.so", "x".repeat(90)), 36);
        assert_eq!((long.chars().count(), long.ends_with("/libjvm.so"), long.starts_with('…')), (36, true, true));
    }

    #[test]
    fn numbers_align_right_and_silent_columns_go() {
        let mut table = Table::new(["zone", "free", "CMA", "lost"]);
        table.row(vec!["DMA32".into(), "1,533".into(), "0".into(), "0".into()]);
        table.row(vec!["Normal".into(), "9".into(), "0".into(), "77".into()]);
        let text = table.without_empty_columns().render(80, ColourDepth::None);
        assert_eq!(text, "  zone     free  lost\n  DMA32   1,533     -\n  Normal      9    77\n");
    }

    #[test]
    fn labels_align_left() {
        let mut table = Table::new(["claim", "machine", "runs"]).with_labels(2);
        table.row(vec!["a".into(), "xeon-1s".into(), "2".into()]);
        table.row(vec!["b".into(), "pc".into(), "12".into()]);
        let text = table.render(80, ColourDepth::None);
        assert_eq!(text, "  claim  machine  runs\n  a      xeon-1s     2\n  b      pc         12\n");
    }

    #[test]
    fn columns_that_do_not_fit_follow_below() {
        let mut table = Table::new(["pages", "DMA", "Normal"]);
        table.row(vec!["free".into(), "1".into(), "2".into()]);
        let text = table.render(14, ColourDepth::None);
        assert_eq!(text, "  pages  DMA\n  free     1\n\n  pages  Normal\n  free        2\n");
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("one two  three", 8), "one two\nthree\n");
        assert_eq!(wrap("indivisible", 4), "indivisible\n");
    }
}
