//! [`PyCourse`]: which cell runs next, for engines that run cells elsewhere.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use order9_sweep::{Course, Folder, Point, Progress, SweepError as Refusal};
use pyo3::prelude::*;

use super::cell::{PyCell, PyDone, Shared};
use super::folder::PyFolder;
use super::plan::PyPlan;
use crate::errors::{OrRaise as _, SweepError};

/// The course of a sweep for an engine that runs cells elsewhere: take() gives cells to run, keep() takes their results.
#[pyclass(frozen, module = "order9", name = "Course")]
pub(crate) struct PyCourse {
    course: Mutex<Course>,
    folder: Py<PyFolder>,
    /// Parts of cells of the point that gave the last one.
    last: Mutex<Option<Arc<Shared>>>,
}

/// Nobody hears of single cells.
struct Unheard;

impl Progress for Unheard {}

impl PyCourse {
    fn course(&self) -> MutexGuard<'_, Course> {
        self.course.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self, point: &Point) -> Arc<Shared> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match &*last {
            Some(shared) if shared.is_of(point) => Arc::clone(shared),
            _ => Arc::clone(last.insert(Shared::of(point))),
        }
    }
}

#[pymethods]
impl PyCourse {
    #[new]
    fn new(plan: &PyPlan, folder: Py<PyFolder>) -> Self {
        Self { course: Mutex::new(Course::new(&plan.0, plan.0.points())), folder, last: Mutex::default() }
    }

    /// The next cell to run; None where nothing can run until a cell ends. Cells that the folder has are passed over.
    fn take(&self) -> PyResult<Option<PyCell>> {
        let folder = self.folder.get().folder()?;
        let mut course = self.course();
        if course.ready(&folder, &Unheard).or_raise::<SweepError>()?.is_none() {
            return Ok(None);
        }
        let (point, seed) = course.take();
        Ok(Some(PyCell::new(&self.shared(&point), seed)))
    }

    /// Keeps results of cells, and asks for more cells where the stop rule does. A result that comes twice changes nothing.
    fn keep(&self, py: Python<'_>, done: Vec<PyRef<'_, PyDone>>) -> PyResult<()> {
        let folder = self.folder.get().folder()?;
        let done: Vec<&PyDone> = done.iter().map(|done| &**done).collect();
        py.detach(|| keep(&folder, &done)).or_raise::<SweepError>()?;
        let mut course = self.course();
        done.into_iter().for_each(|done| course.ended(&done.0, &Unheard));
        Ok(())
    }

    /// Number of cells that ran, that were kept, and that are left as far as is known.
    #[getter]
    fn counts(&self) -> (u64, u64, u64) {
        let swept = self.course().swept();
        (swept.ran, swept.kept, swept.left)
    }

    fn __repr__(&self) -> String {
        let (ran, kept, left) = self.counts();
        format!("<course of a sweep: {ran} cells ran, {kept} were kept, {left} are left>")
    }
}

fn keep(folder: &Folder, done: &[&PyDone]) -> Result<(), Refusal> {
    // A cell is kept for good once its file system says so; waiting for several at once takes no longer than for one.
    thread::scope(|scope| {
        let kept: Vec<_> = done.iter().map(|done| scope.spawn(|| folder.keep(&done.0))).collect();
        kept.into_iter().try_for_each(|kept| kept.join().expect("keeping a cell does not panic"))
    })
}
