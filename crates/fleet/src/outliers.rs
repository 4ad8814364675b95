//! Hosts that are unlike the others of their group, and the fact that makes them so.
//!
//! A host stands out by a fact whose modified z-score (Iglewicz and Hoaglin 1993) exceeds 3.5: its distance from the group's median
//! in units of the median absolute deviation, or of the mean one where the former is 0. A difference that matters to nobody
//! ([`crate::Feature::worth`]) is none, however alike the others are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::features::{FEATURES, Reader};
use crate::groups::Groups;
use crate::host::Host;
use crate::quantiles::Quantiles;

/// Modified z-score beyond which a value stands out.
const FAR: f64 = 3.5;
/// Least hosts of a group in which one can stand out.
const LEAST: usize = 8;
/// Standard deviation of a normal distribution by its median absolute deviation, and by its mean one.
const PER_MEDIAN: f64 = 1.4826;
const PER_MEAN: f64 = 1.253_314;

/// A host that is unlike its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outlier {
    /// Name of the host.
    pub host: String,
    /// Group of the host, from 1 on.
    pub group: usize,
    /// The fact that sets it apart most.
    pub fact: String,
    /// Value of the host, in words.
    pub value: String,
    /// Median of the group, in words.
    pub usual: String,
    /// Modified z-score of the value.
    pub score: f64,
}

/// All outliers, the farthest first.
#[must_use]
pub fn of(hosts: &[Host], groups: &Groups) -> Vec<Outlier> {
    let readers = Reader::all();
    let mut outliers = Vec::new();
    for group in 0..groups.medoids.len() {
        let members: Vec<usize> = groups.members(group).collect();
        if members.len() < LEAST {
            continue;
        }
        let values: Vec<Vec<f64>> = readers
            .iter()
            .map(|reader| members.iter().map(|&host| reader.of(&hosts[host]).unwrap_or_default()).collect())
            .collect();
        let scales: Vec<(f64, f64)> = values.iter().map(|values| scale(values)).collect();
        for (nth, &host) in members.iter().enumerate() {
            let scores = FEATURES.iter().enumerate().map(|(at, feature)| {
                let ((median, deviation), value) = (scales[at], values[at][nth]);
                let is_worth = (value - median).abs() >= feature.worth && deviation > 0.0;
                (if is_worth { (value - median) / deviation } else { 0.0 }, at)
            });
            let farthest = scores.reduce(|far, next| if next.0.abs() > far.0.abs() { next } else { far });
            let Some((score, at)) = farthest.filter(|(score, _)| score.abs() > FAR) else { continue };
            outliers.push(Outlier {
                host: hosts[host].name.clone(),
                group: group + 1,
                fact: FEATURES[at].name.to_owned(),
                value: FEATURES[at].shown(values[at][nth]),
                usual: FEATURES[at].shown(scales[at].0),
                score,
            });
        }
    }
    outliers.sort_by(|a, b| b.score.abs().total_cmp(&a.score.abs()).then_with(|| a.host.cmp(&b.host)));
    outliers
}

/// Median, and the deviation that a score of 1 stands for; 0 where all values are equal.
fn scale(values: &[f64]) -> (f64, f64) {
    let median = Quantiles::new(values.iter().copied()).median();
    let deviations = Quantiles::new(values.iter().map(|value| (value - median).abs()));
    let mean = deviations.values().iter().sum::<f64>() / values.len().max(1) as f64;
    let by_median = PER_MEDIAN * deviations.median();
    (median, if by_median > 0.0 { by_median } else { PER_MEAN * mean })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::column;
    use crate::host::tests::host;

    fn fleet(free: &[u64]) -> (Vec<Host>, Groups) {
        let hosts: Vec<Host> = free
            .iter()
            .enumerate()
            .map(|(nth, &free)| {
                let mut host = host(&format!("host-{nth}"));
                host.rows[0].numbers[column("free_pages")] = Some(free);
                host
            })
            .collect();
        let groups = Groups { of: vec![Some(0); hosts.len()], medoids: vec![0], silhouette: None };
        (hosts, groups)
    }

    #[test]
    fn a_host_stands_out_by_the_fact_that_is_farthest() {
        let (hosts, groups) = fleet(&[50_000, 50_500, 51_000, 51_500, 49_000, 49_500, 50_100, 50_900, 95_000]);
        let [outlier] = of(&hosts, &groups).try_into().expect("one");
        assert_eq!((outlier.host.as_str(), outlier.fact.as_str(), outlier.group), ("host-8", "free memory", 1));
        assert_eq!((outlier.value.as_str(), outlier.usual.as_str()), ("93 %", "49 %"));
    }

    #[test]
    fn nothing_stands_out_by_what_matters_to_nobody_or_among_few() {
        // 2 points of difference, while all others are equal.
        assert_eq!(of(&fleet(&[50_000; 9]).0, &fleet(&[50_000; 9]).1), []);
        let (hosts, groups) = fleet(&[50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 50_000, 52_000]);
        assert_eq!(of(&hosts, &groups), []);
        let (hosts, groups) = fleet(&[50_000, 50_000, 95_000]);
        assert_eq!(of(&hosts, &groups), []);
    }
}
