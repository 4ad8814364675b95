//! CPUs as taskset(1) and numactl(8) name them, how new threads spread over nodes, and the parameters by which any workload runs
//! that way.
//!
//! Key types: [`Cpus`], whose words are a list (`0-3,8`, `0-31:2`), `physcpubind:LIST` and `cpunodebind:NODES`; [`Spread`].

use std::fmt;

use order9_units::{NodeId, NodeMask};

use crate::parameters::{Kind, Parameter, Parameters, Value};
use crate::sys::{Stop, Sys};

/// CPUs that a program is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// All that the machine has: the program is not bound.
    All,
    /// The CPUs of a list.
    List(Vec<CpuRange>),
    /// The CPUs of some nodes; [`NodeMask::ALL`] means all nodes.
    OfNodes(NodeMask),
}

/// CPUs of a list: from the first to the last, every so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuRange {
    /// First CPU of the range.
    pub first: u32,
    /// The last that there may be.
    pub last: u32,
    /// Distance from one CPU to the next; not 0.
    pub step: u32,
}

/// Choice of a node for new threads and processes among equally loaded CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// The node with the fewest tasks: children of one program come to run on all nodes in turn.
    #[default]
    Even,
    /// The node of the starter, as long as a CPU of it has nothing to do.
    Packed,
}

/// Spreads by the words that name them.
const SPREADS: [(&str, Spread); 2] = [("even", Spread::Even), ("packed", Spread::Packed)];

/// The parameter that binds to CPUs.
pub(crate) const CPUS: Parameter = Parameter {
    key: "cpus",
    meaning: "CPUs to which the program and its children are bound, as taskset(1) or numactl(8) name them",
    kind: Kind::Cpus,
    default: |_| Value::Cpus(Cpus::All),
    default_text: "all",
};

/// The parameter that says how threads spread.
pub(crate) const SPREAD: Parameter = Parameter {
    key: "spread",
    meaning: "choice among equally loaded CPUs for a new thread or process: a CPU of the node with the fewest tasks, or of its starter's node",
    kind: Kind::Word(&["even", "packed"]),
    default: |_| Value::Word("even"),
    default_text: "even",
};

impl Cpus {
    /// The accepted values, in words.
    pub(crate) const EXPECTED: &str = "\"all\", a list of CPUs such as \"0-3,8\" or \"0-31:2\", or \"cpunodebind:\" with nodes, such \
        as \"cpunodebind:0\"";

    /// Reads the words of taskset and numactl.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Self::All);
        }
        if let Some(nodes) = text.strip_prefix("cpunodebind:") {
            let nodes = if nodes == "all" { NodeMask::ALL } else { NodeMask::parse(nodes)? };
            return (!nodes.is_empty()).then_some(Self::OfNodes(nodes));
        }
        let list = text.strip_prefix("physcpubind:").unwrap_or(text);
        list.split(',').map(CpuRange::parse).collect::<Option<_>>().map(Self::List)
    }

    /// The first CPU or node named that a machine with so many does not have, in words.
    #[must_use]
    pub fn missing(&self, cpus: u32, nodes: usize) -> Option<String> {
        match self {
            Self::All => None,
            Self::List(ranges) => {
                let last = ranges.iter().map(|range| range.last).find(|&last| last >= cpus)?;
                Some(format!(
                    "CPUs from 0 to {}, which the machine has; {last} is none of them",
                    cpus.saturating_sub(1)
                ))
            }
            Self::OfNodes(NodeMask::ALL) => None,
            Self::OfNodes(mask) => {
                let node = mask.iter().find(|node| node.index() >= nodes)?;
                Some(format!(
                    "nodes from 0 to {}, which the machine has; {} is none of them",
                    nodes.saturating_sub(1),
                    node.0
                ))
            }
        }
    }

    /// Numbers of the CPUs; `None` where the program is not bound.
    fn numbers<S: Sys>(&self, sys: &S) -> Option<Vec<u32>> {
        match self {
            Self::All => None,
            Self::List(ranges) => Some(ranges.iter().flat_map(|range| range.numbers()).collect()),
            Self::OfNodes(mask) => {
                let nodes = (0..sys.facts().nodes.len() as u16).map(NodeId).filter(|&node| mask.has(node));
                Some(nodes.flat_map(|node| sys.cpus_of(node)).collect())
            }
        }
    }
}

impl CpuRange {
    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        let (range, step) = text.split_once(':').unwrap_or((text, "1"));
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let range = Self { first: number(first)?, last: number(last)?, step: number(step)? };
        (range.first <= range.last && range.step > 0 && (text.contains('-') || !text.contains(':'))).then_some(range)
    }

    fn numbers(self) -> impl Iterator<Item = u32> {
        (self.first..=self.last).step_by(self.step as usize)
    }
}

/// Writes the text that [`Cpus::parse`] takes.
impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => write!(f, "all"),
            Self::List(ranges) => {
                let ranges: Vec<_> = ranges.iter().map(CpuRange::to_string).collect();
                write!(f, "{}", ranges.join(","))
            }
            Self::OfNodes(NodeMask::ALL) => write!(f, "cpunodebind:all"),
            Self::OfNodes(mask) => write!(f, "cpunodebind:{mask}"),
        }
    }
}

impl fmt::Display for CpuRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self { first, last, step: 1 } if first == last => write!(f, "{first}"),
            Self { first, last, step: 1 } => write!(f, "{first}-{last}"),
            Self { first, last, step } => write!(f, "{first}-{last}:{step}"),
        }
    }
}

/// Binds this thread, and with it all that it starts, as was chosen; and spreads that as was chosen.
pub(crate) async fn bind_as_chosen<S: Sys>(sys: &S, parameters: &Parameters) -> Result<(), Stop> {
    if let Some(word) = parameters.chosen_word(SPREAD.key) {
        let spread = SPREADS.iter().find(|(known, _)| *known == word).map(|&(_, spread)| spread);
        sys.set_spread(spread.unwrap_or_default()).await?;
    }
    match parameters.cpus().and_then(|cpus| cpus.numbers(sys)) {
        Some(cpus) => sys.set_affinity(&cpus).await,
        None => Ok(()),
    }
}

/// The chosen CPUs among `cpus`; all of them where nothing was chosen.
pub(crate) fn chosen_of<S: Sys>(sys: &S, parameters: &Parameters, mut cpus: Vec<u32>) -> Vec<u32> {
    if let Some(chosen) = parameters.cpus().and_then(|chosen| chosen.numbers(sys)) {
        cpus.retain(|cpu| chosen.contains(cpu));
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_taskset_and_numactl_are_read_and_written() {
        for text in
            ["all", "0", "0-3", "0-3,8", "0-31:2", "1,3,5-7", "cpunodebind:0", "cpunodebind:0-1,3", "cpunodebind:all"]
        {
            assert_eq!(Cpus::parse(text).map(|cpus| cpus.to_string()).as_deref(), Some(text));
        }
        assert_eq!(Cpus::parse("physcpubind:2-5"), Cpus::parse("2-5"));
        for wrong in [
            "",
            "a",
            "3-1",
            "0-3:0",
            "4:2",
            "-1",
            "1-",
            "0,,1",
            "cpunodebind:",
            "cpunodebind:64",
            "cpunodebind:a",
            "cpubind:0",
        ] {
            assert_eq!(Cpus::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_a_machine_does_not_have_is_named() {
        let missing = |text: &str| Cpus::parse(text).expect("CPUs").missing(8, 2);
        assert_eq!(
            [missing("all"), missing("0-7"), missing("cpunodebind:0-1"), missing("cpunodebind:all")],
            [const { None }; 4]
        );
        assert!(
            missing("4-8").is_some_and(|text| text.starts_with("CPUs from 0 to 7") && text.contains("; 8 is none"))
        );
        assert!(missing("cpunodebind:1-2").is_some_and(|text| text.contains("; 2 is none of them")));
    }
}
