//! Estimate of the rate at which free huge pages come and go, by exponential smoothing with a trend.
//!
//! The method is that of C. C. Holt, "Forecasting seasonals and trends by exponentially weighted moving averages" (1957;
//! International Journal of Forecasting 20, 2004), in the form for looks at uneven times of D. J. Wright, "Forecasting data
//! published at irregular time intervals using an extension of Holt's method" (Management Science 32, 1986): the weight of a look
//! grows with the time since the one before, so that a long action between two looks changes nothing.

use order9_units::Nanos;

/// Time in which the level, and the trend, lose half of their memory, in periods. A trend that follows single looks would take
/// every program that starts for a trend.
const LEVEL_HALF: f64 = 2.0;
const TREND_HALF: f64 = 10.0;

/// Level and trend of a series.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holt {
    last: Option<Look>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at: Nanos,
    level: f64,
    /// Change in a nanosecond.
    trend: f64,
}

impl Holt {
    pub(crate) const fn new() -> Self {
        Self { last: None }
    }

    /// Takes the value at a moment.
    pub(crate) fn look(&mut self, at: Nanos, value: f64, period: Nanos) {
        let Some(Look { at: before, level, trend }) = self.last else {
            self.last = Some(Look { at, level: value, trend: 0.0 });
            return;
        };
        let passed = at.saturating_sub(before).get() as f64;
        if passed == 0.0 {
            return;
        }
        let weight = |half: f64| 1.0 - 0.5_f64.powf(passed / (half * period.get() as f64));
        let (of_level, of_trend) = (weight(LEVEL_HALF), weight(TREND_HALF));
        let smoothed = of_level * value + (1.0 - of_level) * (level + trend * passed);
        let trend = of_trend * (smoothed - level) / passed + (1.0 - of_trend) * trend;
        self.last = Some(Look { at, level: smoothed, trend });
    }

    /// Change over a time to come.
    pub(crate) fn change(&self, over: Nanos) -> f64 {
        self.last.map_or(0.0, |last| last.trend * over.get() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Nanos = Nanos::new(1000);

    fn change_after(looks: impl IntoIterator<Item = (u64, f64)>) -> f64 {
        let mut holt = Holt::new();
        looks.into_iter().for_each(|(at, value)| holt.look(Nanos::new(at), value, PERIOD));
        holt.change(Nanos::new(10_000))
    }

    #[test]
    fn a_steady_rate_is_found_whenever_one_looks() {
        let even = change_after((0..100).map(|nth| (1000 * nth, 500.0 - 2.0 * nth as f64)));
        let uneven = change_after((0..100).map(|nth| (100 * nth * nth, 500.0 - 0.2 * (nth * nth) as f64)));
        assert!((even + 20.0).abs() < 0.1 && (uneven + 20.0).abs() < 0.1, "{even} {uneven}");
    }

    #[test]
    fn nothing_is_expected_of_a_level_that_stays_and_little_of_one_step() {
        assert_eq!(change_after((0..50).map(|nth| (1000 * nth, 300.0))), 0.0);
        let step = change_after((0..60).map(|nth| (1000 * nth, if nth < 10 { 300.0 } else { 100.0 })));
        assert!(step.abs() < 10.0, "{step}: the step is long over");
        assert_eq!(change_after([(5, 1.0), (5, 9.0)]), 0.0, "two looks at one moment");
    }
}
