//! Scenarios: what a person asks for, in a file or on the command line, until it is a [`Plan`](crate::Plan).
//!
//! Key types: [`Scenario`] (what was asked for, and where), [`Named`] (what a file holds: one of them, or [`Cases`]), [`KEYS`] (what a file may say: the one list that loading,
//! messages and documents read), [`ScenarioError`]. Arguments replace what a file says. [`repetition`] asks again for what
//! a manifest describes. The format is described in docs/running.md.
//! Never runs anything; whatever can be refused before a run is refused here, at the place where it was asked for.

mod ablate;
mod argument;
mod error;
mod held;
mod host;
mod keys;
mod live;
mod memory;
mod named;
mod plan;
mod recording;
mod repeat;
mod seeds;
mod setting;
mod text;
mod value;

use std::collections::BTreeMap;
use std::num::NonZeroU64;

use order9_machine::TraceKinds;
use order9_procfs::command_line::CommandLine;
use order9_snapshot::format;
use order9_units::{Bytes, Nanos};
use order9_workloads::{Value, Workload};

pub use error::{Problem, ScenarioError};
pub(crate) use host::note as host_note;
pub use host::policy_for;
pub use keys::{KEYS, Key};
pub use live::{LivePlan, Real};
pub use named::{Cases, Named};
pub use plan::Choices;
pub use recording::recorded_plan;
pub(crate) use repeat::memory_of_machine;
pub use repeat::{RepeatError, memory_of, repetition, repetition_on};
pub(crate) use setting::small as small_machine;
pub use setting::taken;
pub use text::is_table;
pub(crate) use value::time as parse_time;
pub use value::time as length_of_time;
pub use value::workload;

use error::Said;
use memory::MemoryWish;

/// Wishes for an experiment. A [`Plan`] gives everything else its default.
///
/// [`Plan`]: crate::Plan
#[derive(Clone, Debug)]
pub struct Scenario {
    workload: Workload,
    chosen: BTreeMap<&'static str, Value>,
    /// Parameter whose value is the recording in a directory, and the directory.
    recording: Option<(&'static str, String)>,
    policies: Vec<Asked<String>>,
    /// Policies to take apart and to hold it against, instead of `policies`.
    ablate: Option<Asked<String>>,
    against: Option<Asked<String>>,
    machine: Option<Asked<String>>,
    /// Memory of every node, in place of what the machine has.
    node_memory: Option<Asked<Bytes>>,
    prices: Option<Asked<String>>,
    memory: Option<Asked<MemoryWish>>,
    cmdline: Asked<CommandLine>,
    /// Settings by [`order9_procfs::sysctl::Setting::name`].
    settings: Vec<Asked<(&'static str, String)>>,
    /// `None` as long as nobody has said.
    seeds: Option<Vec<u64>>,
    every: Option<Nanos>,
    events: TraceKinds,
    maps_every: Option<Nanos>,
    check_every: Option<NonZeroU64>,
    /// Memory of the host that reading may take.
    available: Bytes,
}

/// A wish with the place where it stands.
#[derive(Clone, Debug)]
struct Asked<T> {
    said: Said,
    value: T,
}

impl Scenario {
    /// A scenario without any wish but for this workload.
    #[must_use]
    pub fn of(workload: Workload) -> Self {
        Self {
            workload,
            chosen: BTreeMap::new(),
            recording: None,
            policies: Vec::new(),
            ablate: None,
            against: None,
            machine: None,
            node_memory: None,
            prices: None,
            memory: None,
            cmdline: Asked { said: Said::Nowhere, value: CommandLine::default() },
            settings: Vec::new(),
            seeds: None,
            every: None,
            events: TraceKinds::NONE,
            maps_every: None,
            check_every: None,
            available: format::MEMORY,
        }
    }

    /// Lets a snapshot take up to `available` of the host's memory, instead of [`format::MEMORY`].
    #[must_use]
    pub fn within(self, available: Bytes) -> Self {
        Self { available, ..self }
    }

    /// The scenario that `word` names: a workload, or a scenario file if the word has a `/` or an ending `.toml`.
    ///
    /// # Errors
    /// The first thing wrong, with file and line; a file that holds cases.
    pub fn named(word: &str) -> Result<Self, ScenarioError> {
        match Named::read(word)? {
            Named::One(scenario) => Ok(*scenario),
            Named::Cases(_) => Err(Problem::OnlyCases(word.to_owned()).into()),
        }
    }
}
