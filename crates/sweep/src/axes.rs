//! Places of cells in the space of a sweep: a label on every axis.

use std::cmp::Ordering;

use order9_lab::{Plan as Experiment, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::space::{memory_label, value};

/// Labels of a cell. Parameters and settings are those that the plan names, in its order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Axes {
    /// Name of the workload.
    pub workload: String,
    /// Title of the policy.
    pub policy: String,
    /// Machine: its built-in name, or that of its file without folder and ending.
    pub machine: String,
    /// Memory at the start: the name that the plan gives it, or the kind of it.
    pub memory: String,
    /// Parameters with their values; amounts of memory in bytes, times in nanoseconds.
    pub parameters: Vec<(String, String)>,
    /// Settings by their Linux names, with their values.
    pub settings: Vec<(String, String)>,
}

/// Names of the axes that every sweep has.
pub(crate) const FIXED: [&str; 4] = ["workload", "policy", "machine", "memory"];

impl Axes {
    /// Labels of an experiment under its first policy, with these settings.
    pub(crate) fn of(experiment: &Experiment, settings: &Settings) -> Self {
        let Experiment { workload, chosen, policies, machine, memory, .. } = experiment;
        Self {
            workload: workload.name().to_owned(),
            policy: policies[0].name.clone(),
            machine: machine.name.clone(),
            memory: memory_label(memory),
            parameters: chosen.iter().map(|(key, chosen)| ((*key).to_owned(), value(chosen))).collect(),
            settings: settings.clone(),
        }
    }

    /// Every axis with its label, those that every sweep has first.
    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let fixed = [&self.workload, &self.policy, &self.machine, &self.memory].map(String::as_str);
        let chosen = self.parameters.iter().chain(&self.settings);
        FIXED.into_iter().zip(fixed).chain(chosen.map(|(name, value)| (name.as_str(), value.as_str())))
    }

    /// Whether `axis` is a parameter or a setting.
    pub(crate) fn is_chosen(&self, axis: &str) -> bool {
        self.parameters.iter().chain(&self.settings).any(|(name, _)| name == axis)
    }

    /// The label on the axis `name`; `None` where the workload has no such parameter.
    #[must_use]
    pub fn label(&self, name: &str) -> Option<&str> {
        self.labels().find(|(axis, _)| *axis == name).map(|(_, label)| label)
    }

    /// Order of the space: by axis, numbers by size.
    pub(crate) fn order(&self, other: &Self) -> Ordering {
        let (mut one, mut two) = (self.labels(), other.labels());
        loop {
            match (one.next(), two.next()) {
                (Some((axis, label)), Some((of, against))) => {
                    let order = axis.cmp(of).then_with(|| by_size(label, against));
                    if order.is_ne() {
                        return order;
                    }
                }
                (one, two) => return one.is_some().cmp(&two.is_some()),
            }
        }
    }
}

/// Numbers by size, before words, which stand by letters.
pub(crate) fn by_size(one: &str, other: &str) -> Ordering {
    match (one.parse::<f64>(), other.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b).then_with(|| one.cmp(other)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_by_size() {
        let mut labels = ["madvise", "100", "20", "always", "3"];
        labels.sort_by(|one, other| by_size(one, other));
        assert_eq!(labels, ["3", "20", "100", "always", "madvise"]);
    }
}
