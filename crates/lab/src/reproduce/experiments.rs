//! The table of published experiments: what runs, in two sizes, and which claims it judges.
//!
//! An experiment is a scenario, written in place or one of `scenarios/`, and what changes in it: for experiments on further
//! machines (`also`), and for the quick size (`quick`), which is said last.

use std::num::NonZeroUsize;

use order9_toml::{FileError, Leaf, Place, Problem as AnyProblem, leaves, nearest, shown};
use order9_units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::de::{DeTable, DeValue};

use super::files;
use crate::plan::Plan;
use crate::scenario::{Named, Problem, Scenario, ScenarioError};

/// Size of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    /// The shape of the experiments, on little memory: all of them within minutes.
    Quick,
    /// The sizes that docs/results.md speaks of.
    Full,
}

impl Size {
    /// The word for the size.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Full => "full",
        }
    }
}

/// Every published experiment, and claims that no run can judge.
#[derive(Clone, Debug)]
pub struct Table {
    /// The experiments, in the order of the file.
    pub experiments: Vec<Entry>,
    /// Claims that no run can judge.
    pub not_judged: Vec<NotJudged>,
}

/// A published experiment.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name of the experiment, which is also that of its run directories.
    pub name: String,
    /// Title of the experiment.
    pub title: String,
    /// Page below docs/results, and where in it.
    pub page: String,
    /// CPU time of the full size, in seconds: measured, or estimated from smaller sizes.
    pub seconds: u64,
    /// Whether the claims state what the model is given.
    pub input: bool,
    /// The claims that its runs judge.
    pub claims: Vec<Judges>,
    full: Vec<Scenario>,
    quick: Vec<Scenario>,
}

/// A claim, and the policy that stands for its patched kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judges {
    /// Name of the claim.
    pub claim: String,
    /// Title of the policy; the second of the experiment where none is named. The first one is always the baseline.
    pub patched: Option<String>,
}

/// A claim that no run can judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotJudged {
    /// Name of the claim.
    pub claim: String,
    /// Why no run can judge it.
    pub why: String,
}

type Refused = FileError<Problem>;

impl Table {
    /// The table that is built in.
    ///
    /// # Panics
    /// Never, as long as the file is what its test saw.
    #[must_use]
    pub fn built_in() -> Self {
        let (file, text) = files::EXPERIMENTS;
        Self::parse(file, text).expect("a test reads the table")
    }

    /// Reads a table of this form.
    fn parse(file: &str, text: &str) -> Result<Self, Refused> {
        let place = Place::new(file, text);
        let document = place.parse()?;
        let mut table = Self { experiments: Vec::new(), not_judged: Vec::new() };
        for leaf in leaves(&document, |_| false) {
            let entries = tables(&leaf, place)?;
            match leaf.key.as_str() {
                "experiment" => {
                    for fields in entries.into_iter().map(|entry| Fields::new(entry, file, place)) {
                        table.experiments.push(fields.entry()?);
                    }
                }
                "not_judged" => {
                    for fields in entries.into_iter().map(|entry| Fields::new(entry, file, place)) {
                        fields.only(&["claim", "why"])?;
                        table.not_judged.push(NotJudged { claim: fields.text("claim")?, why: fields.text("why")? });
                    }
                }
                key => {
                    return Err(place.error(leaf.at, AnyProblem::unknown_key(key, ["experiment", "not_judged"])));
                }
            }
        }
        Ok(table)
    }

    /// The experiments that `names` ask for, each with those of its claims that are asked for; all where there are no names.
    /// A name is that of an experiment, of a claim, or the beginning of names of claims up to a hyphen.
    ///
    /// # Errors
    /// A name that fits nothing, with the nearest one.
    pub fn chosen(&self, names: &[String]) -> Result<Vec<Entry>, String> {
        for name in names {
            let fits = self.experiments.iter().any(|entry| entry.claims.iter().any(|of| entry.is_asked(of, name)));
            if !fits && !self.not_judged.iter().any(|of| is_named(&of.claim, name)) {
                return Err(self.unknown(name));
            }
        }
        let chosen = self.experiments.iter().filter_map(|entry| {
            let asked = |of: &&Judges| names.is_empty() || names.iter().any(|name| entry.is_asked(of, name));
            let claims: Vec<Judges> = entry.claims.iter().filter(asked).cloned().collect();
            (!claims.is_empty()).then(|| Entry { claims, ..entry.clone() })
        });
        Ok(chosen.collect())
    }

    /// The claims that no run can judge and that `names` ask for; all where there are no names.
    #[must_use]
    pub fn chosen_not_judged(&self, names: &[String]) -> Vec<&NotJudged> {
        let asked = |of: &&NotJudged| names.is_empty() || names.iter().any(|name| is_named(&of.claim, name));
        self.not_judged.iter().filter(asked).collect()
    }

    fn unknown(&self, name: &str) -> String {
        let experiments = self.experiments.iter().map(|entry| entry.name.as_str());
        let judged = self.experiments.iter().flat_map(|entry| entry.claims.iter().map(|of| of.claim.as_str()));
        let names = judged.chain(self.not_judged.iter().map(|of| of.claim.as_str())).chain(experiments);
        let near = order9_toml::proposal(nearest(name, names));
        format!("no claim and no experiment is called '{}'{near}; `order9 reproduce --list` names all", shown(name))
    }
}

/// Whether a claim is called so, or begins so.
fn is_named(claim: &str, name: &str) -> bool {
    claim.strip_prefix(name).is_some_and(|rest| rest.is_empty() || !name.is_empty() && rest.starts_with('-'))
}

impl Entry {
    fn is_asked(&self, of: &Judges, name: &str) -> bool {
        self.name == name || is_named(&of.claim, name)
    }

    /// Takes an argument as [`Scenario::argument`] does, in every experiment of the entry.
    ///
    /// # Errors
    /// As there.
    pub fn argument(&mut self, option: &str, text: &str) -> Result<(), ScenarioError> {
        self.full.iter_mut().chain(&mut self.quick).try_for_each(|scenario| scenario.argument(option, text))
    }

    /// Plans of the experiment in this size, one for each machine. The first one gives the columns.
    ///
    /// # Errors
    /// As [`Scenario::plan`].
    pub fn plans(&self, size: Size, available: Bytes, command: &[String]) -> Result<Vec<Plan>, ScenarioError> {
        let scenarios = match size {
            Size::Quick => &self.quick,
            Size::Full => &self.full,
        };
        scenarios.iter().map(|scenario| scenario.clone().within(available).plan(command.to_vec())).collect()
    }

    /// Time that the full size takes with so many runs at the same time, in seconds, where `cells` runs are made of all `total`.
    #[must_use]
    pub fn wait(&self, cells: usize, total: usize, jobs: NonZeroUsize) -> u64 {
        let share = cells as f64 / total.max(1) as f64;
        (self.seconds as f64 * share / jobs.get().min(cells.max(1)) as f64).ceil() as u64
    }
}

/// A table of the file.
struct Fields<'a> {
    leaves: Vec<Leaf<'a>>,
    /// The byte at which it begins.
    at: usize,
    file: &'a str,
    place: Place<'a>,
}

/// Keys of an experiment.
const KEYS: [&str; 12] =
    ["name", "title", "page", "seconds", "input", "claims", "patched", "scenario", "case", "changes", "also", "quick"];

impl<'a> Fields<'a> {
    fn new((at, table): (usize, &'a DeTable<'a>), file: &'a str, place: Place<'a>) -> Self {
        Self { leaves: leaves(table, |_| false), at, file, place }
    }

    fn entry(&self) -> Result<Entry, Refused> {
        self.only(&KEYS)?;
        let mut first = self.scenario()?;
        self.change("changes", &mut first)?;
        let mut full = vec![first];
        if let Some(leaf) = self.get("also") {
            for (_, table) in tables(leaf, self.place)? {
                let mut other = full[0].clone();
                other.change(table, self.file, self.place)?;
                full.push(other);
            }
        }
        let mut quick = full.clone();
        quick.iter_mut().try_for_each(|scenario| self.change("quick", scenario))?;
        Ok(Entry {
            name: self.text("name")?,
            title: self.text("title")?,
            page: self.text("page")?,
            seconds: self.number("seconds")?,
            input: self.flag("input")?,
            claims: self.claims()?,
            full,
            quick,
        })
    }

    /// The scenario that stands in the table, or that the table names.
    fn scenario(&self) -> Result<Scenario, Refused> {
        let leaf = self.required("scenario", "a table, or the name of a file of scenarios/")?;
        if let DeValue::Table(table) = leaf.value {
            return Scenario::of_table(table, self.file, self.place);
        }
        let name = leaf.line_of_text().map_err(|problem| self.place.error(leaf.at, problem))?;
        let unknown = |names: Vec<_>| self.place.error(leaf.at, leaf.wrong(format!("one of {}", names.join(", "))));
        let text = files::scenario(&name).map_err(unknown)?;
        let named = <Named as order9_toml::Definition>::parse(&format!("scenarios/{name}.toml"), text)?;
        let wrong = |problem: &dyn ToString| self.place.error(leaf.at, leaf.wrong(problem.to_string()));
        match (named, self.get("case")) {
            (Named::One(scenario), None) => Ok(*scenario),
            (named, Some(_)) => named.case(&self.text("case")?).map_err(|error| wrong(&error)),
            (Named::Cases(_), None) => Err(wrong(&"a case of it, in the key case")),
        }
    }

    /// Changes a scenario by what the table `key` says, where there is one.
    fn change(&self, key: &str, scenario: &mut Scenario) -> Result<(), Refused> {
        match self.get(key).map(|leaf| (leaf, leaf.value)) {
            None => Ok(()),
            Some((_, DeValue::Table(table))) => scenario.change(table, self.file, self.place),
            Some((leaf, _)) => Err(self.place.error(leaf.at, leaf.wrong("a table of keys of scenarios"))),
        }
    }

    fn claims(&self) -> Result<Vec<Judges>, Refused> {
        let leaf = self.required("claims", "a list of claims")?;
        let refused = || self.place.error(leaf.at, leaf.wrong("a list of claims"));
        let DeValue::Array(names) = leaf.value else { return Err(refused()) };
        let claims = names.iter().map(|name| {
            let claim = name.get_ref().as_str().ok_or_else(refused)?.to_owned();
            Ok(Judges { patched: self.patched(&claim)?, claim })
        });
        claims.collect()
    }

    fn patched(&self, claim: &str) -> Result<Option<String>, Refused> {
        let Some(leaf) = self.get("patched") else { return Ok(None) };
        let refused = || self.place.error(leaf.at, leaf.wrong("a table: policies by claims"));
        let entries = leaf.entries().ok_or_else(refused)?;
        let own = entries.iter().find(|entry| entry.key == format!("patched.{claim}"));
        own.map(|own| own.line_of_text().map_err(|problem| self.place.error(own.at, problem))).transpose()
    }

    fn get(&self, key: &str) -> Option<&Leaf<'a>> {
        self.leaves.iter().find(|leaf| leaf.key == key)
    }

    fn required(&self, key: &str, expected: &str) -> Result<&Leaf<'a>, Refused> {
        let (found, expected) = ("missing".to_owned(), expected.to_owned());
        let missing = AnyProblem::WrongValue { key: key.to_owned(), found, expected };
        self.get(key).ok_or_else(|| self.place.error(self.at, missing))
    }

    fn text(&self, key: &str) -> Result<String, Refused> {
        let leaf = self.required(key, "one line of text")?;
        leaf.line_of_text().map_err(|problem| self.place.error(leaf.at, problem))
    }

    fn number(&self, key: &str) -> Result<u64, Refused> {
        let leaf = self.required(key, "a whole number")?;
        leaf.whole_number().ok_or_else(|| self.place.error(leaf.at, leaf.wrong("a whole number")))
    }

    fn flag(&self, key: &str) -> Result<bool, Refused> {
        match self.get(key).map(|leaf| (leaf, leaf.value)) {
            None => Ok(false),
            Some((_, DeValue::Boolean(flag))) => Ok(*flag),
            Some((leaf, _)) => Err(self.place.error(leaf.at, leaf.wrong("true or false"))),
        }
    }

    /// Refuses every other key.
    fn only(&self, keys: &[&'static str]) -> Result<(), Refused> {
        let other = self.leaves.iter().find(|leaf| !keys.contains(&leaf.key.as_str()));
        let unknown = |leaf: &Leaf<'_>| AnyProblem::unknown_key(&leaf.key, keys.iter().copied());
        other.map_or(Ok(()), |leaf| Err(self.place.error(leaf.at, unknown(leaf))))
    }
}

/// The tables of an array, each with the byte at which it begins.
fn tables<'a>(leaf: &Leaf<'a>, place: Place<'_>) -> Result<Vec<(usize, &'a DeTable<'a>)>, Refused> {
    let refused = || place.error(leaf.at, leaf.wrong(format!("tables [[{}]]", leaf.key)));
    let DeValue::Array(entries) = leaf.value else { return Err(refused()) };
    let tables = entries.iter().map(|entry| match entry.get_ref() {
        DeValue::Table(table) => Ok((entry.span().start, table)),
        _ => Err(refused()),
    });
    tables.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use order9_report::claims::Kind;

    use super::*;

    fn names(entries: &[Entry]) -> Vec<&str> {
        entries.iter().flat_map(|entry| entry.claims.iter().map(|of| of.claim.as_str())).collect()
    }

    #[test]
    fn every_claim_is_judged_by_one_experiment_or_named_with_a_reason() {
        let table = Table::built_in();
        let not_judged = table.not_judged.iter().map(|of| of.claim.as_str());
        let mut found: Vec<&str> = names(&table.experiments).into_iter().chain(not_judged).collect();
        found.sort_unstable();
        let claims = files::claims();
        assert_eq!(found, claims.iter().map(|claim| claim.id.as_str()).collect::<Vec<_>>());
        assert!(table.not_judged.iter().all(|of| !of.why.is_empty()));
    }

    #[test]
    fn experiments_become_plans_whose_policies_the_claims_name() {
        let table = Table::built_in();
        let claims = files::claims();
        let own: BTreeSet<&str> = table.experiments.iter().map(|entry| entry.name.as_str()).collect();
        assert_eq!(own.len(), table.experiments.len(), "names of experiments differ");
        for entry in &table.experiments {
            for size in [Size::Quick, Size::Full] {
                let plans = entry.plans(size, Bytes::from_gib(1), &[]).unwrap_or_else(|error| panic!("{error}"));
                for judges in &entry.claims {
                    let claim = claims.iter().find(|claim| claim.id == judges.claim).expect("a claim");
                    // Facts about the machinery are judged by whatever workload shows them.
                    let about = claim.workload.as_deref().unwrap_or_default();
                    let is_of_facts = matches!(claim.kind, Kind::Facts);
                    assert!(is_of_facts || about.starts_with(plans[0].workload.name()), "{}", claim.id);
                    let patched = judges.patched.as_ref();
                    let is_policy = |title: &&String| plans[0].policies[1..].iter().any(|of| of.name == **title);
                    assert!(plans[0].policies.len() >= 2 && patched.is_none_or(|title| is_policy(&title)));
                }
            }
        }
    }

    #[test]
    fn names_of_claims_and_experiments_and_beginnings_choose() {
        let table = Table::built_in();
        let chosen = |name: &str| table.chosen(&[name.to_owned()]);
        assert_eq!(names(&chosen("003-thpscale-latency").unwrap()), ["003-thpscale-latency"]);
        assert_eq!(names(&chosen("thpscale-5.1").unwrap()), ["003-thpscale-latency", "003-thpscale-huge"]);
        assert_eq!(names(&chosen("003").unwrap()), ["003-thpscale-latency", "003-thpscale-huge"]);
        assert_eq!(names(&chosen("000").unwrap()).len(), 4);
        assert_eq!(table.chosen_not_judged(&["004".to_owned()])[0].claim, "004-thread-figures");
        assert_eq!(table.chosen(&[]).unwrap().len(), table.experiments.len());
        for wrong in ["", "00", "003-thp", "thpscale-5.2"] {
            let error = chosen(wrong).unwrap_err();
            assert!(error.contains("no claim and no experiment is called"), "{error}");
        }
        assert!(chosen("thpscale-5.2").unwrap_err().contains("thpscale-5.1"));
    }

    #[test]
    fn errors_name_their_line() {
        let refusal = |text: &str| Table::parse("t.toml", text).unwrap_err().to_string();
        assert_eq!(refusal("[[experimnt]]\n"), "t.toml, line 1: unknown key experimnt; did you mean experiment?");
        let no_case = "[[experiment]]\nname = \"a\"\nscenario = \"thpfioscale\"\n";
        assert!(refusal(no_case).contains("line 3: scenario is \"thpfioscale\", expected a case of it"));
        let wrong = "[[experiment]]\nname = \"a\"\n[experiment.scenario]\nworkload = \"usemem\"\nseed = 1\n";
        assert!(refusal(wrong).starts_with("t.toml, line 5: unknown key seed"), "{}", refusal(wrong));
        let workload = "[[experiment]]\nscenario = { workload = \"usemem\" }\nquick = { workload = \"stutter\" }\n";
        assert!(refusal(workload).contains("line 3: "), "{}", refusal(workload));
    }
}
