//! Direction in which values are better, and difference of two values in percent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Direction in which values of a quantity are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Lower values are better: latencies, durations, spreads.
    LowerIsBetter,
    /// Throughputs, shares of huge pages.
    HigherIsBetter,
}

impl Direction {
    /// Difference of `value` from `baseline`, in percent; positive is better.
    ///
    /// Where one of the two is zero the quotient says nothing, and mmtests prints -99, 0 or 100 by convention.
    #[must_use]
    pub fn change_percent(self, baseline: f64, value: f64) -> f64 {
        let zero = |x: f64| x == 0.0;
        match self {
            _ if baseline == value => 0.0,
            Self::LowerIsBetter if zero(value) => 100.0,
            Self::LowerIsBetter if zero(baseline) => -99.0,
            Self::LowerIsBetter => 100.0 - 100.0 * value / baseline,
            Self::HigherIsBetter if zero(value) => 0.0,
            Self::HigherIsBetter if zero(baseline) => 100.0,
            Self::HigherIsBetter => 100.0 * value / baseline - 100.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Direction::{HigherIsBetter, LowerIsBetter};

    #[test]
    fn better_is_positive_in_both_directions() {
        assert_eq!(LowerIsBetter.change_percent(20.0, 15.0), 25.0);
        assert_eq!(HigherIsBetter.change_percent(20.0, 15.0), -25.0);
    }

    #[test]
    fn zeros_follow_the_convention() {
        let cases = [(0.0, 0.0), (5.0, 0.0), (0.0, 5.0)];
        assert_eq!(cases.map(|(b, v)| LowerIsBetter.change_percent(b, v)), [0.0, 100.0, -99.0]);
        assert_eq!(cases.map(|(b, v)| HigherIsBetter.change_percent(b, v)), [0.0, 0.0, 100.0]);
    }
}
