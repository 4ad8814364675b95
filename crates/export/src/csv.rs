//! Tables as comma-separated values, RFC 4180 with line feeds. A number that is not there is an empty field.

use std::io::Write;

use ::csv::{Writer, WriterBuilder};

use crate::ExportError;
use crate::schema::{Table, Value};
use crate::tables::{RowFile, Rows};

/// A CSV file in the making.
pub(crate) struct Csv<W: Write>(Writer<W>);

impl<W: Write> Csv<W> {
    /// A file with the header of `table`.
    pub(crate) fn new(out: W, table: Table) -> Result<Self, ExportError> {
        let mut writer = WriterBuilder::new().from_writer(out);
        writer.write_record(table.columns.iter().map(|column| column.name))?;
        Ok(Self(writer))
    }
}

impl<W: Write> Rows for Csv<W> {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        for value in values {
            match value {
                Value::Text(text) => self.0.write_field(text)?,
                Value::Number(number) => self.0.write_field(number.to_string())?,
                Value::Real(number) => self.0.write_field(number.to_string())?,
                Value::Nothing => self.0.write_field("")?,
            }
        }
        Ok(self.0.write_record(None::<&[u8]>)?)
    }
}

impl<W: Write> RowFile for Csv<W> {
    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.0.flush()?)
    }
}
