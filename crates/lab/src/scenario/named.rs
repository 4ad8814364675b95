//! Contents of a scenario file: one experiment, or several cases, each of which is an experiment under the same
//! policies.
//!
//! What stands above the first `[[case]]` is said of every case, and what a case says itself comes after it.

use order9_toml::{Base, Definition, FileError, Kind, Leaf, Place, Preset, chain, leaves, nearest, shown};
use order9_units::Bytes;
use order9_workloads::Workload;
use toml::de::DeValue;

use super::error::{Problem, Said};
use super::text::{self, is_table};
use super::{Asked, LivePlan, Real, Scenario, ScenarioError, value};
use crate::cases::CaseTable;
use crate::plan::Plan;

/// An experiment, or a table of them.
#[derive(Clone, Debug)]
pub enum Named {
    /// One experiment.
    One(Box<Scenario>),
    /// Several under the same policies.
    Cases(Cases),
}

/// Cases under the same policies: at least one, all of different names.
#[derive(Clone, Debug)]
pub struct Cases(pub(super) Vec<Case>);

/// A case of a table: an experiment on one or several machines.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) said: Said,
    pub(super) scenario: Scenario,
    /// Machines of the case, in place of the scenario's machine.
    pub(super) machines: Vec<Asked<String>>,
}

/// Longest name of a case: it begins a row.
const NAME_MAX: usize = 80;
/// Keys of the whole file. Cases that differed in them could not share the columns of a table.
const OF_ALL: [&str; 4] = ["policies", "seeds", "ablate", "against"];
/// Keys of cases only.
const OF_CASES: [&str; 2] = ["name", "machines"];

impl Named {
    /// The scenario that `word` names: a workload, or a scenario file if the word has a `/` or an ending `.toml`.
    ///
    /// # Errors
    /// The first thing wrong, with file and line.
    pub fn read(word: &str) -> Result<Self, ScenarioError> {
        if !(word.contains('/') || word.ends_with(".toml")) {
            return Ok(Self::One(Box::new(Scenario::of(value::workload(word)?))));
        }
        let mut chain = chain::<Self>(word)?;
        Ok(chain.pop().expect("a chain has a beginning").said)
    }

    /// The case called `name`, on the first of its machines.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn case(self, name: &str) -> Result<Scenario, ScenarioError> {
        let cases = match self {
            Self::One(_) => Vec::new(),
            Self::Cases(Cases(cases)) => cases,
        };
        let refused = |problem| Said::Argument("--case".to_owned()).error(problem);
        match cases.iter().find(|case| case.name == name) {
            Some(case) => Ok(case.on(case.machines.first())),
            None if cases.is_empty() => Err(refused(Problem::NoCases)),
            None => {
                let names = cases.iter().map(|case| case.name.as_str());
                let nearest = nearest(name, names).map(str::to_owned);
                Err(refused(Problem::NoCase { name: shown(name), nearest }))
            }
        }
    }

    /// Takes an argument as [`Scenario::argument`] does: of the experiment, or of every case.
    ///
    /// # Errors
    /// As there.
    pub fn argument(&mut self, option: &str, text: &str) -> Result<(), ScenarioError> {
        match self {
            Self::One(scenario) => scenario.argument(option, text),
            Self::Cases(Cases(cases)) => cases.iter_mut().try_for_each(|case| {
                if option == "--machine" {
                    case.machines.clear();
                }
                case.scenario.argument(option, text)
            }),
        }
    }
}

impl Cases {
    /// Loads everything that is named: for each row of the table the name of its case, and its experiment.
    ///
    /// # Errors
    /// As [`Scenario::plan`]; a case whose workload does not measure what the table shows.
    pub fn plan(self, available: Bytes, command: &[String]) -> Result<Vec<(String, Plan)>, ScenarioError> {
        let mut rows = Vec::new();
        for case in &self.0 {
            let workload = case.scenario.workload;
            if !CaseTable::takes(workload) {
                let others = Workload::ALL.into_iter().filter(|&other| CaseTable::takes(other)).map(Workload::name);
                let expected = others.collect::<Vec<_>>().join(", ");
                return Err(case.said.clone().error(Problem::NotInTable { workload: workload.name(), expected }));
            }
            let machines: Vec<_> = match case.machines.as_slice() {
                [] => vec![None],
                machines => machines.iter().map(Some).collect(),
            };
            for machine in machines {
                rows.push((case.name.clone(), case.on(machine).within(available).plan(command.to_vec())?));
            }
        }
        Ok(rows)
    }
}

impl Named {
    /// The experiments for a real kernel, each with the name of its case; an experiment that is no case has none. `command` is the command
    /// line that asked.
    ///
    /// # Errors
    /// As [`Scenario::live`].
    pub fn live(self, real: Real, command: &[String]) -> Result<Vec<(Option<String>, LivePlan)>, ScenarioError> {
        match self {
            Self::One(scenario) => Ok(vec![(None, scenario.live(real, command.to_vec())?)]),
            Self::Cases(Cases(cases)) => {
                let plan = |case: Case| {
                    let scenario = case.on(case.machines.first());
                    Ok((Some(case.name), scenario.live(real, command.to_vec())?))
                };
                cases.into_iter().map(plan).collect()
            }
        }
    }
}

impl Case {
    /// The experiment of the case on `machine`, or on the scenario's own machine.
    pub(super) fn on(&self, machine: Option<&Asked<String>>) -> Scenario {
        let mut scenario = self.scenario.clone();
        scenario.machine = machine.cloned().or(scenario.machine);
        scenario
    }
}

impl Definition for Named {
    const KIND: Kind = Kind { one: "scenario", many: "scenarios" };
    type Problem = Problem;

    fn presets() -> &'static [Preset] {
        &[]
    }

    fn parse(file: &str, text: &str) -> Result<Self, FileError<Problem>> {
        let place = Place::new(file, text);
        let document = place.parse()?;
        let (cases, common): (Vec<_>, Vec<_>) =
            leaves(&document, is_table).into_iter().partition(|leaf| leaf.key == "case");
        match cases.first() {
            None => text::scenario(&common, file, place).map(|scenario| Self::One(Box::new(scenario))),
            Some(leaf) => cases_of(leaf, &common, file, place).map(Self::Cases),
        }
    }

    fn base(&self) -> Option<&Base> {
        None
    }
}

fn cases_of(leaf: &Leaf<'_>, common: &[Leaf<'_>], file: &str, place: Place<'_>) -> Result<Cases, FileError<Problem>> {
    let refused = |at, problem: Problem| place.error(at, problem);
    let DeValue::Array(entries) = leaf.value else {
        return Err(refused(leaf.at, leaf.wrong("[[case]] for each case").into()));
    };
    let mut cases: Vec<Case> = Vec::new();
    for entry in entries {
        let at = entry.span().start;
        let DeValue::Table(table) = entry.get_ref() else {
            return Err(refused(at, leaf.wrong("[[case]] for each case").into()));
        };
        let case = case(&leaves(table, is_table), at, common, file, place)?;
        if cases.iter().any(|other| other.name == case.name) {
            return Err(refused(at, Problem::SameCase(case.name)));
        }
        cases.push(case);
    }
    if cases.is_empty() {
        return Err(refused(leaf.at, leaf.wrong("at least one [[case]]").into()));
    }
    Ok(Cases(cases))
}

/// The case with `own` lines, after those that are said of all.
fn case(
    own: &[Leaf<'_>],
    at: usize,
    common: &[Leaf<'_>],
    file: &str,
    place: Place<'_>,
) -> Result<Case, FileError<Problem>> {
    if let Some(leaf) = own.iter().find(|leaf| OF_ALL.contains(&leaf.key.as_str())) {
        return Err(place.error(leaf.at, Problem::OfAllCases(leaf.key.clone())));
    }
    let said = |at| Said::Line { file: file.to_owned(), line: place.line(at) };
    let (head, own): (Vec<_>, Vec<_>) = own.iter().cloned().partition(|leaf| OF_CASES.contains(&leaf.key.as_str()));
    let named = |key: &str| head.iter().find(|leaf| leaf.key == key);
    let leaf = named("name").ok_or_else(|| place.error(at, Problem::CaseWithoutName))?;
    let fits = |name: &String| !name.is_empty() && name.chars().count() <= NAME_MAX && !name.contains('|');
    let name = leaf.line_of_text().ok().filter(fits);
    let expected = || leaf.wrong(format!("up to {NAME_MAX} characters without |"));
    let name = name.ok_or_else(|| place.error(leaf.at, Problem::Any(expected())))?;
    let machines = named("machines").map_or(Ok(Vec::new()), |leaf| {
        let names = text::texts(leaf).filter(|names| !names.is_empty());
        let names = names.ok_or_else(|| leaf.wrong("a list of machines, such as [\"xeon-2s\", \"rome-2s\"]"));
        let asked = |name| Asked { said: said(leaf.at), value: text::beside(file, name) };
        names.map(|names| names.into_iter().map(asked).collect()).map_err(|problem| place.error(leaf.at, problem))
    })?;
    if let (Some(machine), false) = (own.iter().find(|leaf| leaf.key == "machine"), machines.is_empty()) {
        return Err(place.error(machine.at, Problem::Contradiction("a case has either a machine or machines")));
    }
    let scenario = text::scenario(&over(common, &own), file, place)?;
    Ok(Case { name, said: said(at), scenario, machines })
}

/// The keys of all cases and those of one case, each key once. Tables of `memory` are replaced whole.
fn over<'a>(common: &[Leaf<'a>], own: &[Leaf<'a>]) -> Vec<Leaf<'a>> {
    let says = |of: &str| own.iter().any(|leaf| leaf.key == of);
    let has_memory = own.iter().any(|leaf| leaf.key.starts_with("memory."));
    let kept = common.iter().filter(|leaf| !(says(&leaf.key) || has_memory && leaf.key.starts_with("memory.")));
    kept.chain(own).cloned().collect()
}
