//! One value for each run: their mean, how sure it is, and whether two means differ more than runs do among themselves.
//!
//! Key types: [`Estimate`] (the values of one quantity under one policy) and [`Difference`] (two of those). A run is one
//! observation, however many samples it took: samples of one run share its memory, its start and its accidents.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use super::means;
use super::student::{quantile_95, two_sided};

/// Values of one quantity, one for each run: at least one, all finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    values: Vec<f64>,
    mean: f64,
    /// Standard deviation between runs; none for a single run.
    stddev: Option<f64>,
}

impl Estimate {
    /// Takes the values of runs, in their order; `None` if there is no finite one.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let first = *values.first()?;
        // The mean of equal numbers may differ from them in the last digit, and would make a spread of nothing.
        let equal = values.iter().all(|&value| value == first);
        let mean = if equal { first } else { means::arithmetic(&values) };
        let stddev = if equal { (values.len() > 1).then_some(0.0) } else { means::deviation(&values) };
        Some(Self { values, mean, stddev })
    }

    /// Of how many runs.
    #[must_use]
    pub fn count(&self) -> usize {
        self.values.len()
    }

    /// The value of each run.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Mean of the runs.
    #[must_use]
    pub const fn mean(&self) -> f64 {
        self.mean
    }

    /// The least and the largest value of a run.
    #[must_use]
    pub fn range(&self) -> [f64; 2] {
        let by = |pick: fn(f64, f64) -> f64| self.values.iter().copied().fold(self.mean, pick);
        [by(f64::min), by(f64::max)]
    }

    /// Half width of the 95 % confidence interval of the mean, by Student's t; `None` for a single run.
    #[must_use]
    pub fn half_width(&self) -> Option<f64> {
        let n = self.count() as f64;
        self.stddev.map(|stddev| if stddev == 0.0 { 0.0 } else { quantile_95(n - 1.0) * stddev / n.sqrt() })
    }

    /// Whether all runs have the same value.
    fn is_constant(&self) -> bool {
        let [least, largest] = self.range();
        least == largest
    }
}

impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let interval_95 = self.half_width().map(|half| [self.mean - half, self.mean + half]);
        Form { runs: self.count(), mean: self.mean, interval_95, values: &self.values }.serialize(serializer)
    }
}

/// A quantity over several runs.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Estimate")]
struct Form<'a> {
    /// Number of runs.
    runs: usize,
    /// Mean of the values.
    mean: f64,
    /// Ends of the 95 % confidence interval of the mean; none for a single run.
    interval_95: Option<[f64; 2]>,
    /// Value of each run.
    values: &'a [f64],
}

impl JsonSchema for Estimate {
    fn schema_name() -> Cow<'static, str> {
        Form::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Form::json_schema(generator)
    }
}

/// Difference of the means of one quantity between two policies.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    /// Difference in percent of the first mean; `None` where the first mean is 0 and the second is not.
    pub percent: Option<f64>,
    /// The 95 % confidence interval of `percent`, where the difference was tested.
    pub interval_95: Option<[f64; 2]>,
    /// Runs of the first and of the second.
    pub runs: [usize; 2],
    /// Finding of the test.
    pub finding: Finding,
}

/// Finding of a test over runs about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// Every run of both has the same value, or each run that of its counterpart.
    Same,
    /// Not tested: one of the two has a single run.
    OneRun,
    /// Not tested: the runs of neither differ among themselves, so that no spread measures the difference.
    NoSpread,
    /// Tested: runs differ that much among themselves.
    NotToldApart,
    /// Tested: the second is less.
    Less,
    /// Tested: the second is more.
    More,
}

impl Finding {
    /// Whether the difference is told from noise.
    #[must_use]
    pub const fn is_told_apart(self) -> bool {
        matches!(self, Self::Less | Self::More)
    }
}

/// Above this p-value a difference is taken for noise.
const P: f64 = 0.05;

impl Difference {
    /// Tests the means by Welch's t, which takes neither equal spread nor equal numbers of runs for granted.
    #[must_use]
    pub fn of(first: &Estimate, second: &Estimate) -> Self {
        let difference = second.mean - first.mean;
        let welch = Welch::of(first, second);
        let constant = first.is_constant() && second.is_constant();
        let finding = match &welch {
            _ if first.values == second.values || constant && difference == 0.0 => Finding::Same,
            _ if first.count().min(second.count()) < 2 => Finding::OneRun,
            None => Finding::NoSpread,
            Some(welch) if welch.p < P && difference < 0.0 => Finding::Less,
            Some(welch) if welch.p < P => Finding::More,
            Some(_) => Finding::NotToldApart,
        };
        let scale = 100.0 / first.mean;
        let interval = welch.filter(|_| scale.is_finite() && finding != Finding::Same).map(|welch| {
            let [one, other] = [difference - welch.half_width, difference + welch.half_width].map(|end| end * scale);
            [one.min(other), one.max(other)]
        });
        Self {
            percent: if difference == 0.0 { Some(0.0) } else { Some(difference * scale).filter(|it| it.is_finite()) },
            interval_95: interval.filter(|ends| ends.iter().all(|end| end.is_finite())),
            runs: [first.count(), second.count()],
            finding,
        }
    }
}

/// Welch's t-test of two means.
struct Welch {
    p: f64,
    /// Of the 95 % confidence interval of the difference.
    half_width: f64,
}

impl Welch {
    /// `None` where one of the two has a single run, or neither has a spread.
    fn of(first: &Estimate, second: &Estimate) -> Option<Self> {
        let part = |estimate: &Estimate| Some(estimate.stddev?.powi(2) / estimate.count() as f64);
        let (one, other) = (part(first)?, part(second)?);
        let sum = one + other;
        if sum == 0.0 {
            return None;
        }
        let share = |part: f64, estimate: &Estimate| (part / sum).powi(2) / (estimate.count() - 1) as f64;
        let degrees = (share(one, first) + share(other, second)).recip();
        let error = sum.sqrt();
        let t = (second.mean - first.mean).abs() / error;
        Some(Self { p: two_sided(t, degrees), half_width: quantile_95(degrees) * error })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn estimate(values: &[f64]) -> Estimate {
        Estimate::new(values.iter().copied()).expect("there are values")
    }

    /// `scipy.stats.t.interval(0.95, n - 1, mean, sem)` of SciPy 1.17.
    #[test]
    fn intervals_agree_with_scipy() {
        let of = |values: &[f64]| {
            let estimate = estimate(values);
            let half = estimate.half_width().unwrap();
            [estimate.mean() - half, estimate.mean() + half]
        };
        for (values, expected) in [
            (&[282.0, 301.0, 275.0][..], [252.579_345_144_953_1, 319.420_654_855_046_9]),
            (&[3832.09, 2748.56][..], [-3_593.452_008_893_684, 10_174.102_008_893_684]),
        ] {
            let found = of(values);
            assert!(
                found.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 1e-9),
                "{found:?}"
            );
        }
        assert_eq!(estimate(&[5.0]).half_width(), None);
        assert_eq!((estimate(&[0.1, 0.1, 0.1]).half_width(), estimate(&[0.1, 0.1, 0.1]).mean()), (Some(0.0), 0.1));
    }

    /// `scipy.stats.ttest_ind(second, first, equal_var=False)` of SciPy 1.17, with its `confidence_interval()`.
    #[test]
    fn differences_agree_with_scipy() {
        use Finding::{Less, More, NotToldApart};
        /// Both samples, the p-value, the interval, and the finding.
        type Case<'a> = (&'a [f64], &'a [f64], f64, [f64; 2], Finding);
        let first = [27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4];
        let second = [27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.0, 23.9];
        let cases: [Case<'_>; 4] = [
            (&[282.0, 301.0, 275.0], &[564.0, 480.0, 511.0], 0.006_610, [137.493_225, 327.173_442], More),
            (&[10.0, 12.0, 11.0], &[11.0, 12.5, 10.5], 0.709_628, [-1.981_832, 2.648_498], NotToldApart),
            // One side without spread: the degrees of freedom are those of the other.
            (&[100.0, 100.0, 100.0], &[89.65, 91.0, 93.0], 0.012_053, [-12.970_291, -4.596_376], Less),
            (&first, &second, 0.008_453, [0.766_888, 4.766_445], More),
        ];
        for (first, second, p, interval, finding) in cases {
            let (first, second) = (estimate(first), estimate(second));
            let welch = Welch::of(&first, &second).unwrap();
            assert!((welch.p - p).abs() < 1e-6, "{}", welch.p);
            let difference = Difference::of(&first, &second);
            let percent = interval.map(|end| 100.0 * end / first.mean());
            let found = difference.interval_95.unwrap();
            assert!(found.iter().zip(percent).all(|(found, expected)| (found - expected).abs() < 1e-4), "{found:?}");
            assert_eq!(difference.finding, finding);
        }
    }

    #[test]
    fn copies_of_a_run_are_no_evidence() {
        let finding = |first: &[f64], second: &[f64]| Difference::of(&estimate(first), &estimate(second)).finding;
        assert_eq!(finding(&[3.0; 10], &[4.0; 10]), Finding::NoSpread);
        assert_eq!(finding(&[3.0], &[4.0, 5.0, 4.5]), Finding::OneRun);
        assert_eq!(finding(&[3.0], &[3.0]), Finding::Same);
        assert_eq!(finding(&[3.0; 2], &[3.0; 5]), Finding::Same);
        assert_eq!(finding(&[3.0, 4.0], &[3.0, 4.0]), Finding::Same);
        assert_eq!(finding(&[3.0, 4.0], &[4.0, 3.0]), Finding::NotToldApart);
    }

    #[test]
    fn nothing_to_divide_by_is_no_percentage() {
        let from_nothing = Difference::of(&estimate(&[0.0, 0.0]), &estimate(&[5.0, 5.1]));
        assert_eq!((from_nothing.percent, from_nothing.interval_95), (None, None));
        assert_eq!(from_nothing.finding, Finding::More);
    }

    proptest! {
        /// The interval of a difference holds 0 exactly where the test finds nothing, and turning both around turns it.
        #[test]
        fn the_interval_and_the_test_agree(
            first in proptest::collection::vec(1.0_f64..1e6, 1..6),
            second in proptest::collection::vec(1.0_f64..1e6, 1..6),
        ) {
            let (first, second) = (estimate(&first), estimate(&second));
            let (there, back) = (Difference::of(&first, &second), Difference::of(&second, &first));
            let turned = match there.finding {
                Finding::Less => Finding::More,
                Finding::More => Finding::Less,
                other => other,
            };
            prop_assert_eq!(back.finding, turned);
            if let Some([low, high]) = there.interval_95 {
                prop_assert!(low <= there.percent.unwrap() && there.percent.unwrap() <= high);
                // Both come from the same t within rounding: leave out what lies on the edge.
                if low.abs().min(high.abs()) > 1e-6 {
                    prop_assert_eq!(there.finding.is_told_apart(), low > 0.0 || high < 0.0);
                }
            }
            let [least, largest] = first.range();
            prop_assert!(least <= first.mean() && first.mean() <= largest);
        }
    }
}
