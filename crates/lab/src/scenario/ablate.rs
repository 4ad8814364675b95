//! Policies of a run: the policies that were named, or those of an ablation.

use order9_policy::Loaded;

use super::Asked;
use super::error::{Problem, ScenarioError};
use super::plan::{distinct, policy};
use crate::ablation::Ablation;
use crate::plan::Memory;

/// Kind of experiment that was asked for.
pub(super) enum Wish {
    /// A comparison of policies; of one by default.
    Compare(Vec<Asked<String>>),
    /// An ablation of one policy.
    Ablate { ablate: Asked<String>, against: Asked<String> },
}

impl Wish {
    /// The one that was asked for, and whole.
    pub(super) fn of(
        policies: Vec<Asked<String>>,
        ablate: Option<Asked<String>>,
        against: Option<Asked<String>>,
    ) -> Result<Self, ScenarioError> {
        let refused = |asked: Asked<String>, why| Err(asked.said.error(Problem::Contradiction(why)));
        match (ablate, against) {
            (None, None) => Ok(Self::Compare(policies)),
            (Some(ablate), None) => refused(ablate, "expected the policy to hold it against, too: against"),
            (None, Some(against)) => refused(against, "expected the policy to take apart, too: ablate"),
            (Some(ablate), Some(against)) => match policies.into_iter().next() {
                Some(policy) => refused(policy, "ablate and against name all policies: leave others out"),
                None => Ok(Self::Ablate { ablate, against }),
            },
        }
    }
}

/// The policies that take `ablate` apart.
pub(super) fn ablation(
    ablate: &Asked<String>,
    against: &Asked<String>,
    memory: &Memory,
) -> Result<(Vec<Loaded>, Option<Ablation>), ScenarioError> {
    let load =
        |asked: &Asked<String>| policy(&asked.value, memory).map_err(|problem| asked.said.clone().error(problem));
    let (against, whole) = (load(against)?, load(ablate)?);
    let (ablation, policies) = Ablation::new(&against, &whole);
    if ablation.switches.is_empty() {
        let nothing = Problem::NothingToAblate { ablate: whole.name, against: against.name };
        return Err(ablate.said.clone().error(nothing));
    }
    distinct(&policies).map_err(|problem| ablate.said.clone().error(problem))?;
    Ok((policies, Some(ablation)))
}
