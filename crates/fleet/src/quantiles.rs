//! Quantiles of many values.

/// Values in ascending order.
#[derive(Clone, Debug, Default)]
pub struct Quantiles(Vec<f64>);

impl Quantiles {
    /// Takes finite values in any order.
    #[must_use]
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_unstable_by(f64::total_cmp);
        Self(values)
    }

    /// All values, ascending.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The least value that at least a `share` of all values does not exceed; 0 without any value.
    #[must_use]
    pub fn at(&self, share: f64) -> f64 {
        let nth = (share * self.0.len() as f64).ceil() as usize;
        self.0.get(nth.saturating_sub(1)).copied().unwrap_or_default()
    }

    /// The median.
    #[must_use]
    pub fn median(&self) -> f64 {
        self.at(0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_occur() {
        let ten = Quantiles::new((1..=10).rev().map(f64::from));
        assert_eq!([0.0, 0.05, 0.1, 0.5, 0.95, 1.0].map(|share| ten.at(share)), [1.0, 1.0, 1.0, 5.0, 10.0, 10.0]);
        assert_eq!(Quantiles::default().median(), 0.0);
        assert_eq!(Quantiles::new([f64::NAN, 2.0]).median(), 2.0);
    }
}
