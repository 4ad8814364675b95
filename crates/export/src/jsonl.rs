//! Tables as JSON Lines: an object on each line, its keys in the order of the columns. A number that is not there is `null`.

use std::io::{BufWriter, Write};

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::ExportError;
use crate::schema::{Column, Table, Value};
use crate::tables::{RowFile, Rows};

/// A file of JSON Lines in the making.
pub(crate) struct Jsonl<W: Write> {
    out: BufWriter<W>,
    table: Table,
}

impl<W: Write> Jsonl<W> {
    /// An empty file.
    pub(crate) fn new(out: W, table: Table) -> Self {
        Self { out: BufWriter::new(out), table }
    }
}

impl<W: Write> Rows for Jsonl<W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        serde_json::to_writer(&mut self.out, &Row { columns: self.table.columns, values })?;
        Ok(self.out.write_all(b"\n")?)
    }
}

impl<W: Write> RowFile for Jsonl<W> {
    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.out.flush()?)
    }
}

struct Row<'a> {
    columns: &'a [Column],
    values: &'a [Value<'a>],
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.columns.len()))?;
        for (column, value) in self.columns.iter().zip(self.values) {
            match value {
                Value::Text(text) => map.serialize_entry(column.name, text)?,
                Value::Number(number) => map.serialize_entry(column.name, number)?,
                Value::Real(number) => map.serialize_entry(column.name, number)?,
                Value::Nothing => map.serialize_entry(column.name, &None::<u64>)?,
            }
        }
        map.end()
    }
}
