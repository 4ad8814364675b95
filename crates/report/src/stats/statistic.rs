//! The rows a table can have, and which of them the benchmarks of a family print.

use super::{Direction, Generation};

/// A whole number of percent from 1 to 99.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u8);

impl Percent {
    /// `percent` %.
    ///
    /// # Panics
    /// Unless `percent` lies from 1 to 99; the percentages of tables are constants.
    #[must_use]
    pub const fn new(percent: u8) -> Self {
        assert!(0 < percent && percent < 100, "a quantile lies between the smallest and the largest sample");
        Self(percent)
    }

    /// The percentage, from 1 to 99.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The rank of the percentile among `count` samples: the least one with at least this share at or below it.
    pub(super) const fn nearest_rank(self, count: usize) -> usize {
        let below = self.of(count);
        if (count % 100 * self.0 as usize).is_multiple_of(100) { below } else { below + 1 }
    }

    /// `floor(count * percent / 100)`, in whole numbers so that no rounding of a fraction moves a rank.
    pub(super) const fn of(self, count: usize) -> usize {
        // Split, so that the product cannot overflow.
        count / 100 * self.0 as usize + count % 100 * self.0 as usize / 100
    }
}

/// One row of a table. Its definition and its label follow from the [`Convention`](super::Convention) it is read by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statistic {
    /// The only value there is, under its own name: `Percentage`, `Duration`. Never marked.
    Value(&'static str),
    /// `Min`: the smallest sample.
    Min,
    /// `1st-qrtle`, `Max-90`, ...: a quantile.
    Quantile(Percent),
    /// `Pctile-P`: a percentile by nearest rank, whichever way is better.
    Percentile(Percent),
    /// `Max`: the largest sample.
    Max,
    /// `Amean` where lower is better, `Hmean` where higher is.
    Mean,
    /// `Mean`: the arithmetic mean, whichever way is better.
    PlainMean,
    /// `Stddev`, since 2024 `HStddev` where higher is better.
    Stddev,
    /// `CoeffVar`: the standard deviation in percent of the mean; `HCoeffVar` where `Stddev` is `HStddev`.
    CoeffVar,
    /// `BAmean-P`, `BHmean-P`: the mean of the best P %.
    BestMean(Percent),
}

impl Statistic {
    /// Whether a table marks a significant difference in this row.
    #[must_use]
    pub const fn is_mean(self) -> bool {
        matches!(self, Self::Mean | Self::PlainMean)
    }

    /// Whether this row measures noise, of which less is better whatever the benchmark.
    #[must_use]
    pub const fn is_spread(self) -> bool {
        matches!(self, Self::Stddev | Self::CoeffVar)
    }

    /// Direction in which values of this row are better, for an operation of this direction.
    #[must_use]
    pub const fn direction(self, of_operation: Direction) -> Direction {
        if self.is_spread() { Direction::LowerIsBetter } else { of_operation }
    }
}

/// Percentiles as in the test of "mm: Proactive compaction" (linux-mm, 2020).
const PERCENTILES: [u8; 11] = [5, 10, 25, 30, 40, 50, 60, 75, 80, 90, 95];

/// Rows that a benchmark prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Few rows about the mean: thpscale, thpfioscale, thpchallenge, usemem.
    Samples,
    /// The whole distribution: stutter, fsmark.
    Quantiles,
    /// Percentiles by nearest rank: hugealloc.
    Percentiles,
    /// One row of this name, which is what was measured.
    Single(&'static str),
}

impl Family {
    /// The rows its tables print in this generation, in order.
    #[must_use]
    pub fn rows(self, generation: Generation) -> Vec<Statistic> {
        match self {
            Self::Samples => samples_rows(generation),
            Self::Quantiles => quantile_rows(generation),
            Self::Percentiles => PERCENTILES.map(|percent| Statistic::Percentile(Percent::new(percent))).to_vec(),
            Self::Single(name) => vec![Statistic::Value(name)],
        }
    }
}

fn best_means<const N: usize>(percents: [u8; N]) -> impl Iterator<Item = Statistic> {
    percents.into_iter().map(|percent| Statistic::BestMean(Percent::new(percent)))
}

fn quantiles<const N: usize>(percents: [u8; N]) -> impl Iterator<Item = Statistic> {
    percents.into_iter().map(|percent| Statistic::Quantile(Percent::new(percent)))
}

fn samples_rows(generation: Generation) -> Vec<Statistic> {
    let mut rows = vec![Statistic::Min, Statistic::Mean, Statistic::Stddev, Statistic::CoeffVar, Statistic::Max];
    match generation {
        Generation::Y2016 => {}
        Generation::Y2018 | Generation::Y2019 => rows.extend(best_means([50, 95, 99])),
        Generation::Y2024 | Generation::Y2026 => rows.extend(best_means([95])),
    }
    rows
}

fn quantile_rows(generation: Generation) -> Vec<Statistic> {
    let mut rows = vec![Statistic::Min];
    rows.extend(quantiles([25, 50, 75]));
    match generation {
        Generation::Y2016 | Generation::Y2018 => {
            rows.extend(quantiles([90, 93, 95, 99]));
            rows.extend([Statistic::Max, Statistic::PlainMean]);
            rows.extend(best_means([99, 95, 90, 50, 10, 5, 1]));
        }
        Generation::Y2019 | Generation::Y2024 | Generation::Y2026 => {
            rows.extend(quantiles([1, 5, 10, 90, 95, 99]));
            rows.extend([Statistic::Max, Statistic::Mean, Statistic::Stddev, Statistic::CoeffVar]);
            rows.extend(best_means([99, 95, 90, 75, 50, 25]));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_and_do_not_overflow() {
        assert_eq!(Percent::new(99).of(100), 99);
        assert_eq!(Percent::new(95).of(19), 18);
        assert_eq!(Percent::new(29).of(100), 29, "29 % of 100 in floating point is 28.999...");
        assert_eq!(Percent::new(50).of(usize::MAX), usize::MAX / 2);
        assert_eq!([1, 2, 19, 20, 21].map(|count| Percent::new(95).nearest_rank(count)), [1, 2, 19, 19, 20]);
    }
}
