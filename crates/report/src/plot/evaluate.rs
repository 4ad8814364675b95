//! Values of a metric at each reading of a run.

use order9_units::{Bytes, CounterMeaning, Nanos};

use super::metric::{Expr, Metric};
use super::unit::{Quantity, Unit, of_counter};

/// The counters of one run.
#[derive(Clone, Debug)]
pub struct Readings<'a> {
    /// Times at which counters were read, ascending.
    pub times: &'a [Nanos],
    /// Counters of the run.
    pub counters: Vec<Reading<'a>>,
    /// Of the machine, where that is known.
    pub memory: Option<Bytes>,
}

/// One counter of a run.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// Name of the counter.
    pub name: &'a str,
    /// Unit of the values; `None` where the run does not say: plain numbers.
    pub meaning: Option<CounterMeaning>,
    /// Values, one per time.
    pub values: &'a [u64],
}

/// Values over time, in one unit. Where there is no value, it is NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Unit of all values.
    pub unit: Unit,
    /// Values, one for each reading.
    pub values: Vec<f64>,
}

/// A metric that makes no sense for a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// A counter that the run does not have.
    #[error("{}", unknown(name, nearest.as_deref()))]
    NoCounter {
        /// The name as typed.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// A sum or difference of what does not add up.
    #[error("{metric}: {left} and {right} do not add up")]
    Units {
        /// The metric as typed.
        metric: String,
        /// Unit before the sign.
        left: String,
        /// Unit of the right side.
        right: String,
    },
    /// A share of what is no memory.
    #[error("{metric}: % takes a share of memory, of which {unit} are none")]
    Share {
        /// The metric as typed.
        metric: String,
        /// Unit of what stands before the sign.
        unit: String,
    },
    /// A share of an unknown amount.
    #[error("{metric}: this run does not say how much memory its machine has")]
    NoMemory {
        /// The metric as typed.
        metric: String,
    },
}

fn unknown(name: &str, nearest: Option<&str>) -> String {
    let nearest = nearest.map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default();
    format!("metric {name}: the run has no such counter{nearest}")
}

impl Metric {
    /// The values of the metric in a run. A rate stands at the end of its interval, so the first reading has none.
    ///
    /// # Errors
    /// A name that is no counter of the run, or units that do not fit.
    pub fn evaluate(&self, readings: &Readings<'_>) -> Result<Series, EvaluateError> {
        self.value(&self.expr, readings)
    }

    fn value(&self, expr: &Expr, readings: &Readings<'_>) -> Result<Series, EvaluateError> {
        match expr {
            Expr::Counter(name) => readings.counter(name),
            Expr::Sum(left, right) => self.together(left, right, readings, |left, right| left + right),
            Expr::Difference(left, right) => self.together(left, right, readings, |left, right| left - right),
            Expr::Ratio(left, right) => Ok(ratio(&self.value(left, readings)?, &self.value(right, readings)?)),
            Expr::Rate(inner) => Ok(rate(&self.value(inner, readings)?, readings.times)),
            Expr::Share(inner) => self.share(self.value(inner, readings)?, readings.memory),
        }
    }

    fn together(
        &self,
        left: &Expr,
        right: &Expr,
        readings: &Readings<'_>,
        combine: fn(f64, f64) -> f64,
    ) -> Result<Series, EvaluateError> {
        let (left, right) = (self.value(left, readings)?, self.value(right, readings)?);
        if left.unit != right.unit {
            let [left, right] = [left, right].map(|series| series.unit.name());
            return Err(EvaluateError::Units { metric: self.to_string(), left, right });
        }
        Ok(Series { unit: left.unit, values: pairwise(&left, &right, combine) })
    }

    fn share(&self, of: Series, memory: Option<Bytes>) -> Result<Series, EvaluateError> {
        if of.unit != Unit::of(Quantity::Bytes) {
            return Err(EvaluateError::Share { metric: self.to_string(), unit: of.unit.name() });
        }
        let memory = memory.ok_or_else(|| EvaluateError::NoMemory { metric: self.to_string() })?.get() as f64;
        let values = of.values.into_iter().map(|value| 100.0 * value / memory).collect();
        Ok(Series { unit: Unit::of(Quantity::Percent), values })
    }
}

impl Readings<'_> {
    fn counter(&self, name: &str) -> Result<Series, EvaluateError> {
        let Some(Reading { meaning, values, .. }) = self.counters.iter().find(|known| known.name == name) else {
            return Err(EvaluateError::NoCounter { name: name.to_owned(), nearest: self.nearest(name) });
        };
        let (quantity, factor) = meaning.map_or((Quantity::Count, 1.0), of_counter);
        Ok(Series { unit: Unit::of(quantity), values: values.iter().map(|&value| value as f64 * factor).collect() })
    }

    /// The name most like `name`; a part of a name is nearest to the shortest one that has it.
    fn nearest(&self, name: &str) -> Option<String> {
        let wanted: String = name.chars().take(60).collect();
        let names = || self.counters.iter().map(|counter| counter.name);
        let containing =
            names().filter(|name| wanted.len() >= 4 && name.contains(&wanted)).min_by_key(|name| name.len());
        let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&wanted, name);
        let alike = names().max_by(|one, other| likeness(one).total_cmp(&likeness(other)));
        containing.or_else(|| alike.filter(|name| likeness(name) >= 0.5)).map(str::to_owned)
    }
}

fn pairwise(left: &Series, right: &Series, combine: fn(f64, f64) -> f64) -> Vec<f64> {
    left.values.iter().zip(&right.values).map(|(&left, &right)| combine(left, right)).collect()
}

/// The ratio, in percent where both series have one unit. A ratio to nothing is no number.
fn ratio(left: &Series, right: &Series) -> Series {
    let alike = left.unit == right.unit;
    let divide = |left: f64, right: f64| if right == 0.0 { f64::NAN } else { left / right };
    let scale = if alike { 100.0 } else { 1.0 };
    let values = pairwise(left, right, divide).into_iter().map(|value| value * scale).collect();
    Series { unit: Unit::of(if alike { Quantity::Percent } else { Quantity::Ratio }), values }
}

/// Growth per second since the reading before.
fn rate(of: &Series, times: &[Nanos]) -> Series {
    let seconds = |pair: &[Nanos]| (pair[1].get() - pair[0].get()) as f64 / 1e9;
    let growth = of.values.windows(2).zip(times.windows(2)).map(|(values, times)| match seconds(times) {
        0.0 => f64::NAN,
        seconds => (values[1] - values[0]) / seconds,
    });
    let first = of.values.first().map(|_| f64::NAN);
    Series { unit: Unit { per_second: true, ..of.unit }, values: first.into_iter().chain(growth).collect() }
}

#[cfg(test)]
mod tests {
    use order9_units::CounterUnit;

    use super::*;

    fn reading(name: &'static str, meaning: CounterMeaning, values: &'static [u64]) -> Reading<'static> {
        Reading { name, meaning: Some(meaning), values }
    }

    #[test]
    fn values_whose_meaning_a_run_does_not_say_are_plain_numbers() {
        assert_eq!(evaluate("untold"), Ok((String::new(), vec![4.0, 5.0, 6.0])));
    }

    fn evaluate(metric: &str) -> Result<(String, Vec<f64>), String> {
        let times = [0, 1, 3].map(|second| Nanos::new(second * 1_000_000_000));
        let readings = Readings {
            times: &times,
            counters: vec![
                reading("nr_free_pages", CounterMeaning::level(CounterUnit::Pages), &[256, 512, 0]),
                reading("nr_file_pages", CounterMeaning::level(CounterUnit::Pages), &[256, 0, 0]),
                reading("pgscan_kswapd", CounterMeaning::event(CounterUnit::Pages), &[0, 10, 50]),
                reading("pgsteal_kswapd", CounterMeaning::event(CounterUnit::Pages), &[0, 5, 25]),
                reading("pgfault", CounterMeaning::event(CounterUnit::Events), &[1, 2, 3]),
                Reading { name: "untold", meaning: None, values: &[4, 5, 6] },
            ],
            memory: Some(Bytes::new(4 << 20)),
        };
        let series = metric.parse::<Metric>().map_err(|error| error.to_string())?.evaluate(&readings);
        series.map(|series| (series.unit.name(), series.values)).map_err(|error| error.to_string())
    }

    #[test]
    fn levels_are_bytes_and_rates_are_per_second() {
        let mebibyte = f64::from(1 << 20);
        assert_eq!(evaluate("nr_free_pages").unwrap(), ("bytes".into(), vec![mebibyte, 2.0 * mebibyte, 0.0]));
        assert_eq!(evaluate("nr_free_pages%").unwrap(), ("%".into(), vec![25.0, 50.0, 0.0]));
        let (unit, values) = evaluate("pgscan_kswapd/s").unwrap();
        assert_eq!((unit.as_str(), &values[1..]), ("pages/s", &[10.0, 20.0][..]));
        assert!(values[0].is_nan());
        assert_eq!(evaluate("rate(pgscan_kswapd - pgsteal_kswapd)").unwrap().1[1..], [5.0, 10.0]);
    }

    #[test]
    fn ratios_of_one_unit_are_percent_and_those_to_nothing_are_gaps() {
        let (unit, values) = evaluate("nr_free_pages/(nr_free_pages+nr_file_pages)").unwrap();
        assert_eq!((unit.as_str(), &values[..2]), ("%", &[50.0, 100.0][..]));
        assert!(values[2].is_nan());
        assert_eq!(evaluate("pgscan_kswapd/pgfault").unwrap().0, "ratio");
    }

    #[test]
    fn nonsense_is_refused() {
        let refusal = |metric: &str| evaluate(metric).unwrap_err();
        assert_eq!(
            refusal("nr_free_page"),
            "metric nr_free_page: the run has no such counter; did you mean nr_free_pages?"
        );
        assert_eq!(
            refusal("free_pages"),
            "metric free_pages: the run has no such counter; did you mean nr_free_pages?"
        );
        assert_eq!(refusal("xyz"), "metric xyz: the run has no such counter");
        assert_eq!(refusal("nr_free_pages+pgfault"), "nr_free_pages+pgfault: bytes and events do not add up");
        assert_eq!(refusal("pgfault%"), "pgfault%: % takes a share of memory, of which events are none");
    }
}
