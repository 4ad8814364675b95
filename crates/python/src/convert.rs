//! Values of Python as the words that the lab reads, and results as values of Python.

use order9_units::{Bytes, Nanos};
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyString, PyTuple};
use serde::Serialize;
use serde_json::Value;

/// A value as it is typed on the command line: `True` is `true`, and a list has commas.
pub(crate) fn word(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_instance_of::<PyBool>() {
        return Ok(if value.extract()? { "true" } else { "false" }.to_owned());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let words = value.try_iter()?.map(|item| word(&item?)).collect::<PyResult<Vec<_>>>()?;
        return Ok(words.join(","));
    }
    Ok(value.str()?.to_string())
}

/// An amount of memory: a number of bytes, or a text such as `"4G"`.
pub(crate) fn bytes(value: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    if let Ok(bytes) = value.extract::<u64>() {
        return Ok(Bytes::new(bytes));
    }
    let text: String = value.extract().map_err(|_| {
        PyTypeError::new_err(format!("{}: expected a number of bytes, or a text such as \"4G\"", name_of(value)))
    })?;
    text.parse().map_err(|error| PyValueError::new_err(format!("{text}: {error}")))
}

/// A length of time: nanoseconds, or a text such as `"10ms"`.
pub(crate) fn nanos(value: &Bound<'_, PyAny>) -> PyResult<Nanos> {
    if let Ok(nanos) = value.extract::<u64>() {
        return Ok(Nanos::new(nanos));
    }
    let text: String = value.extract().map_err(|_| {
        PyTypeError::new_err(format!("{}: expected nanoseconds, or a text such as \"10ms\"", name_of(value)))
    })?;
    let expected = || PyValueError::new_err(format!("{text}: expected a length of time such as \"10ms\" or \"2s\""));
    order9_lab::scenario::length_of_time(&text).ok_or_else(expected)
}

fn name_of(value: &Bound<'_, PyAny>) -> String {
    value.get_type().name().map_or_else(|_| "value".to_owned(), |name| name.to_string())
}

/// A result as the objects that `json.loads` would make of it.
pub(crate) fn python<'py>(py: Python<'py>, value: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|error| PyValueError::new_err(error.to_string()))?;
    object(py, &value)
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(truth) => truth.into_bound_py_any(py),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => number.into_bound_py_any(py),
            (None, Some(number)) => number.into_bound_py_any(py),
            (None, None) => number.as_f64().into_bound_py_any(py),
        },
        Value::String(text) => Ok(PyString::new(py, text).into_any()),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            Ok(PyList::new(py, items)?.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (name, value) in fields {
                dict.set_item(name, object(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// Text as it may stand in HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
