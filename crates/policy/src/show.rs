//! Every switch of a policy with its value, where it was set and what it means. As text it is a policy file again.

use std::fmt;

use order9_toml::{comment, quoted};
use schemars::JsonSchema;
use serde::Serialize;

use crate::load::Loaded;
use crate::switch::Value;
use crate::table::switches;

/// A policy, laid out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Show {
    /// Name of the policy.
    pub name: String,
    /// Summary of the policy, in one line.
    pub summary: String,
    /// The policies it is made of, from the one without base to itself.
    pub chain: Vec<String>,
    /// Every switch.
    pub switches: Vec<ShowSwitch>,
    /// Planned switches that the policy would set if the engine had them.
    pub not_modelled: Vec<ShowNeed>,
}

/// A switch, laid out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowSwitch {
    /// Key of the switch.
    pub key: &'static str,
    /// Value of the switch.
    pub value: Value,
    /// Name of the policy of the chain that set the value.
    pub set_in: String,
    /// The behaviour that the switch changes.
    pub meaning: &'static str,
    /// The behaviour with this value.
    pub does: String,
    /// The Linux releases that do so.
    pub releases: &'static str,
    /// Linux' name of it, where it can be set at run time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sysctl: Option<&'static str>,
}

/// A switch that the engine does not have yet, laid out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShowNeed {
    /// Key of the planned switch.
    pub key: &'static str,
    /// The value it should have.
    pub value: &'static str,
    /// Name of the policy of the chain that needs the switch.
    pub set_in: String,
    /// The behaviour that the switch would change.
    pub meaning: &'static str,
}

impl Show {
    /// Lays out the switches of `loaded`.
    #[must_use]
    pub fn new(loaded: &Loaded) -> Self {
        let switches = switches().map(|switch| {
            let value = switch.get(&loaded.policy);
            ShowSwitch {
                key: switch.key,
                value,
                set_in: loaded.set_in(switch).clone(),
                meaning: switch.meaning,
                does: switch.sentence(value),
                releases: switch.releases(value),
                sysctl: switch.sysctl,
            }
        });
        let needs = loaded.needs.iter().map(|need| ShowNeed {
            key: need.switch.key,
            value: need.value,
            set_in: loaded.chain[need.set_in].clone(),
            meaning: need.switch.meaning,
        });
        Self {
            name: loaded.name.clone(),
            summary: loaded.summary.clone(),
            chain: loaded.chain.clone(),
            switches: switches.collect(),
            not_modelled: needs.collect(),
        }
    }
}

/// A policy file that sets every switch, with the rest as comments.
impl fmt::Display for Show {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bases: Vec<_> = self.chain.iter().rev().skip(1).map(String::as_str).collect();
        let based = if bases.is_empty() { "without base".to_owned() } else { format!("based on {}", bases.join(", ")) };
        comment(f, &format!("{}, {based}.", self.chain.last().unwrap_or(&self.name)))?;
        writeln!(f, "summary = {}", quoted(&self.summary))?;
        for switch in &self.switches {
            let sysctl = switch.sysctl.map(|name| format!(" ({name})")).unwrap_or_default();
            writeln!(f)?;
            comment(f, &format!("{}{sysctl}.", switch.meaning))?;
            comment(f, &format!("Here: {} ({}).", switch.does, switch.releases))?;
            writeln!(f, "{} = {} # {}", switch.key, switch.value, switch.set_in)?;
        }
        if self.not_modelled.is_empty() {
            return Ok(());
        }
        writeln!(f)?;
        comment(f, "Not modelled yet: results are without these.")?;
        writeln!(f, "needs = [")?;
        for need in &self.not_modelled {
            writeln!(f, "  # {}.", need.meaning)?;
            writeln!(f, "  \"{} = {}\", # {}", need.key, need.value, need.set_in)?;
        }
        writeln!(f, "]")
    }
}
