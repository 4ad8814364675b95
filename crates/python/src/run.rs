//! Experiments: from words, as the command line has them, to runs on threads of their own.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use order9_host::available_memory;
use order9_lab::machines::List;
use order9_lab::scenario::{Named, Problem, Scenario, ScenarioError as WordError};
use order9_lab::{Cell, Keeper, Observer, Plan, Program, own_workload};
use order9_record::{Experiment, Inputs, Loaded, Manifest, Run};
use order9_snapshot::Snapshot;
use order9_snapshot::maps::MapSeries;
use order9_workloads::{Better, Workload};
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors::{Interrupted, MachineError, OrRaise as _, PlanError, ScenarioError, raised};
use crate::program::{Body, Failures};
use crate::results::{PyRun, Recorded};
use crate::snapshot::PySnapshot;
use crate::waiting::wait_for;

/// Names of the built-in machines.
#[pyfunction]
pub(crate) fn machines() -> PyResult<Vec<&'static str>> {
    Ok(List::new().or_raise::<MachineError>()?.machines.iter().map(|machine| machine.name).collect())
}

/// Names of the built-in workloads.
#[pyfunction]
pub(crate) fn workloads() -> Vec<&'static str> {
    Workload::ALL.map(Workload::name).to_vec()
}

/// Runs `what`, a workload or scenario file by name, with `arguments` as the command line takes them, option and value. `snapshot`
/// is the machine, if one is given. With `program`, a workload in Python, `what` is its name, `named` are the arguments that it was called
/// with, and `better` says of its measurements whether lower or higher is better. `progress` is called with the number of runs that have
/// ended, and of all.
#[pyfunction]
#[pyo3(signature = (what, arguments, *, snapshot=None, program=None, named=None, better=None, jobs=None, progress=None))]
#[allow(clippy::too_many_arguments, reason = "the Python side names them")]
pub(crate) fn run(
    py: Python<'_>,
    what: &str,
    arguments: Vec<(String, String)>,
    snapshot: Option<PyRef<'_, PySnapshot>>,
    program: Option<Py<PyAny>>,
    named: Option<Bound<'_, PyDict>>,
    better: Option<BTreeMap<String, String>>,
    jobs: Option<usize>,
    progress: Option<Py<PyAny>>,
) -> PyResult<PyRun> {
    let outside = Outside { better: directions(better.unwrap_or_default())?, parameters: parameters(named)? };
    let body = program.map(|function| Body {
        function: Arc::new(function),
        arguments: Arc::new(PyTuple::empty(py).unbind()),
        failures: Failures::default(),
    });
    let workload = body.as_ref().map(|_| own_workload(what, &[], &outside.better));
    let plan = Arc::new(planned(what, workload, &arguments, snapshot.as_deref()).or_raise::<ScenarioError>()?);
    let jobs = jobs_of(&plan, jobs, body.is_some())?;
    let failures = body.as_ref().map(|body| body.failures.clone());
    let watch = Arc::new(Watch::default());
    let work = {
        let (plan, watch) = (Arc::clone(&plan), Arc::clone(&watch));
        move || make(&plan, body, jobs, &watch)
    };
    let total = plan.cells().count();
    let mut told = None;
    let tell = |py: Python<'_>| {
        let ended = watch.ended();
        match &progress {
            Some(progress) if told != Some(ended) => {
                told = Some(ended);
                progress.call1(py, (ended, total)).map(drop)
            }
            _ => Ok(()),
        }
    };
    let done = match wait_for(py, work, tell) {
        Ok(done) => done.or_raise::<PlanError>()?,
        Err(stopped) => {
            watch.stop.store(true, Ordering::Relaxed);
            return Err(interrupted(py, stopped, &plan, &watch, &outside));
        }
    };
    if let Some(error) = failures.and_then(|failures| failures.take()) {
        return Err(error);
    }
    Ok(watch.results(&plan, done, &outside))
}

/// Statements of the author of a workload in Python about the workload.
struct Outside {
    better: BTreeMap<String, Better>,
    parameters: toml::Table,
}

impl Outside {
    /// Writes the statements into the inputs of the experiment, for whoever reads the runs again.
    fn note(&self, inputs: &mut Inputs) {
        let word = |(name, better): (&String, &Better)| (name.clone(), better.word().to_owned());
        inputs.workload.better = Some(self.better.iter().map(word).collect());
        inputs.workload.parameters.clone_from(&self.parameters);
    }
}

/// Arguments of a workload as parameters: numbers, truths and texts as such, all else as Python shows it.
fn parameters(named: Option<Bound<'_, PyDict>>) -> PyResult<toml::Table> {
    let value = |value: &Bound<'_, PyAny>| -> PyResult<toml::Value> {
        if let Ok(truth) = value.extract::<bool>() {
            return Ok(toml::Value::Boolean(truth));
        }
        if let Ok(number) = value.extract::<i64>() {
            return Ok(toml::Value::Integer(number));
        }
        if let Ok(number) = value.extract::<f64>() {
            return Ok(toml::Value::Float(number));
        }
        let text = value.extract::<String>().or_else(|_| value.repr()?.extract())?;
        Ok(toml::Value::String(text))
    };
    named.iter().flatten().map(|(name, of)| Ok((name.extract::<String>()?, value(&of)?))).collect()
}

fn directions(better: BTreeMap<String, String>) -> PyResult<BTreeMap<String, Better>> {
    let direction = |(name, word): (String, String)| match Better::by_word(&word) {
        Some(better) => Ok((name, better)),
        None => Err(PyValueError::new_err(format!("better: {name} is {word:?}, expected lower or higher"))),
    };
    better.into_iter().map(direction).collect()
}

/// The plan that was asked for.
fn planned(
    what: &str,
    workload: Option<Workload>,
    arguments: &[(String, String)],
    snapshot: Option<&PySnapshot>,
) -> Result<Plan, WordError> {
    let mut scenario = match workload {
        Some(workload) => Scenario::of(workload),
        None => match Named::read(what)? {
            Named::One(scenario) => *scenario,
            Named::Cases(_) => return Err(Problem::OnlyCases(what.to_owned()).into()),
        },
    };
    for (option, text) in arguments {
        scenario.argument(option, text)?;
    }
    if let Some(held) = snapshot {
        scenario = scenario.on_map(&held.name, Arc::clone(&held.snapshot));
    }
    let words = arguments.iter().flat_map(|(option, text)| [option.clone(), text.clone()]);
    let command = ["order9", "run", what].map(str::to_owned).into_iter().chain(words).collect();
    scenario.within(available_memory()).plan(command)
}

/// Number of runs at the same time. Workloads in Python share one interpreter: one at a time, unless more are asked for.
fn jobs_of(plan: &Plan, asked: Option<usize>, is_python: bool) -> PyResult<NonZeroUsize> {
    let fit = plan.jobs(available_memory());
    let fit = fit.map_err(|shortage| raised::<PlanError>(&format!("a run of this machine {shortage}")))?;
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    match asked {
        None if is_python => Ok(NonZeroUsize::MIN),
        None => Ok(fit.min(cores)),
        Some(jobs) => match NonZeroUsize::new(jobs) {
            Some(jobs) if jobs <= fit => Ok(jobs),
            Some(_) => {
                Err(raised::<PlanError>(&format!("jobs={jobs}: this host has memory for {fit} at the same time")))
            }
            None => Err(PyValueError::new_err("jobs=0: expected a whole number from 1 on")),
        },
    }
}

fn make(
    plan: &Plan,
    body: Option<Body>,
    jobs: NonZeroUsize,
    watch: &Watch,
) -> Result<Experiment, order9_lab::PlanError> {
    let Some(body) = body else { return order9_lab::run(plan, jobs, watch) };
    // The interpreter knows this thread from here on: otherwise each step of the workload would introduce it anew.
    let program: Arc<dyn Program> = Arc::new(body);
    Python::attach(|py| py.detach(|| order9_lab::run_own(plan, &program, jobs, watch)))
}

/// Observer that keeps whatever runs give.
#[derive(Default)]
struct Watch {
    stop: Arc<AtomicBool>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    inputs: Option<Inputs>,
    runs: Vec<Run>,
    snapshots: Vec<(Cell, String, Snapshot)>,
    maps: Vec<(Cell, MapSeries)>,
}

impl Watch {
    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) -> usize {
        self.seen().runs.len()
    }

    /// The results of `done`.
    fn results(&self, plan: &Plan, mut done: Experiment, outside: &Outside) -> PyRun {
        let mut seen = self.seen();
        let title = |cell: Cell| plan.policies[cell.policy].name.clone();
        let snapshots = std::mem::take(&mut seen.snapshots).into_iter();
        let snapshots = snapshots.map(|(cell, name, of)| ((title(cell), cell.seed, name), Arc::new(of))).collect();
        let maps =
            std::mem::take(&mut seen.maps).into_iter().map(|(cell, of)| ((title(cell), cell.seed), of)).collect();
        let workload = match plan.workload {
            Workload::Own(spec) => {
                outside.note(&mut done.inputs);
                own_workload(spec.name, &done.runs, &outside.better)
            }
            workload => workload,
        };
        let loaded = Loaded { manifest: Manifest::of(&done), runs: done.runs };
        PyRun(Arc::new(Recorded { loaded, workload, snapshots, maps, notes: plan.notes.clone(), directory: None }))
    }
}

impl Keeper for Watch {
    fn snapshot(&self, cell: Cell, name: &str, snapshot: &Snapshot) {
        self.seen().snapshots.push((cell, name.to_owned(), snapshot.clone()));
    }
}

impl Observer for Watch {
    fn keeper(&self) -> Option<&dyn Keeper> {
        Some(self)
    }

    fn maps(&self, cell: Cell, maps: &MapSeries) {
        self.seen().maps.push((cell, maps.clone()));
    }

    fn ended(&self, _: Cell, run: &Run, inputs: &Inputs) {
        let mut seen = self.seen();
        seen.inputs.get_or_insert_with(|| inputs.clone());
        seen.runs.push(run.clone());
    }

    fn stop(&self) -> Option<Arc<AtomicBool>> {
        Some(Arc::clone(&self.stop))
    }
}

/// Ctrl-C as an exception that holds the runs that have ended; any other exception as it is.
fn interrupted(py: Python<'_>, stopped: PyErr, plan: &Plan, watch: &Watch, outside: &Outside) -> PyErr {
    if !stopped.is_instance_of::<PyKeyboardInterrupt>(py) {
        return stopped;
    }
    let (inputs, runs) = {
        let mut seen = watch.seen();
        (seen.inputs.take(), std::mem::take(&mut seen.runs))
    };
    let (ended, total) = (runs.len(), plan.cells().count());
    let error = Interrupted::new_err(format!("{ended} of {total} runs had ended"));
    let run = inputs.map(|inputs| watch.results(plan, Experiment::new(inputs, runs), outside));
    match error.value(py).setattr("run", run) {
        Ok(()) => error,
        Err(error) => error,
    }
}
