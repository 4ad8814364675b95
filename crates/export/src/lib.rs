//! Runs and snapshots in the formats of other tools.
//!
//! [`Exported`] is the thing that is exported: a run directory, or a snapshot. [`tables`] are its measurements as rows of
//! one [`schema`], which CSV, JSON Lines and Parquet share; [`perfetto`] is a timeline, [`vega_lite`] charts, [`prometheus`]
//! gauges of a snapshot, [`mmtests`] the JSON of that benchmark suite. One file holds one format. Computes nothing that
//! others would need: statistics are the business of `report`.
#![forbid(unsafe_code)]

mod csv;
mod error;
mod exported;
mod facts;
mod jsonl;
pub mod metrics;
pub mod mmtests;
mod parquet;
pub mod perfetto;
pub mod prometheus;
pub mod schema;
pub mod tables;
pub mod vega_lite;

pub use error::ExportError;
pub use exported::Exported;
