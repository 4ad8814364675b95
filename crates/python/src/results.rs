//! [`PyRun`]: what came of an experiment, as tables, comparisons, verdicts, maps, plots and pages.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use order9_export::{ExportError, schema, tables};
use order9_lab::{PlotChoice, distributions, notes, plot, pooled_report, report, stored_workload};
use order9_record::{Cell, Event, Existing, Loaded, Run, read, read_events, read_file};
use order9_report::compare::text::Fit;
use order9_report::compare::{Report, csv, is_operation, latex, markdown};
use order9_report::plot::Size;
use order9_report::stats::Generation;
use order9_snapshot::maps::MapSeries;
use order9_snapshot::{Snapshot, format};
use order9_workloads::Workload;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::convert::{escaped, python};
use crate::errors::{OrRaise as _, PlotError, RecordError, raised};
use crate::map::PyMap;
use crate::page;
use crate::picture::PyPicture;
use crate::snapshot::PySnapshot;
use crate::table::{Making, Table};
use crate::verdicts::{PyVerdicts, find, judged};

/// Policy and seed of a run.
type OfRun = (String, u64);

/// Results of an experiment with what was kept beside its measurements.
pub(crate) struct Recorded {
    pub(crate) loaded: Loaded,
    pub(crate) workload: Workload,
    /// Snapshots that the workload has asked for, by policy, seed and name.
    pub(crate) snapshots: BTreeMap<(String, u64, String), Arc<Snapshot>>,
    /// Maps over time.
    pub(crate) maps: BTreeMap<OfRun, MapSeries>,
    /// Decisions that the plan made by itself.
    pub(crate) notes: Vec<String>,
    /// Directory that stores all of it, if one does.
    pub(crate) directory: Option<PathBuf>,
}

/// Results of an experiment: one workload under one or several policies, some seeds each.
#[pyclass(frozen, module = "order9", name = "Run")]
pub(crate) struct PyRun(pub(crate) Arc<Recorded>);

impl Recorded {
    pub(crate) fn columns(&self) -> Vec<(&str, Vec<&Run>)> {
        let of_policy = |title: &str| self.loaded.runs.iter().filter(|run| run.policy == title).collect();
        let titles = self.loaded.manifest.inputs.policies.iter().map(|policy| policy.title.as_str());
        titles.map(|title| (title, of_policy(title))).filter(|(_, runs): &(_, Vec<_>)| !runs.is_empty()).collect()
    }

    pub(crate) fn report(&self, generation: Generation, is_pooled: bool) -> Report {
        if is_pooled {
            pooled_report(self.workload, &self.columns(), generation.into())
        } else {
            report(self.workload, &self.columns(), generation)
        }
    }

    fn all_notes(&self) -> Vec<String> {
        let runs: Vec<&Run> = self.loaded.runs.iter().collect();
        let unended = self.failures();
        let of_runs = notes(&self.loaded.manifest.inputs, &runs);
        self.notes.iter().cloned().chain(unended).chain(of_runs).collect()
    }

    fn failures(&self) -> Vec<String> {
        let message = |run: &Run| Some(format!("{}, seed {}: {}", run.policy, run.seed, run.outcome.message()?));
        self.loaded.runs.iter().filter_map(message).collect()
    }

    fn rows(&self, table: schema::Table, keep: impl FnMut(&[schema::Value<'_>]) -> bool) -> PyResult<Table> {
        let mut rows = Kept { rows: Making::new(table), keep };
        let events = |cell: &Cell, run: &Run| match &self.directory {
            Some(directory) => Ok(read_events(directory, &self.loaded.manifest, cell)?),
            None => Ok::<Vec<Event>, ExportError>(run.traces.events.clone()),
        };
        tables::run_rows(table, &self.loaded, &events, &mut rows).or_raise::<RecordError>()?;
        Ok(rows.rows.finish())
    }

    fn snapshot(&self, name: &str, policy: Option<String>, seed: Option<u64>) -> PyResult<PySnapshot> {
        let first = self.loaded.runs.first().ok_or_else(|| raised::<RecordError>(&"there are no runs"))?;
        let (policy, seed) = (policy.unwrap_or_else(|| first.policy.clone()), seed.unwrap_or(first.seed));
        let title = format!("{name} of {policy}, seed {seed}");
        let file = format!("{policy}-seed-{seed}-{name}.{}", format::EXTENSION);
        if let Some(snapshot) = self.snapshots.get(&(policy, seed, name.to_owned())) {
            return Ok(PySnapshot { snapshot: Arc::clone(snapshot), name: title });
        }
        let stored = self.directory.as_ref().filter(|_| self.loaded.manifest.files.iter().any(|of| of.path == file));
        let Some(directory) = stored else {
            let expected = self.snapshot_names().join(", ");
            return Err(raised::<RecordError>(&format!("no run has kept {title}: there are {expected}")));
        };
        let bytes = read_file(directory, &self.loaded.manifest, &file).or_raise::<RecordError>()?;
        Ok(PySnapshot::new(title, format::read(bytes.as_slice()).or_raise::<RecordError>()?))
    }

    /// Names under which any run has kept its memory.
    fn snapshot_names(&self) -> Vec<String> {
        let ending = format!(".{}", format::EXTENSION);
        let of_file = |path: &str| {
            let of_run =
                |run: &Run| path.strip_prefix(&format!("{}-seed-{}-", run.policy, run.seed)).map(str::to_owned);
            self.loaded.runs.iter().find_map(of_run)?.strip_suffix(&ending).map(str::to_owned)
        };
        let stored = self.loaded.manifest.files.iter().filter_map(|entry| of_file(&entry.path));
        let mut names: Vec<String> = self.snapshots.keys().map(|(.., name)| name.clone()).chain(stored).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Passes on the rows that are wanted.
struct Kept<F> {
    rows: Making,
    keep: F,
}

impl<F: FnMut(&[schema::Value<'_>]) -> bool> tables::Rows for Kept<F> {
    fn row(&mut self, values: &[schema::Value<'_>]) -> Result<(), ExportError> {
        if (self.keep)(values) { self.rows.row(values) } else { Ok(()) }
    }
}

#[pymethods]
impl PyRun {
    /// Digest of all results: equal digests mean equal results.
    #[getter]
    fn digest(&self) -> String {
        self.0.loaded.manifest.digest.to_string()
    }

    /// Name of the workload.
    #[getter]
    fn workload(&self) -> &str {
        &self.0.loaded.manifest.inputs.workload.name
    }

    /// Titles of the policies, in their order.
    #[getter]
    fn policies(&self) -> Vec<String> {
        self.0.columns().into_iter().map(|(title, _)| title.to_owned()).collect()
    }

    /// Seeds of each policy.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.0.loaded.manifest.inputs.seeds.clone()
    }

    /// Names of the operations that were measured.
    #[getter]
    fn operations(&self) -> Vec<String> {
        let mut names = Vec::new();
        for operation in self.0.loaded.runs.iter().flat_map(|run| &run.operations) {
            if !names.contains(&operation.name) {
                names.push(operation.name.clone());
            }
        }
        names
    }

    /// Names under which memory was kept: for snapshot and map.
    #[getter]
    fn snapshots(&self) -> Vec<String> {
        self.0.snapshot_names()
    }

    /// Sentences that a reader of the results needs.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.all_notes()
    }

    /// Runs that did not come to their end: a sentence each.
    #[getter]
    fn failures(&self) -> Vec<String> {
        self.0.failures()
    }

    /// Everything that decided the results, as the manifest of a run directory has it.
    #[getter]
    fn inputs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.0.loaded.manifest.inputs)
    }

    /// A row for each run (table `runs` of docs/export.md).
    fn runs(&self) -> PyResult<Table> {
        self.0.rows(schema::RUNS, |_| true)
    }

    /// All samples, or those of one operation, numbers behind its name apart (table `samples`).
    #[pyo3(signature = (operation=None))]
    fn samples(&self, operation: Option<&str>) -> PyResult<Table> {
        let Some(operation) = operation else { return self.0.rows(schema::SAMPLES, |_| true) };
        let known = self.operations();
        if !known.iter().any(|name| is_operation(operation, name) || name == operation) {
            let known = known.join(", ");
            return Err(raised::<PlotError>(&format!("no operation is called '{operation}': the runs have {known}")));
        }
        let wanted = |name: &str| name == operation || is_operation(operation, name);
        self.0.rows(schema::SAMPLES, |row| matches!(row[2], schema::Value::Text(name) if wanted(name)))
    }

    /// All counters over time and at both ends of phases, or one of them (table `counters`).
    #[pyo3(signature = (counter=None))]
    fn counters(&self, counter: Option<&str>) -> PyResult<Table> {
        let is_known = |name: &str| self.0.loaded.runs.iter().any(|run| run.counters.position(name).is_some());
        if let Some(name) = counter.filter(|name| !is_known(name)) {
            return Err(raised::<PlotError>(&format!("no counter is called '{name}'")));
        }
        self.0.rows(schema::COUNTERS, |row| {
            counter.is_none_or(|wanted| matches!(row[5], schema::Value::Text(name) if name == wanted))
        })
    }

    /// Events that were kept (table `events`).
    fn events(&self) -> PyResult<Table> {
        self.0.rows(schema::EVENTS, |_| true)
    }

    /// Growth of a counter over each run: a dict by policy and seed.
    fn growth(&self, counter: &str) -> BTreeMap<OfRun, Option<i128>> {
        self.0.loaded.runs.iter().map(|run| ((run.policy.clone(), run.seed), run.growth(counter))).collect()
    }

    /// Compares the policies with the first one. `layout` is runs, where a run is an observation, or mmtests, which pools all runs.
    #[pyo3(signature = (layout="runs"))]
    fn compare(&self, layout: &str) -> PyResult<PyComparison> {
        let is_pooled = match layout {
            "runs" => false,
            "mmtests" => true,
            _ => return Err(PyValueError::new_err(format!("layout={layout:?}: expected runs or mmtests"))),
        };
        Ok(PyComparison { report: self.0.report(Generation::default(), is_pooled), notes: self.0.all_notes() })
    }

    /// Judges every statement of a published claim: the name of a built-in one, see claims(), or a file. Its two kernels are the first
    /// two policies.
    fn verdicts(&self, claim: &str) -> PyResult<PyVerdicts> {
        judged(&self.0, find(claim)?)
    }

    /// Memory as a run kept it under this name: of the first policy and seed, unless others are named.
    #[pyo3(signature = (name, *, policy=None, seed=None))]
    fn snapshot(&self, name: &str, policy: Option<String>, seed: Option<u64>) -> PyResult<PySnapshot> {
        self.0.snapshot(name, policy, seed)
    }

    /// The map of this memory.
    #[pyo3(signature = (name, *, policy=None, seed=None))]
    fn map(&self, py: Python<'_>, name: &str, policy: Option<String>, seed: Option<u64>) -> PyResult<PyMap> {
        let snapshot = self.0.snapshot(name, policy, seed)?;
        PyMap::of(&snapshot.snapshot, &snapshot.view(py, None)?)
    }

    /// Metrics over time, as `order9 plot` draws them: "nr_free_pages" for instance, or "pgmigrate_success/s".
    #[pyo3(signature = (*metrics, width=900))]
    fn plot(&self, metrics: Vec<String>, width: u32) -> PyResult<PyPicture> {
        let metrics = metrics.iter().map(|text| text.parse().or_raise::<PlotError>());
        let choice = PlotChoice { metrics: metrics.collect::<PyResult<_>>()?, ..PlotChoice::default() };
        let plotted = plot(&self.0.loaded, &choice).or_raise::<PlotError>()?;
        Ok(PyPicture(plotted.chart.draw(Size { width, height: None })))
    }

    /// Distributions of the samples of these operations; of those times of which there are most, where none is named.
    #[pyo3(signature = (*operations, width=900))]
    fn cdf(&self, operations: Vec<String>, width: u32) -> PyResult<PyPicture> {
        let choice = PlotChoice { operations, ..PlotChoice::default() };
        let drawn = distributions(&self.0.loaded, &choice).or_raise::<PlotError>()?;
        Ok(PyPicture(drawn.chart.draw(Size { width, height: None })))
    }

    /// Stores everything as a run directory, which the command line reads, too.
    #[pyo3(signature = (directory, *, force=false))]
    fn save(&self, directory: PathBuf, force: bool) -> PyResult<()> {
        if let Some(stored) = &self.0.directory {
            return Err(raised::<RecordError>(&format!("{}: stores these runs already", stored.display())));
        }
        let existing = if force { Existing::Replace } else { Existing::Keep };
        page::store(&self.0, &self.0.report(Generation::default(), false), &directory, existing)
    }

    /// Writes the page about the runs: tables, distributions, counters over time and maps, in one file for a browser. `claims` are
    /// judged in it.
    #[pyo3(signature = (path, *, claims=None))]
    fn report(&self, path: PathBuf, claims: Option<Vec<String>>) -> PyResult<()> {
        let report = self.0.report(Generation::default(), false);
        let columns = self.0.columns();
        let claims = claims.iter().flatten().map(|name| {
            let verdicts = judged(&self.0, find(name)?)?;
            Ok(verdicts.section([columns[0].0, columns[1].0]))
        });
        let claims = claims.collect::<PyResult<Vec<_>>>()?;
        let write = |directory: &Path| page::write(directory, &report, claims, self.0.all_notes(), &path);
        match &self.0.directory {
            Some(directory) => write(directory),
            None => {
                let folder = tempfile::tempdir().or_raise::<RecordError>()?;
                let directory = folder.path().join(self.workload());
                page::store(&self.0, &report, &directory, Existing::Keep)?;
                write(&directory)
            }
        }
    }

    fn __len__(&self) -> usize {
        self.0.loaded.runs.len()
    }

    fn __repr__(&self) -> String {
        format!(
            "Run({}: {}; {} runs, digest {})",
            self.workload(),
            self.policies().join(", "),
            self.__len__(),
            self.digest()
        )
    }

    fn _repr_html_(&self) -> PyResult<String> {
        let head = format!("<p><b>{}</b>: {}</p>", escaped(self.workload()), escaped(&self.policies().join(", ")));
        let cdf = self.cdf(Vec::new(), 900).map(|picture| picture.drawn()).unwrap_or_default();
        let failed: String = self.failures().iter().map(|text| format!("<p>{}</p>", escaped(text))).collect();
        Ok(format!(
            "{head}{failed}{}{cdf}<p>digest {}</p>",
            page::tables(&self.0.report(Generation::default(), false)),
            self.digest()
        ))
    }
}

/// Policies beside each other: tables, and a verdict on each quantity that decides.
#[pyclass(frozen, module = "order9", name = "Comparison")]
pub(crate) struct PyComparison {
    report: Report,
    notes: Vec<String>,
}

#[pymethods]
impl PyComparison {
    /// Everything, as `order9 compare --json` prints it below `report`.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        python(py, &self.report)
    }

    /// The tables as text, as the command line prints them.
    fn text(&self) -> String {
        self.report.to_text(Fit::Widened)
    }

    /// Rows that decide, in few lines.
    #[pyo3(signature = (lines=20))]
    fn brief(&self, lines: usize) -> String {
        self.report.to_brief(lines)
    }

    /// The tables in Markdown.
    fn markdown(&self) -> String {
        markdown::draw(&self.report, &self.notes)
    }

    /// The tables for LaTeX.
    fn latex(&self) -> String {
        latex::draw(&self.report, &self.notes)
    }

    /// A line for each value.
    fn csv(&self) -> String {
        csv::draw(&self.report)
    }

    fn __repr__(&self) -> String {
        self.brief(20)
    }

    fn __str__(&self) -> String {
        self.text()
    }

    fn _repr_html_(&self) -> String {
        page::tables(&self.report)
    }
}

/// Opens a directory that `order9 run -o` or Run.save wrote.
#[pyfunction]
pub(crate) fn open_run(directory: PathBuf) -> PyResult<PyRun> {
    let loaded = read(&directory).or_raise::<RecordError>()?;
    let directory = fs::canonicalize(&directory).or_raise::<RecordError>()?;
    let workload = stored_workload(&[&loaded]).or_raise::<RecordError>()?;
    let (snapshots, maps) = (BTreeMap::new(), BTreeMap::new());
    Ok(PyRun(Arc::new(Recorded { loaded, workload, snapshots, maps, notes: Vec::new(), directory: Some(directory) })))
}
