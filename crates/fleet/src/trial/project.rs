//! From the answers of a sample to the fleet.

use std::collections::BTreeSet;

use order9_advise::what_if::{Unit, Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::Answers;
use super::{Measured, Question, Tried};
use crate::groups::Groups;
use crate::host::Host;
use crate::quantiles::Quantiles;
use crate::read::Unreadable;
use crate::share::{Mean, Share, Stratum};

/// Effect of settings on a fleet, by a sample of its hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Projection {
    /// Raised when a field changes its meaning or goes.
    pub schema: u32,
    /// Settings that were tried.
    pub settings: Vec<String>,
    /// Program that ran, with its parameters.
    pub demand: String,
    /// Policies of the kernels that ran.
    pub policies: BTreeSet<String>,
    /// Number of runs on each host, with and without the settings.
    pub seeds: u64,
    /// Seed of the sample.
    pub seed: u64,
    /// Number of hosts that the sample stands for: those in groups.
    pub hosts: usize,
    /// Number of hosts in the sample.
    pub sampled: usize,
    /// Hosts by what the settings do.
    pub outcomes: Outcomes,
    /// Measures that differ on any host.
    pub measures: Vec<Changed>,
    /// Groups of hosts.
    pub groups: Vec<OfGroup>,
    /// Hosts of the sample that could not be tried.
    pub untried: Vec<Unreadable>,
}

/// Hosts by what settings do: one number of each sums to all hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcomes {
    /// Hosts on which something gets better and nothing worse.
    pub helped: Share,
    /// Hosts on which something gets worse and nothing better.
    pub hurt: Share,
    /// Hosts on which something gets better and something worse.
    pub mixed: Share,
    /// Hosts on which nothing differs beyond the spread of runs.
    pub same: Share,
    /// Hosts whose kernel refuses the settings, or whose snapshot is not there any more.
    pub untried: Share,
}

/// A measure over the fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// Name of the measure.
    pub name: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Hosts on which it gets better.
    pub better: Share,
    /// Hosts on which it gets worse.
    pub worse: Share,
    /// Mean over hosts now; 0 on hosts that measured nothing of the kind.
    pub now: f64,
    /// Mean of the differences over hosts.
    pub difference: Mean,
    /// Median of the differences on the sampled hosts where it gets better.
    pub where_better: Option<f64>,
    /// Median of the differences on the sampled hosts where it gets worse.
    pub where_worse: Option<f64>,
}

/// Sampled hosts of a group by what settings do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OfGroup {
    /// Number of the group, from 1 on.
    pub group: usize,
    /// Number of its hosts.
    pub hosts: usize,
    /// Number of sampled hosts.
    pub sampled: usize,
    /// Sampled hosts on which something gets better and nothing worse.
    pub helped: usize,
    /// Sampled hosts on which something gets worse and nothing better.
    pub hurt: usize,
    /// Sampled hosts on which something gets better and something worse.
    pub mixed: usize,
}

impl Projection {
    /// The effect on the fleet, by `answers` of the hosts of `sample`.
    #[must_use]
    pub fn of(
        question: &Question,
        seed: u64,
        (hosts, groups, sample): (&[Host], &Groups, &[Vec<usize>]),
        answers: &Answers,
    ) -> Self {
        let sizes: Vec<usize> = (0..sample.len()).map(|group| groups.members(group).count()).collect();
        let fleet = Sampled { sizes: &sizes, answers };
        let untried = sample.iter().flatten().zip(answers.iter().flatten()).filter_map(|(&host, answer)| {
            let problem = answer.as_ref().err()?.clone();
            Some(Unreadable { file: hosts[host].name.clone(), problem })
        });
        let tried = || answers.iter().flatten().flatten();
        let mut names: Vec<&str> = Vec::new();
        for measured in tried().flat_map(|tried| &tried.measures) {
            let is_new = !names.contains(&measured.name.as_str());
            names.extend(is_new.then_some(measured.name.as_str()));
        }
        Self {
            schema: 1,
            settings: question.settings.clone(),
            demand: question.demand.to_string(),
            policies: tried().map(|tried| tried.policy.clone()).collect(),
            seeds: question.seeds,
            seed,
            hosts: sizes.iter().sum(),
            sampled: answers.iter().map(Vec::len).sum(),
            outcomes: fleet.outcomes(),
            measures: names.into_iter().filter_map(|name| fleet.changed(name)).collect(),
            groups: fleet.groups(),
            untried: untried.collect(),
        }
    }
}

/// A sample: the number of hosts of each group, and the answers of some.
struct Sampled<'a> {
    sizes: &'a [usize],
    answers: &'a Answers,
}

impl Sampled<'_> {
    /// Values of the hosts of each group, as far as they have one.
    fn strata(&self, value: &dyn Fn(&Result<Tried, String>) -> Option<f64>) -> Vec<Stratum> {
        let strata = self.sizes.iter().zip(self.answers);
        strata.map(|(&hosts, answers)| Stratum { hosts, values: answers.iter().filter_map(value).collect() }).collect()
    }

    fn share(&self, is: &dyn Fn(&Result<Tried, String>) -> bool) -> Share {
        Share::of(&self.strata(&|answer| Some(f64::from(u8::from(is(answer))))))
    }

    fn outcomes(&self) -> Outcomes {
        let share = |wanted| self.share(&|answer| answer.as_ref().is_ok_and(|tried| tried.changes() == wanted));
        Outcomes {
            helped: share((true, false)),
            hurt: share((false, true)),
            mixed: share((true, true)),
            same: share((false, false)),
            untried: self.share(&Result::is_err),
        }
    }

    /// A measure over the fleet; nothing where it differs nowhere.
    fn changed(&self, name: &str) -> Option<Changed> {
        fn find<'a>(answer: &'a Result<Tried, String>, name: &str) -> Option<&'a Measured> {
            answer.as_ref().ok()?.measures.iter().find(|measured| measured.name == name)
        }
        let all = || self.answers.iter().flatten().filter_map(|answer| find(answer, name));
        let unit = all().next()?.unit;
        let has = |answer: &Result<Tried, String>, verdict| find(answer, name).is_some_and(|of| of.verdict == verdict);
        let share = |verdict| self.share(&|answer| has(answer, verdict));
        let (better, worse) = (share(Verdict::Better), share(Verdict::Worse));
        if better.sampled + worse.sampled == 0 {
            return None;
        }
        // A comparison leaves out a measure that is 0 with and without the settings.
        let value = |answer: &Result<Tried, String>, read: fn(&Measured) -> f64| {
            answer.as_ref().ok().map(|_| find(answer, name).map_or(0.0, read))
        };
        let median = |verdict| {
            let differences = all().filter(|of| of.verdict == verdict).map(|of| of.then - of.now);
            let differences = Quantiles::new(differences);
            (!differences.values().is_empty()).then(|| differences.median())
        };
        Some(Changed {
            name: name.to_owned(),
            unit,
            better,
            worse,
            now: Mean::of(&self.strata(&|answer| value(answer, |of| of.now)))?.mean,
            difference: Mean::of(&self.strata(&|answer| value(answer, |of| of.then - of.now)))?,
            where_better: median(Verdict::Better),
            where_worse: median(Verdict::Worse),
        })
    }

    fn groups(&self) -> Vec<OfGroup> {
        let of = |group: usize| {
            let answers = &self.answers[group];
            let count = |wanted| answers.iter().flatten().filter(|tried| tried.changes() == wanted).count();
            OfGroup {
                group: group + 1,
                hosts: self.sizes[group],
                sampled: answers.len(),
                helped: count((true, false)),
                hurt: count((false, true)),
                mixed: count((true, true)),
            }
        };
        (0..self.sizes.len()).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use order9_report::stats::Direction;

    use super::*;

    fn tried(verdicts: &[(&str, Verdict, f64)]) -> Result<Tried, String> {
        let measures = verdicts.iter().map(|&(name, verdict, difference)| Measured {
            name: name.to_owned(),
            unit: Unit::Percent,
            direction: Direction::HigherIsBetter,
            now: 50.0,
            then: 50.0 + difference,
            verdict,
        });
        Ok(Tried { policy: "linux-6.18".to_owned(), measures: measures.collect() })
    }

    #[test]
    fn a_sample_stands_for_its_groups() {
        use Verdict::{Better, Same, Worse};
        let answers = vec![
            vec![
                tried(&[("huge", Better, 10.0), ("p99", Same, 0.0)]),
                tried(&[("huge", Better, 30.0), ("p99", Worse, -4.0)]),
                tried(&[("huge", Same, 0.0)]),
            ],
            vec![Err("no such setting".to_owned()), tried(&[("huge", Same, 0.0)])],
        ];
        let fleet = Sampled { sizes: &[30, 4], answers: &answers };
        let Outcomes { helped, hurt, mixed, same, untried } = fleet.outcomes();
        let hosts = [helped, hurt, mixed, same, untried].map(|share| share.hosts);
        assert_eq!(hosts, [10.0, 0.0, 10.0, 12.0, 2.0]);
        let huge = fleet.changed("huge").expect("it differs");
        assert_eq!((huge.better.sampled, huge.where_better, huge.where_worse), (2, Some(10.0), None));
        // The second group has one answer: 30 of 34 hosts have 40/3, 4 have none.
        assert!((huge.difference.mean - 40.0 / 3.0 * 30.0 / 34.0).abs() < 1e-9);
        assert_eq!(huge.difference.interval_95, None);
        assert!(fleet.changed("elsewhere").is_none());
        assert_eq!(fleet.groups()[0], OfGroup { group: 1, hosts: 30, sampled: 3, helped: 1, hurt: 0, mixed: 1 });
    }
}
