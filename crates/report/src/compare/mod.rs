//! Kernels side by side: what a benchmark measured, as the tables in which mmtests shows it.
//!
//! A [`Benchmark`] says what is measured and how it is laid out, a [`Column`] holds what one kernel or policy gave, and
//! [`compare`] turns them into a [`Report`] of [`Table`]s. Those hold every number a view needs; [`text`] (byte for byte
//! the layout of mmtests), [`csv`] and JSON only draw them.
//! Knows no benchmark beyond the two kinds of tables that several share: faults of huge pages ([`thp`]) and counters.

mod counter_rows;
mod counters;
pub mod csv;
mod model;
mod report;
mod table;
pub mod text;
pub mod thp;
mod title;
mod unit;

pub use counters::{Counters, CountersError, Identity};
pub use model::{Benchmark, Column, Durations, Section};
pub use report::{Report, Style, compare};
pub use table::{Cell, Change, Comparison, Row, Table};
pub use title::Title;
pub use unit::Unit;

#[cfg(test)]
mod published;
#[cfg(test)]
mod published_counters;
