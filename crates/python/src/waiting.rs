//! Long calls: they run on a thread of their own, while other threads of Python go on and Ctrl-C is heard.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Longest time until Ctrl-C is heard.
const HEARD_WITHIN: Duration = Duration::from_millis(20);

/// The result of `work`, which goes on unheard where Ctrl-C ends the wait for it; `meanwhile` is called from time to time.
pub(crate) fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
    mut meanwhile: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (done, mut result) = mpsc::channel();
    // Nobody is left to hear of it after Ctrl-C.
    let worker = thread::spawn(move || drop(done.send(work())));
    loop {
        let heard;
        (heard, result) = py.detach(move || (result.recv_timeout(HEARD_WITHIN), result));
        match heard {
            Ok(value) => {
                // What runs in Python on that thread has to be over before the interpreter can end.
                py.detach(|| drop(worker.join()));
                meanwhile(py)?;
                return Ok(value);
            }
            Err(RecvTimeoutError::Timeout) => {
                py.check_signals()?;
                meanwhile(py)?;
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("order9 has a bug: the work ended without a result"));
            }
        }
    }
}

/// As [`wait_for`], with nothing to be done meanwhile.
pub(crate) fn unhurried<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> T + Send + 'static) -> PyResult<T> {
    wait_for(py, work, |_| Ok(()))
}
