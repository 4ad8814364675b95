//! Lists of anything: a table that a reader sorts, searches and unfolds.

use serde::Serialize;

use crate::number::Shown;

/// A table of texts, each with the value that it is sorted by.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Listing {
    /// Heading of the part.
    pub title: String,
    /// Reader's guide to the table; empty where none is needed.
    pub note: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// Whether a reader is offered to search it.
    search: bool,
}

/// A column of a listing.
#[derive(Clone, Debug, Serialize)]
struct Column {
    title: String,
    kind: Kind,
}

/// Look of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Words, to the left.
    Name,
    /// Numbers, to the right.
    Number,
    /// Numbers, each with a bar as long as it is beside the largest.
    Bar,
}

/// A text and its value; words have none.
#[derive(Clone, Debug, Serialize)]
pub struct Cell(String, Option<Shown>);

impl Cell {
    /// Words.
    #[must_use]
    pub fn name(text: impl Into<String>) -> Self {
        Self(text.into(), None)
    }

    /// A value as it is written.
    #[must_use]
    pub fn value(text: impl Into<String>, value: f64) -> Self {
        Self(text.into(), Some(Shown(value)))
    }

    /// A number of things.
    #[must_use]
    pub fn count(count: u64) -> Self {
        Self::value(order9_report::number::grouped(count), count as f64)
    }

    /// A number of things that may be unknown.
    #[must_use]
    pub fn maybe(count: Option<u64>) -> Self {
        count.map_or_else(|| Self("\u{2013}".to_owned(), Some(Shown(f64::NAN))), Self::count)
    }
}

impl Listing {
    /// A table with these columns.
    #[must_use]
    pub fn new<'a>(title: &str, note: &str, columns: impl IntoIterator<Item = (&'a str, Kind)>) -> Self {
        let columns = columns.into_iter().map(|(title, kind)| Column { title: title.to_owned(), kind });
        Self { title: title.to_owned(), note: note.to_owned(), columns: columns.collect(), ..Self::default() }
    }

    /// The table with a field to search it.
    #[must_use]
    pub fn with_search(mut self) -> Self {
        self.search = true;
        self
    }

    /// Adds a row, with a cell for each column.
    pub fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
