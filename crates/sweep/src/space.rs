//! All combinations of the values of all axes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use order9_lab::scenario::{Choices, Scenario, ScenarioError};
use order9_lab::{Memory as Start, Plan as Experiment};
use order9_procfs::sysctl::Setting;
use order9_record::Digest;
use order9_toml::{FileError, Leaf, Place, nearest, shown};
use order9_units::Bytes;
use order9_workloads::{GENERAL, Value, Workload};

use crate::axes::Axes;
use crate::error::{PlanFileError, Problem};
use crate::named::Namer;
use crate::plan::{CELLS_MAX, list};
use crate::point::Point;

/// Lines of a plan by their use. Keys are those of a scenario.
#[derive(Default)]
pub(crate) struct Lines<'a> {
    /// Lines that hold for every cell as they are.
    pub(crate) common: Vec<Leaf<'a>>,
    /// Parameters of all cells whose workload has them.
    pub(crate) parameters: Vec<Leaf<'a>>,
    pub(crate) workloads: Vec<Workload>,
    pub(crate) machines: Vec<Leaf<'a>>,
    pub(crate) memories: Vec<Memory<'a>>,
    pub(crate) parameter_axes: Vec<Leaf<'a>>,
    pub(crate) setting_axes: Vec<Leaf<'a>>,
    pub(crate) exclude: Option<Leaf<'a>>,
    pub(crate) until: Vec<Leaf<'a>>,
}

/// Memory at the start.
#[derive(Clone, Default)]
pub(crate) struct Memory<'a> {
    /// The name that the plan gives it.
    pub(crate) label: Option<String>,
    pub(crate) lines: Vec<Leaf<'a>>,
    pub(crate) at: usize,
}

/// Every point, exclusions not yet taken away.
pub(crate) fn points(
    lines: &Lines<'_>,
    file: &str,
    place: Place<'_>,
    available: Bytes,
) -> Result<Vec<Point>, PlanFileError> {
    check(lines, place)?;
    let mut space =
        Space { lines, file, place, namer: Namer::default(), memories: BTreeMap::new(), points: Vec::new() };
    let machines = one_at_least(&lines.machines);
    let memories = if lines.memories.is_empty() { vec![Memory::default()] } else { lines.memories.clone() };
    for &workload in &lines.workloads {
        for machine in &machines {
            for memory in &memories {
                space.add(workload, *machine, memory, available)?;
            }
        }
    }
    Ok(space.points)
}

/// The elements, or one `None` where there is none.
fn one_at_least<T>(elements: &[T]) -> Vec<Option<&T>> {
    if elements.is_empty() { vec![None] } else { elements.iter().map(Some).collect() }
}

struct Space<'a> {
    lines: &'a Lines<'a>,
    file: &'a str,
    place: Place<'a>,
    namer: Namer,
    /// Memories that were read, so that each is held once.
    memories: BTreeMap<Digest, Start>,
    points: Vec<Point>,
}

impl Space<'_> {
    /// Adds the points of a workload on a machine from a memory.
    fn add(
        &mut self,
        workload: Workload,
        machine: Option<&Leaf<'_>>,
        memory: &Memory<'_>,
        available: Bytes,
    ) -> Result<(), PlanFileError> {
        let (file, place) = (self.file, self.place);
        let refused =
            |error: FileError<order9_lab::scenario::Problem>| PlanFileError::Scenario(ScenarioError::File(error));
        let own = |leaf: &&Leaf<'_>| has(workload, parameter_of(leaf));
        let parameters = self.lines.parameters.iter().filter(own);
        let said: Vec<Leaf<'_>> =
            self.lines.common.iter().chain(parameters).chain(machine).chain(&memory.lines).cloned().collect();
        let mut scenario = Scenario::of(workload).within(available);
        scenario.say(&said, file, place).map_err(refused)?;
        let mut stem = scenario.clone().plan(Vec::new())?;
        self.share_memory(&mut stem);
        let labels = Axes {
            workload: workload.name().to_owned(),
            policy: String::new(),
            machine: machine.and_then(|leaf| leaf.value.as_str()).map_or_else(|| stem.machine.name.clone(), label),
            memory: memory.label.clone().unwrap_or_else(|| memory_label(&stem.memory)),
            parameters: Vec::new(),
            settings: Vec::new(),
        };
        let stem = Arc::new(stem);
        let parameter_axes = self.lines.parameter_axes.iter().filter(own);
        let axes: Vec<Vec<Leaf<'_>>> = parameter_axes
            .chain(&self.lines.setting_axes)
            .map(|leaf| list(leaf, "a list of values").map_err(|problem| place.error(leaf.at, problem)))
            .collect::<Result<_, _>>()?;
        for values in combinations(&axes) {
            let mut scenario = scenario.clone();
            scenario.say(&values, file, place).map_err(refused)?;
            let choices = scenario.choices(&stem)?;
            let axes = self.axes(&labels, &choices, workload);
            for policy in 0..stem.policies.len() {
                let axes = Axes { policy: stem.policies[policy].name.clone(), ..axes.clone() };
                self.points.push(Point::new(&mut self.namer, &stem, policy, choices.clone(), axes));
            }
        }
        Ok(())
    }

    /// Keeps one copy of each snapshot.
    fn share_memory(&mut self, stem: &mut Experiment) {
        if let Start::Snapshot { digest, .. } = &stem.memory {
            stem.memory = self.memories.entry(*digest).or_insert_with(|| stem.memory.clone()).clone();
        }
    }

    /// Labels with the parameters and settings that the plan names.
    fn axes(&self, labels: &Axes, (chosen, settings): &Choices, workload: Workload) -> Axes {
        let named = self.lines.parameters.iter().chain(&self.lines.parameter_axes).map(parameter_of);
        let parameters = named.filter(|key| has(workload, key));
        let parameters = parameters.filter_map(|key| Some((key.to_owned(), value(chosen.get(key)?))));
        let named = self.lines.common.iter().chain(&self.lines.setting_axes).filter_map(|leaf| setting_of(leaf));
        let written = |name: &str| settings.iter().find(|(of, _)| of == name).map(|(_, value)| value.clone());
        let settings = named.filter_map(|name| Some((name.to_owned(), written(name)?)));
        Axes { parameters: parameters.collect(), settings: settings.collect(), ..labels.clone() }
    }
}

/// Refuses what is wrong whatever the workload and the machine.
fn check(lines: &Lines<'_>, place: Place<'_>) -> Result<(), FileError<Problem>> {
    let refused = |leaf: &Leaf<'_>, problem| Err(place.error(leaf.at, problem));
    for leaf in lines.parameters.iter().chain(&lines.parameter_axes) {
        let key = parameter_of(leaf);
        if !lines.workloads.iter().any(|&workload| has(workload, key)) {
            let workloads = lines.workloads.iter().map(|workload| workload.name()).collect::<Vec<_>>().join(", ");
            let known = lines.workloads.iter().flat_map(|workload| workload.spec().parameters.iter().chain(GENERAL));
            let nearest = nearest(key, known.map(|parameter| parameter.key));
            return refused(leaf, Problem::NoParameter { workloads, key: shown(key), nearest });
        }
    }
    for leaf in lines.parameter_axes.iter().chain(&lines.setting_axes) {
        let fixed = lines.parameters.iter().chain(&lines.common);
        let is_same = |other: &&Leaf<'_>| {
            other.key == leaf.key || setting_of(leaf).is_some() && setting_of(leaf) == setting_of(other)
        };
        if fixed.clone().any(|other| is_same(&other)) {
            return refused(leaf, Problem::Both(shown(&leaf.key)));
        }
        let values = list(leaf, "a list of values").map_err(|problem| place.error(leaf.at, problem))?;
        unique(&values, |value| order9_toml::found(value.value), place)?;
    }
    unique(&lines.machines, |leaf| label(leaf.value.as_str().unwrap_or_default()), place)?;
    let names: Vec<_> = lines.workloads.iter().map(|workload| workload.name()).collect();
    if let Some(at) = (1..names.len()).find(|&at| names[..at].contains(&names[at])) {
        return Err(place.error(0, Problem::Twice { axis: "workloads".to_owned(), label: names[at].to_owned() }));
    }
    for (at, memory) in lines.memories.iter().enumerate() {
        if lines.memories[..at].iter().any(|other| other.label == memory.label) {
            let label = memory.label.clone().unwrap_or_default();
            return Err(place.error(memory.at, Problem::Twice { axis: "memory".to_owned(), label }));
        }
    }
    let lengths =
        lines.parameter_axes.iter().chain(&lines.setting_axes).filter_map(Leaf::elements).map(|all| all.len());
    let others = [lines.workloads.len(), lines.machines.len().max(1), lines.memories.len().max(1)];
    let cells = lengths.chain(others).fold(1_u64, |product, length| product.saturating_mul(length as u64));
    if cells > CELLS_MAX {
        return Err(place.error(0, Problem::TooMany { cells, most: CELLS_MAX }));
    }
    Ok(())
}

/// Refuses the first leaf with the label of one before it.
fn unique(
    values: &[Leaf<'_>],
    label: impl Fn(&Leaf<'_>) -> String,
    place: Place<'_>,
) -> Result<(), FileError<Problem>> {
    let labels: Vec<String> = values.iter().map(label).collect();
    // Lists are told apart by what they do, later.
    let repeated = (1..labels.len()).find(|&at| labels[at] != "an array" && labels[..at].contains(&labels[at]));
    repeated.map_or(Ok(()), |at| {
        let (axis, label) = (shown(&values[at].key), labels[at].clone());
        Err(place.error(values[at].at, Problem::Twice { axis, label }))
    })
}

/// Every choice of one value of each axis, the last axis changing first.
fn combinations<'a>(axes: &[Vec<Leaf<'a>>]) -> Vec<Vec<Leaf<'a>>> {
    axes.iter().fold(vec![Vec::new()], |begun, values| {
        let longer = |begin: &Vec<Leaf<'a>>| {
            let begin = begin.clone();
            values.iter().map(move |value| [begin.as_slice(), std::slice::from_ref(value)].concat())
        };
        begun.iter().flat_map(longer).collect()
    })
}

/// Whether the workload has a parameter of this name.
fn has(workload: Workload, key: &str) -> bool {
    workload.spec().parameters.iter().chain(GENERAL).any(|parameter| parameter.key == key)
}

/// The name of a parameter without its table.
fn parameter_of<'a>(leaf: &'a Leaf<'_>) -> &'a str {
    leaf.key.strip_prefix("parameters.").unwrap_or(&leaf.key)
}

/// The name that Linux has for a setting.
fn setting_of(leaf: &Leaf<'_>) -> Option<&'static str> {
    Some(Setting::find(leaf.key.strip_prefix("settings.")?)?.name)
}

/// A machine file without folder and ending; other names as they are.
fn label(name: &str) -> String {
    let path = Path::new(name);
    let is_file = name.contains('/') || path.extension().is_some_and(|ending| ending == "toml" || ending == "o9snap");
    if is_file { path.file_stem().unwrap_or_default().to_string_lossy().into_owned() } else { name.to_owned() }
}

pub(crate) fn memory_label(memory: &Start) -> String {
    match memory {
        Start::Empty => "empty".to_owned(),
        Start::Synthetic(_) => "synthetic".to_owned(),
        Start::Snapshot { path, .. } => label(path),
    }
}

/// A value as a label: amounts of memory in bytes, times in nanoseconds.
pub(crate) fn value(value: &Value) -> String {
    match value {
        Value::Time(time) => time.get().to_string(),
        Value::Counts(counts) => counts.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
        other => other.to_string().trim_matches('"').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axes::FIXED;
    use crate::results::COLUMNS;

    #[test]
    fn no_parameter_is_called_like_a_column() {
        for workload in Workload::ALL {
            for parameter in workload.spec().parameters.iter().chain(GENERAL) {
                let is_taken = FIXED.contains(&parameter.key) || COLUMNS.contains(&parameter.key);
                assert!(!is_taken, "{} {}", workload.name(), parameter.key);
            }
        }
    }
}
