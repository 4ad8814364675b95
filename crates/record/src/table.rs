//! Parquet, as far as runs need it: flat tables of texts, whole numbers and fractions, written and read by column.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::column::reader::get_typed_column_reader;
pub use parquet::data_type::ByteArray;
use parquet::data_type::{ByteArrayType, DataType, DoubleType, Int64Type};
pub use parquet::errors::ParquetError;
use parquet::errors::Result;
pub use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, Type, TypePtr};

/// Type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text in UTF-8.
    Text,
    /// Unsigned number of 64 bits.
    Number,
    /// Unsigned number of 64 bits, or no value.
    MaybeNumber,
    /// Floating-point number of 64 bits.
    Real,
    /// Floating-point number of 64 bits, or no value.
    MaybeReal,
}

/// Values of a column in one row group.
pub enum Values {
    /// Texts; a clone of a [`ByteArray`] shares its bytes.
    Text(Vec<ByteArray>),
    /// A number in each row.
    Number(Vec<u64>),
    /// Numbers where rows have one.
    Maybe(Vec<Option<u64>>),
    /// Rows without value, so many of them.
    Nothing(usize),
    /// Fractions.
    Real(Vec<f64>),
    /// Fractions where rows have one.
    MaybeReal(Vec<Option<f64>>),
}

/// Writes one table, row group by row group.
pub struct TableWriter<W: Write + Send> {
    writer: SerializedFileWriter<W>,
    kinds: Vec<Kind>,
}

impl<W: Write + Send> TableWriter<W> {
    /// A table whose file says `notes` besides, by key.
    ///
    /// # Errors
    ///
    /// Columns that Parquet cannot express, or a `sink` that refuses.
    pub fn new(sink: W, columns: &[(&str, Kind)], notes: Vec<KeyValue>) -> Result<Self> {
        let fields = columns.iter().map(|&(name, kind)| field(name, kind)).collect::<Result<Vec<TypePtr>>>()?;
        let schema = Type::group_type_builder("order9").with_fields(fields).build()?;
        let writer = SerializedFileWriter::new(sink, Arc::new(schema), Arc::new(properties(columns, notes)?))?;
        Ok(Self { writer, kinds: columns.iter().map(|&(_, kind)| kind).collect() })
    }

    /// Adds a row group: one set of values per column, in the order of the schema and all of one length.
    ///
    /// # Errors
    ///
    /// Too few columns, columns of other types, or a sink that refuses.
    pub fn rows(&mut self, columns: impl IntoIterator<Item = Values>) -> Result<()> {
        let mut columns = columns.into_iter().zip(&self.kinds);
        let mut group = self.writer.next_row_group()?;
        while let Some(mut column) = group.next_column()? {
            let Some((values, kind)) = columns.next() else {
                return Err(ParquetError::General("a column has no values".to_owned()));
            };
            match values {
                Values::Text(values) => column.typed::<ByteArrayType>().write_batch(&values, None, None)?,
                Values::Real(values) => column.typed::<DoubleType>().write_batch(&values, None, None)?,
                Values::MaybeReal(values) => {
                    let levels = levels(&values);
                    let values: Vec<f64> = values.into_iter().flatten().collect();
                    column.typed::<DoubleType>().write_batch(&values, Some(&levels), None)?
                }
                Values::Maybe(values) => {
                    let levels = levels(&values);
                    let values: Vec<i64> = values.into_iter().flatten().map(u64::cast_signed).collect();
                    column.typed::<Int64Type>().write_batch(&values, Some(&levels), None)?
                }
                Values::Nothing(rows) => column.typed::<Int64Type>().write_batch(&[], Some(&vec![0; rows]), None)?,
                Values::Number(values) => {
                    let levels = (*kind == Kind::MaybeNumber).then(|| vec![1; values.len()]);
                    let values: Vec<i64> = values.into_iter().map(u64::cast_signed).collect();
                    column.typed::<Int64Type>().write_batch(&values, levels.as_deref(), None)?
                }
            };
            column.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the end of the file.
    ///
    /// # Errors
    ///
    /// A sink that refuses.
    pub fn finish(self) -> Result<()> {
        self.writer.close().map(drop)
    }
}

/// 1 for each value that is there, 0 for each that is not.
fn levels<T>(values: &[Option<T>]) -> Vec<i16> {
    values.iter().map(|value| i16::from(value.is_some())).collect()
}

fn field(name: &str, kind: Kind) -> Result<TypePtr> {
    let (physical, logical) = match kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Number | Kind::MaybeNumber => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Real | Kind::MaybeReal => (Physical::DOUBLE, None),
    };
    let repetition = match kind {
        Kind::MaybeNumber | Kind::MaybeReal => Repetition::OPTIONAL,
        Kind::Text | Kind::Number | Kind::Real => Repetition::REQUIRED,
    };
    let builder = Type::primitive_type_builder(name, physical);
    builder.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
}

/// Counters and times grow by little: their differences are short. Texts repeat, which dictionaries are for.
fn properties(columns: &[(&str, Kind)], notes: Vec<KeyValue>) -> Result<WriterProperties> {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_key_value_metadata((!notes.is_empty()).then_some(notes));
    for &(name, kind) in columns {
        if matches!(kind, Kind::Number | Kind::MaybeNumber) {
            let path = ColumnPath::from(name);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

/// A table that is read row group by row group.
pub struct TableReader(SerializedFileReader<Bytes>);

impl TableReader {
    /// The table of a file.
    ///
    /// # Errors
    ///
    /// Bytes that are no Parquet, or a damaged one.
    pub fn new(file: Vec<u8>) -> Result<Self> {
        SerializedFileReader::new(Bytes::from(file)).map(Self)
    }

    /// Names of all columns.
    pub fn names(&self) -> Vec<String> {
        let schema = self.0.metadata().file_metadata().schema_descr();
        schema.columns().iter().map(|column| column.name().to_owned()).collect()
    }

    /// The note of the file under `key`.
    pub fn note(&self, key: &str) -> Option<&str> {
        let notes = self.0.metadata().file_metadata().key_value_metadata()?;
        notes.iter().find(|note| note.key == key)?.value.as_deref()
    }

    /// All row groups, in order.
    pub fn groups(&self) -> impl Iterator<Item = Result<Group<'_>>> {
        (0..self.0.num_row_groups()).map(|index| self.0.get_row_group(index).map(Group))
    }
}

/// Some rows of a table.
pub struct Group<'a>(Box<dyn RowGroupReader + 'a>);

impl Group<'_> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        usize::try_from(self.0.metadata().num_rows()).unwrap_or_default()
    }

    /// Values of a column of text.
    ///
    /// # Errors
    ///
    /// No such column, one of another type, or damage.
    pub fn text(&self, name: &str) -> Result<Vec<ByteArray>> {
        self.required::<ByteArrayType>(name)
    }

    /// Values of a column of fractions.
    ///
    /// # Errors
    ///
    /// No such column, one of another type, or damage.
    pub fn reals(&self, name: &str) -> Result<Vec<f64>> {
        self.required::<DoubleType>(name)
    }

    /// Values of a column that has a number in each row.
    ///
    /// # Errors
    ///
    /// No such column, one of another type, or damage.
    pub fn numbers(&self, name: &str) -> Result<Vec<u64>> {
        Ok(self.required::<Int64Type>(name)?.into_iter().map(i64::cast_unsigned).collect())
    }

    /// Numbers where the column has any.
    ///
    /// # Errors
    ///
    /// No such column, one of another type, or damage.
    pub fn maybe_numbers(&self, name: &str) -> Result<Vec<Option<u64>>> {
        let (values, levels) = self.column::<Int64Type>(name)?;
        let mut values = values.into_iter().map(i64::cast_unsigned);
        Ok(levels.into_iter().map(|level| if level == 1 { values.next() } else { None }).collect())
    }

    fn required<T: DataType>(&self, name: &str) -> Result<Vec<T::T>> {
        let (values, _) = self.column::<T>(name)?;
        if values.len() == self.rows() { Ok(values) } else { Err(wrong(name, "a value in each row")) }
    }

    fn column<T: DataType>(&self, name: &str) -> Result<(Vec<T::T>, Vec<i16>)> {
        let columns = self.0.metadata().columns();
        let index = columns.iter().position(|column| column.column_descr().name() == name);
        let index = index.ok_or_else(|| wrong(name, "to exist"))?;
        // The typed reader panics where the type is another one.
        if columns[index].column_type() != T::get_physical_type() {
            return Err(wrong(name, "another type"));
        }
        let mut reader = get_typed_column_reader::<T>(self.0.get_column_reader(index)?);
        let (mut values, mut levels) = (Vec::new(), Vec::new());
        let rows = self.rows();
        let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut values)?;
        if read == rows { Ok((values, levels)) } else { Err(wrong(name, "as many rows as the table")) }
    }
}

fn wrong(name: &str, expected: &str) -> ParquetError {
    ParquetError::General(format!("column {name}: expected {expected}"))
}
