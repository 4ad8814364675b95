//! The nodes of a machine, as a file lists them.

use std::sync::LazyLock;

use order9_toml::{Leaf, Place, Problem as AnyProblem};
use order9_units::Bytes;
use toml::de::DeValue;

use super::error::Problem;
use super::figure::{FigureInfo, FigureText, Needed, Unit};
use super::size::in_units;

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeSpec {
    /// Memory of the node: whole sections of 128 MiB.
    pub memory: Bytes,
    /// Number of CPUs; may be none.
    pub cpus: u32,
    /// Distance to every node: 10 to itself, as in /sys/devices/system/node/node*/distance.
    pub distances: Vec<u32>,
    /// Bandwidth of the node's memory from the CPUs next to it, as firmware tells it.
    pub bandwidth: Option<NodeBandwidth>,
}

/// The bandwidth of a node's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeBandwidth {
    /// Bandwidth in bytes per second.
    pub rate: u64,
    /// Source of the bandwidth: one line, never empty.
    pub source: String,
}

static BANDWIDTH: LazyLock<FigureInfo> = LazyLock::new(|| FigureInfo {
    key: "nodes.bandwidth".to_owned(),
    unit: Unit::Rate,
    meaning: "What all CPUs next to a node read from its memory together.",
    needed: Needed::Never,
});

/// Unit in which Linux adds and removes memory on x86-64.
const SECTION: Bytes = Bytes::new(128 << 20);
/// Most memory of a machine: what the engine numbers its frames for, with room for holes.
const MEMORY_MAX: Bytes = Bytes::new(8 << 40);
/// Most CPUs of a machine: Linux' largest NR_CPUS on x86-64.
const CPUS_MAX: u64 = 8192;
/// Most nodes of a machine.
const NODES_MAX: usize = 64;
const LOCAL: u32 = 10;
const DISTANCE_MAX: u32 = 254;

/// The error, and the byte at which it is.
type Refused = (usize, Problem);

/// Reads the array `nodes`.
pub(super) fn parse(leaf: &Leaf<'_>, place: Place<'_>) -> Result<Vec<NodeSpec>, order9_toml::FileError<Problem>> {
    read(leaf).map_err(|(at, problem)| place.error(at, problem))
}

fn read(leaf: &Leaf<'_>) -> Result<Vec<NodeSpec>, Refused> {
    let DeValue::Array(entries) = leaf.value else {
        return Err((leaf.at, leaf.wrong("[[nodes]] with memory, cpus and distances").into()));
    };
    let entry_at = |at: usize| entries[at].span().start;
    let nodes = entries
        .iter()
        .map(|entry| node(&Leaf { key: "nodes".to_owned(), value: entry.get_ref(), at: entry.span().start }));
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    whole_machine(&nodes).map_err(|problem| (leaf.at, problem))?;
    for (from, node) in nodes.iter().enumerate() {
        distances(from, node, &nodes).map_err(|problem| (entry_at(from), problem))?;
    }
    Ok(nodes)
}

fn node(leaf: &Leaf<'_>) -> Result<NodeSpec, Refused> {
    let Some(entries) = leaf.entries() else {
        return Err((leaf.at, leaf.wrong("a table with memory, cpus and distances").into()));
    };
    let (mut memory, mut cpus, mut distances, mut bandwidth) = (None, None, None, None);
    for entry in &entries {
        let refused = |problem: AnyProblem| (entry.at, problem.into());
        match entry.key.as_str() {
            "nodes.memory" => memory = Some(memory_of(entry).map_err(refused)?),
            "nodes.cpus" => cpus = Some(cpus_of(entry).map_err(refused)?),
            "nodes.distances" => distances = Some(distances_of(entry).map_err(refused)?),
            "nodes.bandwidth" => {
                let FigureText { value: rate, source, .. } = FigureText::parse(&BANDWIDTH, entry)?;
                bandwidth = Some(NodeBandwidth { rate, source });
            }
            key => {
                let names = ["nodes.memory", "nodes.cpus", "nodes.distances", "nodes.bandwidth"];
                return Err(refused(AnyProblem::unknown_key(key, names)));
            }
        }
    }
    let missing = |part| (leaf.at, Problem::Missing { key: "each of nodes".to_owned(), part });
    Ok(NodeSpec {
        memory: memory.ok_or_else(|| missing("memory"))?,
        cpus: cpus.ok_or_else(|| missing("cpus"))?,
        distances: distances.ok_or_else(|| missing("distances"))?,
        bandwidth,
    })
}

/// Whether a node may have so much memory.
#[must_use]
pub fn is_whole(memory: Bytes) -> bool {
    memory.get() > 0 && memory.get().is_multiple_of(SECTION.get())
}

fn memory_of(leaf: &Leaf<'_>) -> Result<Bytes, AnyProblem> {
    let memory = leaf.value.as_str().and_then(|text| text.parse::<Bytes>().ok()).filter(|memory| is_whole(*memory));
    memory.ok_or_else(|| leaf.wrong(format!("a multiple of {}, such as \"16 GiB\"", in_units(SECTION))))
}

fn cpus_of(leaf: &Leaf<'_>) -> Result<u32, AnyProblem> {
    let cpus = leaf.whole_number().filter(|cpus| *cpus <= CPUS_MAX);
    cpus.map(|cpus| cpus as u32).ok_or_else(|| leaf.wrong(format!("a whole number up to {CPUS_MAX}")))
}

fn distances_of(leaf: &Leaf<'_>) -> Result<Vec<u32>, AnyProblem> {
    let wrong = || leaf.wrong(format!("an array of whole numbers from {LOCAL} to {DISTANCE_MAX}"));
    let DeValue::Array(entries) = leaf.value else { return Err(wrong()) };
    let distance = |value: &DeValue<'_>| {
        let number = Leaf { key: String::new(), value, at: leaf.at }.whole_number()?;
        u32::try_from(number).ok().filter(|distance| (LOCAL..=DISTANCE_MAX).contains(distance))
    };
    entries.iter().map(|entry| distance(entry.get_ref())).collect::<Option<_>>().ok_or_else(wrong)
}

fn whole_machine(nodes: &[NodeSpec]) -> Result<(), Problem> {
    let too_many = |what, most, got| Err(Problem::TooMany { what, most, got });
    if nodes.is_empty() {
        return Err(Problem::NoNodes);
    }
    if nodes.len() > NODES_MAX {
        return too_many("nodes", NODES_MAX.to_string(), nodes.len().to_string());
    }
    match nodes.iter().map(|node| u64::from(node.cpus)).sum() {
        0 => return Err(Problem::NoCpus),
        cpus if cpus > CPUS_MAX => return too_many("CPUs", CPUS_MAX.to_string(), cpus.to_string()),
        _ => {}
    }
    let memory = nodes.iter().fold(0u64, |sum, node| sum.saturating_add(node.memory.get()));
    if memory > MEMORY_MAX.get() {
        return too_many("of memory", in_units(MEMORY_MAX), in_units(Bytes::new(memory)));
    }
    Ok(())
}

fn distances(from: usize, node: &NodeSpec, nodes: &[NodeSpec]) -> Result<(), Problem> {
    let got = node.distances.len();
    if got != nodes.len() {
        return Err(Problem::DistanceCount { node: from, got, nodes: nodes.len() });
    }
    for (to, &got) in node.distances.iter().enumerate() {
        let back = nodes[to].distances.get(from);
        let expected = match (from == to, back) {
            (true, _) if got != LOCAL => format!("{LOCAL}, since it is the same node"),
            (false, _) if got == LOCAL => format!("more than {LOCAL}, which is the distance of a node to itself"),
            (false, Some(&back)) if back != got => format!("{back}, as back"),
            _ => continue,
        };
        return Err(Problem::Distance { from, to, got, expected });
    }
    Ok(())
}
