//! A workload that is a generator or coroutine of Python, as a program of the lab's machine.
//!
//! Each step attaches to the interpreter, sends the answers of the last calls and takes the next ones; between two steps the
//! machine runs without it. An exception of the workload ends its thread, and the first one is kept to be raised by the run.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use order9_lab::{Cell, Program};
use order9_machine::Thread;
use order9_workloads::Stop;
use pyo3::exceptions::{PyStopIteration, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::iterator::PySendResult;
use pyo3::types::{PyIterator, PyList, PyTuple};

use crate::call::{Answer, Call};
use crate::errors::Refused;
use crate::sys::{PySys, Slot};

/// The first exception that a workload ended with.
#[derive(Clone, Default)]
pub(crate) struct Failures(Arc<Mutex<Option<PyErr>>>);

impl Failures {
    fn keep(&self, error: PyErr) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// The exception, for once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The function of a workload, with what it is called with behind its sys.
pub(crate) struct Body {
    pub(crate) function: Arc<Py<PyAny>>,
    pub(crate) arguments: Arc<Py<PyTuple>>,
    pub(crate) failures: Failures,
}

impl Program for Body {
    fn begin(&self, _: Cell, thread: Thread) -> Pin<Box<dyn Future<Output = Result<(), Stop>>>> {
        let (function, arguments) = (Arc::clone(&self.function), Arc::clone(&self.arguments));
        Box::pin(drive(thread, function, arguments, self.failures.clone()))
    }
}

/// Next wish of a workload.
enum Next {
    Call(Py<Call>),
    Calls(Vec<Py<Call>>),
    End,
}

/// Answer to the last calls of a workload.
enum Told {
    One(Answer),
    Several(Vec<Answer>),
    Refused(Stop),
}

/// The end of a workload whose own code failed: the exception is kept apart.
const RAISED: Stop = Stop::Refused { call: "the workload", errno: "an exception" };
/// The end of a workload when the interpreter ends.
const GONE: Stop = Stop::Refused { call: "the workload", errno: "the end of the interpreter" };

/// Runs the generator that `function` makes as the thread `sys`.
pub(crate) async fn drive(
    sys: Thread,
    function: Arc<Py<PyAny>>,
    arguments: Arc<Py<PyTuple>>,
    failures: Failures,
) -> Result<(), Stop> {
    let slot = Slot::of(sys.clone());
    let begun = Python::try_attach(|py| {
        let sys = Bound::new(py, PySys::new(&slot, failures.clone()))?;
        begin(&sys, function.bind(py), arguments.bind(py))
    });
    let (generator, mut next) = begun.ok_or(GONE)?.map_err(|error| {
        failures.keep(error);
        RAISED
    })?;
    let Some(generator) = generator else { return Ok(()) };
    loop {
        let told = match &next {
            Next::End => return Ok(()),
            Next::Call(call) => call.get().0.perform(&sys).await.map(Told::One),
            Next::Calls(calls) => several(calls, &sys).await.map(Told::Several),
        };
        let told = match told {
            Err(stop @ Stop::Refused { .. }) if stop != RAISED => Told::Refused(stop),
            Err(stop) => {
                Python::try_attach(|py| drop(generator.bind(py).call_method0("close")));
                return Err(stop);
            }
            Ok(told) => told,
        };
        let stop = if let Told::Refused(stop) = &told { Some(stop.clone()) } else { None };
        let stepped = Python::try_attach(|py| step(generator.bind(py), told, &mut next)).ok_or(GONE)?;
        if let Err(error) = stepped {
            let uncaught = Python::try_attach(|py| error.is_instance_of::<Refused>(py)).unwrap_or(false);
            return Err(match stop {
                Some(stop) if uncaught => stop,
                _ => {
                    failures.keep(error);
                    RAISED
                }
            });
        }
    }
}

async fn several(calls: &[Py<Call>], sys: &Thread) -> Result<Vec<Answer>, Stop> {
    let mut answers = Vec::with_capacity(calls.len());
    for call in calls {
        answers.push(call.get().0.perform(sys).await?);
    }
    Ok(answers)
}

/// Starts the workload: its generator, unless it was a plain function that has ended, and its first wish.
fn begin(
    sys: &Bound<'_, PySys>,
    function: &Bound<'_, PyAny>,
    arguments: &Bound<'_, PyTuple>,
) -> PyResult<(Option<Py<PyIterator>>, Next)> {
    let py = sys.py();
    let all = std::iter::once(sys.as_any().clone()).chain(arguments.iter());
    let made = function.call1(PyTuple::new(py, all.collect::<Vec<_>>())?)?;
    if made.is_none() {
        return Ok((None, Next::End));
    }
    let made = if made.hasattr("__await__")? { made.call_method0("__await__")? } else { made };
    let generator = made.cast_into::<PyIterator>().map_err(|_| {
        PyTypeError::new_err(
            "a workload yields or awaits its system calls: expected a generator or a coroutine function",
        )
    })?;
    let mut next = Next::End;
    sent(&generator, &py.None().into_bound(py), &mut next)?;
    Ok((Some(generator.unbind()), next))
}

/// Tells the workload what came of its calls, and takes the next ones.
fn step(generator: &Bound<'_, PyIterator>, told: Told, next: &mut Next) -> PyResult<()> {
    let py = generator.py();
    match told {
        Told::One(answer) => sent(generator, &answer.into_python(py)?, next),
        Told::Several(answers) => {
            let answers = answers.into_iter().map(|answer| answer.into_python(py)).collect::<PyResult<Vec<_>>>()?;
            sent(generator, PyList::new(py, answers)?.as_any(), next)
        }
        Told::Refused(stop) => thrown(generator, &stop, next),
    }
}

fn sent(generator: &Bound<'_, PyIterator>, value: &Bound<'_, PyAny>, next: &mut Next) -> PyResult<()> {
    *next = match generator.send(value)? {
        PySendResult::Next(wish) => wanted(wish)?,
        PySendResult::Return(_) => Next::End,
    };
    Ok(())
}

/// Raises the refusal of a call where the workload waits for it.
fn thrown(generator: &Bound<'_, PyIterator>, stop: &Stop, next: &mut Next) -> PyResult<()> {
    let py = generator.py();
    let number = match stop {
        Stop::Refused { errno, .. } => py.import("errno")?.getattr(*errno)?.extract::<i32>()?,
        _ => unreachable!("only refusals are told"),
    };
    let error = Refused::new_err((number, stop.to_string()));
    match generator.call_method1("throw", (error,)) {
        Ok(wish) => {
            *next = wanted(wish)?;
            Ok(())
        }
        Err(end) if end.is_instance_of::<PyStopIteration>(py) => {
            *next = Next::End;
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// The system calls that a workload has yielded.
fn wanted(wish: Bound<'_, PyAny>) -> PyResult<Next> {
    let wish = match wish.cast_into::<Call>() {
        Ok(call) => return Ok(Next::Call(call.unbind())),
        Err(error) => error.into_inner(),
    };
    let calls = wish
        .cast::<PyList>()
        .ok()
        .map(|list| list.iter().map(|call| call.cast_into::<Call>().map(Bound::unbind)).collect::<Result<Vec<_>, _>>());
    match calls {
        Some(Ok(calls)) => Ok(Next::Calls(calls)),
        _ => Err(PyTypeError::new_err(format!(
            "a workload yields system calls of its sys, or lists of them: got {}",
            wish.repr()?
        ))),
    }
}
