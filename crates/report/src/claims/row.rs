//! Rows of a claim and the numbers in them, by name.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Key of a row: `fault-both|Amean|3`. Counters and facts are rows of the metrics `counter` and `fact`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey {
    /// Name of the metric.
    pub metric: String,
    /// Name of the statistic as printed; empty where the row is no statistic.
    pub stat: String,
    /// Thread count, percentile or name; may be empty.
    pub param: String,
}

impl RowKey {
    /// The row of these names.
    #[must_use]
    pub fn new(metric: &str, stat: &str, param: &str) -> Self {
        Self { metric: metric.to_owned(), stat: stat.to_owned(), param: param.to_owned() }
    }

    /// The row of a counter.
    #[must_use]
    pub fn counter(name: &str) -> Self {
        Self::new("counter", "", name)
    }

    /// The row of a fact.
    #[must_use]
    pub fn fact(name: &str) -> Self {
        Self::new("fact", "", name)
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}|{}", self.metric, self.stat, self.param)
    }
}

impl<'de> Deserialize<'de> for RowKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.split('|').collect::<Vec<_>>()[..] {
            [metric, stat, param] => Ok(Self::new(metric, stat, param)),
            _ => Err(D::Error::custom(format!("expected metric|stat|param, found {text:?}"))),
        }
    }
}

impl Serialize for RowKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for RowKey {
    fn schema_name() -> Cow<'static, str> {
        "RowKey".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": "Metric, statistic and parameter of a row, with | between them." })
    }
}

/// Column of a row that holds a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Field {
    /// Of the kernel compared with.
    Baseline,
    /// Of the kernel with the change.
    Patched,
    /// Subject over reference, where only a percentage was published.
    Ratio,
    /// Value of a fact.
    Value,
}

impl Field {
    const ALL: [Self; 4] = [Self::Baseline, Self::Patched, Self::Ratio, Self::Value];

    /// Name of the column in claims.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Patched => "patched",
            Self::Ratio => "ratio",
            Self::Value => "value",
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Key of one number: `fault-both|Amean|3|baseline`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellRef {
    /// Row of the number.
    pub row: RowKey,
    /// Column of the number.
    pub field: Field,
}

impl CellRef {
    /// Reads `metric|stat|param|field`; `None` if it is not written so.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts: Vec<_> = text.split('|').collect();
        let [metric, stat, param, field] = parts[..] else { return None };
        let field = Field::ALL.into_iter().find(|known| known.name() == field)?;
        Some(Self { row: RowKey::new(metric, stat, param), field })
    }
}

impl fmt::Display for CellRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}|{}", self.row, self.field)
    }
}

/// The numbers of a row, as published or as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// Two kernels side by side.
    Pair {
        /// Of the kernel compared with.
        baseline: f64,
        /// Of the kernel with the change.
        patched: f64,
        /// Whether the difference is outside the noise, where that was tested.
        significant: Option<bool>,
    },
    /// Ratio of subject to reference.
    Ratio(f64),
    /// Value of a single figure.
    Value(f64),
}

impl Reading {
    /// The number of this field; `None` if such a row has none, or it is not finite.
    #[must_use]
    pub fn field(self, field: Field) -> Option<f64> {
        let number = match (self, field) {
            (Self::Pair { baseline, .. }, Field::Baseline) => baseline,
            (Self::Pair { patched, .. }, Field::Patched) => patched,
            (Self::Ratio(ratio), Field::Ratio) => ratio,
            (Self::Value(value), Field::Value) => value,
            _ => return None,
        };
        Some(number).filter(|number| number.is_finite())
    }

    /// Whether the difference is outside the noise; `None` where that was not tested.
    #[must_use]
    pub const fn significant(self) -> Option<bool> {
        match self {
            Self::Pair { significant, .. } => significant,
            Self::Ratio(_) | Self::Value(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_read_back_as_they_print() {
        for text in ["fault-both|Amean|3|baseline", "counter||Compaction stalls|patched", "mmap|Min||ratio", "|||value"]
        {
            assert_eq!(CellRef::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "a|b|c", "a|b|c|d", "a|b|c|value|e", "a|b|c|Value"] {
            assert_eq!(CellRef::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_row_gives_only_the_numbers_it_has() {
        let pair = Reading::Pair { baseline: 1.0, patched: f64::NAN, significant: None };
        assert_eq!(Field::ALL.map(|field| pair.field(field)), [Some(1.0), None, None, None]);
        assert_eq!(Field::ALL.map(|field| Reading::Ratio(2.0).field(field)), [None, None, Some(2.0), None]);
        assert_eq!(Field::ALL.map(|field| Reading::Value(3.0).field(field)), [None, None, None, Some(3.0)]);
    }
}
