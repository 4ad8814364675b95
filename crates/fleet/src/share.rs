//! Shares and means of a fleet, estimated from a stratified sample of its hosts.
//!
//! Every group is a stratum that counts by its number of hosts. Formulas and their source: docs/fleet.md.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Standard errors to either side that hold 95 % of a normal distribution.
const NORMAL_95: f64 = 1.959_964;

/// A group of hosts, and values of those that were sampled.
#[derive(Clone, Debug, Default)]
pub struct Stratum {
    /// Number of hosts of the group.
    pub hosts: usize,
    /// Value of each sampled host.
    pub values: Vec<f64>,
}

/// Share of a fleet's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// Number of sampled hosts.
    pub sampled: usize,
    /// Estimated number of hosts.
    pub hosts: f64,
    /// Ends of the 95 % confidence interval of that number.
    pub interval_95: [f64; 2],
    /// Estimated share of the hosts in percent.
    pub percent: f64,
}

/// Mean over a fleet's hosts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Mean {
    /// Estimated mean.
    pub mean: f64,
    /// Ends of the 95 % confidence interval; nothing where a group had a single sampled host.
    pub interval_95: Option<[f64; 2]>,
}

impl Share {
    /// The share of hosts whose value is not 0: that of each group by its number of hosts, with the interval of Wilson (1927). The
    /// interval takes the sample for a simple one with the correction for a finite fleet, which makes it too wide rather than too
    /// narrow where groups differ.
    #[must_use]
    pub fn of(strata: &[Stratum]) -> Self {
        let sampled: Vec<&Stratum> = strata.iter().filter(|stratum| !stratum.values.is_empty()).collect();
        let fleet = sampled.iter().map(|stratum| stratum.hosts).sum::<usize>() as f64;
        let size = sampled.iter().map(|stratum| stratum.values.len()).sum::<usize>() as f64;
        let hits = |stratum: &Stratum| stratum.values.iter().filter(|value| **value != 0.0).count();
        let estimate = |stratum: &&Stratum| stratum.hosts as f64 * hits(stratum) as f64 / stratum.values.len() as f64;
        let hosts: f64 = sampled.iter().map(estimate).sum();
        let share = if fleet > 0.0 { hosts / fleet } else { 0.0 };
        let [low, high] = wilson(share, size, fleet);
        // At least those that were seen, at most all but those that were seen otherwise.
        let seen = sampled.iter().map(|stratum| hits(stratum)).sum::<usize>();
        Self {
            sampled: seen,
            hosts,
            interval_95: [(low * fleet).max(seen as f64), (high * fleet).min(fleet - (size - seen as f64))],
            percent: 100.0 * share,
        }
    }
}

/// Interval of a share that was found among `size` of `fleet`.
fn wilson(share: f64, size: f64, fleet: f64) -> [f64; 2] {
    if size >= fleet {
        return [share, share];
    }
    let size = size * (fleet - 1.0) / (fleet - size);
    let square = NORMAL_95.powi(2) / size;
    let middle = share + square / 2.0;
    let half = NORMAL_95 * (share * (1.0 - share) / size + square / (4.0 * size)).sqrt();
    [(middle - half) / (1.0 + square), (middle + half) / (1.0 + square)].map(|end| end.clamp(0.0, 1.0))
}

impl Mean {
    /// The mean of all hosts: that of each group by its number of hosts, with the variance of a stratified sample without
    /// replacement (Cochran 1977, section 5.4). `None` without any value.
    #[must_use]
    pub fn of(strata: &[Stratum]) -> Option<Self> {
        let sampled: Vec<&Stratum> = strata.iter().filter(|stratum| !stratum.values.is_empty()).collect();
        let fleet = sampled.iter().map(|stratum| stratum.hosts).sum::<usize>() as f64;
        if fleet == 0.0 {
            return None;
        }
        let (mut sum, mut variance) = (0.0, Some(0.0));
        for stratum in sampled {
            let (weight, size) = (stratum.hosts as f64 / fleet, stratum.values.len() as f64);
            let mean = stratum.values.iter().sum::<f64>() / size;
            sum += weight * mean;
            let unseen = 1.0 - size / stratum.hosts as f64;
            let squares: f64 = stratum.values.iter().map(|value| (value - mean).powi(2)).sum();
            variance = match variance {
                Some(all) if unseen <= 0.0 => Some(all),
                Some(all) if size > 1.0 => Some(all + weight.powi(2) * unseen * squares / (size - 1.0) / size),
                _ => None,
            };
        }
        let half = variance.map(|variance| NORMAL_95 * variance.sqrt());
        Some(Self { mean: sum, interval_95: half.map(|half| [sum - half, sum + half]) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stratum(hosts: usize, values: &[f64]) -> Stratum {
        Stratum { hosts, values: values.to_vec() }
    }

    /// `statsmodels.stats.proportion.proportion_confint(10, 50, method='wilson')`, for a fleet that is endless.
    #[test]
    fn intervals_are_those_of_wilson() {
        let found = wilson(0.2, 50.0, 1e12);
        assert!((found[0] - 0.112_428).abs() < 1e-5 && (found[1] - 0.330_366).abs() < 1e-5, "{found:?}");
        assert_eq!(wilson(0.2, 50.0, 50.0), [0.2, 0.2]);
    }

    #[test]
    fn groups_count_by_their_hosts() {
        let share = Share::of(&[stratum(90, &[1.0, 0.0, 1.0]), stratum(10, &[0.0, 0.0])]);
        assert!((share.hosts - 60.0).abs() < 1e-9 && (share.percent - 60.0).abs() < 1e-9);
        assert_eq!(share.sampled, 2);
        let mean = Mean::of(&[stratum(90, &[1.0, 3.0]), stratum(10, &[10.0, 10.0])]).unwrap();
        assert!((mean.mean - 2.8).abs() < 1e-9);
        // Of the first group alone: 0.9^2 * (1 - 2/90) * 2 / 2.
        let half = mean.interval_95.unwrap()[1] - mean.mean;
        assert!((half - NORMAL_95 * (0.81_f64 * (1.0 - 2.0 / 90.0)).sqrt()).abs() < 1e-9);
    }

    #[test]
    fn a_whole_fleet_leaves_no_doubt_and_a_single_host_no_interval() {
        let all = Share::of(&[stratum(3, &[1.0, 0.0, 0.0])]);
        assert_eq!(all.interval_95, [1.0, 1.0]);
        assert_eq!(Mean::of(&[stratum(2, &[1.0, 2.0])]).unwrap().interval_95, Some([1.5, 1.5]));
        assert_eq!(Mean::of(&[stratum(9, &[1.0])]).unwrap().interval_95, None);
        assert_eq!(Mean::of(&[stratum(9, &[])]), None);
    }

    proptest! {
        #[test]
        fn an_interval_holds_its_share_and_stays_within_the_fleet(
            groups in proptest::collection::vec((0_usize..50, proptest::collection::vec(any::<bool>(), 0..20)), 1..5),
        ) {
            let strata: Vec<Stratum> = groups
                .iter()
                .map(|(more, values)| Stratum {
                    hosts: more + values.len(),
                    values: values.iter().map(|&hit| f64::from(u8::from(hit))).collect(),
                })
                .collect();
            let share = Share::of(&strata);
            let fleet: usize = strata.iter().filter(|stratum| !stratum.values.is_empty()).map(|stratum| stratum.hosts).sum();
            let [low, high] = share.interval_95;
            prop_assert!(0.0 <= low && low <= share.hosts + 1e-9 && share.hosts <= high + 1e-9 && high <= fleet as f64 + 1e-9,
                "{share:?} of {fleet}");
        }
    }
}
