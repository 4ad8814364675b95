//! Exceptions of the package: one for each kind of refusal, all below [`Error`], with the messages of the command line.

use std::fmt::Display;

use pyo3::exceptions::{PyException, PyKeyboardInterrupt, PyOSError};
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};

create_exception!(order9, Error, PyException, "Anything that order9 refuses.");
create_exception!(order9, ScenarioError, Error, "A wish for an experiment that makes no sense.");
create_exception!(order9, PolicyError, Error, "A policy that cannot be loaded.");
create_exception!(order9, MachineError, Error, "A machine that cannot be loaded or made.");
create_exception!(order9, PlanError, Error, "An experiment that cannot be run, though all its parts exist.");
create_exception!(order9, SnapshotError, Error, "A snapshot that cannot be read, made up, analysed or written.");
create_exception!(order9, CaptureError, Error, "A host whose memory cannot be captured.");
create_exception!(order9, RecordError, Error, "A run directory that cannot be read or written.");
create_exception!(order9, ClaimError, Error, "A published claim that cannot be read, or that is about other runs.");
create_exception!(order9, PlotError, Error, "A plot of something that the runs do not have.");
create_exception!(order9, SweepError, Error, "A plan of a sweep that cannot be read, or a sweep that cannot go on.");
create_exception!(order9, AllocError, Error, "A request that the engine refused, with the reason to stop.");
create_exception!(order9, FreeError, Error, "A block that cannot be freed: it is none, or is somebody's.");
create_exception!(order9, LawBroken, Error, "A law of the engine that does not hold: a bug of order9.");
create_exception!(order9, Refused, PyOSError, "A system call of a workload that was refused, with its errno.");
create_exception!(
    order9,
    Interrupted,
    PyKeyboardInterrupt,
    "Ctrl-C during a run. The attribute `run` holds the runs that had ended, or None."
);

/// Turns the error of a library into an exception of the package.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception `E` with the error's message.
    fn or_raise<E: PyTypeInfo>(self) -> PyResult<T>;
}

impl<T, Cause: Display> OrRaise<T> for Result<T, Cause> {
    fn or_raise<E: PyTypeInfo>(self) -> PyResult<T> {
        self.map_err(|cause| raised::<E>(&cause))
    }
}

/// The exception `E` with this message.
pub(crate) fn raised<E: PyTypeInfo>(message: &dyn Display) -> PyErr {
    PyErr::new::<E, _>(message.to_string())
}
