//! Ablation: what every switch in which two policies differ is worth on a workload, alone and among the others.
//!
//! Key type: [`Ablation`], the part of a [`Plan`](crate::Plan) that says which of its policies is which. Beside both whole
//! policies run, for each switch, the first one with this switch of the second, and the second one with this switch of the
//! first: what a change does by itself, and what is lost without it. [`ablation_report`] holds them against each other.
//! Never judges an effect: that takes several seeds, and a test over them.

use order9_policy::{Loaded, PolicyError, Switch, switches};
use order9_record::{Experiment, Outcome};
use order9_report::ablation::{AblationReport, Effect, Row, Whole};
use order9_report::compare::Column;

use crate::notes::notes;
use crate::plan::Plan;
use crate::quantities::ablation_quantities;
use crate::tables::column;

/// The policies of a plan that an ablation compares. The first is the starting point, the second is taken apart.
#[derive(Clone, Debug)]
pub struct Ablation {
    /// Every switch in which they differ, in the order of the table of switches.
    pub switches: Vec<Ablated>,
}

/// A switch, and where in [`Plan::policies`] the two policies stand that try it, or why there is no such policy.
#[derive(Clone, Debug)]
pub struct Ablated {
    /// The switch.
    pub switch: &'static Switch,
    /// The starting point with this switch of the other policy.
    pub alone: Result<usize, PolicyError>,
    /// The other policy with this switch of the starting point.
    pub without: Result<usize, PolicyError>,
}

/// Number of whole policies in a plan; they come first.
const WHOLE: usize = 2;

impl Ablation {
    /// Takes `ablate` apart. Beside the ablation comes every policy of the plan, both whole ones first.
    #[must_use]
    pub fn new(against: &Loaded, ablate: &Loaded) -> (Self, Vec<Loaded>) {
        let mut policies = vec![against.clone(), ablate.clone()];
        let mut add = |policy: Result<Loaded, PolicyError>| {
            policies.push(policy?);
            Ok(policies.len() - 1)
        };
        let differing = switches().filter(|switch| switch.get(&against.policy) != switch.get(&ablate.policy));
        let ablated = differing.map(|switch| {
            let alone = format!("{}+{}", against.name, switch.key);
            let without = format!("{}-{}", ablate.name, switch.key);
            Ablated {
                switch,
                alone: add(against.with_switch_of(ablate, switch, alone)),
                without: add(ablate.with_switch_of(against, switch, without)),
            }
        });
        let switches = ablated.collect();
        (Self { switches }, policies)
    }
}

/// The effects of all switches in an experiment.
#[must_use]
pub fn ablation_report(plan: &Plan, ablation: &Ablation, experiment: &Experiment) -> AblationReport {
    let quantities = ablation_quantities(plan.workload);
    let columns: Vec<_> = plan.policies.iter().map(|policy| ended(plan, &policy.name, experiment)).collect();
    let values = |at: usize| match &columns[at] {
        Some(column) => quantities.iter().map(|quantity| quantity.estimate(column.runs())).collect(),
        None => vec![None; quantities.len()],
    };
    let whole = |at: usize| Whole { policy: plan.policies[at].name.clone(), values: values(at) };
    let (against, ablate) = (whole(0), whole(1));
    let identical = |at: usize, whole: usize| match (&columns[at], &columns[whole]) {
        (Some(one), Some(other)) => one.is_identical_to(other),
        _ => false,
    };
    let effect = |at: &Result<usize, PolicyError>, from: usize, whole| match at {
        Ok(at) => Effect::measured(plan.policies[*at].name.clone(), values(*at), whole, identical(*at, from)),
        Err(error) => Effect::Excluded { why: error.to_string() },
    };
    let row = |ablated: &Ablated| Row {
        switch: ablated.switch.key,
        against: ablated.switch.get(&plan.policies[0].policy).to_string(),
        ablate: ablated.switch.get(&plan.policies[1].policy).to_string(),
        alone: effect(&ablated.alone, 0, &against),
        without: effect(&ablated.without, 1, &ablate),
    };
    AblationReport {
        workload: plan.workload.name().to_owned(),
        runs: plan.seeds.len(),
        switches: ablation.switches.iter().map(row).collect(),
        quantities,
        against,
        ablate,
    }
}

/// Notes of both whole policies: what is said of them holds for those with one switch changed as well.
#[must_use]
pub fn ablation_notes(plan: &Plan, experiment: &Experiment) -> Vec<String> {
    let runs = plan.cells().take_while(|cell| cell.policy < WHOLE).count();
    notes(&experiment.inputs, &experiment.runs[..runs].iter().collect::<Vec<_>>())
}

/// The runs of one policy; nothing if one of them did not come to its end, and so did less than others.
fn ended(plan: &Plan, policy: &str, experiment: &Experiment) -> Option<Column> {
    let runs: Vec<_> = experiment.runs.iter().filter(|run| run.policy == policy).collect();
    let ended = runs.iter().all(|run| run.outcome == Outcome::Completed);
    ended.then(|| column(plan.workload, policy, &runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(name: &str) -> Loaded {
        order9_policy::load(name).expect("it is built in")
    }

    #[test]
    fn every_differing_switch_is_tried_alone_and_taken_away() {
        let (against, ablate) = (loaded("linux-5.0"), loaded("linux-5.1"));
        let (ablation, policies) = Ablation::new(&against, &ablate);
        let differing = order9_policy::Diff::new(&against, &ablate).differences;
        let keys = |policy: &Loaded, other: &Loaded| {
            let differences = order9_policy::Diff::new(policy, other).differences;
            differences.iter().map(|difference| difference.key).collect::<Vec<_>>()
        };
        assert_eq!(policies.len(), 2 + 2 * differing.len());
        assert_eq!(ablation.switches.len(), differing.len());
        for (ablated, difference) in ablation.switches.iter().zip(&differing) {
            assert_eq!(ablated.switch.key, difference.key, "in the order of `policies diff`");
            let policy = |at: &Result<usize, PolicyError>| &policies[*at.as_ref().expect("nothing excludes it")];
            let (alone, without) = (policy(&ablated.alone), policy(&ablated.without));
            assert_eq!(keys(&against, alone), [difference.key]);
            assert_eq!(keys(&ablate, without), [difference.key]);
            assert_eq!(alone.name, format!("linux-5.0+{}", difference.key));
            assert_eq!(without.name, format!("linux-5.1-{}", difference.key));
        }
    }

    #[test]
    fn a_switch_that_the_others_exclude_has_a_reason_instead_of_a_policy() {
        let (ablation, policies) = Ablation::new(&loaded("linux-5.0"), &loaded("linux-6.18"));
        let tried = ablation.switches.iter().flat_map(|ablated| [&ablated.alone, &ablated.without]);
        let excluded: Vec<_> = tried.clone().filter_map(|at| at.as_ref().err()).collect();
        assert!(!excluded.is_empty() && excluded.iter().all(|error| matches!(error, PolicyError::Conflict { .. })));
        let places: Vec<_> = tried.filter_map(|at| at.as_ref().ok().copied()).collect();
        assert_eq!(places, (2..policies.len()).collect::<Vec<_>>(), "every other policy, once");
    }
}
