//! Releases of mmtests: its definitions of statistics changed over the years.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};

use super::Rule;

/// The mmtests of a time, named for the first year in which its definitions held.
///
/// Numbers of different generations do not compare: since 2019 `Max-90` counts from the best sample, before that
/// `Max-90%` counted from the smallest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Generation {
    /// No marks of significance; quantiles in ascending order; `Best99%Mean`.
    Y2016,
    /// Marks by the t-test; `BAmean-P` takes one sample more where lower is better.
    Y2018,
    /// Definitions since spring 2019: quantiles count from the best sample. The default of our reports.
    #[default]
    Y2019,
    /// Definitions since November 2024: intervals mark differences; spread is about the harmonic mean where higher is
    /// better.
    Y2024,
    /// Definitions since 2026: rows are called `Pctile.P`, `BAmean.P`.
    Y2026,
}

/// A generation that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown generation of statistics {0:?}: expected one of 2016, 2018, 2019, 2024, 2026")]
pub struct UnknownGeneration(String);

impl Generation {
    /// All generations, oldest first.
    pub const ALL: [Self; 5] = [Self::Y2016, Self::Y2018, Self::Y2019, Self::Y2024, Self::Y2026];

    /// The year it is named for.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Y2016 => "2016",
            Self::Y2018 => "2018",
            Self::Y2019 => "2019",
            Self::Y2024 => "2024",
            Self::Y2026 => "2026",
        }
    }

    /// The rule by which its tables mark a difference; none where they had no marks.
    #[must_use]
    pub const fn rule(self) -> Option<Rule> {
        match self {
            Self::Y2016 => None,
            Self::Y2018 | Self::Y2019 => Some(Rule::TTest),
            Self::Y2024 | Self::Y2026 => Some(Rule::Interval),
        }
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Generation {
    type Err = UnknownGeneration;

    fn from_str(text: &str) -> Result<Self, UnknownGeneration> {
        let found = Self::ALL.into_iter().find(|generation| generation.name() == text);
        found.ok_or_else(|| UnknownGeneration(text.to_owned()))
    }
}

impl Serialize for Generation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl JsonSchema for Generation {
    fn schema_name() -> Cow<'static, str> {
        "Generation".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": Self::ALL.map(Self::name) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for generation in Generation::ALL {
            assert_eq!(generation.name().parse(), Ok(generation));
        }
        let error = "2017".parse::<Generation>().unwrap_err();
        assert!(error.to_string().contains("expected one of 2016, 2018"), "{error}");
    }
}
