//! The built-in machines at a glance.

use std::fmt;

use serde::Serialize;

use super::error::MachineError;
use super::load::load;
use super::presets::PRESETS;
use super::size::in_units;

/// Every built-in machine.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct List {
    /// Smallest first.
    pub machines: Vec<Listed>,
}

/// A built-in machine at a glance.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: &'static str,
    /// How many CPUs it has.
    pub cpus: usize,
    /// How many nodes it has.
    pub nodes: usize,
    /// Its memory, in bytes.
    pub memory: u64,
    /// What it is.
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
