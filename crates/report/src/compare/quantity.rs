//! Quantities of which every run has one value: what decides between policies, and what single switches are judged by.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Results, Unit};
use crate::stats::{Convention, Direction, Estimate, Generation, Samples, Statistic};

/// A quantity of which every run has one value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Quantity {
    /// A few words, the head of a row or column.
    pub name: String,
    /// A few more words that say what it is.
    pub meaning: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Number of decimals shown.
    pub decimals: usize,
    /// Direction in which values are better.
    pub direction: Direction,
    /// Source of the values.
    #[serde(skip)]
    pub source: Source,
}

/// Source of a run's value.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Growth of a counter.
    Count(&'static str),
    /// Growth of a counter in percent of that of another.
    Share {
        /// The counter that is in percent.
        part: &'static str,
        /// The counter that is a hundred percent.
        whole: &'static str,
    },
    /// A statistic of all samples of one operation, whatever number follows its name.
    Samples {
        /// Name of the operation without its number.
        operation: &'static str,
        /// Statistic of the samples.
        statistic: Statistic,
    },
}

impl Quantity {
    /// The value of a run; `None` where nothing was measured.
    #[must_use]
    pub fn value(&self, results: &Results) -> Option<f64> {
        let count = |counter| results.counters.get(counter).map(|count| count as f64);
        match self.source {
            Source::Count(counter) => count(counter),
            Source::Share { part, whole } => {
                let whole = count(whole).filter(|&whole| whole > 0.0)?;
                Some(100.0 * count(part)? / whole)
            }
            Source::Samples { operation, statistic } => {
                let of_operation = results.samples.iter().filter(|(name, _)| is_operation(operation, name));
                let values = of_operation.filter(|(_, samples)| !self.is_placeholder(samples));
                let values = values.flat_map(|(_, samples)| samples.ascending()).copied();
                let convention = Convention { direction: self.direction, generation: Generation::default() };
                convention.value(statistic, &Samples::new(values).ok()?)
            }
        }
    }

    /// Name and unit of the quantity: `alloc p95 (us)`.
    #[must_use]
    pub fn label(&self) -> String {
        if self.name == self.unit.name() { self.name.clone() } else { format!("{} ({})", self.name, self.unit) }
    }

    /// The values of runs.
    #[must_use]
    pub fn estimate(&self, runs: &[Results]) -> Option<Estimate> {
        Estimate::new(runs.iter().filter_map(|run| self.value(run)))
    }

    /// Published tables give a kind of latency that did not occur a single sample of 0. Nothing takes no time at all.
    fn is_placeholder(&self, samples: &Samples) -> bool {
        self.unit.is_time() && samples.ascending() == [0.0]
    }
}

/// Whether `name` is `operation`, or that with a dash and a number.
#[must_use]
pub fn is_operation(operation: &str, name: &str) -> bool {
    let word = name.rsplit_once('-').filter(|(_, number)| number.parse::<u64>().is_ok());
    operation == word.map_or(name, |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Percent;

    fn quantity(unit: Unit, source: Source) -> Quantity {
        let (name, meaning) = ("a".to_owned(), "b".to_owned());
        Quantity { name, meaning, unit, decimals: 2, direction: Direction::LowerIsBetter, source }
    }

    fn results() -> Results {
        let samples =
            [("alloc-1", vec![3.0, 1.0]), ("alloc-12", vec![8.0]), ("never-1", vec![0.0]), ("alloc-x", vec![9.0])];
        let samples = samples.map(|(name, values)| (name.to_owned(), Samples::new(values).unwrap()));
        let counters = [("compact_stall", 0), ("compact_success", 0), ("pgmigrate_success", 15)];
        Results { samples: samples.into(), durations: None, counters: counters.into_iter().collect() }
    }

    #[test]
    fn a_run_has_one_value_over_all_numbers_of_an_operation() {
        let of = |operation, statistic| {
            quantity(Unit::Microseconds, Source::Samples { operation, statistic }).value(&results())
        };
        assert_eq!(of("alloc", Statistic::PlainMean), Some(4.0));
        assert_eq!(of("alloc", Statistic::Percentile(Percent::new(50))), Some(3.0));
        assert_eq!(of("never", Statistic::PlainMean), None, "what did not occur took no time");
        assert_eq!(of("nothing", Statistic::PlainMean), None);
    }

    #[test]
    fn shares_of_nothing_are_none() {
        assert_eq!(quantity(Unit::Pages, Source::Count("pgmigrate_success")).value(&results()), Some(15.0));
        let share = Source::Share { part: "compact_success", whole: "compact_stall" };
        assert_eq!(quantity(Unit::Percent, share).value(&results()), None);
    }
}
