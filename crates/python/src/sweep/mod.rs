//! Sweeps: plans, cells that any engine can run, and folders that keep them. Which engine runs them is decided in
//! `python/order9/_sweep.py` and `_ray.py`.

mod cell;
mod course;
mod folder;
mod plan;

pub(crate) use cell::{PyCell, PyDone, run_cells};
pub(crate) use course::PyCourse;
pub(crate) use folder::{PyFolder, PySummary, sweep};
pub(crate) use plan::PyPlan;
