//! From what was asked for to a plan: names become policies, machines and maps.

use std::path::Path;

use order9_policy::Loaded;
use order9_workloads::Workload;

use super::ablate::{Wish, ablation};
use super::error::{Problem, Said, ScenarioError};
use super::memory::{MemoryWish, is_snapshot};
use super::{Asked, Scenario, setting};
use crate::machines::{self, MachineSpec};
use crate::plan::{Memory, Plan};

/// The policy that runs where none is asked for.
const POLICY: &str = "linux-6.18";
/// The machine where none is asked for.
const MACHINE: &str = "xeon-1s";
/// Whose prices a snapshot gets where none are asked for: the only ones that were measured whole.
const PRICES: &str = "this-host";
/// Longest title of a column: it names a folder of the run directory.
const TITLE_MAX: usize = 100;

impl Scenario {
    /// Loads everything that is named. `command` is the command line that asked, for the manifest.
    ///
    /// # Errors
    /// The first thing that cannot be loaded, does not fit the rest, or is refused.
    pub fn plan(self, command: Vec<String>) -> Result<Plan, ScenarioError> {
        let (policies, ablation) = match Wish::of(self.policies, self.ablate, self.against)? {
            Wish::Compare(policies) => (self::policies(policies)?, None),
            Wish::Ablate { ablate, against } => ablation(&ablate, &against)?,
        };
        setting::check(&self.settings, &policies)?;
        let (machine, memory) = Place { machine: self.machine, prices: self.prices, memory: self.memory }.load()?;
        Ok(Plan {
            workload: self.workload,
            chosen: self.chosen,
            policies,
            ablation,
            machine,
            memory,
            settings: with_demanded(self.workload, self.settings),
            seeds: self.seeds,
            sample_every: self.every.unwrap_or(self.workload.counters_every()),
            check_every: self.check_every,
            trace: self.events,
            command,
        })
    }
}

/// Settings that the workload demands, unless others were asked for, then those that were.
fn with_demanded(workload: Workload, asked: Vec<Asked<(&'static str, String)>>) -> Vec<(String, String)> {
    let is_asked = |name: &str| asked.iter().any(|Asked { value: (other, _), .. }| *other == name);
    let demanded = workload.settings().iter().filter(|(name, _)| !is_asked(name));
    let demanded: Vec<_> = demanded.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let asked = asked.into_iter().map(|Asked { value: (name, value), .. }| (name.to_owned(), value));
    demanded.into_iter().chain(asked).collect()
}

fn policies(asked: Vec<Asked<String>>) -> Result<Vec<Loaded>, ScenarioError> {
    let asked = if asked.is_empty() { vec![by_default(POLICY)] } else { asked };
    let mut policies: Vec<Loaded> = Vec::new();
    for Asked { said, value: name } in asked {
        policies.push(policy(&name).map_err(|problem| said.clone().error(problem))?);
        distinct(&policies).map_err(|problem| said.error(problem))?;
    }
    Ok(policies)
}

/// Refuses the first policy with the title of one before it.
pub(super) fn distinct(policies: &[Loaded]) -> Result<(), Problem> {
    let repeats = |at: &usize| policies[..*at].iter().any(|before| before.name == policies[*at].name);
    let repeated = (1..policies.len()).find(repeats);
    repeated.map_or(Ok(()), |at| Err(Problem::SamePolicy(policies[at].name.clone())))
}

/// A policy under its title: its name, or that of its file without folder and ending.
pub(super) fn policy(name: &str) -> Result<Loaded, Problem> {
    let mut policy = order9_policy::load(name)?;
    if name.contains('/') || name.ends_with(".toml") {
        let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
        policy.name = stem.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    }
    let title = &policy.name;
    let fits = !title.is_empty() && title.len() <= TITLE_MAX && !title.starts_with('.');
    if fits { Ok(policy) } else { Err(Problem::PolicyTitle(order9_toml::shown(title))) }
}

fn by_default(name: &str) -> Asked<String> {
    Asked { said: Said::Nowhere, value: name.to_owned() }
}

/// Where something should run.
struct Place {
    machine: Option<Asked<String>>,
    prices: Option<Asked<String>>,
    memory: Option<Asked<MemoryWish>>,
}

impl Place {
    fn load(self) -> Result<(MachineSpec, Memory), ScenarioError> {
        let Self { machine, prices, memory } = self.with_snapshot_as_memory()?;
        let from_map = memory.as_ref().is_some_and(|memory| matches!(memory.value, MemoryWish::Snapshot(_)));
        let named = match (machine, prices) {
            (Some(_), Some(prices)) if from_map => {
                let why = "the machine has prices already: expected either a machine or prices beside the snapshot";
                return Err(prices.said.error(Problem::Contradiction(why)));
            }
            (_, Some(prices)) if !from_map => {
                return Err(prices.said.error(Problem::Contradiction("prices are asked for with a snapshot only")));
            }
            (Some(machine), _) => machine,
            (None, Some(prices)) => prices,
            (None, None) => by_default(if from_map { PRICES } else { MACHINE }),
        };
        let Asked { said, value: name } = named;
        let machine = machines::load(&name).map_err(|error| said.error(error))?;
        let memory = match memory {
            Some(Asked { said, value }) => value.memory().map_err(|problem| said.error(problem))?,
            None => Memory::Empty,
        };
        Ok((machine, memory))
    }

    /// A machine that is a snapshot is one whose memory is that, and whose prices are named apart.
    fn with_snapshot_as_memory(self) -> Result<Self, ScenarioError> {
        let Some(Asked { said, value: path }) = self.machine.as_ref().filter(|machine| is_snapshot(&machine.value))
        else {
            return Ok(self);
        };
        match self.memory {
            // What an argument names replaces the memory of a file, too.
            Some(memory) if memory.said.is_argument() || !said.is_argument() => {
                let why = "the machine is a snapshot, which holds its memory: leave memory out";
                Err(memory.said.error(Problem::Contradiction(why)))
            }
            _ => {
                let memory = Asked { said: said.clone(), value: MemoryWish::Snapshot(path.clone()) };
                Ok(Self { machine: None, memory: Some(memory), prices: self.prices })
            }
        }
    }
}
