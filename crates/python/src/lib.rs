//! The Python package `order9`: snapshots, experiments of the lab, policies and the engine itself, as Python objects.
//!
//! Each class has a file. `errors` are the exceptions, with the messages of the command line; `waiting` is how a long call lets
//! other threads of Python go on and ends on Ctrl-C; `table` hands tables over by the Arrow C data interface, without a copy.
//! `sweep` has cells that any engine can run. `sys`, `call` and `program` run a workload that is a generator of Python on the lab's machine.
//! Decides nothing: all of it comes from the crates below. The Python side, with type stubs, is in `python/order9`; described for users in
//! docs/python.md.

#![allow(clippy::needless_pass_by_value, reason = "functions that Python calls own what they are given")]

mod area;
mod call;
mod convert;
mod engine;
mod errors;
mod inspection;
mod map;
mod page;
mod picture;
mod policy;
mod program;
mod results;
mod run;
mod snapshot;
mod sweep;
mod sys;
mod table;
mod verdicts;
mod waiting;
mod whole_file;

use pyo3::prelude::*;

#[pymodule(name = "_order9")]
mod module {
    #[pymodule_export]
    use crate::area::{PyArea, PyLoads};
    #[pymodule_export]
    use crate::call::Call;
    #[pymodule_export]
    use crate::engine::Engine;
    #[pymodule_export]
    use crate::errors::{
        AllocError, CaptureError, ClaimError, Error, FreeError, Interrupted, LawBroken, MachineError, PlanError,
        PlotError, PolicyError, RecordError, Refused, ScenarioError, SnapshotError, SweepError,
    };
    #[pymodule_export]
    use crate::inspection::PyInspection;
    #[pymodule_export]
    use crate::map::PyMap;
    #[pymodule_export]
    use crate::picture::PyPicture;
    #[pymodule_export]
    use crate::policy::{Policy, policies};
    #[pymodule_export]
    use crate::results::{PyComparison, PyRun, open_run};
    #[pymodule_export]
    use crate::run::{machines, run, workloads};
    #[pymodule_export]
    use crate::snapshot::PySnapshot;
    #[pymodule_export]
    use crate::sweep::{PyCell, PyCourse, PyDone, PyFolder, PyPlan, PySummary, run_cells, sweep};
    #[pymodule_export]
    use crate::sys::{PySys, StartedChild, TakenMemory};
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::verdicts::{PyVerdicts, claims};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
