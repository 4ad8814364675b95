//! [`PyCell`] and [`PyDone`]: one run as a value, and what came of it. Both can be pickled, so that any engine of Python can send them.

use std::sync::Arc;

use order9_host::available_memory;
use order9_sweep::{Axes, Cell, Done, Point, PointInputs, Statistic};
use order9_units::Bytes;
use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::errors::{OrRaise as _, SweepError, raised};
use crate::waiting::unhurried;

/// Parts of cells that all of a point share.
pub(crate) struct Shared {
    inputs: Arc<PointInputs>,
    needs: Bytes,
    /// The inputs as JSON. Pickles hold a string once, however many of their cells have it.
    text: PyOnceLock<Py<PyString>>,
}

impl Shared {
    pub(crate) fn of(point: &Point) -> Arc<Self> {
        Arc::new(Self { inputs: Arc::new(point.inputs()), needs: point.needs(), text: PyOnceLock::new() })
    }

    pub(crate) fn is_of(&self, point: &Point) -> bool {
        self.inputs.name == point.name()
    }

    fn text<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        self.text.get_or_init(py, || PyString::new(py, &json(&*self.inputs)).unbind()).bind(py).clone()
    }
}

/// Everything that decides one run, as a value that can be sent elsewhere.
#[pyclass(frozen, module = "order9", name = "Cell")]
pub(crate) struct PyCell {
    shared: Arc<Shared>,
    seed: u64,
}

impl PyCell {
    pub(crate) fn new(shared: &Arc<Shared>, seed: u64) -> Self {
        Self { shared: Arc::clone(shared), seed }
    }

    pub(crate) fn cell(&self) -> Cell {
        Cell { point: Arc::clone(&self.shared.inputs), seed: self.seed }
    }
}

fn json(of: &impl serde::Serialize) -> String {
    serde_json::to_string(of).expect("texts and finite numbers can be written as JSON")
}

#[pymethods]
impl PyCell {
    /// The cell that `json()` has described.
    #[staticmethod]
    fn from_json(text: &str, memory: u64) -> PyResult<Self> {
        let Cell { point, seed } = serde_json::from_str(text).map_err(no_cell)?;
        let shared = Shared { inputs: point, needs: Bytes::new(memory), text: PyOnceLock::new() };
        Ok(Self { shared: Arc::new(shared), seed })
    }

    /// The cell with a seed of the point that a text describes, as pickles have it.
    #[staticmethod]
    fn of_point(text: &str, seed: u64, memory: u64) -> PyResult<Self> {
        let inputs = serde_json::from_str(text).map_err(no_cell)?;
        let shared = Shared { inputs: Arc::new(inputs), needs: Bytes::new(memory), text: PyOnceLock::new() };
        Ok(Self { shared: Arc::new(shared), seed })
    }

    /// The cell as JSON.
    fn json(&self) -> String {
        json(&self.cell())
    }

    /// Runs the cell in this process. However its run ends, there is a result.
    pub(crate) fn run(&self, py: Python<'_>) -> PyResult<PyDone> {
        let cell = self.cell();
        let done = unhurried(py, move || cell.run(available_memory()))?;
        Ok(PyDone(done.or_raise::<SweepError>()?))
    }

    /// The digest of everything that decides what it gives.
    #[getter]
    fn name(&self) -> String {
        self.cell().name().to_string()
    }

    /// Value of the cell on each axis.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        labels(py, &self.shared.inputs.axes)
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.seed
    }

    /// Memory of the host that its run takes, in bytes.
    #[getter]
    fn memory(&self) -> u64 {
        self.shared.needs.get()
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let (this, py) = (slf.get(), slf.py());
        let arguments = (this.shared.text(py), this.seed, this.memory()).into_pyobject(py)?;
        Ok((slf.get_type().getattr("of_point")?, arguments))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.cell().name() == other.cell().name()
    }

    fn __hash__(&self) -> u64 {
        hash(&self.name())
    }

    fn __repr__(&self) -> String {
        format!("<cell {}: {}>", self.name(), said(&self.shared.inputs.axes, self.seed))
    }
}

fn no_cell(error: serde_json::Error) -> PyErr {
    raised::<SweepError>(&format!("this is no cell of order9: {error}"))
}

/// Runs cells in this process, one after the other. All of them have one thread: each new one would have memory of its own in the C
/// library, which keeps what a cell has freed.
#[pyfunction]
pub(crate) fn run_cells(py: Python<'_>, cells: Vec<PyRef<'_, PyCell>>) -> PyResult<Vec<PyDone>> {
    let cells: Vec<Cell> = cells.iter().map(|cell| cell.cell()).collect();
    let done =
        unhurried(py, move || cells.iter().map(|cell| cell.run(available_memory())).collect::<Result<Vec<_>, _>>())?;
    Ok(done.or_raise::<SweepError>()?.into_iter().map(PyDone).collect())
}

/// Result of a cell.
#[pyclass(frozen, module = "order9", name = "Done")]
pub(crate) struct PyDone(pub(crate) Done);

#[pymethods]
impl PyDone {
    /// The result that `json()` has described.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<Self> {
        let done = serde_json::from_str(text);
        Ok(Self(done.map_err(|error| raised::<SweepError>(&format!("this is no result of a cell: {error}")))?))
    }

    /// The result as JSON.
    fn json(&self) -> String {
        json(&self.0)
    }

    /// Name of the cell.
    #[getter]
    fn cell(&self) -> String {
        self.0.cell.to_string()
    }

    /// Value of the cell on each axis.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        labels(py, &self.0.axes)
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed
    }

    /// Digest of everything that the run measured; None where it did not start.
    #[getter]
    fn digest(&self) -> Option<String> {
        self.0.digest.map(|digest| digest.to_string())
    }

    /// End of the cell: completed, out-of-memory, stalled, failed, refused or panicked.
    #[getter]
    fn end(&self) -> &'static str {
        self.0.end.word()
    }

    /// Reason where it did not complete.
    #[getter]
    fn message(&self) -> &str {
        &self.0.message
    }

    /// CPU time that it took on its host, in nanoseconds.
    #[getter]
    fn cpu_ns(&self) -> u64 {
        self.0.host.cpu_ns.get()
    }

    /// Time that it took on its host, in nanoseconds.
    #[getter]
    fn elapsed_ns(&self) -> u64 {
        self.0.host.elapsed_ns.get()
    }

    /// All figures: operation, statistic, value and unit of each.
    fn measures(&self) -> Vec<(&str, &'static str, f64, &str)> {
        self.0.measures.iter().map(|of| (&*of.operation, of.statistic.word(), of.value, &*of.unit)).collect()
    }

    /// A figure, such as value("alloc", "p95"); None where the cell lacks it. Of operations that differ in a number behind a dash,
    /// their mean.
    fn value(&self, operation: &str, statistic: &str) -> PyResult<Option<f64>> {
        let known = Statistic::ALL;
        let Some(statistic) = known.into_iter().find(|known| known.word() == statistic) else {
            let words = known.map(Statistic::word).join(", ");
            return Err(PyValueError::new_err(format!(
                "no statistic is called '{statistic}': expected one of {words}"
            )));
        };
        let values: Vec<f64> = self.0.values(operation, statistic).map(|measure| measure.value).collect();
        Ok((!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64))
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((slf.get_type().getattr("from_json")?, (slf.get().json(),)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        (self.0.cell, self.0.digest, self.0.end, &self.0.message, &self.0.measures)
            == (other.0.cell, other.0.digest, other.0.end, &other.0.message, &other.0.measures)
    }

    fn __hash__(&self) -> u64 {
        hash(&self.cell())
    }

    fn __repr__(&self) -> String {
        let message = if self.0.message.is_empty() { String::new() } else { format!(": {}", self.0.message) };
        format!("<{}{message}: {}>", self.0.end.word(), said(&self.0.axes, self.0.seed))
    }
}

/// A label as a value: a number where it is one.
pub(super) fn label<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    text.parse::<i64>().map_or_else(|_| text.into_bound_py_any(py), |number| number.into_bound_py_any(py))
}

fn labels<'py>(py: Python<'py>, axes: &Axes) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (axis, text) in axes.labels() {
        dict.set_item(axis, label(py, text)?)?;
    }
    Ok(dict)
}

fn said(axes: &Axes, seed: u64) -> String {
    let labels = axes.labels().map(|(axis, label)| format!("{axis}={label}"));
    format!("{} seed={seed}", labels.collect::<Vec<_>>().join(" "))
}

/// A hash of a name: its first 64 bits.
fn hash(name: &str) -> u64 {
    name.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default()
}
