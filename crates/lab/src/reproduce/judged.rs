//! Verdicts on the statements of claims, and all verdicts of a reproduction in one form that is stored.

use order9_record::{Digest, Run};
use order9_report::claims::{Claim, Evidence, Measured, Outcome, Verdict, judge};
use order9_report::compare::Report;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Causes, Entry, Judges, NotJudged, Size};
use crate::claims::judge_claim;
use crate::plan::Plan;
use crate::tables::{pooled_report, report};

/// Version of the form in which a reproduction is stored.
const VERSION: u32 = 1;

/// Verdicts of a reproduction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reproduction {
    /// Version of the form.
    version: u32,
    /// Version of order9.
    pub order9: String,
    /// Size of the experiments.
    pub size: Size,
    /// The claims, in the order of the table of experiments; those that no run can judge come last.
    pub claims: Vec<Judged>,
}

/// Text that holds no reproduction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReproductionError {
    /// The text has another form.
    #[error("{0}; expected a reproduce.json of order9 reproduce")]
    Form(String),
    /// The form of the text is that of another version.
    #[error("version {0} of the form, expected {VERSION}")]
    Version(u32),
}

/// A claim with the verdicts on its statements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    /// Name of the claim.
    pub claim: String,
    /// Result in one sentence, as it was published.
    pub headline: String,
    /// Experiment that judges it; none for a claim that no run can judge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<Made>,
    /// Why it could not be judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<Why>,
    /// The statements, in the order of the claim.
    pub statements: Vec<StatementVerdict>,
}

/// Why a claim could not be judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// No run can judge it, for this reason.
    NoExperiment(String),
    /// The experiment did not come to its end here, for this reason.
    NotRun(String),
}

/// The experiment that judges a claim.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Made {
    /// Name of the experiment.
    pub experiment: String,
    /// Title of the experiment.
    pub title: String,
    /// Page of the experiment below docs/results.
    pub page: String,
    /// Whether the claim states what the model is given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input: bool,
    /// Policies that stand for the baseline and the patched kernel.
    pub kernels: [String; 2],
    /// Machines, with their memory: `xeon-1s, 16 GiB`.
    pub machines: Vec<String>,
    /// Seeds of the runs of each policy.
    pub seeds: Vec<u64>,
    /// Digests of the results, one for each machine.
    pub digests: Vec<Digest>,
    /// Whether another build of order9 made the runs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub other_build: bool,
}

/// A statement with its verdict, and the numbers behind it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatementVerdict {
    /// The verdict, with the numbers that decided it.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The numbers of all runs in a few words.
    pub measured: String,
    /// The published numbers in the same words.
    pub published: String,
    /// The published numbers.
    pub published_evidence: Vec<Evidence>,
    /// Verdicts on each seed alone, where there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seeds: Vec<OfSeed>,
    /// Why it does not hold, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

/// Verdict on the runs of one seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfSeed {
    /// The seed.
    pub seed: u64,
    /// The verdict.
    pub outcome: Outcome,
}

/// Numbers of statements by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Statements that hold.
    pub hold: usize,
    /// Statements that do not hold.
    pub fail: usize,
    /// Statements that could not be judged.
    pub not_judged: usize,
}

impl Score {
    /// Counts verdicts.
    #[must_use]
    pub fn of<'a>(statements: impl IntoIterator<Item = &'a StatementVerdict>) -> Self {
        let mut score = Self::default();
        for statement in statements {
            *match statement.verdict.outcome {
                Outcome::Holds => &mut score.hold,
                Outcome::Fails => &mut score.fail,
                Outcome::NotMeasured => &mut score.not_judged,
            } += 1;
        }
        score
    }

    /// Number of all statements.
    #[must_use]
    pub const fn all(self) -> usize {
        self.hold + self.fail + self.not_judged
    }
}

impl Reproduction {
    /// The verdicts `claims` of experiments of this size.
    #[must_use]
    pub fn new(size: Size, claims: Vec<Judged>) -> Self {
        Self { version: VERSION, order9: env!("CARGO_PKG_VERSION").to_owned(), size, claims }
    }

    /// Reads the text of a `reproduce.json`.
    ///
    /// # Errors
    /// Another text, or one of another version.
    pub fn parse(text: &str) -> Result<Self, ReproductionError> {
        /// The one key that every version has.
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let form = |error: serde_json::Error| ReproductionError::Form(error.to_string());
        let Version { version } = serde_json::from_str(text).map_err(form)?;
        if version == VERSION {
            serde_json::from_str(text).map_err(form)
        } else {
            Err(ReproductionError::Version(version))
        }
    }

    /// The text of a `reproduce.json`.
    ///
    /// # Panics
    /// Never: every part of it has a form in JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("it has a form in JSON") + "\n"
    }

    /// Verdicts with causes as they are known now.
    #[must_use]
    pub fn with_causes(mut self, causes: &Causes) -> Self {
        for claim in &mut self.claims {
            for statement in &mut claim.statements {
                statement.cause = cause(causes, &claim.claim, &statement.verdict, self.size);
            }
        }
        self
    }

    /// Numbers of all statements about what is not given to the model.
    #[must_use]
    pub fn score(&self) -> Score {
        Score::of(self.claims.iter().filter(|claim| !claim.is_input()).flat_map(|claim| &claim.statements))
    }

    /// Numbers of statements about what is given to the model.
    #[must_use]
    pub fn inputs(&self) -> Score {
        Score::of(self.claims.iter().filter(|claim| claim.is_input()).flat_map(|claim| &claim.statements))
    }
}

impl Judged {
    /// A claim that no run can judge.
    #[must_use]
    pub fn without_experiment(claim: &Claim, of: &NotJudged) -> Self {
        Self::unjudged(claim, None, Why::NoExperiment(of.why.clone()))
    }

    /// A claim whose experiment did not come to its end, for the reason `why`.
    #[must_use]
    pub fn not_run(claim: &Claim, made: Made, why: String) -> Self {
        Self::unjudged(claim, Some(made), Why::NotRun(why))
    }

    fn unjudged(claim: &Claim, made: Option<Made>, why: Why) -> Self {
        let verdicts = judge(claim, &Measured::default());
        let statements = beside_published(claim, verdicts).collect();
        Self { claim: claim.id.clone(), headline: claim.headline.clone(), made, why: Some(why), statements }
    }

    /// Whether the claim states what the model is given.
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.input)
    }

    /// Why its experiment did not come to its end here, with its name; `None` where it did, or where there is none.
    #[must_use]
    pub fn why_not_run(&self) -> Option<String> {
        match &self.why {
            Some(Why::NotRun(why)) => Some(format!("{}: {why}", self.claim)),
            Some(Why::NoExperiment(_)) | None => None,
        }
    }

    /// Numbers of its statements.
    #[must_use]
    pub fn score(&self) -> Score {
        Score::of(&self.statements)
    }
}

impl Made {
    /// The experiment `entry` of `plans` with the policies that `judges` names, before anything has run.
    #[must_use]
    pub fn of(entry: &Entry, judges: &Judges, plans: &[Plan]) -> Self {
        let policies = &plans[0].policies;
        let patched = judges.patched.clone().unwrap_or_else(|| policies[1].name.clone());
        let machine =
            |plan: &Plan| format!("{}, {}", plan.machine.name, order9_report::number::size(plan.machine.memory()));
        Self {
            experiment: entry.name.clone(),
            title: entry.title.clone(),
            page: entry.page.clone(),
            input: entry.input,
            kernels: [policies[0].name.clone(), patched],
            machines: plans.iter().map(machine).collect(),
            seeds: plans[0].seeds.clone(),
            digests: Vec::new(),
            other_build: false,
        }
    }
}

/// Judges a claim by the runs of its experiment: of each plan the machine and the runs.
#[must_use]
pub fn judged(claim: &Claim, made: Made, ran: &[(&Plan, &[Run])], size: Size, causes: &Causes) -> Judged {
    let all = verdicts(claim, &made, ran, None);
    let alone: Vec<(u64, Vec<Verdict>)> = match &made.seeds[..] {
        [_] => Vec::new(),
        seeds => seeds.iter().map(|&seed| (seed, verdicts(claim, &made, ran, Some(seed)))).collect(),
    };
    let statements = beside_published(claim, all).enumerate().map(|(nth, statement)| {
        let of_seed = |(seed, verdicts): &(u64, Vec<Verdict>)| OfSeed { seed: *seed, outcome: verdicts[nth].outcome };
        let cause = cause(causes, &claim.id, &statement.verdict, size);
        StatementVerdict { seeds: alone.iter().map(of_seed).collect(), cause, ..statement }
    });
    let statements = statements.collect();
    Judged { claim: claim.id.clone(), headline: claim.headline.clone(), made: Some(made), why: None, statements }
}

/// Why a statement does not hold, where that is known.
fn cause(causes: &Causes, claim: &str, verdict: &Verdict, size: Size) -> Option<String> {
    let fails = verdict.outcome == Outcome::Fails;
    fails.then(|| causes.of(claim, &verdict.statement, size).map(str::to_owned)).flatten()
}

/// Verdicts, each beside what the published numbers say.
fn beside_published(claim: &Claim, verdicts: Vec<Verdict>) -> impl Iterator<Item = StatementVerdict> {
    let published = judge(claim, &Measured::printed(claim));
    let of = |((statement, published), verdict)| {
        let (statement, published): (&order9_report::claims::Statement, Verdict) = (statement, published);
        let measured = match verdict {
            Verdict { outcome: Outcome::NotMeasured, held: 0, .. } => "not measured".to_owned(),
            _ => statement.figures(&verdict),
        };
        StatementVerdict {
            measured,
            verdict,
            published: statement.figures(&published),
            published_evidence: published.evidence,
            seeds: Vec::new(),
            cause: None,
        }
    };
    let all: Vec<_> = claim.shape.iter().zip(published).zip(verdicts).map(of).collect();
    all.into_iter()
}

/// Verdicts on all runs, or on those of one seed. Single runs are judged as published iterations were, several by their means.
fn verdicts(claim: &Claim, made: &Made, ran: &[(&Plan, &[Run])], seed: Option<u64>) -> Vec<Verdict> {
    let is_chosen = |run: &&Run| seed.is_none_or(|seed| run.seed == seed);
    let machines: Vec<(&str, &Run)> = ran
        .iter()
        .flat_map(|(plan, runs)| runs.iter().filter(is_chosen).map(|run| (plan.machine.name.as_str(), run)))
        .collect();
    let (plan, runs) = ran[0];
    let of = |policy: &String| runs.iter().filter(is_chosen).filter(|run| run.policy == *policy).collect::<Vec<_>>();
    let columns: Vec<(&str, Vec<&Run>)> = made.kernels.iter().map(|policy| (policy.as_str(), of(policy))).collect();
    let is_single = columns.iter().all(|(_, runs)| runs.len() == 1);
    let report: Report = match is_single {
        true => pooled_report(plan.workload, &columns, claim.generation.into()),
        false => report(plan.workload, &columns, claim.generation),
    };
    judge_claim(claim, &report, &columns[0].1, &columns[1].1, &machines)
}
