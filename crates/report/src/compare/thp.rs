//! The tables of benchmarks that fault 2 MiB units, some of which become huge pages: thpscale and its relatives.

use super::{Section, Unit};
use crate::stats::{Direction, Family, Samples, SamplesError};

/// Latencies of the units of one thread count, in microseconds, by the page that backs the unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultUnits {
    /// Units that got base pages.
    pub base: Vec<f64>,
    /// Units that got a huge page.
    pub huge: Vec<f64>,
}

impl FaultUnits {
    /// The operations of both tables for this thread count, with their samples.
    ///
    /// # Errors
    /// If a latency is not finite.
    pub fn operations(&self, threads: u32) -> Result<Vec<(String, Samples)>, SamplesError> {
        let both = [self.base.as_slice(), self.huge.as_slice()].concat();
        let latencies = KINDS.into_iter().zip([&self.base, &self.huge, &both]);
        let mut operations = latencies
            .map(|(kind, latencies)| Ok((operation(kind, threads), samples_or_zero(latencies)?)))
            .collect::<Result<Vec<_>, SamplesError>>()?;
        operations.push((huge_operation(threads), Samples::new([self.percentage_huge()])?));
        Ok(operations)
    }

    /// Units that got a huge page, in percent of all; 0 if there was none at all.
    #[must_use]
    pub fn percentage_huge(&self) -> f64 {
        let all = self.base.len() + self.huge.len();
        if all == 0 { 0.0 } else { 100.0 * self.huge.len() as f64 / all as f64 }
    }
}

/// The tables `Fault Latencies` and `Percentage Faults Huge` for these thread counts, in ascending order.
#[must_use]
pub fn sections(threads: &[u32]) -> [Section; 2] {
    let of_kind = |kind| threads.iter().map(move |&threads| operation(kind, threads));
    let latencies = Section {
        heading: "Fault Latencies".to_owned(),
        family: Family::Samples,
        direction: Direction::LowerIsBetter,
        unit: Unit::Microseconds,
        decimals: 2,
        operations: KINDS.into_iter().flat_map(of_kind).collect(),
    };
    let huge = Section {
        heading: "Percentage Faults Huge".to_owned(),
        family: Family::Single("Percentage"),
        direction: Direction::HigherIsBetter,
        unit: Unit::Percent,
        decimals: 2,
        operations: threads.iter().copied().map(huge_operation).collect(),
    };
    [latencies, huge]
}

const KINDS: [&str; 3] = ["base", "huge", "both"];

fn operation(kind: &str, threads: u32) -> String {
    format!("fault-{kind}-{threads}")
}

fn huge_operation(threads: u32) -> String {
    format!("huge-{threads}")
}

/// A kind that did not occur has a single sample of value 0.
fn samples_or_zero(latencies: &[f64]) -> Result<Samples, SamplesError> {
    if latencies.is_empty() { Samples::new([0.0]) } else { Samples::new(latencies.iter().copied()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_of_the_tables_gets_samples() {
        let units = FaultUnits { base: vec![], huge: vec![3.0, 1.0, 2.0] };
        let operations = units.operations(3).unwrap();
        let names: Vec<_> = operations.iter().map(|(name, _)| name.clone()).collect();
        assert_eq!(names, sections(&[3]).map(|section| section.operations).concat());
        let samples = operations.iter().map(|(_, samples)| samples.ascending());
        assert_eq!(samples.collect::<Vec<_>>(), [&[0.0][..], &[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], &[100.0]]);
    }

    #[test]
    fn operations_are_ordered_by_kind_and_then_by_threads() {
        let [latencies, huge] = sections(&[1, 12]);
        let names = ["fault-base-1", "fault-base-12", "fault-huge-1", "fault-huge-12", "fault-both-1", "fault-both-12"];
        assert_eq!(latencies.operations, names);
        assert_eq!(huge.operations, ["huge-1", "huge-12"]);
        assert_eq!(FaultUnits::default().percentage_huge(), 0.0);
    }
}
