//! The documents, which the command has in itself, and the rows of their tables.

/// A document.
pub(super) struct Page {
    /// Name of the file, without its ending: `running`, `results/numa`.
    pub(super) name: &'static str,
    /// The text, in Markdown.
    pub(super) text: &'static str,
}

const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// All documents, by name.
pub(super) fn pages() -> impl Iterator<Item = Page> {
    PAGES.iter().map(|&(name, text)| Page { name, text })
}

/// The document called `name`.
pub(super) fn page(name: &str) -> Option<Page> {
    pages().find(|page| page.name == name)
}

impl Page {
    /// The first heading.
    pub(super) fn title(&self) -> &'static str {
        self.text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(self.name)
    }

    /// Whether the text has `word` as code, and not as a part of other code.
    pub(super) fn mentions(&self, word: &str) -> bool {
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
        let spans = self.text.split('`').skip(1).step_by(2);
        spans.flat_map(|span| span.split(|c| !is_part(c))).any(|part| part.trim_end_matches('.') == word)
    }

    /// Rows of all tables that begin with the column `first`, in order.
    pub(super) fn rows(&self, first: &str) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut header: Option<Vec<&'static str>> = None;
        for line in self.text.lines() {
            let Some(cells) = cells(line) else {
                header = None;
                continue;
            };
            match &header {
                _ if cells.iter().all(|cell| cell.starts_with('-')) => {}
                None => header = Some(cells),
                Some(header) if header[0] == first => {
                    rows.push(Row { cells: header.iter().copied().zip(cells).collect() });
                }
                Some(_) => {}
            }
        }
        rows
    }
}

/// Cells of a line of a table.
fn cells(line: &'static str) -> Option<Vec<&'static str>> {
    let inner = line.trim().strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(str::trim).collect())
}

/// A row of a table: each cell with the name of its column. The first cell names the row.
pub(super) struct Row {
    cells: Vec<(&'static str, &'static str)>,
}

impl Row {
    /// The first cell, without marks of code.
    pub(super) fn name(&self) -> &'static str {
        self.cells[0].1.trim_matches('`')
    }

    /// The words that a cell has as code, and words that are paths.
    pub(super) fn code(&self, column: &str) -> impl Iterator<Item = &'static str> {
        let cell = self.cells.iter().find(|(name, _)| *name == column).map_or("", |(_, cell)| cell);
        let paths = cell.split([' ', ',']).filter(|word| word.starts_with('/'));
        cell.split('`').skip(1).step_by(2).chain(paths)
    }

    /// A line for each cell that is not empty, the last one first: it has the meaning.
    pub(super) fn text(&self) -> String {
        let (_, meaning) = self.cells[self.cells.len() - 1];
        let middle = &self.cells[1..self.cells.len() - 1];
        let others = middle.iter().filter(|(_, cell)| !cell.is_empty());
        let others: String = others.map(|(name, cell)| format!("- {name}: {cell}\n")).collect();
        format!("{meaning}\n{}{others}", if others.is_empty() { "" } else { "\n" })
    }
}
