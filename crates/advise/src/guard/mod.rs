//! A guard tried on a copy of a host's memory, beside the kernel's own proactive compaction.
//!
//! Key types: [`Simulation`] (the question), [`Beside`] (the answer). The kernel runs with each value of
//! `vm.compaction_proactiveness`; the guard runs once as configured, and once more for each of these values with just the CPU time
//! that the kernel took, so that both are compared at equal cost. `measures` reads the runs, `text` draws the answer.

mod measures;
mod text;

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use order9_guard::{Config, Goal, Share};
use order9_lab::{Finished, Nobody, Plan, resume};
use order9_record::{Experiment, Run};
use order9_report::stats::{Difference, Finding};
use order9_units::{Nanos, NodeId, Pages};
use schemars::JsonSchema;
use serde::Serialize;

use crate::demand::Demand;
use crate::trial::{AdviseError, Trial, prices};
use measures::Measured;

/// A guard to try.
#[derive(Clone, Debug)]
pub struct Simulation {
    /// Goals and budgets of the guard.
    pub config: Config,
    /// Program that runs on the copy.
    pub demand: Demand,
}

/// Values of `vm.compaction_proactiveness` that the guard is held against.
pub const PROACTIVENESS: [u8; 6] = [0, 20, 40, 60, 80, 100];
/// Setting of the kernel's own proactive compaction.
const SETTING: &str = "vm.compaction_proactiveness";
/// Title of the guard as configured.
const TITLE: &str = "guard";
/// Least CPU time that is worth a comparison at equal cost: a step of a few milliseconds reaches nothing.
const LEAST: f64 = 10e6;
/// Budgets that differ by less, in parts of the larger one, are one.
const ALIKE: f64 = 0.1;
/// Budgets of a run that are saved up at the start of it, beside the one that comes with its time.
const SAVED: u64 = 99;
/// Longest time that a budget can be saved over: ten years, as in a file.
const SAVE_MAX: Nanos = Nanos::new(3650 * 24 * 3600 * 1_000_000_000);
/// CPU time beyond that of the kernel at which the guard still costs as much.
const SLACK: f64 = 1.02;

/// A guard beside the kernel's proactive compaction.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Beside {
    /// The comparison in words.
    pub sentence: String,
    /// Huge pages that are to be free on all nodes together.
    pub goal: u64,
    /// Everything that was measured: the guard as configured, the kernel by proactiveness, the guard by budget.
    pub rows: Vec<Row>,
    /// Verdicts by proactiveness.
    pub verdicts: Vec<Verdict>,
    /// Program that ran, with the parameters that were chosen.
    pub demand: String,
    /// Policy of the kernel.
    pub policy: String,
    /// Origin of the prices behind every time.
    pub prices: String,
    /// Notes that a reader needs, one sentence each.
    pub notes: Vec<String>,
}

/// A way to compact, with its measurements.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// Title of the column in the run directory.
    pub title: String,
    /// `vm.compaction_proactiveness`; with a guard it is 0.
    pub proactiveness: u8,
    /// CPU time that the guard may take in the run; nothing where none runs.
    #[serde(rename = "budget_ns")]
    pub budget: Option<Nanos>,
    /// Measurements.
    pub measured: Measured,
}

/// The guard beside one value of proactiveness, at no more CPU time.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Value of `vm.compaction_proactiveness`.
    pub proactiveness: u8,
    /// Title of the guard's row that costs as much or less; nothing where every guard costs more.
    pub guard: Option<String>,
    /// Difference of the mean of free huge pages.
    pub difference: Option<Difference>,
    /// Judgement on the difference.
    pub outcome: Outcome,
}

/// Judgement on a guard at no more CPU time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The guard keeps more huge pages ready.
    More,
    /// No difference beyond the spread of runs.
    Same,
    /// The guard keeps fewer.
    Fewer,
    /// The kernel spends nothing that a guard could have.
    NoBudget,
    /// Single runs, between which no difference can be told from chance.
    Unknown,
}

impl Simulation {
    /// The runs of the kernel alone, and of the guard as configured.
    ///
    /// # Errors
    /// A parameter, policy or setting that the lab refuses.
    pub fn plan(&self, trial: &Trial) -> Result<Plan, AdviseError> {
        let mut scenario = self.demand.scenario(trial)?;
        for value in PROACTIVENESS {
            scenario.vary(trial.policy(), &[format!("{SETTING}={value}")])?;
        }
        let mut plan = scenario.plan(trial.command.clone())?;
        add(&mut plan, TITLE.to_owned(), self.config.clone());
        Ok(plan)
    }

    /// Tries the guard, on so many cores. The plan gets the guards by budget, which follow from the first runs.
    ///
    /// # Errors
    /// A run that could not start.
    pub fn compare(
        &self,
        trial: &Trial,
        plan: &mut Plan,
        jobs: NonZeroUsize,
    ) -> Result<(Beside, Experiment), AdviseError> {
        let goal = self.goal(trial);
        let mut experiment = resume(plan, jobs, &Nobody, Finished::default())?;
        let guards = self.at_the_kernels_cost(plan, &experiment, goal);
        if !guards.is_empty() {
            guards.into_iter().for_each(|(title, config)| add(plan, title, config));
            experiment = resume(plan, jobs, &Nobody, Finished { inputs: None, runs: experiment.runs })?;
        }
        Ok((self.beside(trial, plan, &experiment, goal), experiment))
    }

    /// Huge pages that are to be free on all nodes.
    fn goal(&self, trial: &Trial) -> u64 {
        let snapshot = &trial.snapshot;
        let memory = |node: NodeId| -> Pages {
            snapshot.zones.iter().filter(|zone| zone.node == node).map(|zone| zone.managed).sum()
        };
        snapshot.nodes.iter().map(|node| self.config.goal_of(node.id, memory(node.id))).sum()
    }

    /// Guards that gather all they can for the CPU time that the kernel took for its proactive compaction, each time once.
    ///
    /// Most of it is saved up at the start, so that a guard can be as early as the kernel, which nothing limits.
    fn at_the_kernels_cost(&self, plan: &Plan, experiment: &Experiment, goal: u64) -> Vec<(String, Config)> {
        let rows = rows(plan, experiment, goal);
        let cpu: Vec<f64> =
            rows.iter().filter(|row| row.budget.is_none()).map(|row| row.measured.cpu_ns.mean()).collect();
        // What requests of programs take, they take with a guard as well.
        let least = cpu.iter().copied().fold(f64::INFINITY, f64::min);
        let mut times: Vec<f64> = cpu.iter().map(|cpu| cpu - least).filter(|time| *time >= LEAST).collect();
        times.sort_by(f64::total_cmp);
        times.dedup_by(|next, one| *next - *one < ALIKE * *next);
        let elapsed = elapsed(experiment);
        let save = Nanos::new(elapsed.get().saturating_mul(SAVED).min(SAVE_MAX.get()));
        let guard = |time: f64| Config {
            goal: Goal::Share(Share::percent(100.0)),
            nodes: BTreeMap::new(),
            cpu: Share::percent(100.0 * time / (elapsed + save).get() as f64),
            save,
            ..self.config.clone()
        };
        times.into_iter().map(|time| (format!("{TITLE}-{:.0}ms", time / 1e6), guard(time))).collect()
    }

    fn beside(&self, trial: &Trial, plan: &Plan, experiment: &Experiment, goal: u64) -> Beside {
        let rows = rows(plan, experiment, goal);
        let verdicts: Vec<Verdict> =
            rows.iter().filter(|row| row.budget.is_none()).map(|row| judge(row, &rows)).collect();
        let ended = |run: &Run| Some(format!("{}, seed {}: {}", run.policy, run.seed, run.outcome.message()?));
        Beside {
            sentence: text::sentence(&rows, &verdicts),
            goal,
            rows,
            verdicts,
            demand: self.demand.to_string(),
            policy: trial.policy().to_owned(),
            prices: prices(plan),
            notes: experiment
                .runs
                .iter()
                .filter_map(ended)
                .chain(plan.notes.iter().chain(&trial.notes).cloned())
                .collect(),
        }
    }
}

/// Adds a column in which a guard runs and the kernel compacts nothing of itself.
fn add(plan: &mut Plan, title: String, config: Config) {
    let alone = &plan.policies[0];
    let settings = plan.own_settings.get(&alone.name).cloned().unwrap_or_default();
    let mut policy = alone.clone();
    policy.name.clone_from(&title);
    plan.own_settings.insert(title.clone(), settings);
    plan.guards.insert(title, config);
    plan.policies.push(policy);
}

fn rows(plan: &Plan, experiment: &Experiment, goal: u64) -> Vec<Row> {
    let row = |(at, policy): (usize, &order9_policy::Loaded)| {
        let runs: Vec<&Run> = experiment.runs.iter().filter(|run| run.policy == policy.name).collect();
        Row {
            title: policy.name.clone(),
            proactiveness: PROACTIVENESS.get(at).copied().unwrap_or(0),
            budget: plan.guards.get(&policy.name).map(|config| allowed(config, elapsed(experiment))),
            measured: Measured::of(&runs, goal),
        }
    };
    plan.policies.iter().enumerate().map(row).collect()
}

/// Duration of the longest run.
fn elapsed(experiment: &Experiment) -> Nanos {
    experiment.runs.iter().map(|run| run.durations.elapsed).max().unwrap_or_default()
}

/// CPU time that a guard may take in a run: what comes with the time, and what it has saved up.
fn allowed(config: &Config, elapsed: Nanos) -> Nanos {
    config.cpu.of(elapsed + config.save)
}

/// Holds the best guard that costs no more against the kernel.
fn judge(kernel: &Row, rows: &[Row]) -> Verdict {
    let cpu = kernel.measured.cpu_ns.mean();
    let ready = |row: &Row| row.measured.huge_free.mean();
    let guards = rows.iter().filter(|row| row.budget.is_some());
    let cheap = guards.filter(|row| row.measured.cpu_ns.mean() <= SLACK * cpu);
    let best = cheap.max_by(|one, other| ready(one).total_cmp(&ready(other)));
    let difference = best.map(|best| Difference::of(&kernel.measured.huge_free, &best.measured.huge_free));
    let more = best.is_some_and(|best| ready(best) > ready(kernel));
    let outcome = match difference.as_ref().map(|difference| difference.finding) {
        None => Outcome::NoBudget,
        Some(Finding::OneRun) => Outcome::Unknown,
        Some(Finding::Same | Finding::NotToldApart) => Outcome::Same,
        Some(Finding::NoSpread | Finding::Less | Finding::More) if more => Outcome::More,
        Some(Finding::NoSpread | Finding::Less | Finding::More) => Outcome::Fewer,
    };
    Verdict { proactiveness: kernel.proactiveness, guard: best.map(|best| best.title.clone()), difference, outcome }
}
