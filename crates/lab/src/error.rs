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
        /// The workload.
        workload: &'static str,
        /// The parameter.
        key: &'static str,
        /// Its value: as chosen, or its default on the machine and what that is, in words.
        value: String,
        /// What is accepted.
        expected: String,
    },
    /// A run that could not end.
    #[error("{workload}: {why}; expected smaller parameters")]
    TooMuch {
        /// The workload.
        workload: &'static str,
        /// Of what there would be too much.
        why: String,
    },
    /// A setting that was refused.
    #[error("{name} = {value}: {error}")]
    Setting {
        /// Its name, as given.
        name: String,
        /// The value.
        value: String,
        /// Why.
        error: SettingError,
    },
    /// Memory that cannot be made up.
    #[error("memory: {0}")]
    Synth(#[from] SynthError),
    /// A map that the engine cannot start from.
    #[error("{path}: {error}")]
    Import {
        /// The map.
        path: String,
        /// Why.
        error: ImportError,
    },
    /// A machine whose memory the engine cannot hold.
    #[error("{machine}: {error}")]
    Build {
        /// The machine.
        machine: String,
        /// Why.
        error: BuildError,
    },
    /// A machine that cannot run anything.
    #[error("{machine}: {error}")]
    Machine {
        /// The machine.
        machine: String,
        /// Why.
        error: MachineError,
    },
}
