//! Samples of one operation.

use super::{Direction, means};

/// Samples of one operation: at least one number, all finite, in ascending order.
#[derive(Clone, Debug, PartialEq)]
pub struct Samples(Vec<f64>);

/// Why numbers are no [`Samples`].
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SamplesError {
    /// There was no number.
    #[error("expected at least one sample, found none")]
    Empty,
    /// A number was infinite or no number at all.
    #[error("expected finite samples, found {value} at index {index}")]
    NotFinite {
        /// Index of the sample, from 0 on.
        index: usize,
        /// Value of the sample.
        value: f64,
    },
}

impl Samples {
    /// Takes the samples of all iterations of one operation, in any order.
    ///
    /// # Errors
    /// If there is none, or one is not finite.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Result<Self, SamplesError> {
        let mut values: Vec<f64> = values.into_iter().collect();
        if let Some((index, &value)) = values.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(SamplesError::NotFinite { index, value });
        }
        if values.is_empty() {
            return Err(SamplesError::Empty);
        }
        values.sort_by(f64::total_cmp);
        Ok(Self(values))
    }

    /// The samples, smallest first.
    #[must_use]
    pub fn ascending(&self) -> &[f64] {
        &self.0
    }

    /// Number of samples; at least 1.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The smallest sample.
    #[must_use]
    pub fn min(&self) -> f64 {
        self.0[0]
    }

    /// The largest sample.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.0[self.count() - 1]
    }

    /// The geometric mean, which compares ratios; `None` if a sample is negative.
    #[must_use]
    pub fn geometric_mean(&self) -> Option<f64> {
        means::geometric(&self.0)
    }

    /// The `count` best samples, in ascending order; all of them where there are fewer.
    #[must_use]
    pub fn best(&self, direction: Direction, count: usize) -> &[f64] {
        let count = count.min(self.count());
        match direction {
            Direction::LowerIsBetter => &self.0[..count],
            Direction::HigherIsBetter => &self.0[self.count() - count..],
        }
    }

    /// The sample of this rank: 1 is the best one. Ranks past the end give the worst, rank 0 the best.
    #[must_use]
    pub fn ranked(&self, direction: Direction, rank: usize) -> f64 {
        let rank = rank.clamp(1, self.count());
        match direction {
            Direction::LowerIsBetter => self.0[rank - 1],
            Direction::HigherIsBetter => self.0[self.count() - rank],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_measured_is_refused() {
        assert_eq!(Samples::new([]), Err(SamplesError::Empty));
        let error = Samples::new([1.0, f64::INFINITY]).unwrap_err();
        assert_eq!(error, SamplesError::NotFinite { index: 1, value: f64::INFINITY });
        assert_eq!(error.to_string(), "expected finite samples, found inf at index 1");
    }

    #[test]
    fn the_best_come_from_the_end_that_is_better() {
        let samples = Samples::new([3.0, 1.0, 2.0]).unwrap();
        assert_eq!(samples.best(Direction::LowerIsBetter, 2), [1.0, 2.0]);
        assert_eq!(samples.best(Direction::HigherIsBetter, 2), [2.0, 3.0]);
        assert_eq!(samples.ranked(Direction::HigherIsBetter, 1), 3.0);
        assert_eq!(samples.ranked(Direction::LowerIsBetter, 9), 3.0);
    }
}
