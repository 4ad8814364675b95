//! Statements of a published claim, and whether the runs show them.

use order9_report::claims::{Claim, Outcome, Verdict};
use serde::Serialize;

/// A claim with its verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct Claims {
    /// Name of the claim.
    pub id: String,
    /// The published result in a sentence.
    pub headline: String,
    /// The document it was published in.
    pub source: String,
    /// The policies taken as baseline and as patched kernel.
    pub kernels: [String; 2],
    /// The statements in their order.
    pub statements: Vec<Statement>,
}

/// A statement with its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Statement {
    /// The statement in words and signs.
    pub text: String,
    /// Reason for the statement.
    pub note: String,
    /// `holds`, `does not hold` or `not measured`.
    pub verdict: &'static str,
    /// The numbers that decided it.
    pub evidence: Vec<String>,
}

impl Claims {
    /// `claim` with the verdicts on runs of `kernels`.
    #[must_use]
    pub fn of(claim: &Claim, kernels: [&str; 2], verdicts: &[Verdict]) -> Self {
        let statement = |verdict: &Verdict| Statement {
            text: verdict.statement.clone(),
            note: verdict.note.clone(),
            verdict: match verdict.outcome {
                Outcome::Holds => "holds",
                Outcome::Fails => "does not hold",
                Outcome::NotMeasured => "not measured",
            },
            evidence: verdict.evidence.iter().map(ToString::to_string).collect(),
        };
        Self {
            id: claim.id.clone(),
            headline: claim.headline.clone(),
            source: claim.source.clone(),
            kernels: kernels.map(str::to_owned),
            statements: verdicts.iter().map(statement).collect(),
        }
    }
}
