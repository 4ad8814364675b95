//! The statistics of mmtests, the suite in whose tables changes to Linux' memory management are argued.
//!
//! [`Samples`] are what was measured of one operation. A [`Convention`] says which way is better and whose definitions
//! count, for they changed over the years ([`Generation`]); it gives every [`Statistic`] its value, its label and its
//! change in percent. A [`Rule`] tells whether two means of pooled samples differ beyond the noise, as published tables
//! do; an [`Estimate`] holds one value for each run, and a [`Difference`] tests over runs.
//! Draws nothing and knows no benchmark. Definitions, sources and decisions: docs/statistics.md.

mod convention;
mod direction;
mod generation;
mod means;
mod runs;
mod samples;
mod significance;
mod statistic;
mod student;

pub use convention::Convention;
pub use direction::Direction;
pub use generation::{Generation, UnknownGeneration};
pub use runs::{Difference, Estimate, Finding};
pub use samples::{Samples, SamplesError};
pub use significance::{Rule, Summary, TTest, t_test};
pub use statistic::{Family, Percent, Statistic};

#[cfg(test)]
mod worked_values;
