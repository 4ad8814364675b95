//! Why a scenario is no good: one sentence with file and line, or the argument, what was expected, and the nearest name.

use order9_policy::PolicyError;
use order9_procfs::command_line::CommandLineError;
use order9_toml::{FileError, proposal};

use crate::machines::MachineError;

/// A scenario that cannot become a plan.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// A scenario file, or something that it names.
    #[error(transparent)]
    File(#[from] FileError<Problem>),
    /// An argument of the command line.
    #[error("{argument}: {problem}")]
    Argument {
        /// The argument as typed, or its name where it may be long.
        argument: String,
        /// The error in the argument.
        problem: Problem,
    },
    /// An error without a place in a file or on the command line.
    #[error(transparent)]
    Any(#[from] Problem),
}

/// Place of a wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A line of a file.
    Line { file: String, line: usize },
    /// An argument on the command line.
    Argument(String),
    /// Nowhere: it is the default.
    Nowhere,
}

impl Said {
    pub(super) fn error(self, problem: impl Into<Problem>) -> ScenarioError {
        let problem = problem.into();
        match self {
            Self::Line { file, line } => FileError::At { file, line, problem }.into(),
            Self::Argument(argument) => ScenarioError::Argument { argument: before(argument, &problem), problem },
            Self::Nowhere => problem.into(),
        }
    }

    pub(super) const fn is_argument(&self) -> bool {
        matches!(self, Self::Argument(_))
    }
}

/// The argument as it is named before its problem: a file that the problem names is not named twice.
fn before(argument: String, problem: &Problem) -> String {
    let text = problem.to_string();
    let named_again = |file: &str| text.strip_prefix(file).is_some_and(|rest| rest.starts_with([':', ',']));
    match argument.split_once(' ') {
        Some((option, file)) if named_again(file) => option.to_owned(),
        _ => argument,
    }
}

/// Errors at a place in a scenario.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// An error that any kind of file can have.
    #[error(transparent)]
    Any(#[from] order9_toml::Problem),
    /// A policy that cannot be loaded.
    #[error(transparent)]
    Policy(Box<PolicyError>),
    /// A machine that cannot be loaded.
    #[error(transparent)]
    Machine(Box<MachineError>),
    /// A directory that holds no recording.
    #[error("{0}")]
    Recording(String),
    /// A recording for a workload that replays none.
    #[error("{0} replays no recording: `order9 run trace DIR` does")]
    NoReplay(&'static str),
    /// A workload that does not exist.
    #[error(
        "no workload is called '{name}'{}; `order9 workloads` names all, a scenario file is given with / or .toml in its name",
        proposal(*.nearest)
    )]
    NoWorkload {
        /// The name as given.
        name: String,
        /// The workload that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A scenario without workload.
    #[error("expected a workload, such as workload = \"usemem\"")]
    WithoutWorkload,
    /// A parameter that the workload does not have.
    #[error("{workload} has no parameter {key}{}", proposal(*.nearest))]
    NoParameter {
        /// Name of the workload.
        workload: &'static str,
        /// The key as given.
        key: String,
        /// The parameter that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A setting that does not exist.
    #[error("no setting is called '{name}'{}; docs/settings.md names all", proposal(*.nearest))]
    NoSetting {
        /// The name as given.
        name: String,
        /// The setting that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A change behind the name of a policy that is neither of a switch nor of a setting.
    #[error("no switch and no setting is called '{name}'{}; docs/policies.md and docs/settings.md name all", proposal(*.nearest))]
    NoChange {
        /// The name as given.
        name: String,
        /// The switch or setting that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A change behind the name of a policy that may be of a switch or of a setting.
    #[error(
        "{name} is a switch of the policy, what the kernel boots with, and a setting that is written later: expected {setting} \
         for the setting, or a policy file with the switch"
    )]
    SwitchOrSetting {
        /// The name as given.
        name: String,
        /// The name of the setting that is no name of a switch.
        setting: &'static str,
    },
    /// A parameter of the kernel that does not exist.
    #[error("no kernel parameter is called '{name}'{}; docs/settings.md names all", proposal(*.nearest))]
    NoBootParameter {
        /// The name as given.
        name: String,
        /// The parameter that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A setting that cannot be written.
    #[error("{why}: {meaning}")]
    Setting {
        /// Error of the setting.
        why: String,
        /// Effect of the setting.
        meaning: &'static str,
    },
    /// A tracepoint that does not exist.
    #[error("no event is called '{name}'{}; there are {}", proposal(*.nearest), order9_machine::TraceKinds::names().join(", "))]
    NoEvent {
        /// The name as given.
        name: String,
        /// The tracepoint that was probably meant.
        nearest: Option<&'static str>,
    },
    /// A file of cases where one experiment is asked for.
    #[error("{0} holds cases, expected one experiment; --case names one of them")]
    OnlyCases(String),
    /// A case of something that has none.
    #[error("there are no cases, expected a scenario file with [[case]]")]
    NoCases,
    /// A case that is not there.
    #[error("no case is called '{name}'{}", proposal(nearest.as_deref()))]
    NoCase {
        /// The name as given.
        name: String,
        /// The case that was probably meant.
        nearest: Option<String>,
    },
    /// A case without a name.
    #[error("a case needs a name")]
    CaseWithoutName,
    /// Two cases of one name.
    #[error("two cases are called '{0}'")]
    SameCase(String),
    /// A case has a key that only the whole file may have.
    #[error("{0} holds for all cases: expected it above the first [[case]]")]
    OfAllCases(String),
    /// A workload of a case that does not measure what the table shows.
    #[error("{workload} does not measure the time to touch memory and to use it, expected one of {expected}")]
    NotInTable {
        /// Name of the workload.
        workload: &'static str,
        /// Names of the workloads that measure it.
        expected: String,
    },
    /// Two columns of one title.
    #[error("two policies are called {0}: their columns could not be told apart")]
    SamePolicy(String),
    /// Two policies without a switch to tell apart.
    #[error("{ablate} differs from {against} in no switch that is modelled: there is nothing to ablate")]
    NothingToAblate {
        /// The policy to take apart.
        ablate: String,
        /// The policy to hold it against.
        against: String,
    },
    /// A file name that cannot title a column.
    #[error("a policy file called '{0}' cannot name a column: expected up to 100 bytes without a dot first")]
    PolicyTitle(String),
    /// The policy of a host, where memory is that of none.
    #[error(
        "host is the policy of the kernel that a snapshot was captured on, and memory comes from no snapshot of a host: \
         expected --machine with one, or another --policy"
    )]
    NoHost,
    /// A kernel that no policy stands for.
    #[error("the host's kernel, '{release}', {why}: name a policy for it with --policy")]
    HostKernel {
        /// The release in the snapshot.
        release: String,
        /// Reason why no policy stands for it.
        why: String,
    },
    /// A file that is no usable snapshot.
    #[error("{file}: {problem}")]
    Snapshot {
        /// Path of the file.
        file: String,
        /// The error in the file.
        problem: String,
    },
    /// A command line that the engine cannot boot with.
    #[error("{0}")]
    CommandLine(CommandLineError),
    /// A wish that no real kernel can grant.
    #[error("only the lab takes {0}")]
    OnlyInTheLab(&'static str),
    /// Parts that do not go together.
    #[error("{0}")]
    Contradiction(&'static str),
    /// An argument without `=`.
    #[error("expected {0}")]
    NoPair(&'static str),
}

impl From<PolicyError> for Problem {
    fn from(error: PolicyError) -> Self {
        Self::Policy(Box::new(error))
    }
}

impl From<MachineError> for Problem {
    fn from(error: MachineError) -> Self {
        Self::Machine(Box::new(error))
    }
}

impl Problem {
    /// A value that is not what `key` takes.
    pub(super) fn value(key: &str, found: &str, expected: impl Into<String>) -> Self {
        let found = format!("\"{}\"", order9_toml::shown(found));
        order9_toml::Problem::WrongValue { key: key.to_owned(), found, expected: expected.into() }.into()
    }
}
