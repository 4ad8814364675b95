//! Compaction and huge-page events since boot.

use std::collections::BTreeMap;

use serde::Serialize;

/// Events since boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counters {
    /// How often attempts succeeded.
    pub rates: Vec<Rate>,
    /// The counters themselves, by their name in /proc/vmstat.
    pub vmstat: BTreeMap<String, u64>,
}

/// How often one kind of attempt succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// What was attempted.
    pub what: &'static str,
    /// Counter of successes, by its name in /proc/vmstat.
    pub success_counter: &'static str,
    /// Successes.
    pub succeeded: u64,
    /// Failures.
    pub failed: u64,
    /// Successes per attempt, 0 to 1; nothing where there was no attempt.
    pub share: Option<f64>,
}
