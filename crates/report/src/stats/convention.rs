//! Conventions for reading samples: the better direction, and the definitions of statistics.

use super::means;
use super::{Direction, Generation, Percent, Rule, Samples, Statistic, Summary};

/// Conventions by which the samples of an operation are read. They give every [`Statistic`] its value, label and
/// change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Convention {
    /// Direction in which values of the operation are better.
    pub direction: Direction,
    /// Release of mmtests that defines the statistics.
    pub generation: Generation,
}

impl Convention {
    /// The value of a row, in the unit of the samples, percent for `CoeffVar`; `None` where it is not defined.
    #[must_use]
    pub fn value(self, statistic: Statistic, samples: &Samples) -> Option<f64> {
        let all = samples.ascending();
        match statistic {
            Statistic::Min => Some(samples.min()),
            Statistic::Max => Some(samples.max()),
            Statistic::Quantile(percent) => Some(self.quantile(percent, samples)),
            Statistic::Percentile(percent) => Some(all[percent.nearest_rank(all.len()).max(1) - 1]),
            Statistic::Mean => self.mean(all),
            Statistic::PlainMean | Statistic::Value(_) => Some(means::arithmetic(all)),
            Statistic::Stddev => self.spread(all),
            Statistic::CoeffVar => Some(self.coefficient_of_variation(all)),
            Statistic::BestMean(percent) => {
                let best = samples.best(self.direction, self.best_count(percent, samples.count()));
                if self.generation == Generation::Y2016 { Some(means::arithmetic(best)) } else { self.mean(best) }
            }
        }
    }

    /// Difference of `value` from `baseline` in this row, in percent; positive is better.
    #[must_use]
    pub fn change_percent(self, statistic: Statistic, baseline: f64, value: f64) -> f64 {
        statistic.direction(self.direction).change_percent(baseline, value)
    }

    /// Whether `rule` takes the difference between two columns in this row to be outside the noise.
    ///
    /// Only rows of means can be marked, and only where the mean is defined.
    #[must_use]
    pub fn marks(self, rule: Rule, statistic: Statistic, baseline: &Samples, samples: &Samples) -> bool {
        let summary = |samples: &Samples| {
            let stddev = means::deviation(samples.ascending()).unwrap_or(0.0);
            self.value(statistic, samples).map(|mean| Summary { count: samples.count(), mean, stddev })
        };
        match (summary(baseline), summary(samples)) {
            (Some(baseline), Some(samples)) if statistic.is_mean() => rule.marks(baseline, samples),
            _ => false,
        }
    }

    /// Label of the row.
    #[must_use]
    pub fn label(self, statistic: Statistic) -> String {
        match statistic {
            Statistic::Value(name) => name.to_owned(),
            Statistic::Min => "Min".to_owned(),
            Statistic::Max => "Max".to_owned(),
            Statistic::Quantile(percent) => self.quantile_label(percent),
            Statistic::Percentile(percent) => format!("Pctile-{}", percent.get()),
            Statistic::Mean => format!("{}mean", self.mean_letter()),
            Statistic::PlainMean => "Mean".to_owned(),
            Statistic::Stddev if self.spreads_harmonically() => "HStddev".to_owned(),
            Statistic::Stddev => "Stddev".to_owned(),
            Statistic::CoeffVar if self.spreads_harmonically() => "HCoeffVar".to_owned(),
            Statistic::CoeffVar => "CoeffVar".to_owned(),
            Statistic::BestMean(percent) => match self.generation {
                Generation::Y2016 => format!("Best{}%Mean", percent.get()),
                Generation::Y2026 => format!("B{}mean.{}", self.mean_letter(), percent.get()),
                _ => format!("B{}mean-{}", self.mean_letter(), percent.get()),
            },
        }
    }

    fn quantile_label(self, percent: Percent) -> String {
        match (self.generation, percent.get()) {
            (Generation::Y2026, percent) => format!("Pctile.{percent}"),
            (_, 25) => "1st-qrtle".to_owned(),
            (_, 50) => "2nd-qrtle".to_owned(),
            (_, 75) => "3rd-qrtle".to_owned(),
            (Generation::Y2016 | Generation::Y2018, percent) => format!("Max-{percent}%"),
            (_, percent) => format!("Max-{percent}"),
        }
    }

    fn mean_letter(self) -> char {
        match self.direction {
            Direction::LowerIsBetter => 'A',
            Direction::HigherIsBetter => 'H',
        }
    }

    fn mean(self, values: &[f64]) -> Option<f64> {
        match self.direction {
            Direction::LowerIsBetter => Some(means::arithmetic(values)),
            Direction::HigherIsBetter => means::harmonic(values),
        }
    }

    fn spreads_harmonically(self) -> bool {
        self.direction == Direction::HigherIsBetter && self.generation >= Generation::Y2024
    }

    fn spread(self, values: &[f64]) -> Option<f64> {
        if self.spreads_harmonically() { means::harmonic_deviation(values) } else { means::deviation(values) }
    }

    /// The spread in percent of the mean it is taken about; 0 where that is not defined.
    fn coefficient_of_variation(self, values: &[f64]) -> f64 {
        let mean = if self.spreads_harmonically() { means::harmonic(values) } else { Some(means::arithmetic(values)) };
        let spread = self.spread(values).zip(mean).filter(|&(_, mean)| mean != 0.0);
        spread.map_or(0.0, |(spread, mean)| 100.0 * spread / mean)
    }

    /// Number of samples that are the best `percent` %; at least one.
    fn best_count(self, percent: Percent, count: usize) -> usize {
        let one_more = self.generation <= Generation::Y2018 && self.direction == Direction::LowerIsBetter;
        (percent.of(count) + usize::from(one_more)).max(1)
    }

    fn quantile(self, percent: Percent, samples: &Samples) -> f64 {
        if self.generation >= Generation::Y2019 {
            return samples.ranked(self.direction, percent.of(samples.count()));
        }
        // floor((n - 1) * p + 0.5), in halves of a percent so that it is exact.
        let index = ((samples.count() - 1) as u128 * u128::from(percent.get()) * 2 + 100) / 200;
        samples.ascending()[usize::try_from(index).expect("an index below the number of samples")]
    }
}
