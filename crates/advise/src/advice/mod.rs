//! Remedies for a host in the order of their worth: each is tried on the copy under a demand, beside the host as it is.
//!
//! Key types: [`Advise`] (the question), [`Advice`] (the answer), [`Finding`] (a remedy with all that it came to).
//! `candidates` says what is tried, `cost` what a demand costs, `restart` what no remedy mends, `owners` who
//! holds memory, `text` and `grids` draw the answer. How
//! worth is reckoned: docs/advise.md.

mod candidates;
mod cost;
mod grids;
mod owners;
mod place;
mod remedy;
mod restart;
mod text;

use std::num::NonZeroUsize;
use std::sync::Arc;

use order9_lab::{Nobody, Plan};
use order9_record::Run;
use order9_report::stats::{Difference, Direction};
use order9_snapshot::census::Census;
use order9_snapshot::inspection::Inspection;
use order9_snapshot::owners::Holdings;
use order9_snapshot::prices::Prices;
use order9_units::{Bytes, Nanos, PAGEBLOCK_PAGES};
use schemars::JsonSchema;
use serde::Serialize;

pub use cost::{Case, Costs};
pub use place::{GroupMove, Placement};
pub use remedy::{Drop, Remedy, Target};
pub use restart::{Holder, Restart};

use crate::demand::Demand;
use crate::trial::{AdviseError, Trial, prices};
use crate::what_if::{Verdict, judge};
use cost::Rates;

/// A host that wants huge pages, and a demand that it has to meet.
#[derive(Clone, Debug)]
pub struct Advise {
    /// Program that runs on the copy.
    pub demand: Demand,
    /// Memory that the program wants, where that was asked for.
    pub want: Option<Bytes>,
    /// Time for which the memory is used, as loads at random by one CPU with the host as it is.
    pub use_time: Nanos,
}

/// Remedies for a host.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// The advice in a sentence or two.
    pub sentence: String,
    /// The demand with the host as it is.
    pub now: Case,
    /// Remedies that are worth it, the best first; the best of each kind.
    pub findings: Vec<Finding>,
    /// All other remedies that were tried, the best first.
    pub others: Vec<Finding>,
    /// Pageblocks that only a restart mends.
    pub restart: Option<Restart>,
    /// The largest owners of memory, where the copy names owners.
    pub owners: Option<Holdings>,
    /// Program that stands for the demand, with its parameters.
    pub demand: String,
    /// Memory that the program wants, where that was asked for.
    pub want: Option<Bytes>,
    /// Time for which the memory is used, with the host as it is.
    pub use_ns: Nanos,
    /// Price of a page of lost cache, in nanoseconds.
    pub reread_page_ns: Nanos,
    /// Policy of the kernel.
    pub policy: String,
    /// Origin of the prices behind every time.
    pub prices: String,
    /// Notes that a reader needs, one sentence each.
    pub notes: Vec<String>,
}

/// A remedy, and all that it came to.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    /// The remedy.
    pub remedy: Remedy,
    /// Memory that the program gets beyond what it gets now, where that is a hundredth of it or more.
    pub more: Bytes,
    /// Time that the remedy saves: cost of the demand now, less that with the remedy, in nanoseconds.
    pub worth_ns: f64,
    /// Worth in percent of the cost now.
    pub worth_percent: f64,
    /// Better where the program gets more memory; else the judgement on the cost, by the rule that `what-if` has.
    pub verdict: Verdict,
    /// The demand with the remedy.
    pub case: Case,
    /// Command of order9 that writes the settings of the remedy, with a way back; nothing where the remedy has none.
    pub order9: Option<String>,
    /// Commands of Linux that do all of the remedy, as root.
    pub linux: Vec<String>,
}

/// Prices of a page to be read again where no list has one: none.
const NO_PRICE: Nanos = Nanos::ZERO;
/// Share of memory that is collapsed where no process's is.
const NOBODY: f64 = 0.0;
/// Least difference of the memory that a program gets, as a share, that counts.
const COUNTS: f64 = 0.01;
/// Remedies that are tried together with the best one.
const TOGETHER: usize = 5;

impl Advise {
    /// The experiment with the host as it is.
    ///
    /// # Errors
    /// A parameter or policy that the lab refuses, and a demand below a huge page.
    pub fn plan(&self, trial: &Trial) -> Result<Plan, AdviseError> {
        match self.want {
            Some(want) if want < PAGEBLOCK_PAGES.bytes() => Err(AdviseError::TooSmall(want.get())),
            _ => self.plan_of(trial, &[], &[Remedy::nothing()]),
        }
    }

    /// Tries all remedies, on so many cores. `plan` is that of the host as it is.
    ///
    /// # Errors
    /// A run that could not start, or a map that contradicts itself.
    pub fn advise(&self, trial: &Trial, plan: &Plan, jobs: NonZeroUsize) -> Result<Advice, AdviseError> {
        let problem = |problem: String| AdviseError::Map { name: trial.name.clone(), problem };
        let census = Census::of(&trial.snapshot).map_err(|error| problem(error.to_string()))?;
        let list = Prices::of(&trial.snapshot);
        let inspection = Inspection::of(&trial.snapshot, Some(&census), &list);
        let reread = list.reread_page.as_ref().map_or(NO_PRICE, |price| Nanos::new(price.ns));
        let experiment = order9_lab::run(plan, jobs, &Nobody)?;
        let base: Vec<&Run> = experiment.runs.iter().collect();
        let rates = Rates::new(&base, self.use_time, reread);
        let now = Case::of(&base, rates, NOBODY);
        let held = Holdings::of(&trial.snapshot, &census).map_err(|error| problem(error.to_string()))?;
        let parameters = resolved(&experiment.inputs.workload.parameters);
        let bench = Bench { advise: self, trial, census: &census, parameters, jobs, rates, now: &now };
        let mut found = bench.all(candidates::candidates(&trial.snapshot, plan, held.as_ref()))?;
        by_worth(&mut found);
        let (mut findings, mut others) = best_of_kinds(found);
        if let Some(both) = bench.best_together(&findings)? {
            findings.insert(0, both);
        }
        by_worth(&mut others);
        let mut advice = Advice {
            sentence: String::new(),
            findings,
            others,
            restart: Restart::of(&inspection),
            owners: held.map(owners::largest),
            demand: self.demand.to_string(),
            want: self.want,
            use_ns: self.use_time,
            reread_page_ns: reread,
            policy: plan.policies[0].name.clone(),
            prices: prices(plan),
            notes: now.ended.iter().chain(&plan.notes).chain(&trial.notes).cloned().collect(),
            now,
        };
        advice.sentence = text::sentence(&advice);
        Ok(advice)
    }

    /// The experiment of remedies that make the same requests: a column for each. Parameters of the demand that nobody chose are
    /// `defaults`, else those of the copy.
    fn plan_of(&self, trial: &Trial, defaults: &[String], remedies: &[Remedy]) -> Result<Plan, AdviseError> {
        let mut scenario = self.demand.scenario(trial)?;
        let is_chosen = |key: &str| self.demand.chooses(key) || self.want.is_some() && key == "size";
        for parameter in defaults.iter().filter(|pair| !pair.split('=').next().is_some_and(is_chosen)) {
            scenario.argument("--param", parameter)?;
        }
        if let Some(want) = self.want {
            // What is beyond memory is not written, and takes time to no purpose.
            scenario.argument("--param", &format!("size={}", want.min(trial.memory()).get()))?;
        }
        for parameter in remedies.iter().take(1).flat_map(Remedy::parameters) {
            scenario.argument("--param", &parameter)?;
        }
        for remedy in remedies {
            match remedy.settings.as_slice() {
                [] => scenario.argument("--policy", trial.policy())?,
                settings => scenario.vary(trial.policy(), settings)?,
            }
        }
        Ok(scenario.plan(trial.command.clone())?)
    }
}

/// Everything that remedies are tried with.
struct Bench<'a> {
    advise: &'a Advise,
    trial: &'a Trial,
    census: &'a Census,
    /// Parameters of the demand with the host as it is.
    parameters: Vec<String>,
    jobs: NonZeroUsize,
    rates: Rates,
    now: &'a Case,
}

impl Bench<'_> {
    /// Tries remedies; those that make the same requests are columns of one experiment.
    fn all(&self, remedies: Vec<Remedy>) -> Result<Vec<Finding>, AdviseError> {
        let mut groups: Vec<Vec<Remedy>> = Vec::new();
        for remedy in remedies {
            let requests = |of: &Remedy| (of.parameters(), of.without());
            match groups.iter_mut().find(|group| requests(&group[0]) == requests(&remedy)) {
                Some(group) => group.push(remedy),
                None => groups.push(vec![remedy]),
            }
        }
        let mut found = Vec::new();
        for group in groups {
            let plan = self.plan_of(&group)?;
            let experiment = order9_lab::run(&plan, self.jobs, &Nobody)?;
            for (remedy, policy) in group.into_iter().zip(&plan.policies) {
                let runs: Vec<&Run> = experiment.runs.iter().filter(|run| run.policy == policy.name).collect();
                found.push(self.finding(remedy, &runs));
            }
        }
        Ok(found)
    }

    /// The experiment of remedies that make the same requests; the memory of a process that is started anew is free in their copy, and the
    /// demand is as large as in the host as it is.
    fn plan_of(&self, group: &[Remedy]) -> Result<Plan, AdviseError> {
        let Some(process) = group[0].without() else { return self.advise.plan_of(self.trial, &[], group) };
        let snapshot = Arc::new(self.trial.snapshot.without_process(process, self.census));
        self.advise.plan_of(&Trial { snapshot, ..self.trial.clone() }, &self.parameters, group)
    }

    fn finding(&self, remedy: Remedy, runs: &[&Run]) -> Finding {
        let share = remedy.collapse.as_ref().map_or(NOBODY, |target| target.share);
        let (now, case) = (self.now, Case::of(runs, self.rates, share));
        let worth_ns = now.cost_ns.mean() - case.cost_ns.mean();
        let difference = Difference::of(&now.cost_ns, &case.cost_ns);
        let [got, gets] = [now, &case].map(|case| case.written.unwrap_or_default());
        let counts = |difference: u64| difference > 0 && difference as f64 >= COUNTS * got.get() as f64;
        let more = Some(gets.get().saturating_sub(got.get())).filter(|&more| counts(more)).unwrap_or_default();
        let is_short = counts(got.get().saturating_sub(gets.get())) || case.ended.len() > now.ended.len();
        let verdict = match judge(&difference, -worth_ns, Direction::LowerIsBetter) {
            _ if is_short => Verdict::Worse,
            _ if more > 0 => Verdict::Better,
            verdict => verdict,
        };
        let worth_percent = 100.0 * worth_ns / now.cost_ns.mean().max(1.0);
        let (order9, linux) = (remedy.order9(), remedy.linux());
        Finding { more: Bytes::new(more), worth_ns, worth_percent, verdict, order9, linux, case, remedy }
    }

    /// The best remedy together with that of the others which adds most, where it adds anything.
    fn best_together(&self, findings: &[Finding]) -> Result<Option<Finding>, AdviseError> {
        let Some((best, others)) = findings.split_first() else { return Ok(None) };
        let pairs = others.iter().take(TOGETHER).filter_map(|other| best.remedy.and(&other.remedy));
        let mut tried = self.all(pairs.collect())?;
        by_worth(&mut tried);
        let adds = |both: &Finding| {
            let difference = Difference::of(&best.case.cost_ns, &both.case.cost_ns);
            let by = both.case.cost_ns.mean() - best.case.cost_ns.mean();
            let is_cheaper = judge(&difference, by, Direction::LowerIsBetter) == Verdict::Better;
            both.verdict == Verdict::Better && (both.more > best.more || both.more == best.more && is_cheaper)
        };
        Ok(tried.into_iter().find(adds))
    }
}

/// Parameters as the command line takes them.
fn resolved(parameters: &toml::Table) -> Vec<String> {
    let shown = |value: &toml::Value| match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(values) => values.iter().map(toml::Value::to_string).collect::<Vec<_>>().join(","),
        value => value.to_string(),
    };
    parameters.iter().map(|(key, value)| format!("{key}={}", shown(value))).collect()
}

/// Sorts by memory that the program gets beyond what it gets now, then by worth, the most first. Remedies of equal worth stay in
/// their order.
fn by_worth(findings: &mut [Finding]) {
    findings.sort_by(|one, other| other.more.cmp(&one.more).then(other.worth_ns.total_cmp(&one.worth_ns)));
}

/// The best remedy of each kind that is worth it, and all others.
fn best_of_kinds(found: Vec<Finding>) -> (Vec<Finding>, Vec<Finding>) {
    let (mut findings, mut others): (Vec<Finding>, Vec<Finding>) = (Vec::new(), Vec::new());
    for finding in found {
        let is_first = findings.iter().all(|better| better.remedy.kind() != finding.remedy.kind());
        if finding.verdict == Verdict::Better && is_first { findings.push(finding) } else { others.push(finding) }
    }
    (findings, others)
}
