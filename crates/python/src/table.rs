//! [`Table`]: rows of the export schema, handed over by the Arrow C data interface (PyCapsule) without a copy.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, StringBuilder, UInt64Builder};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{DataType, Field, Schema};
use order9_export::ExportError;
use order9_export::schema::{self, Kind, Value};
use order9_export::tables::Rows;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::convert::escaped;

/// Rows of a table. polars.DataFrame(table), pyarrow.table(table), duckdb and pandas (by to_pandas) take it as it is.
#[pyclass(frozen, module = "order9")]
pub(crate) struct Table {
    batch: RecordBatch,
}

/// A column in the making.
enum Column {
    Text(StringBuilder),
    Number(UInt64Builder),
    Real(Float64Builder),
}

/// A table in the making: rows of the export crate.
pub(crate) struct Making {
    table: schema::Table,
    columns: Vec<Column>,
}

impl Making {
    pub(crate) fn new(table: schema::Table) -> Self {
        let column = |kind| match kind {
            Kind::Text => Column::Text(StringBuilder::new()),
            Kind::Number | Kind::MaybeNumber => Column::Number(UInt64Builder::new()),
            Kind::Real => Column::Real(Float64Builder::new()),
        };
        Self { table, columns: table.columns.iter().map(|of| column(of.kind)).collect() }
    }

    pub(crate) fn finish(self) -> Table {
        let field = |of: &schema::Column| {
            let kind = match of.kind {
                Kind::Text => DataType::Utf8,
                Kind::Number | Kind::MaybeNumber => DataType::UInt64,
                Kind::Real => DataType::Float64,
            };
            Field::new(of.name, kind, of.kind == Kind::MaybeNumber)
        };
        let fields: Vec<Field> = self.table.columns.iter().map(field).collect();
        let arrays = self.columns.into_iter().map(|column| -> ArrayRef {
            match column {
                Column::Text(mut of) => Arc::new(of.finish()),
                Column::Number(mut of) => Arc::new(of.finish()),
                Column::Real(mut of) => Arc::new(of.finish()),
            }
        });
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays.collect());
        Table { batch: batch.expect("a row has a value of its type for each column") }
    }
}

impl Rows for Making {
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), ExportError> {
        for (column, value) in self.columns.iter_mut().zip(values) {
            match (column, value) {
                (Column::Text(of), Value::Text(text)) => of.append_value(text),
                (Column::Number(of), Value::Number(number)) => of.append_value(*number),
                (Column::Number(of), Value::Nothing) => of.append_null(),
                (Column::Real(of), Value::Real(number)) => of.append_value(*number),
                (_, value) => unreachable!("{value:?} is of another type than its column"),
            }
        }
        Ok(())
    }
}

/// Rows that a table shows in a notebook.
const SHOWN: usize = 20;

#[pymethods]
impl Table {
    /// The rows as a stream of the Arrow C data interface. A consumer of another schema casts by itself.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }

    /// The columns and their types as a schema of the Arrow C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.batch.schema().as_ref());
        let schema = schema.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Names of the columns.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// A list of values for each column, without any other package.
    fn to_pydict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        use arrow_array::cast::AsArray as _;
        use arrow_array::types::{Float64Type, UInt64Type};
        let dict = PyDict::new(py);
        for (name, array) in self.column_names().into_iter().zip(self.batch.columns()) {
            match array.data_type() {
                DataType::Utf8 => dict.set_item(name, array.as_string::<i32>().iter().collect::<Vec<_>>()),
                DataType::UInt64 => dict.set_item(name, array.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>()),
                _ => dict.set_item(name, array.as_primitive::<Float64Type>().iter().collect::<Vec<_>>()),
            }?;
        }
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        format!("Table({} rows: {})", self.batch.num_rows(), self.column_names().join(", "))
    }

    fn _repr_html_(&self) -> String {
        let head: String = self.column_names().iter().map(|name| format!("<th>{}</th>", escaped(name))).collect();
        let row = |at: usize| {
            let cell = |array: &ArrayRef| format!("<td>{}</td>", escaped(&value(array, at)));
            format!("<tr>{}</tr>", self.batch.columns().iter().map(cell).collect::<String>())
        };
        let rows: String = (0..self.batch.num_rows().min(SHOWN)).map(row).collect();
        format!(
            "<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table><p>{} rows</p>",
            self.batch.num_rows()
        )
    }
}

/// A value in words.
fn value(array: &ArrayRef, at: usize) -> String {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Float64Type, UInt64Type};
    if array.is_null(at) {
        return String::new();
    }
    match array.data_type() {
        DataType::Utf8 => StringArray::value(array.as_string(), at).to_owned(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(at).to_string(),
        _ => array.as_primitive::<Float64Type>().value(at).to_string(),
    }
}
