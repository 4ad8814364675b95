//! [`PyArea`] and [`PyLoads`]: memory of a program, and times of loads from it, as Python sees them.

use order9_workloads::{Area, Loads};
use pyo3::prelude::*;

use crate::convert::bytes;

/// Memory of a program, page aligned.
#[pyclass(frozen, eq, module = "order9", name = "Area")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PyArea(pub(crate) Area);

#[pymethods]
impl PyArea {
    /// Address of the first byte.
    #[getter]
    fn start(&self) -> u64 {
        self.0.start
    }

    /// Length in bytes.
    #[getter]
    fn length(&self) -> u64 {
        self.0.length.get()
    }

    /// Number of base pages.
    #[getter]
    fn pages(&self) -> u64 {
        self.0.pages()
    }

    /// `length` bytes from `offset` on, both whole pages, as far as the area goes.
    fn part(&self, offset: &Bound<'_, PyAny>, length: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(self.0.part(bytes(offset)?, bytes(length)?)))
    }

    fn __repr__(&self) -> String {
        format!("Area({:#x}, {} bytes)", self.0.start, self.0.length.get())
    }
}

/// Times of random loads.
#[pyclass(frozen, module = "order9", name = "Loads")]
pub(crate) struct PyLoads(pub(crate) Loads);

#[pymethods]
impl PyLoads {
    /// Number of loads.
    #[getter]
    fn loads(&self) -> u64 {
        self.0.loads
    }

    /// CPU time of all of them together, in nanoseconds.
    #[getter]
    fn time_ns(&self) -> u64 {
        self.0.time.get()
    }

    /// Number of loads whose translation the TLB did not hold; None where nobody counts them.
    #[getter]
    fn tlb_misses(&self) -> Option<u64> {
        self.0.tlb_misses
    }
}
