//! The files as they are written; what their keys mean together is checked when they are loaded.

use serde::Deserialize;
use toml::Spanned;

use super::{Fact, Field, Level, Sense};

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawKind {
    Table,
    PercentOnly,
    Facts,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClaim {
    pub(super) id: Spanned<String>,
    pub(super) title: String,
    pub(super) headline: String,
    pub(super) seed: String,
    pub(super) kind: Spanned<RawKind>,
    pub(super) workload: String,
    pub(super) spec: String,
    pub(super) variant: Option<String>,
    pub(super) machine: String,
    pub(super) baseline_column: Option<String>,
    pub(super) patched_column: Option<String>,
    pub(super) baseline_behaviour: Option<String>,
    pub(super) patched_behaviour: Option<String>,
    pub(super) unit: Option<String>,
    pub(super) lower_is_better: Option<bool>,
    pub(super) higher_is_better: Option<bool>,
    pub(super) decimals: Option<usize>,
    pub(super) change_printed: Option<bool>,
    pub(super) significance_marked: Option<bool>,
    pub(super) statistics: Option<Spanned<String>>,
    pub(super) counters_in: Option<String>,
    pub(super) source_note: Option<String>,
    pub(super) rows: Vec<Spanned<RawRow>>,
    pub(super) counters: Vec<Spanned<RawCounter>>,
    pub(super) facts: Vec<Spanned<Fact>>,
    pub(super) shape: Vec<Spanned<RawStatement>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawRow {
    pub(super) metric: String,
    #[serde(default)]
    pub(super) stat: String,
    pub(super) param: String,
    pub(super) baseline: Option<f64>,
    pub(super) patched: Option<f64>,
    pub(super) baseline_text: Option<String>,
    pub(super) patched_text: Option<String>,
    pub(super) change_percent: Option<f64>,
    pub(super) significant: Option<bool>,
    pub(super) lower_is_better: Option<bool>,
    pub(super) unit: Option<String>,
    pub(super) platform: Option<String>,
    pub(super) subject: Option<String>,
    pub(super) reference: Option<String>,
    pub(super) percent: Option<f64>,
    pub(super) sense: Option<Sense>,
    pub(super) ratio: Option<f64>,
    pub(super) note: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCounter {
    pub(super) name: String,
    pub(super) vmstat: String,
    pub(super) unit: Option<String>,
    pub(super) baseline: f64,
    pub(super) patched: f64,
}

#[derive(Deserialize)]
pub(super) enum RawRelation {
    #[serde(rename = "<")]
    Less,
    #[serde(rename = "<=")]
    AtMost,
    #[serde(rename = ">")]
    Greater,
    #[serde(rename = ">=")]
    AtLeast,
    #[serde(rename = "ratio<=")]
    RatioAtMost,
    #[serde(rename = "ratio>=")]
    RatioAtLeast,
    #[serde(rename = "significant>=")]
    SignificantAtLeast,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStatement {
    pub(super) metric: String,
    pub(super) stat: Option<String>,
    pub(super) param: String,
    pub(super) params: Option<Vec<String>>,
    pub(super) left: Field,
    pub(super) relation: RawRelation,
    pub(super) than: String,
    pub(super) value: Option<f64>,
    pub(super) hold: Option<usize>,
    pub(super) level: Level,
    pub(super) note: String,
}
