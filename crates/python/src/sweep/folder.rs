//! [`PyFolder`]: cells that have ended, on the disk. [`sweep`] runs what is missing on this host.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use order9_host::available_memory;
use order9_sweep::{Ended, Folder, Making, Progress, Summary, SweepError as Refusal, merge, write_results};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::cell::{PyCell, PyDone};
use super::plan::PyPlan;
use crate::convert::python;
use crate::errors::{OrRaise as _, SweepError, raised};
use crate::waiting::{unhurried, wait_for};

/// A folder of cells that have ended, each kept whole or not at all. One program at a time works in it; use it as a context manager.
#[pyclass(frozen, module = "order9", name = "Folder")]
pub(crate) struct PyFolder {
    path: PathBuf,
    open: Mutex<Option<Arc<Folder>>>,
}

impl PyFolder {
    pub(crate) fn folder(&self) -> PyResult<Arc<Folder>> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| raised::<SweepError>(&format!("{}: the folder is closed", self.path.display())))
    }
}

#[pymethods]
impl PyFolder {
    #[new]
    #[pyo3(signature = (path, *, cache=None))]
    fn new(path: PathBuf, cache: Option<PathBuf>) -> PyResult<Self> {
        let folder = Folder::open(&path, cache.as_deref()).or_raise::<SweepError>()?;
        Ok(Self { path, open: Mutex::new(Some(Arc::new(folder))) })
    }

    /// Path of the folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Result of a cell; None where the cell has not ended.
    fn get(&self, cell: &PyCell) -> PyResult<Option<PyDone>> {
        Ok(self.folder()?.get(cell.cell().name()).or_raise::<SweepError>()?.map(PyDone))
    }

    /// Keeps the result of a cell: for good when this returns.
    fn keep(&self, py: Python<'_>, done: &PyDone) -> PyResult<()> {
        let folder = self.folder()?;
        py.detach(|| folder.keep(&done.0)).or_raise::<SweepError>()
    }

    /// Result of `cell`: as it is kept, or run now and kept.
    fn run(&self, py: Python<'_>, cell: &PyCell) -> PyResult<PyDone> {
        if let Some(done) = self.get(cell)? {
            return Ok(done);
        }
        let done = cell.run(py)?;
        self.keep(py, &done)?;
        Ok(done)
    }

    /// Cells of `plan` that have ended.
    fn cells(&self, plan: &PyPlan) -> PyResult<Vec<PyDone>> {
        let cells = self.folder()?.cells(&plan.0, plan.0.points()).or_raise::<SweepError>()?;
        Ok(cells.into_iter().map(PyDone).collect())
    }

    /// Writes all cells of `plan` that have ended as Parquet below `results`, and sums them up.
    fn write_results(&self, py: Python<'_>, plan: &PyPlan) -> PyResult<PySummary> {
        let (folder, plan) = (self.folder()?, Arc::clone(&plan.0));
        let written = unhurried(py, move || {
            folder.keep_plan(plan.text())?;
            let cells = folder.cells(&plan, plan.points())?;
            write_results(&folder, cells.clone())?;
            Ok::<_, Refusal>(Summary::of(cells, plan.until()))
        })?;
        written.or_raise::<SweepError>().map(PySummary)
    }

    /// Takes over the cells of other folders, writes all as Parquet below `results`, and sums them up.
    fn merge(&self, py: Python<'_>, parts: Vec<PathBuf>) -> PyResult<PySummary> {
        let folder = self.folder()?;
        let merged = unhurried(py, move || {
            let cells = merge(&parts, &folder)?;
            write_results(&folder, cells.clone())?;
            Ok::<_, Refusal>(Summary::of(cells, None))
        })?;
        merged.or_raise::<SweepError>().map(PySummary)
    }

    /// Lets another program work in the folder.
    fn close(&self) {
        drop(self.open.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_raised))]
    fn __exit__(&self, _raised: Vec<Bound<'_, PyAny>>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        format!("<folder of a sweep: {}>", self.path.display())
    }
}

/// Figures of cells by point and by axis, and the failures among them.
#[pyclass(frozen, module = "order9", name = "SweepSummary")]
pub(crate) struct PySummary(Summary);

#[pymethods]
impl PySummary {
    /// Number of cells.
    #[getter]
    fn cells(&self) -> usize {
        self.0.cells
    }

    /// Number of cells whose workload reached its end.
    #[getter]
    fn completed(&self) -> usize {
        self.0.completed
    }

    /// Digest of the names and results of all cells, whoever ran them.
    #[getter]
    fn digest(&self) -> String {
        self.0.digest.to_string()
    }

    /// Everything, as `order9 sweep --json` prints it.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.0)
    }

    /// The tables of `order9 sweep`.
    fn text(&self) -> String {
        self.0.to_text()
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn __repr__(&self) -> String {
        format!("<{} cells of a sweep, {} completed>", self.0.cells, self.0.completed)
    }
}

/// Counts for whoever looks on from Python.
#[derive(Default)]
struct Watch {
    stop: AtomicBool,
    ended: AtomicU64,
    total: AtomicU64,
}

impl Progress for Watch {
    fn ended(&self, Ended { ended, total, .. }: Ended<'_>) {
        self.total.store(total, Ordering::Relaxed);
        self.ended.store(ended, Ordering::Relaxed);
    }
}

/// Runs the cells of `plan` that `folder` does not have, `jobs` at a time, on this host. Returns the number that ran, and of those that
/// were kept. `progress` is called with the number of cells that have ended, and of all.
#[pyfunction]
#[pyo3(signature = (plan, folder, *, jobs=None, progress=None))]
pub(crate) fn sweep(
    py: Python<'_>,
    plan: &PyPlan,
    folder: &PyFolder,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(u64, u64)> {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = jobs.map_or(Some(cores), NonZeroUsize::new);
    let jobs = jobs.ok_or_else(|| PyValueError::new_err("jobs=0: expected a whole number from 1 on"))?;
    let watch = Arc::new(Watch::default());
    let (works, is_over) = mpsc::channel::<()>();
    let work = {
        let (plan, folder, watch) = (Arc::clone(&plan.0), folder.folder()?, Arc::clone(&watch));
        move || {
            let making = Making { jobs, available: available_memory(), stop: &watch.stop };
            let swept = order9_sweep::sweep(&plan, plan.points(), &folder, making, &*watch);
            drop(folder);
            drop(works);
            swept
        }
    };
    let mut told = None;
    let tell = |py: Python<'_>| {
        let now = (watch.ended.load(Ordering::Relaxed), watch.total.load(Ordering::Relaxed));
        match &progress {
            Some(progress) if now.1 > 0 && told != Some(now) => {
                told = Some(now);
                progress.call1(py, now).map(drop)
            }
            _ => Ok(()),
        }
    };
    let swept = wait_for(py, work, tell).inspect_err(|_| {
        watch.stop.store(true, Ordering::Relaxed);
        // The folder stays locked until the thread has let go of it, which takes it no longer than a look at the flag.
        py.detach(move || {
            let _ = is_over.recv();
        });
    })?;
    let swept = swept.or_raise::<SweepError>()?;
    Ok((swept.ran, swept.kept))
}
