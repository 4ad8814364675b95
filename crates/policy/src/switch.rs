//! A switch: its place in the engine's `Policy`, the values that it takes, and their words.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;

use order9_mm::policy::Policy;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

/// One behaviour that can be switched.
#[derive(Debug)]
pub struct Switch {
    /// Path of the field in `Policy`, as it is written in TOML.
    pub key: &'static str,
    /// The behaviour that the switch changes, in one sentence without its stop.
    pub meaning: &'static str,
    /// Linux' name of it, where it can be set at run time.
    pub sysctl: Option<&'static str>,
    /// The values it takes.
    pub values: Values,
    pub(crate) get: fn(&Policy) -> Value,
    /// Takes only what [`Values::admits`].
    pub(crate) set: fn(&mut Policy, Value),
}

/// The values a switch takes.
#[derive(Debug)]
pub enum Values {
    /// `true` or `false`; each says a whole sentence.
    Flag {
        /// The case `false`.
        off: Case,
        /// The case `true`.
        on: Case,
    },
    /// One of several words, each of which ends the sentence that `subject` begins.
    Word {
        /// Beginning of the sentence.
        subject: &'static str,
        /// The words, oldest first.
        cases: &'static [Case],
    },
    /// A whole number.
    Number {
        /// Beginning of the sentence.
        subject: &'static str,
        /// End of the sentence; `{}` stands for the number.
        says: &'static str,
        /// The accepted numbers.
        range: RangeInclusive<u64>,
        /// A word that may stand instead, for releases without the number.
        absent: Option<Case>,
        /// Releases with the number that each of them has.
        releases: &'static str,
    },
}

/// A named value.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Spelling of the value in TOML.
    pub name: &'static str,
    /// The behaviour with this value, in words.
    pub says: &'static str,
    /// The Linux releases that do it.
    pub releases: &'static str,
}

/// The value of a switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// Value of a [`Values::Flag`].
    Flag(bool),
    /// Value of a [`Values::Number`].
    Number(u64),
    /// Of a [`Values::Word`], or the word instead of a number.
    Word(&'static str),
}

impl Switch {
    /// Value of the switch in `policy`.
    #[must_use]
    pub fn get(&self, policy: &Policy) -> Value {
        (self.get)(policy)
    }

    /// The behaviour with `value`, a sentence without its stop.
    #[must_use]
    pub fn sentence(&self, value: Value) -> String {
        let phrase = self.phrase(value);
        match self.values {
            Values::Flag { .. } => phrase,
            Values::Word { subject, .. } | Values::Number { subject, .. } => format!("{subject} {phrase}"),
        }
    }

    /// The change of behaviour from `before` to `after`, with the releases that have it.
    #[must_use]
    pub fn change(&self, before: Value, after: Value) -> String {
        let sentence = self.sentence(after);
        let releases = self.releases(after);
        match self.values {
            Values::Flag { .. } => format!("{sentence} ({releases})"),
            Values::Word { .. } | Values::Number { .. } => {
                format!("{sentence}, instead of {} ({releases})", self.phrase(before))
            }
        }
    }

    /// The Linux releases in which it has `value`.
    #[must_use]
    pub fn releases(&self, value: Value) -> &'static str {
        match (self.values.case(value), &self.values) {
            (Some(case), _) => case.releases,
            (None, Values::Number { releases, .. }) => releases,
            (None, _) => unreachable!("{} has no value {value}", self.key),
        }
    }

    /// The words for `value` that follow the subject of the sentence.
    fn phrase(&self, value: Value) -> String {
        match (self.values.case(value), &self.values, value) {
            (Some(case), ..) => case.says.to_owned(),
            (None, Values::Number { says, .. }, Value::Number(number)) => says.replace("{}", &number.to_string()),
            _ => unreachable!("{} has no value {value}", self.key),
        }
    }
}

impl Values {
    /// The named values, oldest first; of a number, the word that may stand instead.
    #[must_use]
    pub fn cases(&self) -> Vec<Case> {
        match self {
            Self::Flag { off, on } => vec![*off, *on],
            Self::Word { cases, .. } => cases.to_vec(),
            Self::Number { absent, .. } => absent.iter().copied().collect(),
        }
    }

    /// The value called `name`, where it is one of these.
    #[must_use]
    pub fn word(&self, name: &str) -> Option<Value> {
        match self {
            Self::Flag { .. } => None,
            _ => self.cases().iter().find(|case| case.name == name).map(|case| Value::Word(case.name)),
        }
    }

    /// Whether `value` is one of these.
    #[must_use]
    pub fn admits(&self, value: Value) -> bool {
        match (self, value) {
            (Self::Flag { .. }, Value::Flag(_)) => true,
            (Self::Number { range, .. }, Value::Number(number)) => range.contains(&number),
            (_, Value::Word(name)) => self.word(name).is_some(),
            _ => false,
        }
    }

    /// The accepted values, for a message.
    #[must_use]
    pub fn expected(&self) -> String {
        match self {
            Self::Flag { .. } => "true or false".to_owned(),
            Self::Word { cases, .. } => {
                let names: Vec<_> = cases.iter().map(|case| format!("\"{}\"", case.name)).collect();
                names.join(" or ")
            }
            Self::Number { range, absent, .. } => {
                let or = absent.map(|case| format!(" or \"{}\"", case.name)).unwrap_or_default();
                format!("a whole number from {} to {}{or}", range.start(), range.end())
            }
        }
    }

    /// The named value that `value` is.
    fn case(&self, value: Value) -> Option<Case> {
        let name = match value {
            Value::Flag(flag) => flag_name(flag),
            Value::Word(name) => name,
            Value::Number(_) => return None,
        };
        self.cases().into_iter().find(|case| case.name == name)
    }
}

const fn flag_name(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}

impl Value {
    /// The flag that this is.
    pub(crate) fn flag(self) -> bool {
        match self {
            Self::Flag(flag) => flag,
            other => unreachable!("a flag was set to {other}"),
        }
    }

    /// The number that this is, or `None` for the word instead of it.
    pub(crate) fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Word(_) => None,
            Self::Flag(_) => unreachable!("a number was set to {self}"),
        }
    }

    /// The word that this is.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Word(word) => word,
            other => unreachable!("a word was set to {other}"),
        }
    }
}

/// Writes the value as TOML has it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word) => write!(f, "\"{word}\""),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Number(number) => serializer.serialize_u64(*number),
            Self::Word(word) => serializer.serialize_str(word),
        }
    }
}

impl JsonSchema for Value {
    fn schema_name() -> Cow<'static, str> {
        "Value".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["boolean", "integer", "string"], "description": "Value of a switch, as a policy file has it." })
    }
}
