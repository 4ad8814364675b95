//! Whether two means differ beyond the noise.

use schemars::JsonSchema;
use serde::Serialize;

use super::student::two_sided;

/// Figures on which a rule decides: mean, spread and number of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// Number of samples; at least 1.
    pub count: usize,
    /// The mean that the row prints, so possibly the harmonic one.
    pub mean: f64,
    /// Sample standard deviation about the arithmetic mean; 0 for a single sample.
    pub stddev: f64,
}

/// The rules by which mmtests prints `* x.xx%*` instead of `( x.xx%)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// 2018 to 2024: the two-sided p-value of the t-test is below 0.10.
    TTest,
    /// The rule since November 2024: the ranges in which 95 % of the single samples lie do not overlap.
    Interval,
}

/// Outcome of a t-test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TTest {
    /// Distance of the means in standard errors; not negative.
    pub t: f64,
    /// Number of degrees of freedom.
    pub degrees: usize,
    /// Two-sided p-value, from 0 to 1.
    pub p: f64,
}

/// Below this p-value the t-test marks a difference.
const P_MARKED: f64 = 0.10;
/// Half-width, in standard deviations, of the middle 95 % of a normal distribution.
const NORMAL_95: f64 = 1.959_964;

impl Rule {
    /// Whether the difference of the two means is taken to be outside the noise.
    #[must_use]
    pub fn marks(self, a: Summary, b: Summary) -> bool {
        match self {
            Self::TTest => t_test(a, b).map_or(a.mean != b.mean, |test| test.p < P_MARKED),
            Self::Interval => (a.mean - b.mean).abs() > NORMAL_95 * (a.stddev + b.stddev),
        }
    }

    /// One sentence for the foot of a report.
    #[must_use]
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::TTest => "* x.xx%* marks means that differ by Student's t-test, p < 0.10",
            Self::Interval => "* x.xx%* marks means whose 95 % ranges of single samples do not overlap",
        }
    }
}

/// Compares two means by Student's t; `None` if there is no spread at all to compare their distance with.
#[must_use]
pub fn t_test(a: Summary, b: Summary) -> Option<TTest> {
    let error = (a.stddev.powi(2) / a.count as f64 + b.stddev.powi(2) / b.count as f64).sqrt();
    if error == 0.0 {
        return None;
    }
    // A spread needs two samples, so there is at least one degree of freedom.
    let degrees = (a.count + b.count - 2).max(1);
    let t = (a.mean - b.mean).abs() / error;
    Some(TTest { t, degrees, p: two_sided(t, degrees as f64) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(count: usize, mean: f64, stddev: f64) -> Summary {
        Summary { count, mean, stddev }
    }

    #[test]
    fn without_any_spread_every_difference_counts() {
        let one = |mean| summary(1, mean, 0.0);
        assert_eq!(t_test(one(3.0), one(4.0)), None);
        assert!(Rule::TTest.marks(one(3.0), one(4.0)));
        assert!(!Rule::TTest.marks(one(3.0), one(3.0)));
    }

    #[test]
    fn a_difference_is_marked_below_a_tenth() {
        // 18 degrees of freedom: a tenth is at 1.734.
        let marks = |mean| Rule::TTest.marks(summary(10, 0.0, 1.0), summary(10, mean, 1.0));
        assert_eq!([0.77, 0.78, 0.9, 1.0].map(marks), [false, true, true, true]);
    }

    #[test]
    fn each_variance_is_divided_by_its_own_count() {
        let test = t_test(summary(10, 1.0, 0.0), summary(40, 0.0, 2.0)).expect("there is a spread");
        assert_eq!((test.degrees, (test.t * 1000.0).round()), (48, 3162.0), "1 in 2 / √40");
    }

    #[test]
    fn the_ranges_of_both_must_not_meet() {
        let marks = |a, b| Rule::Interval.marks(summary(10, 0.0, a), summary(10, 1.0, b));
        assert_eq!([marks(0.6, 0.0), marks(0.0, 0.6), marks(0.3, 0.3)], [false; 3]);
        assert_eq!([marks(0.5, 0.0), marks(0.0, 0.5), marks(0.25, 0.25)], [true; 3]);
    }

    #[test]
    fn extremes_are_not_marked() {
        let huge = summary(2, f64::MAX, f64::MAX);
        assert!(!Rule::TTest.marks(huge, summary(2, -f64::MAX, f64::MAX)));
    }
}
