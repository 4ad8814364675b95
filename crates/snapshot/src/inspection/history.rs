//! Compaction and huge-page events since boot.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

/// Events since boot.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Counters {
    /// Success rates of attempts.
    pub rates: Vec<Rate>,
    /// The counters themselves, by their name in /proc/vmstat.
    pub vmstat: BTreeMap<String, u64>,
}

/// Success rate of one kind of attempt.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// Name of the attempt.
    pub what: &'static str,
    /// Counter of successes, by its name in /proc/vmstat.
    pub success_counter: &'static str,
    /// Number of successes.
    pub succeeded: u64,
    /// Number of failures.
    pub failed: u64,
    /// Successes per attempt, 0 to 1; nothing where there was no attempt.
    pub share: Option<f64>,
}

/// Attempts, their counter of successes and their counter of failures.
const ATTEMPTS: [(&str, &str, &str); 8] = [
    ("direct compaction", "compact_success", "compact_fail"),
    ("moving a page", "pgmigrate_success", "pgmigrate_fail"),
    ("moving a huge page", "thp_migration_success", "thp_migration_fail"),
    ("huge page at a page fault", "thp_fault_alloc", "thp_fault_fallback"),
    ("huge page for khugepaged", "thp_collapse_alloc", "thp_collapse_alloc_failed"),
    ("huge page of a file or tmpfs", "thp_file_alloc", "thp_file_fallback"),
    ("splitting a huge page", "thp_split_page", "thp_split_page_failed"),
    ("hugetlb page from the allocator", "htlb_buddy_alloc_success", "htlb_buddy_alloc_fail"),
];

const PREFIXES: [&str; 6] = ["compact_", "thp_", "pgmigrate_", "htlb_buddy_", "allocstall", "drop_"];

impl Counters {
    /// Picks what bears on huge pages from /proc/vmstat.
    pub(super) fn of(vmstat: &BTreeMap<String, u64>) -> Self {
        let rate = |(what, success, failure): (_, &'static str, &str)| {
            let (&succeeded, &failed) = (vmstat.get(success)?, vmstat.get(failure)?);
            let attempts = succeeded.saturating_add(failed);
            let share = (attempts > 0).then(|| succeeded as f64 / attempts as f64);
            Some(Rate { what, success_counter: success, succeeded, failed, share })
        };
        Self {
            rates: ATTEMPTS.into_iter().filter_map(rate).collect(),
            vmstat: vmstat.iter().filter(|(name, _)| shows_counter(name)).map(|(name, &n)| (name.clone(), n)).collect(),
        }
    }
}

/// Whether an inspection shows the counter of /proc/vmstat with this name.
pub(crate) fn shows_counter(name: &str) -> bool {
    PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}
