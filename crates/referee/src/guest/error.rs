//! Failures of guests.

use std::io;
use std::path::PathBuf;

use crate::kernels::KernelError;

/// Hint for who boots a kernel without modules.
const NO_MODULES: &str = "; no modules lie beside the kernel, so that drivers have to be built into it (order9 kernels fetch keeps them beside the \
    kernels that it brings)";

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
    /// The program that makes a file system is missing.
    #[error(
        "{program} cannot be started, which makes the file system of the guest's disk: on Debian, apt-get install {package} brings it"
    )]
    NoFormat {
        /// The program.
        program: &'static str,
        /// The package that has it.
        package: &'static str,
    },
    /// The guest has not the disks or the swap that its machine has.
    #[error("the guest has not the disks and swap of its machine: {error}{}", if *has_modules { "" } else { NO_MODULES })]
    NoStorage {
        /// The guest's own words.
        error: String,
        /// Whether modules lie beside the kernel.
        has_modules: bool,
    },
    /// Modules of the kernel cannot be read.
    #[error(transparent)]
    Modules(#[from] KernelError),
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
