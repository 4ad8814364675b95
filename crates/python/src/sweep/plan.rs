//! [`PyPlan`]: the plan of a sweep, as cells.

use std::sync::Arc;

use order9_host::available_memory;
use order9_sweep::{Done, Plan, Point};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::cell::{PyCell, PyDone, Shared, label};
use crate::convert::word;
use crate::errors::{OrRaise as _, SweepError};

/// The plan of a sweep: Plan("plan.toml").
#[pyclass(frozen, module = "order9", name = "Plan")]
pub(crate) struct PyPlan(pub(crate) Arc<Plan>);

#[pymethods]
impl PyPlan {
    #[new]
    fn new(path: &str) -> PyResult<Self> {
        Ok(Self(Arc::new(Plan::read(path, available_memory()).or_raise::<SweepError>()?)))
    }

    /// The plan in a text; files that it names are looked for in `folder`.
    #[staticmethod]
    #[pyo3(signature = (text, *, folder="."))]
    fn parse(text: String, folder: &str) -> PyResult<Self> {
        let file = format!("{folder}/plan.toml");
        Ok(Self(Arc::new(Plan::parse(&file, text, available_memory()).or_raise::<SweepError>()?)))
    }

    /// The text of the file.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// Plans of one digest have the same cells.
    #[getter]
    fn digest(&self) -> String {
        self.0.digest().to_string()
    }

    /// Each axis with its values, in the order of the plan; the seed is none of them.
    #[getter]
    fn axes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (axis, text) in self.0.points().iter().flat_map(|point| point.axes().labels()) {
            let values = match dict.get_item(axis)? {
                Some(values) => values.cast_into::<PyList>()?,
                None => PyList::empty(py),
            };
            let value = label(py, text)?;
            if !values.contains(&value)? {
                values.append(value)?;
            }
            dict.set_item(axis, values)?;
        }
        Ok(dict)
    }

    /// Number of combinations of everything but the seed.
    #[getter]
    fn points(&self) -> usize {
        self.0.points().len()
    }

    /// Cells that run whatever others give: all, or with a stop rule the first ones of each point. With `at`, those with these values
    /// on these axes; `seeds` in place of those of the plan.
    #[pyo3(signature = (at=None, *, seeds=None))]
    fn cells(&self, at: Option<Bound<'_, PyDict>>, seeds: Option<Vec<u64>>) -> PyResult<Vec<PyCell>> {
        let pair = |(axis, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| Ok((axis.extract::<String>()?, word(&value)?));
        let wanted = at.iter().flatten().map(pair).collect::<PyResult<Vec<_>>>()?;
        let points = self.0.points_at(wanted).map_err(|problem| PyValueError::new_err(problem.to_string()))?;
        let of = |point: &Point| {
            let seeds = seeds.clone().unwrap_or_else(|| self.0.seeds(point).least());
            let shared = Shared::of(point);
            seeds.into_iter().map(|seed| PyCell::new(&shared, seed)).collect::<Vec<_>>()
        };
        Ok(points.into_iter().flat_map(of).collect())
    }

    /// Cells that the stop rule asks for after `done`, all cells of some points that were asked for; none without a rule.
    fn further(&self, done: Vec<PyRef<'_, PyDone>>) -> Vec<PyCell> {
        let done: Vec<Done> = done.iter().map(|done| done.0.clone()).collect();
        let has_run = |point: &&Point| done.iter().any(|done| done.cell == point.cell_name(done.seed));
        let points = self.0.points().iter().filter(has_run);
        let further = |point: &Point| {
            let shared = Shared::of(point);
            self.0.further(point, &done).into_iter().map(|seed| PyCell::new(&shared, seed)).collect::<Vec<_>>()
        };
        points.flat_map(further).collect()
    }

    fn __repr__(&self) -> String {
        format!("<plan of a sweep: {} points, {} cells at first>", self.0.points().len(), self.0.cells().count())
    }
}
