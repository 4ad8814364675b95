//! The statistics of mmtests, the suite in whose tables changes to Linux' memory management are argued.
//!
//! [`Samples`] are what was measured of one operation. A [`Convention`] says which way is better and whose definitions
//! count, for they changed over the years ([`Generation`]); it gives every [`Statistic`] its value, its label and its
//! change in percent. A [`Rule`] tells whether two means differ beyond the noise.
//! Draws nothing and knows no benchmark. Definitions, sources and decisions: docs/statistics.md.

mod convention;
mod direction;
mod generation;
mod means;
mod samples;
mod significance;
mod statistic;

pub use convention::Convention;
pub use direction::Direction;
pub use generation::{Generation, UnknownGeneration};
pub use samples::{Samples, SamplesError};
pub use significance::{Rule, Summary, TTest, t_test};
pub use statistic::{Family, Percent, Statistic};

#[cfg(test)]
mod worked_values;
