//! A machine with every figure, its source and where it was set. As text it is a machine file again.

use std::fmt;

use order9_toml::{comment, paragraph, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use super::MachineSpec;
use super::figure::Unit;
use super::size::in_units;

/// A machine, laid out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Show {
    /// Name of the machine.
    pub name: String,
    /// Summary of the machine, in one line.
    pub summary: String,
    /// The files it is made of, from the one without base to itself.
    pub chain: Vec<String>,
    /// Nodes of the machine.
    pub nodes: Vec<ShowNode>,
    /// Every figure that is given.
    pub figures: Vec<ShowFigure>,
}

/// A node, laid out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowNode {
    /// Memory in bytes.
    pub memory: u64,
    /// Number of CPUs.
    pub cpus: u32,
    /// Distance to every node.
    pub distances: Vec<u32>,
    /// Bandwidth of its memory, where it is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bandwidth: Option<ShowBandwidth>,
}

/// The bandwidth of a node's memory, laid out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowBandwidth {
    /// Bandwidth in bytes per second.
    pub value: u64,
    /// Source of the bandwidth.
    pub source: String,
}

/// A figure, laid out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowFigure {
    /// Key of the figure.
    pub key: String,
    /// Value of the figure.
    pub value: f64,
    /// Unit of the value: `ns`, `bytes`, `times`, `bytes per second`, `file system`
    /// (0 is plain, 1 XFS), or nothing.
    pub unit: &'static str,
    /// Meaning of the figure, in words.
    pub meaning: &'static str,
    /// Source of the value.
    pub source: String,
    /// File of the chain that set the value.
    pub set_in: String,
    #[serde(skip)]
    line: String,
}

impl Show {
    /// Lays out the figures of `machine`.
    #[must_use]
    pub fn new(machine: &MachineSpec) -> Self {
        let nodes = machine.nodes.iter().map(|node| ShowNode {
            memory: node.memory.get(),
            cpus: node.cpus,
            distances: node.distances.clone(),
            bandwidth: node.bandwidth.as_ref().map(|of| ShowBandwidth { value: of.rate, source: of.source.clone() }),
        });
        let figures = machine.figures.iter().map(|figure| {
            let unit = figure.info.unit;
            let (value, name) = match unit {
                Unit::Size => (figure.value as f64, "bytes"),
                Unit::Time => (figure.value as f64 / 1000.0, "ns"),
                Unit::Factor => (figure.value as f64 / 1000.0, "times"),
                Unit::Rate => (figure.value as f64, "bytes per second"),
                Unit::Count => (figure.value as f64, ""),
                Unit::FileSystem => (figure.value as f64, "file system"),
            };
            ShowFigure {
                key: figure.key.clone(),
                value,
                unit: name,
                meaning: figure.info.meaning,
                source: figure.source.clone(),
                set_in: figure.set_in.clone(),
                line: format!("{} = {}", unit.part(), unit.written(figure.value)),
            }
        });
        Self {
            name: machine.name.clone(),
            summary: machine.summary.clone(),
            chain: machine.chain.clone(),
            nodes: nodes.collect(),
            figures: figures.collect(),
        }
    }
}

/// A machine file without base, with the rest as comments.
impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bases: Vec<_> = self.chain.iter().rev().skip(1).map(String::as_str).collect();
        let based = if bases.is_empty() { "without base".to_owned() } else { format!("based on {}", bases.join(", ")) };
        comment(f, &format!("{}, {based}.", self.chain.last().unwrap_or(&self.name)))?;
        writeln!(f, "summary = {}", quoted(&self.summary))?;
        for node in &self.nodes {
            let memory = in_units(order9_units::Bytes::new(node.memory));
            writeln!(f, "\n[[nodes]]\nmemory = \"{memory}\"\ncpus = {}\ndistances = {:?}", node.cpus, node.distances)?;
            if let Some(ShowBandwidth { value, source }) = &node.bandwidth {
                let (part, value) = (Unit::Rate.part(), Unit::Rate.written(*value));
                writeln!(f, "\n[nodes.bandwidth]\n{part} = {value}\nsource = {}", paragraph(source))?;
            }
        }
        for figure in &self.figures {
            writeln!(f)?;
            comment(f, figure.meaning)?;
            writeln!(f, "[{}]\n{} # {}", figure.key, figure.line, figure.set_in)?;
            writeln!(f, "source = {}", paragraph(&figure.source))?;
        }
        Ok(())
    }
}
