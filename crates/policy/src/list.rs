//! The built-in policies at a glance.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::error::PolicyError;
use crate::load::load;
use crate::placements::PLACEMENTS;
use crate::presets::PRESETS;
use crate::series;

/// Every built-in policy.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct List {
    /// Files oldest first, then placements of huge pages.
    pub policies: Vec<Listed>,
}

/// A built-in policy at a glance.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Listed {
    /// Name of the policy.
    pub name: &'static str,
    /// Name of the policy that this one inherits from.
    pub base: Option<String>,
    /// Summary of the policy, in one line.
    pub summary: String,
    /// Number of planned switches that the policy needs and the engine does not have yet.
    pub not_modelled: usize,
}

impl List {
    /// Lists the built-in policies.
    ///
    /// # Errors
    /// None, as long as the built-in files are what their tests saw.
    pub fn new() -> Result<Self, PolicyError> {
        let listed = PRESETS.iter().chain(&*PLACEMENTS).map(|preset| {
            let loaded = load(preset.name)?;
            let base = loaded.base().map(str::to_owned);
            Ok(Listed { name: preset.name, base, not_modelled: loaded.needs.len(), summary: loaded.summary })
        });
        Ok(Self { policies: listed.collect::<Result<_, PolicyError>>()? })
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let base = |listed: &Listed| listed.base.clone().unwrap_or_else(|| "-".to_owned());
        let longest = |text: &dyn Fn(&Listed) -> usize| self.policies.iter().map(text).max().unwrap_or(0);
        let names = longest(&|listed| listed.name.len());
        let bases = longest(&|listed| base(listed).len());
        writeln!(f, "{:names$}  {:bases$}  summary", "name", "base")?;
        for listed in &self.policies {
            writeln!(f, "{:names$}  {:bases$}  {}", listed.name, base(listed), listed.summary)?;
        }
        writeln!(
            f,
            "\nAnd each patch of the compaction series of 5.1, alone and with those before it: {}",
            series::NAMES
        )
    }
}
