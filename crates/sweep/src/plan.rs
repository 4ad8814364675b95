//! A plan: a file that says of every cell what a scenario says of one experiment, and names the axes along which cells differ.

use std::collections::BTreeSet;

use order9_lab::scenario::{self, is_table};
use order9_record::Digest;
use order9_toml::{Base, Definition, FileError, Kind, Leaf, Place, Preset, chain, leaves};
use order9_units::Bytes;
use order9_workloads::Workload;
use toml::de::DeValue;

use crate::cell::Cell;
use crate::error::{PlanFileError, Problem};
use crate::exclude::Exclusion;
use crate::keys;
use crate::point::Point;
use crate::run::Done;
use crate::space::{self, Lines, Memory};
use crate::until::{Seeds, Until};

/// All points of a sweep, and which seeds each of them gets.
#[derive(Clone, Debug)]
pub struct Plan {
    points: Vec<Point>,
    until: Option<Until>,
    text: String,
}

/// Most cells of a sweep, all seeds counted.
pub(crate) const CELLS_MAX: u64 = 1_000_000;

impl Plan {
    /// Reads the plan at `path`; a snapshot may take up to `available` of the host's memory.
    ///
    /// # Errors
    /// The first thing wrong with the file or with something that it names.
    pub fn read(path: &str, available: Bytes) -> Result<Self, PlanFileError> {
        let is_path = path.contains('/') || path.ends_with(".toml");
        let path = if is_path { path.to_owned() } else { format!("./{path}") };
        let mut chain = chain::<Text>(&path)?;
        let Text { file, text } = chain.pop().expect("a chain has a beginning").said;
        Self::parse(&file, text, available)
    }

    /// Reads `text`, called `file` in messages; files that it names are looked for in the folder of `file`.
    ///
    /// # Errors
    /// As those of [`Self::read`].
    pub fn parse(file: &str, text: String, available: Bytes) -> Result<Self, PlanFileError> {
        let place = Place::new(file, &text);
        let document = place.parse::<Problem>()?;
        let all = leaves(&document, is_group);
        let lines = lines(&all, place)?;
        if let (Some(seeds), false) = (lines.common.iter().find(|leaf| leaf.key == "seeds"), lines.until.is_empty()) {
            return Err(place.error(seeds.at, Problem::Either("seeds", "until")).into());
        }
        let until = Until::of(&lines.until, &lines.workloads, place)?;
        let mut points = space::points(&lines, file, place, available)?;
        let exclusions = Exclusion::of(lines.exclude.as_ref(), &points, place)?;
        points.retain(|point| !exclusions.iter().any(|exclusion| exclusion.holds(point.axes())));
        if let Some(point) = twice(&points) {
            let label =
                point.axes().labels().map(|(axis, label)| format!("{axis}={label}")).collect::<Vec<_>>().join(" ");
            return Err(place.error(0, Problem::Twice { axis: "the plan".to_owned(), label }).into());
        }
        if points.is_empty() {
            return Err(place.error(lines.exclude.map_or(0, |leaf| leaf.at), Problem::Empty).into());
        }
        Ok(Self { points, until, text })
    }

    /// All points, in the order of the plan.
    #[must_use]
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The points with these values on these axes, written as in an exclusion.
    ///
    /// # Errors
    /// An axis or a value that the plan does not have.
    pub fn points_at(&self, wanted: Vec<(String, String)>) -> Result<Vec<&Point>, Problem> {
        let wanted = Exclusion::at(wanted, &self.points)?;
        Ok(self.points.iter().filter(|point| wanted.holds(point.axes())).collect())
    }

    /// The seeds of a point.
    #[must_use]
    pub fn seeds<'a>(&'a self, point: &'a Point) -> Seeds<'a> {
        self.until.as_ref().map_or(Seeds::Named(point.seeds()), Seeds::Until)
    }

    /// Further seeds that the stop rule asks for, once all seeds of `point` that were asked for have ended; none without a rule.
    #[must_use]
    pub fn further(&self, point: &Point, done: &[Done]) -> Vec<u64> {
        let Some(until) = &self.until else { return Vec::new() };
        let mut done: Vec<&Done> = done.iter().filter(|done| done.cell == point.cell_name(done.seed)).collect();
        done.sort_by_key(|done| done.seed);
        until.further(&done.into_iter().map(|done| until.values(done)).collect::<Vec<_>>())
    }

    /// The stop rule, where there is one.
    #[must_use]
    pub const fn until(&self) -> Option<&Until> {
        self.until.as_ref()
    }

    /// Every cell that runs whatever others give: all, or the first ones of each point where a stop rule asks for more.
    pub fn cells(&self) -> impl Iterator<Item = Cell> {
        self.points.iter().flat_map(|point| self.seeds(point).least().into_iter().map(|seed| point.cell(seed)))
    }

    /// The text of the file.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of all points and seeds: two plans of one digest have the same cells.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let line = |point: &Point| format!("{} {:?}\n", point.name(), self.seeds(point));
        Digest::of_bytes(self.points.iter().map(line).collect::<String>().as_bytes())
    }
}

/// A point that comes twice, as where two files of one name are two machines.
fn twice(points: &[Point]) -> Option<&Point> {
    let mut seen = BTreeSet::new();
    points.iter().find(|point| !seen.insert(format!("{:?}", point.axes())))
}

/// The text of a file, known to be TOML.
struct Text {
    file: String,
    text: String,
}

impl Definition for Text {
    const KIND: Kind = Kind { one: "plan of a sweep", many: "plans" };
    type Problem = Problem;

    fn presets() -> &'static [Preset] {
        &[]
    }

    fn parse(file: &str, text: &str) -> Result<Self, FileError<Problem>> {
        Place::new(file, text).parse::<Problem>()?;
        Ok(Self { file: file.to_owned(), text: text.to_owned() })
    }

    fn base(&self) -> Option<&Base> {
        None
    }
}

fn is_group(key: &str) -> bool {
    is_table(key)
        || matches!(key, "axes" | "axes.parameters" | "axes.settings" | "until")
        || key.starts_with("axes.settings.")
}

/// Reasons why keys of scenarios have no place here.
const NOT_HERE: [(&str, &str); 5] = [
    ("ablate", "expected the policies to compare, such as \"linux-6.18+fallback.claim=never\""),
    ("against", "expected the policies to compare"),
    ("case", "workloads, machines and memories are axes"),
    ("record.events", "a cell keeps figures, no events: `order9 run` keeps them"),
    ("record.maps", "a cell keeps figures, no maps: `order9 run` keeps them"),
];

/// Sorts the lines of the file by their use.
fn lines<'a>(all: &[Leaf<'a>], place: Place<'_>) -> Result<Lines<'a>, FileError<Problem>> {
    let mut lines = Lines::default();
    let mut said = BTreeSet::new();
    for leaf in all {
        if let Some((key, why)) = NOT_HERE.iter().find(|(key, _)| leaf.key == *key) {
            return Err(place.error(leaf.at, Problem::NotInSweeps { key: (*key).to_owned(), why }));
        }
        sort(leaf, &mut lines).map_err(|problem| place.error(leaf.at, problem))?;
        said.insert(leaf.key.as_str());
    }
    for (one, other) in [("workload", "workloads"), ("machine", "machines")] {
        if let (true, Some(leaf)) = (said.contains(one), all.iter().find(|leaf| leaf.key == other)) {
            return Err(place.error(leaf.at, Problem::Either(one, other)));
        }
    }
    if lines.workloads.is_empty() {
        return Err(place.error(0, Problem::from(scenario::Problem::WithoutWorkload)));
    }
    Ok(lines)
}

fn sort<'a>(leaf: &Leaf<'a>, lines: &mut Lines<'a>) -> Result<(), Problem> {
    let renamed = |key: String, leaf: &Leaf<'a>| Leaf { key, value: leaf.value, at: leaf.at };
    match leaf.key.as_str() {
        "workload" => lines.workloads = vec![workload(leaf)?],
        "workloads" => {
            lines.workloads = list(leaf, "a list of workloads")?.iter().map(workload).collect::<Result<_, _>>()?;
        }
        "machine" => lines.machines = vec![leaf.clone()],
        "machines" => {
            let machines = list(leaf, "a list of machines")?;
            lines.machines = machines.iter().map(|machine| renamed("machine".to_owned(), machine)).collect();
        }
        "memory" => {
            for entry in list(leaf, "tables [[memory]], each with a name")? {
                lines.memories.push(Memory::of(&entry)?);
            }
        }
        "exclude" => lines.exclude = Some(leaf.clone()),
        "parameters" | "settings" | "boot" | "record" | "axes" | "axes.parameters" | "axes.settings" | "until" => {
            // Only an empty one is not taken apart.
            leaf.entries().ok_or_else(|| leaf.wrong("a table"))?;
        }
        key => match (key.strip_prefix("axes."), key.split_once('.')) {
            (Some(axis), _) if axis.starts_with("parameters.") => {
                lines.parameter_axes.push(renamed(axis.to_owned(), leaf));
            }
            (Some(axis), _) if axis.starts_with("settings.") => lines.setting_axes.push(renamed(axis.to_owned(), leaf)),
            (None, Some(("until", _))) => lines.until.push(leaf.clone()),
            (None, Some(("parameters", _))) => lines.parameters.push(leaf.clone()),
            (None, Some(("memory" | "settings", _))) => lines.common.push(leaf.clone()),
            _ if keys::names().any(|name| name == key) => lines.common.push(leaf.clone()),
            _ => return Err(order9_toml::Problem::unknown_key(key, keys::names()).into()),
        },
    }
    Ok(())
}

fn workload(leaf: &Leaf<'_>) -> Result<Workload, Problem> {
    Ok(scenario::workload(&leaf.line_of_text()?)?)
}

/// The elements of a list that has some.
pub(crate) fn list<'a>(leaf: &Leaf<'a>, expected: &str) -> Result<Vec<Leaf<'a>>, Problem> {
    let elements = leaf.elements().filter(|elements| !elements.is_empty());
    elements.ok_or_else(|| leaf.wrong(expected).into())
}

impl<'a> Memory<'a> {
    /// A table `[[memory]]`.
    fn of(entry: &Leaf<'a>) -> Result<Self, Problem> {
        let DeValue::Table(table) = entry.value else {
            return Err(entry.wrong("tables [[memory]], each with a name").into());
        };
        let (mut name, mut lines) = (None, Vec::new());
        for leaf in leaves(table, |_| false) {
            match leaf.key.as_str() {
                "name" => name = Some(leaf.line_of_text()?),
                key => lines.push(Leaf { key: format!("memory.{key}"), ..leaf }),
            }
        }
        let label = name.filter(|name| !name.is_empty()).ok_or(Problem::Unnamed)?;
        Ok(Self { label: Some(label), lines, at: entry.at })
    }
}
