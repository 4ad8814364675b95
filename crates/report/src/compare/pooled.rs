//! Columns whose iterations are pooled, as in published tables: a sample is an observation, whatever run it is from.

use super::tables::{Columns, tables};
use super::{Benchmark, Cell, Change, Pooled, Report, Results, Style, Title};
use crate::stats::{Convention, Samples, Statistic};

/// Compares every column with the first one.
#[must_use]
pub fn compare(benchmark: &Benchmark, columns: &[Pooled], style: Style) -> Report {
    let tables = tables(benchmark, style.generation, &PooledColumns { columns, style });
    Report { benchmark: benchmark.name.clone(), style, by_run: None, tables }
}

struct PooledColumns<'a> {
    columns: &'a [Pooled],
    style: Style,
}

impl Columns for PooledColumns<'_> {
    fn titles(&self) -> Vec<Title> {
        self.columns.iter().map(|column| column.title.clone()).collect()
    }

    fn statistic(&self, convention: Convention, statistic: Statistic, operation: &str) -> Vec<Cell> {
        let columns: Vec<_> = self.columns.iter().map(|column| column.results.samples.get(operation)).collect();
        let first = columns.first().copied().flatten();
        let change = |samples: &Samples, value: Option<f64>| {
            let first = first?;
            Some(Change {
                percent: convention.change_percent(statistic, convention.value(statistic, first)?, value?),
                significant: self.style.rule.is_some_and(|rule| convention.marks(rule, statistic, first, samples)),
                interval_95: None,
            })
        };
        let cell = |samples: &Samples| match convention.value(statistic, samples) {
            None if statistic.is_spread() => Cell::Missing,
            value => Cell::compared(value, change(samples, value)),
        };
        columns.iter().map(|samples| samples.map_or(Cell::Missing, cell)).collect()
    }

    fn plain(&self, value: &dyn Fn(&Results) -> Option<f64>) -> Vec<Cell> {
        let cell = |column: &Pooled| value(&column.results).map_or(Cell::Missing, |value| Cell::plain(Some(value)));
        self.columns.iter().map(cell).collect()
    }
}
