//! Settings that bear on huge pages, and what their values mean.

use serde::Serialize;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Setting {
    /// Its Linux path.
    pub path: String,
    /// Its value, as read.
    pub value: String,
    /// What the value means where that bears on the findings.
    pub meaning: Option<String>,
}
