//! [`PySnapshot`]: a memory map of a host, of a file, or made up.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

use order9_export::{schema, tables};
use order9_host::{Options, Root, available_memory, calibrate};
use order9_report::inspect::View;
use order9_snapshot::limits::Shortage;
use order9_snapshot::synth::{SynthSpec, synth};
use order9_snapshot::{Missing, Snapshot, format};
use order9_units::NodeId;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::convert::{bytes, word};
use crate::errors::{CaptureError, OrRaise as _, SnapshotError, raised};
use crate::inspection::PyInspection;
use crate::map::PyMap;
use crate::table::{Making, Table};
use crate::waiting::unhurried;
use crate::whole_file::write_whole;

/// A memory map: what every frame of a machine holds, with its zones, settings and counters.
#[pyclass(frozen, module = "order9", name = "Snapshot")]
pub(crate) struct PySnapshot {
    pub(crate) snapshot: Arc<Snapshot>,
    /// Name in messages and manifests.
    #[pyo3(get)]
    pub(crate) name: String,
}

impl PySnapshot {
    pub(crate) fn new(name: String, snapshot: Snapshot) -> Self {
        Self { snapshot: Arc::new(snapshot), name }
    }

    pub(crate) fn view(&self, py: Python<'_>, node: Option<u16>) -> PyResult<View> {
        let snapshot = Arc::clone(&self.snapshot);
        let view = unhurried(py, move || View::of(&snapshot, node.map(NodeId), available_memory()))?;
        view.map_err(|error| match node {
            Some(node) => raised::<SnapshotError>(&format!("node {node}: {error}")),
            None => raised::<SnapshotError>(&error),
        })
    }
}

#[pymethods]
impl PySnapshot {
    /// Captures this host, which needs root for the map of frames, or the copies of a host's files below `root`. With `prices`,
    /// what memory work costs is measured on this host, too.
    #[staticmethod]
    #[pyo3(signature = (root=None, *, prices=true, full_release=false))]
    fn capture(py: Python<'_>, root: Option<PathBuf>, prices: bool, full_release: bool) -> PyResult<Self> {
        if let Some(root) = root.as_ref().filter(|root| !root.is_dir()) {
            return Err(raised::<CaptureError>(&format!(
                "{}: expected a directory that holds proc/ and sys/",
                root.display()
            )));
        }
        let name = root.as_ref().map_or_else(|| "this host".to_owned(), |root| root.display().to_string());
        let captured = unhurried(py, move || {
            let root = root.map_or_else(Root::live, |root| Root::directory(&root));
            let mut snapshot = order9_host::capture(&root, Options { progress: None, full_release, owners: false })?;
            if prices && root.is_live() {
                match calibrate() {
                    Ok(calibration) => snapshot.calibration = Some(calibration),
                    Err(reason) => snapshot.missing.push(Missing { path: "prices of this host".to_owned(), reason }),
                }
            }
            Ok::<_, order9_host::CaptureError>(snapshot)
        })?;
        Ok(Self::new(name, captured.or_raise::<CaptureError>()?))
    }

    /// Reads a snapshot file.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let name = path.display().to_string();
        let read = unhurried(py, move || {
            let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
            format::read_within(file, available_memory()).map_err(|error| format!("{}: {error}", path.display()))
        })?;
        Ok(Self::new(name, read.or_raise::<SnapshotError>()?))
    }

    /// Makes a machine up: `size` such as "64G", and any of nodes, fill, unmovable, reclaimable, pinned, huge, clean_cache, pattern,
    /// degree, contamination and seed, as `order9 snapshot synth --help` describes them. Equal arguments give equal machines.
    #[staticmethod]
    #[pyo3(signature = (size=None, **spec))]
    fn synth(py: Python<'_>, size: Option<Bound<'_, PyAny>>, spec: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut asked = SynthSpec::default();
        if let Some(size) = size {
            asked.size = bytes(&size)?;
        }
        for (key, value) in spec.iter().flatten() {
            set(&mut asked, &key.extract::<String>()?, &value)?;
        }
        asked.check().or_raise::<SnapshotError>()?;
        Shortage::check(asked.memory(), available_memory()).or_raise::<SnapshotError>()?;
        let name = asked.to_string();
        let made = unhurried(py, move || synth(&asked))?;
        Ok(Self::new(name, made.or_raise::<SnapshotError>()?.0))
    }

    /// Writes the snapshot to a file, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let snapshot = Arc::clone(&self.snapshot);
        let write = move || {
            let written = write_whole(&path, |file| format::write(&snapshot, file));
            written.map_err(|error| format!("{}: {error}", path.display()))
        };
        unhurried(py, write)?.or_raise::<SnapshotError>()
    }

    /// Findings about huge pages: of the machine, or of one node.
    #[pyo3(signature = (node=None))]
    fn inspect(&self, py: Python<'_>, node: Option<u16>) -> PyResult<PyInspection> {
        self.view(py, node).map(PyInspection)
    }

    /// The map of all frames.
    fn map(&self, py: Python<'_>) -> PyResult<PyMap> {
        PyMap::of(&self.snapshot, &self.view(py, None)?)
    }

    /// Facts as rows: memory of zones, watermarks, free blocks, pageblocks and /proc/vmstat (the table `facts` of docs/export.md).
    fn facts(&self) -> PyResult<Table> {
        let mut rows = Making::new(schema::FACTS);
        tables::fact_rows(&self.name, &self.snapshot, &mut rows).or_raise::<SnapshotError>()?;
        Ok(rows.finish())
    }

    fn __repr__(&self) -> String {
        format!(
            "Snapshot({}, {} CPUs, {})",
            self.name, self.snapshot.machine.cpus, self.snapshot.machine.kernel_release
        )
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        Ok(PyInspection(self.view(py, None)?)._repr_html_())
    }
}

/// Sets one part of a machine to make up.
fn set(spec: &mut SynthSpec, key: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    match key {
        "nodes" => spec.nodes = value.extract()?,
        "fill" => spec.fill = value.extract()?,
        "unmovable" => spec.unmovable = value.extract()?,
        "reclaimable" => spec.reclaimable = value.extract()?,
        "pinned" => spec.pinned = value.extract()?,
        "huge" => spec.huge = value.extract()?,
        "clean_cache" => spec.clean_cache = value.extract()?,
        "pattern" => spec.pattern = word(value)?.parse().or_raise::<SnapshotError>()?,
        "degree" => spec.degree = value.extract()?,
        "contamination" => spec.contamination = value.extract()?,
        "seed" => spec.seed = value.extract()?,
        _ => {
            let expected = "nodes, fill, unmovable, reclaimable, pinned, huge, clean_cache, pattern, degree, \
                            contamination or seed";
            return Err(raised::<SnapshotError>(&format!("a made-up machine has no {key}: expected {expected}")));
        }
    }
    Ok(())
}
