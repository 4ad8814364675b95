//! Balance of a guard's budgets, kept from one guard to the next: whoever starts it again gives it no time that way.
//!
//! The file lies beside the lock, and is gone after a restart of the machine, as that is. Three lines: when it was written, in ns since the
//! start of the machine, and what the budgets of CPU and of stalls held then, in ns.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use order9_guard::{Balance, Controller};
use order9_journal::DIRECTORY;
use order9_units::Nanos;

use super::metrics::replace;
use crate::failure::{Failure, io_sentence};

fn path() -> PathBuf {
    Path::new(DIRECTORY).join("guard.budget")
}

/// Keeps what the budgets hold now.
pub(super) fn keep(balance: Balance) -> Result<(), Failure> {
    let path = path();
    let failed = |error: &std::io::Error| Failure::file(&path, io_sentence(error));
    let now = since_boot().map_err(|error| failed(&error))?;
    replace(&path, &text(now, balance)).map_err(|error| failed(&error))
}

/// The controller with the budgets of the guard before; full ones where there was none.
pub(super) fn restored(controller: Controller) -> Result<Controller, Failure> {
    let path = path();
    let failed = |reason: String| Failure::file(&path, format!("{reason}: budgets begin empty"));
    let found = match fs::read_to_string(&path) {
        Ok(text) => parse(&text).ok_or_else(|| failed("not as a guard wrote it".to_owned()))?,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(controller),
        Err(error) => return Err(failed(io_sentence(&error))),
    };
    let now = since_boot().map_err(|error| failed(io_sentence(&error)))?;
    let (at, balance) = found;
    Ok(controller.with_balance(balance, now.saturating_sub(at)))
}

fn text(at: Nanos, Balance { cpu, stall }: Balance) -> String {
    format!("at {}\ncpu {cpu}\nstall {stall}\n", at.get())
}

fn parse(text: &str) -> Option<(Nanos, Balance)> {
    let mut lines = text.lines();
    let mut value = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ');
    let at = Nanos::new(value("at")?.parse().ok()?);
    let balance = Balance { cpu: value("cpu")?.parse().ok()?, stall: value("stall")?.parse().ok()? };
    lines.next().is_none().then_some((at, balance))
}

/// Time since the start of the machine, sleep included.
fn since_boot() -> std::io::Result<Nanos> {
    let text = fs::read_to_string("/proc/uptime")?;
    let seconds = text.split(' ').next().and_then(|seconds| seconds.parse::<f64>().ok());
    Ok(Nanos::new((seconds.unwrap_or_default() * 1e9) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_balance_is_read_as_it_was_written_and_nothing_else_is() {
        let balance = Balance { cpu: -5, stall: 600_000_000 };
        let written = text(Nanos::new(77), balance);
        assert_eq!(written, "at 77\ncpu -5\nstall 600000000\n");
        assert_eq!(parse(&written), Some((Nanos::new(77), balance)));
        for wrong in
            ["", "at 77\ncpu 5\n", "at 77\ncpu x\nstall 5\n", "cpu 5\nat 7\nstall 5\n", "at 7\ncpu 5\nstall 5\nmore\n"]
        {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
        assert!(since_boot().expect("Linux tells it") > Nanos::ZERO);
    }
}
