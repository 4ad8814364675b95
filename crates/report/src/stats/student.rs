//! Student's t distribution, by the regularised incomplete beta function of the crate `puruspe` and its inverse.

use puruspe::{betai, invbetai};

/// Two-sided p-value of Student's t: I(df / (df + t^2); df / 2, 1 / 2).
pub(super) fn two_sided(t: f64, degrees: f64) -> f64 {
    // Numbers near the limits of f64 overflow to inf / inf: nothing can be said, so nothing is marked.
    if t.is_nan() || degrees.is_nan() {
        return 1.0;
    }
    betai(degrees / 2.0, 0.5, degrees / (degrees + t * t)).clamp(0.0, 1.0)
}

/// Number of standard errors to either side that hold 95 % of Student's t.
pub(super) fn quantile_95(degrees: f64) -> f64 {
    let x = invbetai(0.05, degrees / 2.0, 0.5);
    (degrees * (1.0 - x) / x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Critical values from the usual tables of Student's t, two-sided.
    #[test]
    fn p_values_agree_with_printed_tables() {
        let cases =
            [(6.314, 1.0, 0.10), (12.706, 1.0, 0.05), (2.228, 10.0, 0.05), (1.697, 30.0, 0.10), (2.660, 60.0, 0.01)];
        for (t, degrees, p) in cases {
            assert!((two_sided(t, degrees) - p).abs() < 2e-4, "t {t}, {degrees} degrees: {}", two_sided(t, degrees));
        }
    }

    /// Fault benchmarks pool millions of samples; Student's t is normal there.
    #[test]
    fn p_values_stay_right_for_millions_of_samples() {
        for degrees in [1e4, 1e6, 1e8] {
            for (t, p) in [(1.644_854, 0.10), (1.959_964, 0.05), (2.575_829, 0.01)] {
                let found = two_sided(t, degrees);
                assert!((found - p).abs() < 2e-4, "t {t}, {degrees} degrees: {found}");
            }
        }
    }

    /// `scipy.stats.t.ppf(0.975, df)` of SciPy 1.17.
    #[test]
    fn quantiles_agree_with_scipy() {
        let cases = [
            (1.0, 12.706_205),
            (2.0, 4.302_653),
            (2.941_17, 3.218_763),
            (4.0, 2.776_445),
            (9.0, 2.262_157),
            (18.0, 2.100_922),
            (100.0, 1.983_972),
            (19_998.0, 1.960_083),
        ];
        for (degrees, expected) in cases {
            let found = quantile_95(degrees);
            assert!((found - expected).abs() < 2e-6, "{degrees} degrees: {found}");
        }
    }

    #[test]
    fn extremes_do_not_panic() {
        for t in [0.0, f64::MIN_POSITIVE, 1e200, f64::INFINITY, f64::NAN] {
            assert!((0.0..=1.0).contains(&two_sided(t, 1.0)), "{t}");
        }
    }
}
