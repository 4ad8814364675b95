//! Failures of guests.

use std::io;
use std::path::PathBuf;

/// Reason for which a guest did not boot or broke off.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// QEMU is missing.
    #[error("{program} cannot be started ({error}): on Debian, apt-get install qemu-system-x86 brings it")]
    NoQemu {
        /// The program that was tried.
        program: String,
        /// The error of the system.
        error: io::Error,
    },
    /// The guest's first process is missing.
    #[error(
        "order9-guest is not beside order9: cargo build --profile guest --target x86_64-unknown-linux-musl -p order9-guest makes it"
    )]
    NoInit,
    /// A file cannot be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
    /// The guest said nothing more in time, or its machine ended.
    #[error("the guest {what}; the last lines of its console: {console}")]
    Lost {
        /// The event.
        what: String,
        /// The last lines of the console.
        console: String,
    },
    /// The run did not start in the guest.
    #[error("the run did not start: {0}")]
    NotStarted(String),
    /// QEMU refused a command.
    #[error("QEMU: {0}")]
    Qmp(String),
}

impl GuestError {
    pub(super) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |error| Self::File { path, error }
    }
}
