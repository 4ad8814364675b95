//! Median and quartiles over rounds.

use schemars::JsonSchema;
use serde::Serialize;

use crate::direct::Direct;

/// Median and quartiles, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Spread {
    /// The lower quartile.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub high: f64,
}

impl Spread {
    /// The spread of what rounds give that could measure it; `None` where half of them could not.
    pub(crate) fn of(rounds: &[Direct], value: impl Fn(&Direct) -> f64) -> Option<Self> {
        let mut values: Vec<f64> = rounds.iter().map(value).filter(|value| value.is_finite()).collect();
        if 2 * values.len() <= rounds.len() {
            return None;
        }
        values.sort_by(f64::total_cmp);
        let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
        Some(Self { low: at(1), median: at(2), high: at(3) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_half_of_the_rounds_could_not_measure_has_no_spread() {
        let round = |fill| Direct { fill, ..Direct::default() };
        let spread = Spread::of(&[round(3.0), round(1.0), round(2.0)], |direct| direct.fill);
        assert_eq!(spread, Some(Spread { low: 1.0, median: 2.0, high: 2.0 }));
        assert_eq!(Spread::of(&[round(3.0), round(f64::NAN)], |direct| direct.fill), None);
        let most = Spread::of(&[round(3.0), round(f64::NAN), round(1.0)], |direct| direct.fill);
        assert_eq!(most, Some(Spread { low: 1.0, median: 1.0, high: 1.0 }));
        assert_eq!(Spread::of(&[], |direct| direct.fill), None);
    }
}
