//! [`Policy`]: a policy by name or file, with changes behind it.

use order9_policy::{Diff, Loaded, Show, load};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{python, word};
use crate::errors::{OrRaise as _, PolicyError};

/// A policy: how memory management behaves. Policy("linux-6.18") is a built-in one, Policy("my.toml") a file.
#[pyclass(frozen, module = "order9", from_py_object)]
#[derive(Clone)]
pub(crate) struct Policy {
    pub(crate) loaded: Loaded,
}

#[pymethods]
impl Policy {
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        Ok(Self { loaded: load(name).or_raise::<PolicyError>()? })
    }

    /// The policy with other values of some switches: `with_(**{"alloc.pack_movable": True})`. switches() names all.
    #[pyo3(signature = (**changes))]
    fn with_(&self, changes: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut name = self.loaded.name.clone();
        for (key, value) in changes.iter().flatten() {
            name += &format!("+{}={}", key.extract::<String>()?, word(&value)?);
        }
        Self::new(&name)
    }

    /// Name, with the changes behind it: what `--policy` takes.
    #[getter]
    fn name(&self) -> &str {
        &self.loaded.name
    }

    /// The policy in one line.
    #[getter]
    fn summary(&self) -> &str {
        &self.loaded.summary
    }

    /// All switches with their values, as `order9 policies show --json` prints them.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &Show::new(&self.loaded))
    }

    /// Value of each switch, by its key.
    fn switches<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for switch in order9_policy::switches() {
            dict.set_item(switch.key, switch.get(&self.loaded.policy).to_string())?;
        }
        Ok(dict)
    }

    /// Differences from `other`, in words.
    fn diff(&self, other: &Self) -> String {
        Diff::new(&self.loaded, &other.loaded).to_string()
    }

    /// The policy as a TOML file without base.
    fn toml(&self) -> String {
        Show::new(&self.loaded).to_string()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.loaded.policy == other.loaded.policy
    }

    fn __str__(&self) -> &str {
        &self.loaded.name
    }

    fn __repr__(&self) -> String {
        format!("Policy({:?})", self.loaded.name)
    }
}

/// Names of the built-in policies.
#[pyfunction]
pub(crate) fn policies() -> PyResult<Vec<String>> {
    let list = order9_policy::List::new().or_raise::<PolicyError>()?;
    Ok(list.policies.iter().map(|policy| policy.name.to_owned()).collect())
}
