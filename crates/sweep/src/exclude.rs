//! Combinations that are left out.

use order9_procfs::sysctl::Setting;
use order9_toml::{FileError, Leaf, Place, leaves, nearest, shown};
use toml::de::DeValue;

use crate::axes::Axes;
use crate::error::Problem;
use crate::plan::list;
use crate::point::Point;

/// A combination that is left out: of every axis that it names, one of some values.
pub(crate) struct Exclusion(Vec<(String, Vec<String>)>);

impl Exclusion {
    /// All that stand under `exclude`.
    pub(crate) fn of(
        leaf: Option<&Leaf<'_>>,
        points: &[Point],
        place: Place<'_>,
    ) -> Result<Vec<Self>, FileError<Problem>> {
        let Some(leaf) = leaf else { return Ok(Vec::new()) };
        let expected = "tables [[exclude]], each with axes and their values";
        let entries = list(leaf, expected).map_err(|problem| place.error(leaf.at, problem))?;
        entries.iter().map(|entry| Self::entry(entry, expected, points, place)).collect()
    }

    fn entry(entry: &Leaf<'_>, expected: &str, points: &[Point], place: Place<'_>) -> Result<Self, FileError<Problem>> {
        let DeValue::Table(table) = entry.value else { return Err(place.error(entry.at, entry.wrong(expected))) };
        let lines = leaves(table, |_| true);
        if lines.is_empty() {
            return Err(place.error(entry.at, entry.wrong(expected)));
        }
        let line = |leaf: &Leaf<'_>| condition(leaf, points).map_err(|problem| place.error(leaf.at, problem));
        lines.iter().map(line).collect::<Result<_, _>>().map(Self)
    }

    /// The combinations with these values on these axes.
    pub(crate) fn at(wanted: Vec<(String, String)>, points: &[Point]) -> Result<Self, Problem> {
        wanted.into_iter().map(|(axis, value)| checked(&axis, vec![value], points)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether it means this combination.
    pub(crate) fn holds(&self, axes: &Axes) -> bool {
        self.0.iter().all(|(axis, values)| {
            axes.label(axis).is_some_and(|label| values.iter().any(|value| is_value(value, label)))
        })
    }
}

/// An axis with the values that are left out.
fn condition(leaf: &Leaf<'_>, points: &[Point]) -> Result<(String, Vec<String>), Problem> {
    let values = leaf.elements().unwrap_or_else(|| vec![leaf.clone()]);
    let text = |value: &Leaf<'_>| match value.value {
        DeValue::Integer(number) => Ok(number.to_string()),
        _ => value.line_of_text(),
    };
    checked(&leaf.key, values.iter().map(text).collect::<Result<_, _>>()?, points)
}

/// An axis of these points with some of its values.
fn checked(name: &str, values: Vec<String>, points: &[Point]) -> Result<(String, Vec<String>), Problem> {
    let axis = Setting::find(name).map_or(name, |setting| setting.name);
    let known = || points.iter().flat_map(|point| point.axes().labels());
    if !known().any(|(name, _)| name == axis) {
        let nearest = nearest(axis, known().map(|(name, _)| name)).map(str::to_owned);
        return Err(Problem::NoAxis { name: shown(axis), nearest });
    }
    for value in &values {
        if !known().any(|(name, label)| name == axis && is_value(value, label)) {
            let mut labels: Vec<&str> = known().filter(|(name, _)| *name == axis).map(|(_, label)| label).collect();
            labels.sort_by(|one, other| crate::axes::by_size(one, other));
            labels.dedup();
            return Err(Problem::NoValue { axis: axis.to_owned(), value: shown(value), expected: labels.join(", ") });
        }
    }
    Ok((axis.to_owned(), values))
}

/// Whether `value`, as people write it, is this label: amounts of memory and times are labels in bytes and nanoseconds.
fn is_value(value: &str, label: &str) -> bool {
    let bytes = || value.parse::<order9_units::Bytes>().map(|bytes| bytes.get().to_string());
    let nanos = || order9_lab::scenario::length_of_time(value).map(|time| time.get().to_string());
    value == label || bytes().is_ok_and(|bytes| bytes == label) || nanos().is_some_and(|nanos| nanos == label)
}
