//! Why an experiment cannot be run, though all its files were read.

use order9_import::ImportError;
use order9_machine::MachineError;
use order9_mm::BuildError;
use order9_procfs::sysctl::SettingError;
use order9_snapshot::synth::SynthError;

/// An experiment that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A parameter with a value that its workload does not take on this machine.
    #[error("{workload}: {key} is {value}, expected {expected}")]
    Parameter {
        /// Name of the workload.
        workload: &'static str,
        /// Key of the parameter.
        key: &'static str,
        /// The chosen value, or the default on the machine with its meaning in words.
        value: String,
        /// The accepted values, in words.
        expected: String,
    },
    /// A run that could not end.
    #[error("{workload}: {why}; expected smaller parameters")]
    TooMuch {
        /// Name of the workload.
        workload: &'static str,
        /// The resource that would not suffice, with figures.
        why: String,
    },
    /// A setting that was refused.
    #[error("{name} = {value}: {error}")]
    Setting {
        /// Name of the setting as given.
        name: String,
        /// The refused value.
        value: String,
        /// Reason for the refusal.
        error: SettingError,
    },
    /// Memory that cannot be made up.
    #[error("memory: {0}")]
    Synth(#[from] SynthError),
    /// A map that the engine cannot start from.
    #[error("{path}: {error}")]
    Import {
        /// Path of the map.
        path: String,
        /// Reason for the refusal.
        error: ImportError,
    },
    /// A machine whose memory the engine cannot hold.
    #[error("{machine}: {error}")]
    Build {
        /// Name of the machine.
        machine: String,
        /// Reason for the refusal.
        error: BuildError,
    },
    /// A machine that cannot run anything.
    #[error("{machine}: {error}")]
    Machine {
        /// Name of the machine.
        machine: String,
        /// Reason for the refusal.
        error: MachineError,
    },
}
