//! Two reproductions compared, verdict by verdict.

use order9_report::claims::Outcome;

use super::{Judged, Reproduction};

/// Verdicts that changed since another reproduction.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// Verdicts that changed, in the order of the later reproduction.
    pub changed: Vec<Change>,
    /// Number of statements that both judged.
    pub compared: usize,
    /// Claims that one of both has alone.
    pub alone: Vec<String>,
}

/// A verdict that changed.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Name of the claim.
    pub claim: String,
    /// The statement.
    pub statement: String,
    /// Verdicts before and now.
    pub outcomes: [Outcome; 2],
    /// Numbers before and now, in a few words.
    pub measured: [String; 2],
}

impl Change {
    /// Whether the verdict got worse: from holding, through not holding, to not being judged.
    #[must_use]
    pub fn is_worse(&self) -> bool {
        let [before, now] = self.outcomes.map(rank);
        now > before
    }
}

const fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Holds => 0,
        Outcome::Fails => 1,
        Outcome::NotMeasured => 2,
    }
}

impl Changes {
    /// Compares `now` with what was `before`: statements that both have.
    #[must_use]
    pub fn between(before: &Reproduction, now: &Reproduction) -> Self {
        let mut changes = Self { changed: Vec::new(), compared: 0, alone: Vec::new() };
        let of = |all: &'_ Reproduction, claim: &str| all.claims.iter().position(|of| of.claim == claim);
        for claim in &now.claims {
            match of(before, &claim.claim) {
                Some(at) => changes.compare(&before.claims[at], claim),
                None => changes.alone.push(claim.claim.clone()),
            }
        }
        let gone = before.claims.iter().filter(|claim| of(now, &claim.claim).is_none());
        changes.alone.extend(gone.map(|claim| claim.claim.clone()));
        changes
    }

    fn compare(&mut self, before: &Judged, now: &Judged) {
        for statement in &now.statements {
            let same = |of: &&super::StatementVerdict| of.verdict.statement == statement.verdict.statement;
            let Some(then) = before.statements.iter().find(same) else { continue };
            self.compared += 1;
            let outcomes = [then.verdict.outcome, statement.verdict.outcome];
            if outcomes[0] != outcomes[1] {
                self.changed.push(Change {
                    claim: now.claim.clone(),
                    statement: statement.verdict.statement.clone(),
                    outcomes,
                    measured: [then.measured.clone(), statement.measured.clone()],
                });
            }
        }
    }

    /// Number of verdicts that got worse.
    #[must_use]
    pub fn worse(&self) -> usize {
        self.changed.iter().filter(|change| change.is_worse()).count()
    }
}
