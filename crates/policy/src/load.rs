//! A policy with all its bases: from the name of a preset or the path of a file to switches the engine can run with.

use order9_mm::policy::Policy;
use order9_toml::{Member, chain};

use crate::error::PolicyError;
use crate::planned::{PLANNED, Planned};
use crate::switch::{Switch, Value};
use crate::table::{self, CONFLICTS, switches};
use crate::text::PolicyText;

/// A policy that was loaded with all its bases.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Name of the preset, or path of the file as given.
    pub name: String,
    /// What it is, in one line; may be empty.
    pub summary: String,
    /// Names of the files it is made of, from the one without base to itself.
    pub chain: Vec<String>,
    /// The switches.
    pub policy: Policy,
    /// What it would set if the engine could.
    pub needs: Vec<Need>,
    /// For each of [`switches`], the member of `chain` that set it last.
    set_in: Vec<usize>,
}

/// A value of a switch that the engine does not have yet.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The switch.
    pub switch: &'static Planned,
    /// The value it should have.
    pub value: &'static str,
    /// Position in the chain of the file that says so.
    pub(crate) set_in: usize,
}

/// Loads the policy called `name`: a preset, or a file if there is a `/` or an ending `.toml` in it.
///
/// # Errors
/// The first thing wrong with it or one of its bases.
pub fn load(name: &str) -> Result<Loaded, PolicyError> {
    Loaded::new(name, &chain(name)?)
}

impl Loaded {
    /// Puts a chain together, from the text without base on.
    fn new(name: &str, texts: &[Member<PolicyText>]) -> Result<Self, PolicyError> {
        let mut policy = Policy::default();
        let mut set_in = vec![None; switches().count()];
        let mut needs: Vec<Option<Need>> = vec![None; PLANNED.len()];
        for (at, text) in texts.iter().enumerate() {
            for (switch, value) in &text.said.settings {
                (switch.set)(&mut policy, *value);
                set_in[place(switches(), switch)] = Some(at);
            }
            for (switch, value) in &text.said.needs {
                needs[place(PLANNED, switch)] = value.map(|value| Need { switch, value, set_in: at });
            }
        }
        let missing = switches().zip(&set_in).filter(|(_, set)| set.is_none()).map(|(switch, _)| switch.key);
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            return Err(PolicyError::Incomplete { file: texts[0].name.clone(), missing });
        }
        let summary = texts.last().map(|text| text.said.summary.clone()).unwrap_or_default();
        let loaded = Self {
            name: name.to_owned(),
            summary,
            chain: texts.iter().map(|text| text.name.clone()).collect(),
            policy,
            needs: needs.into_iter().flatten().collect(),
            set_in: set_in.into_iter().flatten().collect(),
        };
        loaded.without_conflict()
    }

    /// This policy with `switch` as `other` has it, called `name`.
    ///
    /// # Errors
    /// [`PolicyError::Conflict`] if the value and one of this policy exclude each other.
    pub fn with_switch_of(&self, other: &Self, switch: &'static Switch, name: String) -> Result<Self, PolicyError> {
        let mut changed = self.clone();
        (switch.set)(&mut changed.policy, switch.get(&other.policy));
        changed.set_in[place(switches(), switch)] = changed.chain.len();
        changed.chain.push(name.clone());
        changed.summary = format!("{} with {} of {}", self.name, switch.key, other.name);
        changed.name = name;
        changed.without_conflict()
    }

    fn without_conflict(self) -> Result<Self, PolicyError> {
        let has =
            |(key, value): (&str, Value)| table::find(key).is_some_and(|switch| switch.get(&self.policy) == value);
        let Some(conflict) = CONFLICTS.iter().find(|conflict| has(conflict.one) && has(conflict.other)) else {
            return Ok(self);
        };
        let told = |(key, value): (&str, Value)| {
            let set_in = table::find(key).map_or(&self.name, |switch| self.set_in(switch));
            format!("{key} = {value} (set in {set_in})")
        };
        let (one, other) = (told(conflict.one), told(conflict.other));
        Err(PolicyError::Conflict { file: self.name, one, other, why: conflict.why })
    }

    /// Name of the member of the chain that set `switch` last.
    #[must_use]
    pub fn set_in(&self, switch: &'static Switch) -> &String {
        &self.chain[self.set_in[place(switches(), switch)]]
    }

    /// Name of what it is based on, where it has a base.
    #[must_use]
    pub fn base(&self) -> Option<&str> {
        self.chain.iter().rev().nth(1).map(String::as_str)
    }
}

/// Position of `entry` in the table it is from.
fn place<T>(table: impl IntoIterator<Item = &'static T>, entry: &'static T) -> usize {
    table.into_iter().position(|other| std::ptr::eq(other, entry)).expect("an entry of the table")
}
