//! Memory policies as programs ask for them, and the parameter by which any workload runs under one.
//!
//! Key types: [`Mempolicy`], whose words are numactl's (`interleave:all`, `membind=static:0-1`), [`GENERAL`] (parameters of
//! every workload).

use std::fmt;
use std::future::Future;

use order9_units::{NodeId, NodeMask};

use crate::beforehand::{
    COLLAPSE_FIRST, COLLAPSE_SIZE, COMPACT_FIRST, DROP_FIRST, MOVE_FIRST, MOVE_NODE, RECLAIM_FIRST, RECLAIM_NODE,
    RECLAIM_SWAPPINESS, RETAKE_FIRST, RETAKE_MADVISE,
};
use crate::cpus::{CPUS, SPREAD};
use crate::measure::{Better, Family, Measure, Unit};
use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Stop, Sys};
use crate::trace::like_host::BESIDE;

/// Modes of memory policies, `MPOL_*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryMode {
    /// `MPOL_DEFAULT`: the node of the CPU, or what a wider scope says.
    Default,
    /// `MPOL_LOCAL`: the node of the CPU.
    Local,
    /// `MPOL_PREFERRED`: one node, others where it is full.
    Preferred,
    /// `MPOL_PREFERRED_MANY`: some nodes, others where these are full. 5.15+.
    PreferredMany,
    /// `MPOL_BIND`: some nodes and no other.
    Bind,
    /// `MPOL_INTERLEAVE`: some nodes in turn.
    Interleave,
    /// `MPOL_WEIGHTED_INTERLEAVE`: the same by the weights in /sys/kernel/mm/mempolicy. 6.9+.
    WeightedInterleave,
    /// `MPOL_NODE_PROXIMITY`: huge pages of near nodes are worth every effort. Proposed in 2018.
    NodeProximity,
}

impl MemoryMode {
    /// Whether it names nodes.
    #[must_use]
    pub const fn takes_nodes(self) -> bool {
        !matches!(self, Self::Default | Self::Local | Self::NodeProximity)
    }
}

/// Modes by the words that name them; the first of a mode is the one that is printed.
const WORDS: [(&str, MemoryMode); 11] = [
    ("default", MemoryMode::Default),
    ("local", MemoryMode::Local),
    ("localalloc", MemoryMode::Local),
    ("preferred", MemoryMode::Preferred),
    ("preferred-many", MemoryMode::PreferredMany),
    ("bind", MemoryMode::Bind),
    ("membind", MemoryMode::Bind),
    ("interleave", MemoryMode::Interleave),
    ("weighted-interleave", MemoryMode::WeightedInterleave),
    ("prefer", MemoryMode::Preferred),
    ("proximity", MemoryMode::NodeProximity),
];

/// Meaning of the numbers of nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeFlags {
    /// Nodes, which follow the cpuset by their place.
    #[default]
    None,
    /// `MPOL_F_STATIC_NODES`: these nodes, whatever the cpuset.
    Static,
    /// `MPOL_F_RELATIVE_NODES`: places among the nodes of the cpuset.
    Relative,
    /// `MPOL_F_NUMA_BALANCING`: nodes as without a flag, among which NUMA balancing moves pages. 5.12+.
    Balancing,
}

/// A memory policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mempolicy {
    /// Mode of the policy.
    pub mode: MemoryMode,
    /// Meaning of the numbers of its nodes.
    pub flags: NodeFlags,
    /// Nodes of the policy; [`NodeMask::ALL`] means all nodes of the machine.
    pub nodes: NodeMask,
}

/// Flags of `mbind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MbindFlags {
    /// `MPOL_MF_STRICT`.
    pub strict: bool,
    /// `MPOL_MF_MOVE`.
    pub moves: bool,
    /// `MPOL_MF_MOVE_ALL`.
    pub moves_all: bool,
}

/// Parameters of every workload, beside its own.
pub const GENERAL: &[Parameter] = &[
    Parameter {
        key: "mempolicy",
        meaning: "memory policy under which the program and its children run, as numactl(8) sets it",
        kind: Kind::Mempolicy,
        default: |_| Value::Mempolicy(Mempolicy::DEFAULT),
        default_text: "default",
    },
    CPUS,
    SPREAD,
    DROP_FIRST,
    RECLAIM_FIRST,
    RECLAIM_NODE,
    RECLAIM_SWAPPINESS,
    MOVE_FIRST,
    MOVE_NODE,
    COMPACT_FIRST,
    COLLAPSE_FIRST,
    COLLAPSE_SIZE,
    RETAKE_FIRST,
    RETAKE_MADVISE,
    BESIDE,
];

/// Measures of every workload that runs under a memory policy. The number in a row is that of the node.
pub const GENERAL_MEASURES: &[Measure] = &[Measure {
    heading: "Pages by Node",
    operations: &["Mapped", "Hit", "Miss", "Interleaved"],
    family: Family::Single("Pages"),
    better: Better::Lower,
    unit: Unit::Pages,
    decimals: 0,
    main: &[],
}];

impl Mempolicy {
    /// `MPOL_DEFAULT`.
    pub const DEFAULT: Self = Self::new(MemoryMode::Default, NodeMask::EMPTY);

    /// A mode with nodes.
    #[must_use]
    pub const fn new(mode: MemoryMode, nodes: NodeMask) -> Self {
        Self { mode, flags: NodeFlags::None, nodes }
    }

    /// Reads numactl's words: a mode, `=static`, `=relative` or `=balancing`, a colon and nodes, which are a list or `all`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (mode, nodes) = text.split_once(':').unwrap_or((text, ""));
        let (mode, flags) = match mode.split_once('=') {
            None => (mode, NodeFlags::None),
            Some((mode, "static")) => (mode, NodeFlags::Static),
            Some((mode, "relative")) => (mode, NodeFlags::Relative),
            Some((mode, "balancing")) => (mode, NodeFlags::Balancing),
            Some(_) => return None,
        };
        let mode = WORDS.iter().find(|(word, _)| *word == mode).map(|&(_, mode)| mode)?;
        let nodes = if nodes == "all" { NodeMask::ALL } else { NodeMask::parse(nodes)? };
        let takes_nodes = mode.takes_nodes();
        let sound = takes_nodes != nodes.is_empty() && (takes_nodes || flags == NodeFlags::None);
        (sound && takes_nodes == text.contains(':')).then_some(Self { mode, flags, nodes })
    }

    /// The accepted values, in words.
    pub(crate) const EXPECTED: &str = "\"default\", \"local\", \"proximity\", or one of \"bind\", \"preferred\", \"preferred-many\", \
        \"interleave\" and \"weighted-interleave\" with nodes, such as \"bind:0\", \"interleave:0-1,3\" or \"interleave:all\"";

    /// Replaces [`NodeMask::ALL`] by the numbers of all nodes of a machine with `nodes` nodes.
    #[must_use]
    pub fn on(self, nodes: usize) -> Self {
        let all = || (0..64).map(NodeId).take(nodes).collect();
        Self { nodes: if self.nodes == NodeMask::ALL { all() } else { self.nodes }, ..self }
    }

    /// The lowest node that a machine with so many does not have.
    #[must_use]
    pub fn missing_node(self, nodes: usize) -> Option<NodeId> {
        self.on(nodes).nodes.iter().find(|node| node.index() >= nodes && self.flags != NodeFlags::Relative)
    }
}

/// Writes the text that [`Mempolicy::parse`] takes.
impl fmt::Display for Mempolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = WORDS.iter().find(|(_, mode)| *mode == self.mode).map_or("default", |(word, _)| word);
        let flags = match self.flags {
            NodeFlags::None => "",
            NodeFlags::Static => "=static",
            NodeFlags::Relative => "=relative",
            NodeFlags::Balancing => "=balancing",
        };
        match self.nodes {
            NodeMask::EMPTY => write!(f, "{word}{flags}"),
            NodeMask::ALL => write!(f, "{word}{flags}:all"),
            nodes => write!(f, "{word}{flags}:{nodes}"),
        }
    }
}

/// Runs `program` under the memory policy that was chosen, and records what it allocated where.
pub(crate) async fn under_policy<S: Sys>(
    sys: &S,
    parameters: &Parameters,
    program: impl Future<Output = Result<(), Stop>>,
) -> Result<(), Stop> {
    let Some(policy) = parameters.mempolicy() else { return program.await };
    sys.set_mempolicy(policy.on(sys.facts().nodes.len())).await?;
    let before = sys.numastat();
    let result = program.await;
    for (node, (now, before)) in sys.numastat().into_iter().zip(before).enumerate() {
        sys.count(&format!("Hit-{node}"), (now.hit - before.hit) as f64);
        sys.count(&format!("Miss-{node}"), (now.miss - before.miss) as f64);
        sys.count(&format!("Interleaved-{node}"), (now.interleave_hit - before.interleave_hit) as f64);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_numactl_are_read_and_written() {
        for text in [
            "default",
            "local",
            "proximity",
            "bind:0",
            "bind=static:0-1",
            "preferred=relative:3",
            "preferred-many:0,2",
            "interleave:all",
            "weighted-interleave:0-3",
        ] {
            assert_eq!(Mempolicy::parse(text).map(|policy| policy.to_string()).as_deref(), Some(text));
        }
        for (text, same) in [("membind:1", "bind:1"), ("localalloc", "local"), ("prefer:1", "preferred:1")] {
            assert_eq!(Mempolicy::parse(text), Mempolicy::parse(same), "{text}");
        }
        for wrong in [
            "",
            "bind",
            "bind:",
            "bind:64",
            "bind:a",
            "local:0",
            "proximity:0",
            "default:",
            "local=static",
            "bind=sticky:0",
        ] {
            assert_eq!(Mempolicy::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn nodes_are_those_of_the_machine() {
        let all = Mempolicy::parse("interleave:all").expect("a policy");
        assert_eq!(all.on(3).nodes, NodeMask::parse("0-2").expect("a list"));
        assert_eq!(all.missing_node(3), None);
        assert_eq!(Mempolicy::parse("bind:1-5").expect("a policy").missing_node(3), Some(NodeId(3)));
        assert_eq!(Mempolicy::parse("bind=relative:5").expect("a policy").missing_node(3), None);
    }
}
