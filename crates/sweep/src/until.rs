//! The stop rule: a point gets further seeds until its measures are known well enough.

use order9_report::compare::is_operation;
use order9_report::stats::Estimate;
use order9_toml::{FileError, Leaf, Place, shown};
use order9_workloads::{GENERAL_MEASURES, Workload};

use crate::error::Problem;
use crate::measures::Statistic;
use crate::plan::{CELLS_MAX, list};
use crate::run::Done;

/// Seeds of a point.
#[derive(Clone, Copy, Debug)]
pub enum Seeds<'a> {
    /// These, whatever comes of them.
    Named(&'a [u64]),
    /// Seeds from 1 on, until a rule holds.
    Until(&'a Until),
}

impl Seeds<'_> {
    /// Seeds that run in any case.
    #[must_use]
    pub fn least(self) -> Vec<u64> {
        match self {
            Self::Named(seeds) => seeds.to_vec(),
            Self::Until(until) => (1..=until.least).collect(),
        }
    }

    /// Largest number of seeds.
    #[must_use]
    pub fn most(self) -> u64 {
        match self {
            Self::Named(seeds) => seeds.len() as u64,
            Self::Until(until) => until.most,
        }
    }

    /// Further seeds of a point that has run `done`, in the order of its seeds; none where it has enough, and where no rule asks.
    #[must_use]
    pub(crate) fn further(self, done: &[Values]) -> Vec<u64> {
        match self {
            Self::Named(_) => Vec::new(),
            Self::Until(until) => until.further(done),
        }
    }
}

/// A rule: measures whose interval must be narrow, and least and most seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Until {
    measures: Vec<(String, Statistic)>,
    /// Largest half width of the interval as a share of the mean.
    share: f64,
    least: u64,
    most: u64,
}

/// Values of the measures of a rule in one cell: for each operation that a measure means, its name and value.
pub(crate) type Values = Vec<(String, f64)>;

impl Until {
    /// The rule in lines of a plan.
    pub(crate) fn of(
        lines: &[Leaf<'_>],
        workloads: &[Workload],
        place: Place<'_>,
    ) -> Result<Option<Self>, FileError<Problem>> {
        let Some(first) = lines.first() else { return Ok(None) };
        let find = |key: &str| lines.iter().find(|leaf| leaf.key == format!("until.{key}"));
        if let Some(leaf) = lines.iter().find(|leaf| !KEYS.iter().any(|key| leaf.key == *key)) {
            return Err(place.error(leaf.at, order9_toml::Problem::unknown_key(&leaf.key, KEYS)));
        }
        let Some(leaf) = find("measure") else {
            let expected = "until needs a measure, such as measure = \"alloc p95\"";
            return Err(place.error(first.at, order9_lab::scenario::Problem::Contradiction(expected)));
        };
        let measures = measures(leaf, workloads).map_err(|problem| place.error(leaf.at, problem))?;
        let share =
            find("interval").map_or(Ok(0.05), |leaf| share(leaf).map_err(|problem| place.error(leaf.at, problem)))?;
        let [least, most] =
            find("seeds").map_or(Ok([3, 20]), |leaf| seeds(leaf).map_err(|problem| place.error(leaf.at, problem)))?;
        Ok(Some(Self { measures, share, least, most }))
    }

    /// Values of a cell that the rule looks at.
    pub(crate) fn values(&self, done: &Done) -> Values {
        let found = self.measures.iter().flat_map(|(operation, statistic)| done.values(operation, *statistic));
        found.map(|measure| (format!("{} {}", measure.operation, measure.statistic.word()), measure.value)).collect()
    }

    /// Further seeds of a point that has run `done`, in the order of its seeds; none where it has enough. The answer follows from
    /// these results alone, not from the order in which they came.
    pub(crate) fn further(&self, done: &[Values]) -> Vec<u64> {
        let count = done.len() as u64;
        if count >= self.most || self.holds(done) {
            return Vec::new();
        }
        // A quarter more at a time keeps several cores busy, and wastes little.
        let last = (count + (count / 4).max(1)).min(self.most);
        (count + 1..=last).collect()
    }

    /// Whether further seeds would not help: every measure is known well enough, or some cell lacks one.
    fn holds(&self, done: &[Values]) -> bool {
        Self::lacks(done) || self.is_known(done)
    }

    /// Whether some cell lacks a measure that another has, or all do: a cell that failed. More seeds do not mend that.
    fn lacks(done: &[Values]) -> bool {
        let names = |values: &Values| values.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
        let Some(first) = done.first().map(names) else { return false };
        first.is_empty() || done.iter().any(|values| names(values) != first)
    }

    /// Whether every measure is known well enough after these cells.
    pub(crate) fn is_known(&self, done: &[Values]) -> bool {
        let Some(first) = done.first().filter(|_| !Self::lacks(done)) else { return false };
        (0..first.len()).all(|at| {
            let estimate = Estimate::new(done.iter().map(|values| values[at].1));
            let half = estimate.as_ref().and_then(Estimate::half_width);
            half.zip(estimate).is_some_and(|(half, estimate)| half <= self.share * estimate.mean().abs())
        })
    }

    /// The rule in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let names = self.measures.iter().map(|(operation, statistic)| format!("{operation} {}", statistic.word()));
        let percent = (self.share * 1e4).round() / 1e2;
        format!("{} within {percent} %, {} to {} seeds", names.collect::<Vec<_>>().join(", "), self.least, self.most)
    }
}

const KEYS: [&str; 3] = ["until.measure", "until.interval", "until.seeds"];

fn measures(leaf: &Leaf<'_>, workloads: &[Workload]) -> Result<Vec<(String, Statistic)>, Problem> {
    let elements = leaf.elements().unwrap_or_else(|| vec![leaf.clone()]);
    if elements.is_empty() {
        return Err(leaf.wrong("an operation and a statistic, such as \"alloc p95\"").into());
    }
    let mut measures = Vec::new();
    for element in &elements {
        let text = element.line_of_text()?;
        let parts = text.rsplit_once(' ');
        let statistic = |word: &str| Statistic::OF_SAMPLES.into_iter().find(|statistic| statistic.word() == word);
        let parsed = parts.and_then(|(operation, word)| Some((operation.trim().to_owned(), statistic(word)?)));
        let known = |operation: &str| {
            workloads.iter().any(|&workload| operations(workload).any(|known| is_operation(known, operation)))
        };
        match parsed {
            Some((operation, statistic)) if known(&operation) => measures.push((operation, statistic)),
            _ => return Err(no_measure(&text, workloads[0])),
        }
    }
    let is_judged = |workload: &Workload| {
        measures.iter().any(|(operation, _)| operations(*workload).any(|known| is_operation(known, operation)))
    };
    match workloads.iter().find(|workload| !is_judged(workload)) {
        Some(&workload) => Err(no_measure(&leaf.value.as_str().map_or_else(|| "the list".to_owned(), shown), workload)),
        None => Ok(measures),
    }
}

fn no_measure(text: &str, workload: Workload) -> Problem {
    let operations = operations(workload).collect::<Vec<_>>().join(", ");
    let statistics = Statistic::OF_SAMPLES.map(Statistic::word).join(", ");
    let expected = format!("an operation ({operations}) and one of {statistics}");
    Problem::NoMeasure { workload: workload.name(), measure: shown(text), expected }
}

/// Beginnings of the names of operations that a workload measures.
fn operations(workload: Workload) -> impl Iterator<Item = &'static str> {
    workload.spec().measures.iter().chain(GENERAL_MEASURES).flat_map(|measure| measure.operations.iter().copied())
}

fn share(leaf: &Leaf<'_>) -> Result<f64, Problem> {
    let percent = leaf.value.as_str().and_then(|text| text.strip_suffix('%')?.trim().parse::<f64>().ok());
    let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 100.0);
    percent.map(|percent| percent / 100.0).ok_or_else(|| leaf.wrong("a share up to \"100%\", such as \"5%\"").into())
}

fn seeds(leaf: &Leaf<'_>) -> Result<[u64; 2], Problem> {
    let expected = || leaf.wrong("least and most seeds, such as [3, 20], with two at least");
    let numbers: Option<Vec<u64>> = list(leaf, "two numbers")?.iter().map(Leaf::whole_number).collect();
    match numbers.as_deref() {
        Some(&[least, most]) if 2 <= least && least <= most && most <= CELLS_MAX => Ok([least, most]),
        _ => Err(expected().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until() -> Until {
        Until { measures: vec![("alloc".to_owned(), Statistic::P95)], share: 0.05, least: 3, most: 12 }
    }

    fn cells(values: &[f64]) -> Vec<Values> {
        values.iter().map(|&value| vec![("alloc p95".to_owned(), value)]).collect()
    }

    #[test]
    fn a_point_goes_on_until_its_interval_is_narrow() {
        let until = until();
        let seeds = Seeds::Until(&until);
        assert_eq!(seeds.least(), [1, 2, 3]);
        assert!(seeds.further(&cells(&[100.0, 100.0, 100.0])).is_empty(), "no spread at all");
        assert!(seeds.further(&cells(&[100.0, 101.0, 102.0])).is_empty(), "2.5 % of the mean, by Student's t");
        assert_eq!(seeds.further(&cells(&[100.0, 120.0, 140.0])), [4]);
        assert_eq!(seeds.further(&cells(&[100.0, 120.0].repeat(4))), [9, 10], "a quarter more");
        assert!(seeds.further(&cells(&[100.0, 150.0].repeat(6))).is_empty(), "not more than the most");
    }

    #[test]
    fn a_measure_that_some_cell_lacks_ends_a_point() {
        let mut done = cells(&[100.0, 150.0]);
        done.push(Vec::new());
        let until = until();
        assert!(Seeds::Until(&until).further(&done).is_empty());
    }
}
