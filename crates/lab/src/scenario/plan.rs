//! From what was asked for to a plan: names become policies, machines and maps.

use std::collections::BTreeMap;
use std::path::Path;

use order9_policy::{Loaded, PLANNED};
use order9_procfs::sysctl::{SETTINGS, Setting};
use order9_toml::shown;
use order9_units::Bytes;
use order9_workloads::Value;

use super::ablate::{Wish, ablation};
use super::error::{Problem, Said, ScenarioError};
use super::memory::{MemoryWish, is_snapshot};
use super::{Asked, Scenario, host, seeds, setting};
use crate::machines::{self, MachineSpec};
use crate::plan::{Memory, Plan, Settings};

/// The policy that runs where none is asked for and memory is not that of a host.
pub(crate) const POLICY: &str = "linux-6.18";
/// The machine where none is asked for.
const MACHINE: &str = "xeon-1s";
/// Machine whose prices a snapshot gets where none are asked for: the only one whose prices were all measured.
const PRICES: &str = "epyc-vm";
/// Longest title of a column: it names a folder of the run directory.
const TITLE_MAX: usize = 100;

impl Scenario {
    /// Loads everything that is named. `command` is the command line that asked, for the manifest.
    ///
    /// # Errors
    /// The first thing that cannot be loaded, does not fit the rest, or is refused.
    pub fn plan(mut self, command: Vec<String>) -> Result<Plan, ScenarioError> {
        self.load_recording()?;
        let wish = Wish::of(self.policies, self.ablate, self.against)?;
        let place = Place { machine: self.machine, prices: self.prices, memory: self.memory };
        let (machine, memory) = place.load(self.available)?;
        let machine = with_node_memory(machine, self.node_memory, &memory)?;
        let by_default = matches!(&wish, Wish::Compare(policies) if policies.is_empty());
        let unknown = if by_default { host::unknown(&memory, POLICY) } else { None };
        let (policies, own_settings, ablation) = match wish {
            Wish::Compare(policies) => {
                let (policies, own_settings) = self::policies(policies, &memory)?;
                (policies, own_settings, None)
            }
            Wish::Ablate { ablate, against } => {
                let (policies, ablation) = ablation(&ablate, &against, &memory)?;
                (policies, BTreeMap::new(), ablation)
            }
        };
        setting::check_boot(&self.cmdline, &policies)?;
        setting::check(&self.settings, &policies)?;
        let (seeds, few) = match self.seeds {
            Some(seeds) => (seeds, None),
            None => seeds::by_default(self.workload, &self.chosen, &machine, &memory),
        };
        let settings = with_demanded(self.workload.spec().settings(&self.chosen), self.settings);
        Ok(Plan {
            workload: self.workload,
            chosen: self.chosen,
            policies,
            own_settings,
            guards: BTreeMap::new(),
            ablation,
            machine,
            memory,
            cmdline: self.cmdline.value,
            settings,
            reserve: Bytes::ZERO,
            seeds,
            notes: few.into_iter().chain(unknown).collect(),
            same_lists: false,
            sample_finely: self.every.is_none(),
            sample_every: self.every.unwrap_or(self.workload.spec().counters_every),
            maps_every: self.maps_every,
            check_every: self.check_every,
            trace: self.events,
            command,
        })
    }
}

/// Parameters that were chosen, and settings that are written before the start.
pub type Choices = (BTreeMap<&'static str, Value>, Settings);

impl Scenario {
    /// Parameters and settings on the machine, with the memory and under the policies of `stem`, the plan of a scenario that says
    /// the same of these. Nothing is loaded again.
    ///
    /// # Errors
    /// The first setting that a policy does not take, or a recording that cannot be read.
    pub fn choices(mut self, stem: &Plan) -> Result<Choices, ScenarioError> {
        self.load_recording()?;
        setting::check(&self.settings, &stem.policies)?;
        let settings = with_demanded(self.workload.spec().settings(&self.chosen), self.settings);
        Ok((self.chosen, settings))
    }
}

/// The machine with so much memory on every node, where somebody asked for it.
fn with_node_memory(
    machine: MachineSpec,
    asked: Option<Asked<Bytes>>,
    memory: &Memory,
) -> Result<MachineSpec, ScenarioError> {
    let Some(Asked { said, value }) = asked else { return Ok(machine) };
    if matches!(memory, Memory::Snapshot { .. }) {
        return Err(
            said.error(Problem::Contradiction("a snapshot has the memory of its host: node_memory changes none"))
        );
    }
    machine.with_node_memory(value).map_err(|error| said.error(error))
}

/// Settings that the workload demands, unless others were asked for, then those that were.
pub(super) fn with_demanded(
    demanded: &[(&str, &str)],
    asked: Vec<Asked<(&'static str, String)>>,
) -> Vec<(String, String)> {
    let is_asked = |name: &str| asked.iter().any(|Asked { value: (other, _), .. }| *other == name);
    let demanded = demanded.iter().filter(|(name, _)| !is_asked(name));
    let demanded: Vec<_> = demanded.map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
    let asked = asked.into_iter().map(|Asked { value: (name, value), .. }| (name.to_owned(), value));
    demanded.into_iter().chain(asked).collect()
}

/// Policies, and by name the settings of those that have some of their own.
fn policies(
    asked: Vec<Asked<String>>,
    memory: &Memory,
) -> Result<(Vec<Loaded>, BTreeMap<String, Settings>), ScenarioError> {
    let default = if host::is_known(memory) { host::HOST } else { POLICY };
    let asked = if asked.is_empty() { vec![by_default(default)] } else { asked };
    let (mut policies, mut own_settings): (Vec<Loaded>, _) = (Vec::new(), BTreeMap::new());
    for Asked { said, value: name } in asked {
        let (name, settings) = with_settings(&name).map_err(|problem| said.clone().error(problem))?;
        let mut policy = policy(&name, memory).map_err(|problem| said.clone().error(problem))?;
        for (setting, value) in &settings {
            // A name of Linux is a path; what is left of it is its file, as a title of a column and a folder can be.
            let file = setting.rsplit('/').next().unwrap_or(setting);
            policy.name += &format!("+{file}={value}");
            let asked = Asked { said: said.clone(), value: (*setting, value.clone()) };
            setting::check(&[asked], std::slice::from_ref(&policy))?;
        }
        let owned: Settings = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        if !owned.is_empty() {
            own_settings.insert(policy.name.clone(), owned);
        }
        policies.push(policy);
        distinct(&policies).map_err(|problem| said.error(problem))?;
    }
    Ok((policies, own_settings))
}

/// The name of a policy with the changes of switches behind it, and the settings that were changed behind it.
type NameAndSettings = (String, Vec<(&'static str, String)>);

/// Parts the changes behind the name of a policy.
fn with_settings(name: &str) -> Result<NameAndSettings, Problem> {
    let (base, changes) = order9_policy::split_changes(name);
    let (mut policy, mut settings) = (base.to_owned(), Vec::new());
    let switches = || order9_policy::switches().map(|switch| switch.key).chain(PLANNED.iter().map(|switch| switch.key));
    for (name, value) in changes {
        match (switches().any(|key| key == name), Setting::find(&name)) {
            (true, None) => policy += &format!("+{name}={value}"),
            (false, Some(setting)) => settings.push((setting.name, value)),
            (true, Some(setting)) => return Err(Problem::SwitchOrSetting { name, setting: setting.name }),
            (false, None) => {
                let names = switches().chain(SETTINGS.iter().map(|setting| setting.name));
                return Err(Problem::NoChange { nearest: order9_toml::nearest(&name, names), name: shown(&name) });
            }
        }
    }
    Ok((policy, settings))
}

/// Refuses the first policy with the title of one before it.
pub(super) fn distinct(policies: &[Loaded]) -> Result<(), Problem> {
    let repeats = |at: &usize| policies[..*at].iter().any(|before| before.name == policies[*at].name);
    let repeated = (1..policies.len()).find(repeats);
    repeated.map_or(Ok(()), |at| Err(Problem::SamePolicy(policies[at].name.clone())))
}

/// A policy under its title: its name, or that of its file without folder and ending; then its changes. `host` is that of
/// the host that `memory` is from.
pub(super) fn policy(name: &str, memory: &Memory) -> Result<Loaded, Problem> {
    let (base, changes) = order9_policy::split_changes(name);
    let mut policy =
        if base == host::HOST { host::policy(memory)?.with_changes(&changes)? } else { order9_policy::load(name)? };
    if base.contains('/') || base.ends_with(".toml") {
        let stem = Path::new(base).file_stem().unwrap_or_default().to_string_lossy();
        let changes: String = changes.iter().map(|(switch, value)| format!("+{switch}={value}")).collect();
        policy.name = order9_escape::line(&format!("{stem}{changes}")).into_owned();
    }
    let title = &policy.name;
    let fits = !title.is_empty() && title.len() <= TITLE_MAX && !title.starts_with('.');
    if fits { Ok(policy) } else { Err(Problem::PolicyTitle(order9_toml::shown(title))) }
}

fn by_default(name: &str) -> Asked<String> {
    Asked { said: Said::Nowhere, value: name.to_owned() }
}

/// Machine and memory on which the experiment runs.
struct Place {
    machine: Option<Asked<String>>,
    prices: Option<Asked<String>>,
    memory: Option<Asked<MemoryWish>>,
}

impl Place {
    fn load(self, available: Bytes) -> Result<(MachineSpec, Memory), ScenarioError> {
        let Self { machine, prices, memory } = self.with_snapshot_as_memory()?;
        let from_map = memory.as_ref().is_some_and(|memory| memory.value.is_map());
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
        let memory = match memory {
            Some(Asked { said, value }) => value.memory(available).map_err(|problem| said.error(problem))?,
            None => Memory::Empty,
        };
        let loaded = match &memory {
            // Whoever names prices wants these.
            Memory::Snapshot { snapshot, .. } if matches!(said, Said::Nowhere) => match &snapshot.calibration {
                Some(host) => machines::load_measured(&name, host),
                None => machines::load(&name),
            },
            _ => machines::load(&name),
        };
        let machine = loaded.map_err(|error| said.error(error))?;
        let machine = match &memory {
            Memory::Snapshot { snapshot, .. } => machine.below_memory_of(snapshot.calibration.as_ref()),
            _ => machine,
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
