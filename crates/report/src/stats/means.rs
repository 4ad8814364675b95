//! Means and spreads of plain numbers; `None` where a quantity is not defined.
//!
//! Every slice here holds at least one number.

/// Arithmetic mean.
pub(super) fn arithmetic(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Harmonic mean; not defined if a value is not positive.
pub(super) fn harmonic(values: &[f64]) -> Option<f64> {
    let positive = values.iter().all(|&x| x > 0.0);
    positive.then(|| values.len() as f64 / values.iter().map(|x| x.recip()).sum::<f64>())
}

/// Geometric mean, by logarithms so that a long product cannot overflow; not defined if a value is negative.
pub(super) fn geometric(values: &[f64]) -> Option<f64> {
    let possible = values.iter().all(|&x| x >= 0.0);
    possible.then(|| (values.iter().map(|x| x.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// Sample standard deviation about the arithmetic mean, divisor n - 1; not defined for a single value.
pub(super) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = arithmetic(values);
    let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Spread about the harmonic mean, divisor n; not defined where that mean is not.
pub(super) fn harmonic_deviation(values: &[f64]) -> Option<f64> {
    let mean = harmonic(values)?;
    let squares: f64 = values.iter().map(|x| (x.recip() - mean.recip()).powi(2)).sum();
    Some(mean.powi(2) * (squares / values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_defined_is_none() {
        assert_eq!(harmonic(&[1.0, 0.0]), None);
        assert_eq!(geometric(&[1.0, -1.0]), None);
        assert_eq!(deviation(&[5.0]), None);
        assert_eq!(harmonic_deviation(&[5.0, -1.0]), None);
    }

    #[test]
    fn the_geometric_mean_survives_products_beyond_f64() {
        let mean = geometric(&[1e300, 1e300, 1e-300, 1e300]).unwrap();
        assert!((mean / 1e150 - 1.0).abs() < 1e-9, "{mean}");
        assert_eq!(geometric(&[0.0, 9.0]), Some(0.0));
    }

    #[test]
    fn the_harmonic_spread_of_equal_values_is_none() {
        assert_eq!(harmonic_deviation(&[4.0, 4.0]), Some(0.0));
        // 1/x are 1 and 1/3, their mean 2/3; the mean of x is 3/2, the spread of 1/x is 1/3.
        let spread = harmonic_deviation(&[1.0, 3.0]).unwrap();
        assert!((spread - 0.75).abs() < 1e-12, "{spread}");
    }
}
