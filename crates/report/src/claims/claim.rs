//! Published claims.

use serde::Deserialize;

use super::{Reading, RowKey, Statement};
use crate::stats::{Direction, Generation};

/// One published experiment, as one file of `claims/` holds it. Numbers are exactly the printed ones.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Name of the file without `.toml`.
    pub id: String,
    /// Title of the measurement.
    pub title: String,
    /// The result in one sentence.
    pub headline: String,
    /// The document it was published in.
    pub source: String,
    /// Name of the workload; none where figures belong to no workload.
    pub workload: Option<String>,
    /// Link to the specification of the workload.
    pub spec: String,
    /// Variant of the workload.
    pub variant: Option<String>,
    /// The machine, as far as the source says.
    pub machine: String,
    /// Release of mmtests that printed the tables.
    pub generation: Generation,
    /// Contents of the rows.
    pub kind: Kind,
    /// Kernel counters, and counts that are none, of the same run.
    pub counters: Vec<Counter>,
    /// Claim that holds the counters of the same run, if it is another one.
    pub counters_in: Option<String>,
    /// Single figures.
    pub facts: Vec<Fact>,
    /// A gap in the source.
    pub source_note: Option<String>,
    /// Statements that a re-run has to show.
    pub shape: Vec<Statement>,
}

/// Contents of the rows of a claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Rows with two columns of values.
    Table(Table),
    /// The source gives percentages alone.
    PercentOnly(PercentOnly),
    /// There are no rows.
    Facts,
}

/// One of the kernels compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// Title of its column in the source.
    pub column: String,
    /// Difference of its behaviour.
    pub behaviour: String,
}

/// A comparison of two kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The kernel compared with.
    pub baseline: Side,
    /// The kernel with the change.
    pub patched: Side,
    /// Decimals printed in the source.
    pub decimals: usize,
    /// Whether the source prints percentages of change.
    pub change_printed: bool,
    /// Whether the source could mark a row as significant.
    pub significance_marked: bool,
    /// The rows, in the order of the source.
    pub rows: Vec<TableRow>,
}

/// One row of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRow {
    /// Key of the row.
    pub key: RowKey,
    /// Unit of both numbers.
    pub unit: String,
    /// Direction in which values are better.
    pub direction: Direction,
    /// Of the kernel compared with.
    pub baseline: f64,
    /// Of the kernel with the change.
    pub patched: f64,
    /// The number of the baseline as the source writes it, where that is no plain number.
    pub baseline_text: Option<String>,
    /// The number of the patched kernel, likewise.
    pub patched_text: Option<String>,
    /// Change as printed, in percent; positive is better.
    pub change_percent: Option<f64>,
    /// Whether the source marks it, on rows that it could mark.
    pub significant: Option<bool>,
}

/// Percentages without the numbers behind them.
#[derive(Clone, Debug, PartialEq)]
pub struct PercentOnly {
    /// The kernels compared, baseline first, where kernels are compared.
    pub sides: Option<[Side; 2]>,
    /// Unit of the ratios.
    pub unit: String,
    /// Direction in which values are better.
    pub direction: Direction,
    /// The rows, in the order of the source.
    pub rows: Vec<RatioRow>,
}

/// One percentage.
#[derive(Clone, Debug, PartialEq)]
pub struct RatioRow {
    /// Key of the row.
    pub key: RowKey,
    /// Processor it was measured on, where that differs by row.
    pub platform: Option<String>,
    /// Name of the subject of the comparison.
    pub subject: String,
    /// Name of the reference.
    pub reference: String,
    /// Percentage by which the subject is faster or slower.
    pub percent: f64,
    /// Whether the subject is faster or slower.
    pub sense: Sense,
    /// Subject over reference; none where the source does not say with what it compares.
    pub ratio: Option<f64>,
    /// Note of the source.
    pub note: String,
}

/// Direction of a comparison between subject and reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sense {
    /// The subject takes less time.
    Faster,
    /// The subject takes more time.
    Slower,
    /// There is no difference.
    Equal,
}

/// A count of both kernels.
#[derive(Clone, Debug, PartialEq)]
pub struct Counter {
    /// Name as printed.
    pub name: String,
    /// Field of /proc/vmstat or formula over fields; empty for what is no kernel counter.
    pub vmstat: String,
    /// Unit, where the source names one.
    pub unit: Option<String>,
    /// Of the kernel compared with.
    pub baseline: f64,
    /// Of the kernel with the change.
    pub patched: f64,
}

/// A single figure.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fact {
    /// Name of the figure.
    pub name: String,
    /// Value of the figure.
    pub value: f64,
    /// Unit of the figure, with the parts that the source leaves open.
    pub unit: String,
    /// Note of the source.
    pub note: String,
}

impl Claim {
    /// All rows with the numbers printed in them, in the order of the file: rows, counters, facts. A row without a number
    /// is left out.
    #[must_use]
    pub fn printed(&self) -> Vec<(RowKey, Reading)> {
        let mut rows = match &self.kind {
            Kind::Table(table) => table.rows.iter().map(TableRow::printed).collect(),
            Kind::PercentOnly(percent) => percent.rows.iter().filter_map(RatioRow::printed).collect(),
            Kind::Facts => Vec::new(),
        };
        rows.extend(self.counters.iter().map(Counter::printed));
        rows.extend(self.facts.iter().map(|fact| (RowKey::fact(&fact.name), Reading::Value(fact.value))));
        rows
    }
}

impl TableRow {
    fn printed(&self) -> (RowKey, Reading) {
        let Self { baseline, patched, significant, .. } = *self;
        (self.key.clone(), Reading::Pair { baseline, patched, significant })
    }
}

impl RatioRow {
    fn printed(&self) -> Option<(RowKey, Reading)> {
        self.ratio.map(|ratio| (self.key.clone(), Reading::Ratio(ratio)))
    }
}

impl Counter {
    fn printed(&self) -> (RowKey, Reading) {
        let Self { baseline, patched, .. } = *self;
        (RowKey::counter(&self.name), Reading::Pair { baseline, patched, significant: None })
    }
}
