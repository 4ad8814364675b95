//! A policy with all its bases: from the name of a preset or the path of a file to switches the engine can run with.

use order9_mm::policy::Policy;
use order9_toml::{Definition as _, Member, chain};

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
    /// Summary of the policy, in one line; may be empty.
    pub summary: String,
    /// Names of the files it is made of, from the one without base to itself.
    pub chain: Vec<String>,
    /// The value of every switch.
    pub policy: Policy,
    /// Planned switches that the policy would set if the engine had them.
    pub needs: Vec<Need>,
    /// For each of [`switches`], the member of `chain` that set it last.
    set_in: Vec<usize>,
}

/// A value of a switch that the engine does not have yet.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The planned switch.
    pub switch: &'static Planned,
    /// The value it should have.
    pub value: &'static str,
    /// Position in the chain of the file that says so.
    pub(crate) set_in: usize,
}

/// Loads the policy called `name`: a preset, or a file if there is a `/` or an ending `.toml` in it; behind it any number of
/// `+SWITCH=VALUE`.
///
/// # Errors
/// The first thing wrong with it or one of its bases, or with a switch behind it.
pub fn load(name: &str) -> Result<Loaded, PolicyError> {
    let (base, changes) = split_changes(name);
    let members = chain::<PolicyText>(base)?;
    let changed = (!changes.is_empty()).then(|| PolicyText::parse(name, &as_file(&changes))).transpose()?;
    let mut texts: Vec<_> = members.iter().map(|Member { name, said, .. }| (name.as_str(), said)).collect();
    texts.extend(changed.as_ref().map(|said| (name, said)));
    Loaded::new(name, &texts)
}

/// The name of a policy without the changes behind it, and these: names and values. A `+` belongs to the value before it
/// where no `=` comes before the next one.
#[must_use]
pub fn split_changes(name: &str) -> (&str, Vec<(String, String)>) {
    let begins_change = |at: &usize| name[at + 1..].split('+').next().is_some_and(|change| change.contains('='));
    let first = name.match_indices('+').map(|(at, _)| at).find(begins_change);
    let (base, rest) = name.split_at(first.unwrap_or(name.len()));
    let mut changes: Vec<(String, String)> = Vec::new();
    for part in rest.split('+').skip(1) {
        match (part.split_once('='), changes.last_mut()) {
            (None, Some((_, value))) => *value += &format!("+{part}"),
            (key_and_value, _) => {
                let (key, value) = key_and_value.unwrap_or((part, ""));
                changes.push((key.to_owned(), value.to_owned()));
            }
        }
    }
    (base, changes)
}

/// Changes as a policy file has them.
fn as_file(changes: &[(String, String)]) -> String {
    let line = |(key, value): &(String, String)| {
        let is_bare = matches!(value.as_str(), "true" | "false") || value.parse::<u64>().is_ok();
        let value = if is_bare { value.clone() } else { format!("{value:?}") };
        format!("{key} = {value}\n")
    };
    changes.iter().map(line).collect()
}

impl Loaded {
    /// Puts a chain of texts with their names together, from the one without base on.
    fn new(name: &str, texts: &[(&str, &PolicyText)]) -> Result<Self, PolicyError> {
        let mut policy = Policy::default();
        let mut set_in = vec![None; switches().count()];
        let mut needs: Vec<Option<Need>> = vec![None; PLANNED.len()];
        for (at, (_, text)) in texts.iter().enumerate() {
            for (switch, value) in &text.settings {
                (switch.set)(&mut policy, *value);
                set_in[place(switches(), switch)] = Some(at);
            }
            for (switch, value) in &text.needs {
                needs[place(PLANNED, switch)] = value.map(|value| Need { switch, value, set_in: at });
            }
        }
        let missing = switches().zip(&set_in).filter(|(_, set)| set.is_none()).map(|(switch, _)| switch.key);
        let missing: Vec<_> = missing.collect();
        if !missing.is_empty() {
            return Err(PolicyError::Incomplete { file: texts[0].0.to_owned(), missing });
        }
        let summary = texts.last().map(|(_, text)| text.summary.clone()).unwrap_or_default();
        let loaded = Self {
            name: name.to_owned(),
            summary,
            chain: texts.iter().map(|(name, _)| (*name).to_owned()).collect(),
            policy,
            needs: needs.into_iter().flatten().collect(),
            set_in: set_in.into_iter().flatten().collect(),
        };
        loaded.without_conflict()
    }

    /// A policy called `name` that equals this one except for `switch`, whose value comes from `other`.
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

    /// A policy called `name` that equals this one except for `values` of switches.
    ///
    /// # Errors
    /// [`PolicyError::Conflict`] if values exclude each other.
    pub(crate) fn with_values(
        &self,
        values: impl Iterator<Item = (&'static Switch, Value)>,
        name: String,
        summary: String,
    ) -> Result<Self, PolicyError> {
        let mut changed = self.clone();
        for (switch, value) in values.filter(|(switch, value)| switch.get(&self.policy) != *value) {
            (switch.set)(&mut changed.policy, value);
            changed.set_in[place(switches(), switch)] = changed.chain.len();
        }
        changed.chain.push(name.clone());
        (changed.name, changed.summary) = (name, summary);
        changed.without_conflict()
    }

    /// A policy that equals this one except for `changes`, in the form that [`load`] takes. The name of the new policy
    /// tells them.
    ///
    /// # Errors
    /// The first change that is no good.
    pub fn with_changes(self, changes: &[(String, String)]) -> Result<Self, PolicyError> {
        if changes.is_empty() {
            return Ok(self);
        }
        let behind: String = changes.iter().map(|(key, value)| format!("+{key}={value}")).collect();
        let name = format!("{}{behind}", self.name);
        let text = PolicyText::parse(&name, &as_file(changes))?;
        let summary = self.summary.clone();
        self.with_values(text.settings.iter().copied(), name, summary)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_stand_behind_a_name() {
        assert_eq!(split_changes("linux-5.0"), ("linux-5.0", vec![]));
        let (base, changes) = split_changes("a+b/c.toml+thp.cow=x+y+a.b=3+c=true");
        assert_eq!(base, "a+b/c.toml");
        assert_eq!(as_file(&changes), "thp.cow = \"x+y\"\na.b = 3\nc = true\n");
    }

    #[test]
    fn a_changed_policy_has_the_other_value_and_says_where_it_is_from() {
        let plain = load("linux-5.0").expect("a preset");
        let changed = load("linux-5.0+thp.defrag=always").expect("a value of the switch");
        let defrag = table::find("thp.defrag").expect("a switch");
        assert_eq!(defrag.get(&changed.policy), Value::Word("always"));
        assert_ne!(defrag.get(&plain.policy), defrag.get(&changed.policy));
        assert_eq!(changed.set_in(defrag), "linux-5.0+thp.defrag=always");
    }

    #[test]
    fn a_wrong_change_is_refused_as_a_line_of_a_file() {
        let refusal = |name| load(name).expect_err("refused").to_string();
        assert!(
            refusal("linux-5.0+thp.defrga=always").contains("thp.defrag"),
            "{}",
            refusal("linux-5.0+thp.defrga=always")
        );
        assert!(
            refusal("linux-5.0+thp.defrag=allways").starts_with("linux-5.0+thp.defrag=allways, line 1: thp.defrag is")
        );
    }
}
