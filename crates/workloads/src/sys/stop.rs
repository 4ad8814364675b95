//! The ways in which a program ends before its time: [`Stop`].

/// Reason for the end of a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// A system call was refused.
    #[error("{call} failed with {errno}")]
    Refused {
        /// Name of the call.
        call: &'static str,
        /// Name of the error, as in errno(3).
        errno: &'static str,
    },
    /// Memory was accessed that is not there, or not so.
    #[error("{signal} at {addr:#x}")]
    Signal {
        /// `SIGSEGV` or `SIGBUS`.
        signal: &'static str,
        /// Address of the access.
        addr: u64,
    },
    /// The process was killed because memory had run out.
    #[error("{process} was killed because memory had run out")]
    Killed {
        /// Name of the process.
        process: String,
    },
    /// Memory had run out, and nobody was left to be killed for it.
    #[error("memory has run out: {0}")]
    OutOfMemory(String),
}
