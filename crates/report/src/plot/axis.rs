//! Axes: where ticks stand, and what is written at them.

use order9_units::Nanos;

use super::unit::{Quantity, Unit};

/// A range of values with ticks at both its ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ValueAxis {
    pub(super) low: f64,
    pub(super) high: f64,
    /// Values with their labels, ascending.
    pub(super) ticks: Vec<(f64, String)>,
    /// Unit, written above the axis.
    pub(super) unit: String,
}

impl ValueAxis {
    /// An axis from 0, or the smallest value below it, to the largest value, in about `count` steps.
    pub(super) fn new(values: impl Iterator<Item = f64>, unit: Unit, count: usize) -> Self {
        Self::over(values.chain([0.0]), unit, count)
    }

    /// An axis from the smallest to the largest value, in about `count` steps.
    pub(super) fn over(values: impl Iterator<Item = f64>, unit: Unit, count: usize) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let ends = |(low, high): (f64, f64), value: f64| (low.min(value), high.max(value));
        let (low, high) =
            finite.map(|value| (value, value)).reduce(|both, (value, _)| ends(both, value)).unwrap_or_default();
        let largest = high.max(-low);
        let scale = Scale::of(unit, largest);
        let (low, high, count) =
            if low == high { around(high / scale.factor) } else { (low / scale.factor, high / scale.factor, count) };
        let step = step((high - low) / count as f64, &[1.0, 2.0, 5.0]);
        let (first, last) = ((low / step).floor() as i64, (high / step).ceil() as i64);
        let value = |tick: i64| tick as f64 * step;
        let label = |tick: i64| {
            let suffix = if tick == 0 { "" } else { scale.suffix };
            format!("{}{suffix}", number(value(tick), step))
        };
        Self {
            low: value(first) * scale.factor,
            high: value(last) * scale.factor,
            ticks: (first..=last).map(|tick| (value(tick) * scale.factor, label(tick))).collect(),
            unit: scale.unit,
        }
    }
}

/// Ends and steps of an axis of a single value.
fn around(value: f64) -> (f64, f64, usize) {
    match value {
        0.0 => (0.0, 1.0, 1),
        value => (value.min(0.0), value.max(0.0), 1),
    }
}

/// Unit of the labels.
struct Scale {
    factor: f64,
    suffix: &'static str,
    unit: String,
}

impl Scale {
    fn of(unit: Unit, largest: f64) -> Self {
        const BINARY: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        const DECIMAL: [&str; 5] = ["", "k", "M", "G", "T"];
        let thousands = |base: f64| (largest.max(1.0).log(base).floor() as usize).min(4);
        let per_second = if unit.per_second { "/s" } else { "" };
        match unit.quantity {
            Quantity::Bytes => {
                let power = thousands(1024.0);
                Self { factor: 1024_f64.powi(power as i32), suffix: "", unit: format!("{}{per_second}", BINARY[power]) }
            }
            Quantity::Seconds => {
                let (factor, noun) = match largest {
                    seconds if seconds < 1e-6 => (1e-9, "ns"),
                    seconds if seconds < 1e-3 => (1e-6, "\u{b5}s"),
                    seconds if seconds < 1.0 => (1e-3, "ms"),
                    _ => (1.0, "s"),
                };
                Self { factor, suffix: "", unit: format!("{noun}{per_second}") }
            }
            _ => {
                let power = thousands(1000.0);
                Self { factor: 1000_f64.powi(power as i32), suffix: DECIMAL[power], unit: unit.name() }
            }
        }
    }
}

/// Ticks of the time axis, ascending, with their labels; and the unit of these.
pub(super) fn time_ticks((from, to): (Nanos, Nanos), count: usize) -> (Vec<(Nanos, String)>, &'static str) {
    const UNITS: [(f64, &str, &[f64]); 7] = [
        (1.0, "ns", &[1.0, 2.0, 5.0]),
        (1e3, "\u{b5}s", &[1.0, 2.0, 5.0]),
        (1e6, "ms", &[1.0, 2.0, 5.0]),
        (1e9, "s", &[1.0, 2.0, 5.0]),
        (60e9, "min", &[1.0, 2.0, 5.0]),
        (3600e9, "h", &[1.0, 2.0, 3.0, 6.0]),
        (86400e9, "d", &[1.0, 2.0, 5.0]),
    ];
    let span = (to.get() - from.get()) as f64;
    // A unit is taken when there are three of it.
    let (one, name, steps) = UNITS.into_iter().rfind(|(one, ..)| span >= 3.0 * one).unwrap_or(UNITS[0]);
    let step = step(span / one / count as f64, steps).max(if one == 1.0 { 1.0 } else { 0.0 });
    let (first, last) = ((from.get() as f64 / one / step).ceil() as i64, (to.get() as f64 / one / step).floor() as i64);
    let tick = |tick: i64| (Nanos::new((tick as f64 * step * one).round() as u64), number(tick as f64 * step, step));
    ((first..=last).map(tick).collect(), name)
}

/// The smallest of `steps` times a power of ten that is at least `wanted`, which is positive.
fn step(wanted: f64, steps: &[f64]) -> f64 {
    let power = 10_f64.powf(wanted.log10().floor());
    let fitting = steps.iter().map(|step| step * power).find(|step| *step >= wanted * (1.0 - 1e-9));
    fitting.unwrap_or(10.0 * power)
}

/// `value` with as many decimals as a step of `step` needs.
fn number(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(values: &[f64], quantity: Quantity) -> (String, String) {
        let axis = ValueAxis::new(values.iter().copied(), Unit::of(quantity), 4);
        let labels: Vec<_> = axis.ticks.into_iter().map(|(_, label)| label).collect();
        (labels.join(" "), axis.unit)
    }

    #[test]
    fn ticks_are_round_and_reach_over_all_values() {
        let said = |labels: &str, unit: &str| (labels.to_owned(), unit.to_owned());
        let gibibyte = f64::from(1 << 30);
        assert_eq!(labels(&[7.4 * gibibyte], Quantity::Bytes), said("0 2 4 6 8", "GiB"));
        assert_eq!(labels(&[0.4 * gibibyte], Quantity::Bytes), said("0 200 400 600", "MiB"));
        assert_eq!(labels(&[12_345.0], Quantity::Pages), said("0 5k 10k 15k", "pages"));
        assert_eq!(labels(&[0.3, 1.0], Quantity::Percent), said("0.0 0.5 1.0", "%"));
        assert_eq!(labels(&[-3.0, 4.0], Quantity::Events), said("-4 -2 0 2 4", "events"));
        assert_eq!(labels(&[0.0], Quantity::Events), said("0 1", "events"));
        assert_eq!(labels(&[0.002], Quantity::Seconds), said("0.0 0.5 1.0 1.5 2.0", "ms"));
        assert_eq!(labels(&[f64::NAN], Quantity::Count), said("0 1", ""));
    }

    #[test]
    fn times_have_the_unit_that_fits_the_span() {
        let said = |from: u64, to: u64| {
            let (ticks, unit) = time_ticks((Nanos::new(from), Nanos::new(to)), 8);
            format!("{} {unit}", ticks.into_iter().map(|(_, label)| label).collect::<Vec<_>>().join(" "))
        };
        let second = 1_000_000_000;
        assert_eq!(said(0, 100 * second), "0 20 40 60 80 100 s");
        assert_eq!(said(0, 3600 * second), "0 10 20 30 40 50 60 min");
        assert_eq!(said(600 * second, 3600 * second), "10 20 30 40 50 60 min");
        assert_eq!(said(0, 86_400 * second), "0 3 6 9 12 15 18 21 24 h");
        assert_eq!(said(0, 7 * 86_400 * second), "0 1 2 3 4 5 6 7 d");
        assert_eq!(said(0, 1), "0 1 ns");
    }

    proptest! {
        #[test]
        fn axes_hold_their_values_with_few_ticks(values in prop::collection::vec(-1e15..1e15_f64, 1..9)) {
            let axis = ValueAxis::new(values.iter().copied(), Unit::of(Quantity::Pages), 4);
            for value in values {
                prop_assert!(axis.low <= value + 1.0 && value <= axis.high + 1.0);
            }
            prop_assert!((2..=6).contains(&axis.ticks.len()));
        }

        #[test]
        fn times_have_few_ticks_inside_their_span(from in 0..1_u64 << 60, span in 1..1_u64 << 60) {
            let (ticks, _) = time_ticks((Nanos::new(from), Nanos::new(from + span)), 8);
            prop_assert!(ticks.len() <= 9);
        }
    }
}
