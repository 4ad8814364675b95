//! Kernels side by side: what a benchmark measured, as the tables in which mmtests shows it.
//!
//! A [`Benchmark`] says what is measured and how it is laid out. Where iterations were pooled, [`compare`] turns
//! [`Pooled`] columns into published tables, which [`text`] draws byte for byte. Where runs are told apart,
//! [`compare_runs`] turns a [`Column`] of each policy into the same tables with means over runs, intervals and tests, and
//! into a verdict on each main [`Quantity`]. A [`Report`] of [`Table`]s holds every number a view needs; text, [`csv`] and
//! JSON, and [`markdown`] and [`latex`] for mails and papers, only draw them.
//! Knows no benchmark beyond the two kinds of tables that several share: faults of huge pages ([`thp`]) and counters.

mod brief;
mod by_run;
mod counter_rows;
mod counters;
pub mod csv;
mod grid;
pub mod latex;
pub mod markdown;
mod model;
mod pooled;
mod quantity;
mod report;
mod run_text;
mod sheet;
mod table;
mod tables;
pub mod text;
pub mod thp;
mod title;
mod unit;
mod verdict;

pub use by_run::{ByRun, RunCount, compare_runs};
pub use counters::{Counters, CountersError, Identity};
pub use grid::{Grid, GridCell, GridRow};
pub use model::{Benchmark, Column, Durations, Pooled, Results, Section};
pub use pooled::compare;
pub use quantity::{Quantity, Source, is_operation};
pub use report::{Report, Style};
pub use table::{Cell, Change, Comparison, Row, Table};
pub use title::Title;
pub use unit::Unit;
pub use verdict::{MainRow, Outcome, Verdict};

#[cfg(test)]
mod by_run_tests;
#[cfg(test)]
mod published;
#[cfg(test)]
mod published_counters;
