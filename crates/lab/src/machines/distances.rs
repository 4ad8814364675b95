//! Prices of memory at single distances, as a file lists them: `[distance.24.load_base]` and so on, figures like all others.
//!
//! What is not listed has the prices of `remote.*`, by whether it is nearest or further away. A machine with three kinds of
//! memory, or with firmware that calls near what is slow, needs more than these two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use order9_mm::AccessLevels;
use order9_toml::{FileError, Leaf, Member, Place, Problem as AnyProblem};

use super::NodeSpec;
use super::error::Problem;
use super::figure::{FigureInfo, FigureText, Needed, Unit};
use super::text::MachineText;

/// Keys of a distance; all of them are required.
const KEYS: [(&str, Unit, &str); 4] = [
    ("latency", Unit::Factor, "As `remote.latency`, of memory at the distance D alone, whatever else it is."),
    ("bandwidth", Unit::Factor, "As `remote.bandwidth`, of memory at the distance D."),
    ("load_base", Unit::Time, "As `remote.load_base`, of memory at the distance D."),
    ("load_huge", Unit::Time, "As `remote.load_huge`, of memory at the distance D."),
];

/// Every figure that a distance has.
pub static DISTANCE_FIGURES: LazyLock<Vec<FigureInfo>> = LazyLock::new(|| {
    let info =
        |(key, unit, meaning)| FigureInfo { key: format!("distance.D.{key}"), unit, meaning, needed: Needed::Never };
    KEYS.into_iter().map(info).collect()
});

/// A distance as one file has it.
#[derive(Clone, Debug)]
pub(super) struct DistanceText {
    pub(super) distance: u32,
    /// Figures in the order of [`DISTANCE_FIGURES`]: every one of them.
    pub(super) figures: Vec<FigureText>,
    /// Line of the distance in the file.
    line: usize,
}

/// Largest shown length of a name that is no distance.
const NAME_MAX: usize = 31;

/// The error, and the byte at which it is.
type Refused = (usize, Problem);

/// Reads the table `distance`.
pub(super) fn parse(leaf: &Leaf<'_>, place: Place<'_>) -> Result<Vec<DistanceText>, FileError<Problem>> {
    let Some(distances) = leaf.entries() else {
        return Err(place.error(leaf.at, leaf.wrong("a table [distance.D] for each distance")));
    };
    let read = |leaf: &Leaf<'_>| read(leaf, place.line(leaf.at)).map_err(|(at, problem)| place.error(at, problem));
    distances.iter().map(read).collect()
}

fn read(leaf: &Leaf<'_>, line: usize) -> Result<DistanceText, Refused> {
    let name = &leaf.key["distance.".len()..];
    let Some(distance) = name.parse().ok().filter(|distance| (11..=254).contains(distance)) else {
        return Err((leaf.at, Problem::DistanceName(name.chars().take(NAME_MAX).collect())));
    };
    let Some(entries) = leaf.entries() else {
        return Err((leaf.at, leaf.wrong("a table of figures").into()));
    };
    let mut figures = entries.iter().map(|entry| figure(leaf, entry)).collect::<Result<Vec<_>, _>>()?;
    figures.sort_by_key(|figure| DISTANCE_FIGURES.iter().position(|info| std::ptr::eq(info, figure.info)));
    let has = |info: &FigureInfo| figures.iter().any(|figure| std::ptr::eq(figure.info, info));
    match DISTANCE_FIGURES.iter().zip(KEYS).find(|(info, _)| !has(info)) {
        Some((_, (part, ..))) => Err((leaf.at, Problem::Missing { key: leaf.key.clone(), part })),
        None => Ok(DistanceText { distance, figures, line }),
    }
}

fn figure(distance: &Leaf<'_>, entry: &Leaf<'_>) -> Result<FigureText, Refused> {
    let key = &entry.key[distance.key.len() + 1..];
    match KEYS.iter().position(|(known, ..)| *known == key) {
        Some(at) => FigureText::parse(&DISTANCE_FIGURES[at], entry),
        None => Err((entry.at, AnyProblem::unknown_key(&entry.key, KEYS.map(|(known, ..)| known)).into())),
    }
}

/// For each distance between two of `nodes` that has prices of its own, the text of the last file of the chain that
/// gives them; ascending.
///
/// # Errors
/// A distance that no two nodes have, in the file that lists them or one that is based on it: nobody would ever be asked these
/// prices. Or more distances than there is room for.
pub(super) fn of_chain<'a>(
    members: &'a [Member<MachineText>],
    nodes: &[NodeSpec],
) -> Result<Vec<(&'a Member<MachineText>, &'a DistanceText)>, FileError<Problem>> {
    let known: BTreeSet<u32> = nodes.iter().flat_map(|node| node.distances.iter().copied()).collect();
    let listed = members.iter().rposition(|member| member.said.nodes.is_some()).unwrap_or(0);
    let mut last = BTreeMap::new();
    for (nth, member) in members.iter().enumerate() {
        for text in &member.said.distances {
            let refused = |problem| FileError::At { file: member.name.clone(), line: text.line, problem };
            if known.contains(&text.distance) {
                last.insert(text.distance, (member, text));
            } else if nth >= listed {
                let known = known.iter().copied().collect();
                return Err(refused(Problem::NoSuchDistance { distance: text.distance, known }));
            }
            if last.len() > AccessLevels::APART {
                let (most, got) = (AccessLevels::APART.to_string(), last.len().to_string());
                return Err(refused(Problem::TooMany { what: "distances with prices of their own", most, got }));
            }
        }
    }
    Ok(last.into_values().collect())
}
