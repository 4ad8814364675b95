//! The Python package.

use pyo3::prelude::*;

#[pymodule]
mod _order9 {
    use super::*;
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        Ok(())
    }
}
