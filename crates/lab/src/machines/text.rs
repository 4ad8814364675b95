//! One machine file as text: what it is based on and what it says. Nothing is looked up in other files.

use order9_toml::{Base, Definition, FileError, Kind, Leaf, Place, Preset, Problem as AnyProblem, leaves};

use super::disks::{self, DiskText};
use super::distances::{self, DistanceText};
use super::error::Problem;
use super::figure::{FIGURES, FigureText};
use super::nodes::{self, NodeSpec};
use super::presets::{PRESETS, RENAMED};

/// Keys of a machine file that are no figures.
const OWN_KEYS: [&str; 5] = ["base", "summary", "nodes", "distance", "disks"];

/// Contents of a machine file.
#[derive(Debug, Default)]
pub(super) struct MachineText {
    /// Summary of the machine, in one line; may be empty.
    pub(super) summary: String,
    /// The machine that this one inherits from.
    pub(super) base: Option<Base>,
    /// Nodes, where the file lists them.
    pub(super) nodes: Option<Vec<NodeSpec>>,
    /// Disks; none where the file does not list any.
    pub(super) disks: Vec<DiskText>,
    /// Distances that it gives prices of their own.
    pub(super) distances: Vec<DistanceText>,
    /// The figures it gives.
    pub(super) figures: Vec<FigureText>,
}

impl Definition for MachineText {
    const KIND: Kind = Kind { one: "machine", many: "machines" };
    type Problem = Problem;

    fn presets() -> &'static [Preset] {
        PRESETS
    }

    fn renamed() -> &'static [(&'static str, &'static str)] {
        RENAMED
    }

    fn parse(file: &str, text: &str) -> Result<Self, FileError<Problem>> {
        let place = Place::new(file, text);
        let document = place.parse()?;
        let mut machine = Self::default();
        for leaf in leaves(&document, is_group) {
            let line_of_text = || leaf.line_of_text().map_err(|problem| place.error(leaf.at, problem));
            match leaf.key.as_str() {
                "base" => machine.base = Some(Base { name: line_of_text()?, line: place.line(leaf.at) }),
                "summary" => machine.summary = line_of_text()?,
                "disks" => machine.disks = disks::parse(&leaf, place)?,
                "distance" => machine.distances = distances::parse(&leaf, place)?,
                "nodes" => machine.nodes = Some(nodes::parse(&leaf, place)?),
                _ => machine.figures.push(figure(&leaf, place)?),
            }
        }
        Ok(machine)
    }

    fn base(&self) -> Option<&Base> {
        self.base.as_ref()
    }
}

/// Whether `key` is a table of figures.
fn is_group(key: &str) -> bool {
    FIGURES.iter().any(|info| info.key.strip_prefix(key).is_some_and(|rest| rest.starts_with('.')))
}

fn figure(leaf: &Leaf<'_>, place: Place<'_>) -> Result<FigureText, FileError<Problem>> {
    let Some(info) = FIGURES.iter().find(|info| info.key == leaf.key) else {
        let names = FIGURES.iter().map(|info| info.key.as_str()).chain(OWN_KEYS);
        return Err(place.error(leaf.at, AnyProblem::unknown_key(&leaf.key, names)));
    };
    FigureText::parse(info, leaf).map_err(|(at, problem)| place.error(at, problem))
}
