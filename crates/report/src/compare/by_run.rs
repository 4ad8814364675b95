//! Columns of single runs: every statistic is taken of each run, a cell holds its mean over runs and how sure that is, and
//! what is marked was tested over runs.

use schemars::JsonSchema;
use serde::Serialize;

use super::tables::{Columns, tables};
use super::verdict::MainRow;
use super::{Benchmark, Cell, Change, Column, Report, Results, Style, Title};
use crate::stats::{Convention, Difference, Direction, Estimate, Generation, Statistic};

/// Notes beside the tables of a report that tells runs apart.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ByRun {
    /// Name of the test.
    pub test: &'static str,
    /// Number of runs of each column.
    pub columns: Vec<RunCount>,
    /// Quantities that decide between policies, except those that are 0 everywhere.
    pub main: Vec<MainRow>,
}

/// Runs of a column.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunCount {
    /// Title of the column.
    pub title: Title,
    /// Number of runs.
    pub runs: usize,
    /// Number of runs that are no copies of others.
    pub different: usize,
    /// Whether its results are those of the first column.
    pub identical_to_first: bool,
}

/// Compares every column with the first one, run by run.
#[must_use]
pub fn compare_runs(benchmark: &Benchmark, columns: &[Column], generation: Generation) -> Report {
    let count = |(at, column): (usize, &Column)| RunCount {
        title: column.title().clone(),
        runs: column.count(),
        different: column.runs().len(),
        identical_to_first: at > 0 && column.is_identical_to(&columns[0]),
    };
    let main = benchmark.main.iter().map(|quantity| MainRow::new(quantity, columns));
    let by_run = ByRun {
        test: "Welch's t-test of means over runs, p < 0.05",
        columns: columns.iter().enumerate().map(count).collect(),
        main: main.filter(MainRow::says_something).collect(),
    };
    Report {
        benchmark: benchmark.name.clone(),
        style: Style { generation, rule: None },
        by_run: Some(by_run),
        tables: tables(benchmark, generation, &RunColumns(columns)),
    }
}

struct RunColumns<'a>(&'a [Column]);

impl Columns for RunColumns<'_> {
    fn titles(&self) -> Vec<Title> {
        self.0.iter().map(|column| column.title().clone()).collect()
    }

    fn statistic(&self, convention: Convention, statistic: Statistic, operation: &str) -> Vec<Cell> {
        let value = |run: &Results| convention.value(statistic, run.samples.get(operation)?);
        let estimate = |column: &Column| Estimate::new(column.runs().iter().filter_map(value));
        let first = self.0.first().and_then(estimate);
        let measured = |column: &Column| column.runs().iter().any(|run| run.samples.contains_key(operation));
        let cell = |column| match estimate(column) {
            Some(estimate) => {
                let change = first.as_ref().map(|first| change(convention, statistic, first, &estimate));
                Cell::estimated(estimate, change)
            }
            None if statistic.is_spread() || !measured(column) => Cell::Missing,
            None => Cell::Undefined,
        };
        self.0.iter().map(cell).collect()
    }

    fn plain(&self, value: &dyn Fn(&Results) -> Option<f64>) -> Vec<Cell> {
        let estimate = |column: &Column| Estimate::new(column.runs().iter().filter_map(value));
        let cell = |column| estimate(column).map_or(Cell::Missing, |estimate| Cell::estimated(estimate, None));
        self.0.iter().map(cell).collect()
    }
}

/// Difference of a mean from the first one, in percent; positive is better.
fn change(convention: Convention, statistic: Statistic, first: &Estimate, estimate: &Estimate) -> Change {
    let difference = Difference::of(first, estimate);
    let better = |[low, high]: [f64; 2]| match statistic.direction(convention.direction) {
        Direction::LowerIsBetter => [-high, -low],
        Direction::HigherIsBetter => [low, high],
    };
    Change {
        percent: convention.change_percent(statistic, first.mean(), estimate.mean()),
        significant: difference.finding.is_told_apart(),
        interval_95: difference.interval_95.map(better),
    }
}
