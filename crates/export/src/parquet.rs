//! Tables as Parquet, with the version of the schema in the file's metadata. A number that is not there is null.

use std::io::Write;

use order9_record::table::{ByteArray, KeyValue, Kind as Stored, TableWriter, Values};

use crate::ExportError;
use crate::schema::{Kind, Table, VERSION, Value};
use crate::tables::{RowFile, Rows};

/// Rows of a row group, which are held in memory.
const GROUP: usize = 1 << 18;

/// A Parquet file in the making.
pub(crate) struct Parquet<W: Write + Send> {
    writer: TableWriter<W>,
    table: Table,
    columns: Vec<Values>,
    rows: usize,
}

impl<W: Write + Send> Parquet<W> {
    /// An empty file.
    pub(crate) fn new(out: W, table: Table) -> Result<Self, ExportError> {
        let columns: Vec<_> = table.columns.iter().map(|column| (column.name, stored(column.kind))).collect();
        let version = KeyValue::new("order9.schema".to_owned(), VERSION.to_string());
        let writer = TableWriter::new(out, &columns, vec![version])?;
        Ok(Self { writer, table, columns: empty(table), rows: 0 })
    }

    fn end_group(&mut self) -> Result<(), ExportError> {
        if self.rows > 0 {
            self.writer.rows(std::mem::replace(&mut self.columns, empty(self.table)))?;
            self.rows = 0;
        }
        Ok(())
    }
}

impl<W: Write + Send> Rows for Parquet<W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            match (column, value) {
                (Values::Text(texts), Value::Text(text)) => texts.push(shared(texts.last(), text)),
                (Values::Number(numbers), Value::Number(number)) => numbers.push(*number),
                (Values::Maybe(numbers), Value::Number(number)) => numbers.push(Some(*number)),
                (Values::Maybe(numbers), Value::Nothing) => numbers.push(None),
                (Values::Real(numbers), Value::Real(number)) => numbers.push(*number),
                (_, value) => unreachable!("{value:?} is of another type than its column"),
            }
        }
        self.rows += 1;
        if self.rows == GROUP { self.end_group() } else { Ok(()) }
    }
}

impl<W: Write + Send> RowFile for Parquet<W> {
    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        self.end_group()?;
        Ok(self.writer.finish()?)
    }
}

/// The bytes of a text, which are those of the row before where it is the same.
fn shared(before: Option<&ByteArray>, text: &str) -> ByteArray {
    match before {
        Some(before) if before.data() == text.as_bytes() => before.clone(),
        _ => text.into(),
    }
}

const fn stored(kind: Kind) -> Stored {
    match kind {
        Kind::Text => Stored::Text,
        Kind::Number => Stored::Number,
        Kind::MaybeNumber => Stored::MaybeNumber,
        Kind::Real => Stored::Real,
    }
}

fn empty(table: Table) -> Vec<Values> {
    let values = |kind| match kind {
        Kind::Text => Values::Text(Vec::new()),
        Kind::Number => Values::Number(Vec::new()),
        Kind::MaybeNumber => Values::Maybe(Vec::new()),
        Kind::Real => Values::Real(Vec::new()),
    };
    table.columns.iter().map(|column| values(column.kind)).collect()
}
