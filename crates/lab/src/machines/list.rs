//! The built-in machines at a glance.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use super::error::MachineError;
use super::load::load;
use super::presets::PRESETS;
use super::size::in_units;

/// Every built-in machine.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct List {
    /// Machines, the smallest first.
    pub machines: Vec<Listed>,
}

/// A built-in machine at a glance.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Name of the machine.
    pub name: &'static str,
    /// Number of CPUs.
    pub cpus: usize,
    /// Number of nodes.
    pub nodes: usize,
    /// Memory in bytes.
    pub memory: u64,
    /// Summary of the machine, in one line.
    pub summary: String,
}

impl List {
    /// Lists the built-in machines.
    ///
    /// # Errors
    /// None, as long as the built-in files are what their tests saw.
    pub fn new() -> Result<Self, MachineError> {
        let listed = PRESETS.iter().map(|preset| {
            let machine = load(preset.name)?;
            Ok(Listed {
                name: preset.name,
                cpus: machine.cpus().len(),
                nodes: machine.nodes.len(),
                memory: machine.memory().get(),
                summary: machine.summary,
            })
        });
        Ok(Self { machines: listed.collect::<Result<_, MachineError>>()? })
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let longest = self.machines.iter().map(|machine| machine.name.len()).max().unwrap_or(0);
        writeln!(f, "{:longest$}  CPUs  nodes    memory  summary", "name")?;
        for Listed { name, cpus, nodes, memory, summary } in &self.machines {
            let memory = in_units(order9_units::Bytes::new(*memory));
            writeln!(f, "{name:longest$}  {cpus:>4}  {nodes:>5}  {memory:>8}  {summary}")?;
        }
        Ok(())
    }
}
