//! Policies between Linux 5.0 and 5.1: each patch of the series that changed compaction alone (`linux-5.0+p09`), and all up
//! to it (`linux-5.0+p01-p09`).
//!
//! The series is "Increase success rates and reduce latency of compaction" (linux-mm, January 2019), merged for 5.1. Patches
//! without effect on behaviour have no policy. An oversight belongs to the patch that brought it about.

use std::fmt::Write as _;
use std::sync::LazyLock;

use order9_toml::Preset;

/// A patch that changes what compaction does.
struct Patch {
    number: u8,
    /// Subject of the patch.
    subject: &'static str,
    /// Switches and values in TOML.
    sets: &'static [(&'static str, &'static str)],
}

/// The release that the series was made for.
const BASE: &str = "linux-5.0";

const PATCHES: &[Patch] = &[
    patch(
        3,
        "mm, compaction: Remove last_migrated_pfn from compact_control",
        &[("compaction.drain_mark", "'iteration_start'")],
    ),
    patch(
        6,
        "mm, migrate: Immediately fail migration of a page with no migration handler",
        &[("compaction.nohandler_fail_fast", "true")],
    ),
    patch(
        7,
        "mm, compaction: Always finish scanning of a full pageblock",
        &[("compaction.finish_block_always", "true")],
    ),
    patch(
        8,
        "mm, compaction: Ignore the fragmentation avoidance boost for isolation and compaction",
        &[("compaction.isolate_ignores_boost", "true")],
    ),
    patch(
        9,
        "mm, compaction: Use free lists to quickly locate a migration source",
        &[("compaction.source_search", "'free_lists'")],
    ),
    patch(
        10,
        "mm, compaction: Keep migration source private to a single compaction instance",
        &[
            ("compaction.source_private", "true"),
            ("compaction.fast_source_wasted", "true"),
            ("compaction.private_aligned_only", "true"),
            ("compaction.cached_migrate_overshoot", "true"),
        ],
    ),
    patch(
        11,
        "mm, compaction: Use free lists to quickly locate a migration target",
        &[("compaction.target_search", "'free_lists'"), ("compaction.target_limit_min", "true")],
    ),
    patch(
        12,
        "mm, compaction: Avoid rescanning the same pageblock multiple times",
        &[("compaction.rescan_whole_block", "true")],
    ),
    patch(
        13,
        "mm, compaction: Finish pageblock scanning on contention",
        &[("compaction.contention_finish_block", "true")],
    ),
    patch(
        14,
        "mm, compaction: Check early for huge pages encountered by the migration scanner",
        &[("compaction.skip_huge_block_early", "true")],
    ),
    patch(
        15,
        "mm, compaction: Keep cached migration PFNs synced for unusable pageblocks",
        &[("compaction.sync_cached_unusable", "true")],
    ),
    patch(
        17,
        "mm, compaction: Do not consider a need to reschedule as contention",
        &[("compaction.resched_aborts_async", "false")],
    ),
    patch(
        18,
        "mm, compaction: Reduce premature advancement of the migration target scanner",
        &[("compaction.free_cursor_slow", "true")],
    ),
    patch(
        19,
        "mm, compaction: Round-robin the order while searching the free lists for a target",
        &[("compaction.target_order_rr", "true")],
    ),
    patch(20, "mm, compaction: Sample pageblocks for free pages", &[("compaction.target_stride", "'adaptive'")]),
    patch(
        21,
        "mm, compaction: Be selective about what pageblocks to clear skip hints",
        &[("compaction.skip_reset", "'selective'"), ("compaction.reset_free_last_frame", "true")],
    ),
    patch(
        22,
        "mm, compaction: Capture a page under direct compaction",
        &[("compaction.capture", "true"), ("slow_path.stall_counts", "'all'")],
    ),
];

const fn patch(number: u8, subject: &'static str, sets: &'static [(&'static str, &'static str)]) -> Patch {
    Patch { number, subject, sets }
}

/// The policies, for each patch alone and for the series up to it.
pub(crate) static SERIES: LazyLock<Vec<Preset>> = LazyLock::new(|| {
    let alone = PATCHES.iter().map(|patch| preset(format!("{BASE}+p{:02}", patch.number), std::slice::from_ref(patch)));
    let up_to = (1..PATCHES.len()).map(|last| {
        let patches = &PATCHES[..=last];
        preset(format!("{BASE}+p01-p{:02}", PATCHES[last].number), patches)
    });
    alone.chain(up_to).collect()
});

/// Names of the policies, as shown to users.
pub(crate) const NAMES: &str = "linux-5.0+pNN, linux-5.0+p01-pNN";

fn preset(name: String, patches: &[Patch]) -> Preset {
    let last = patches.last().expect("at least one patch");
    let what = if patches.len() == 1 { "with" } else { "with the series up to" };
    let mut text = format!("base = \"{BASE}\"\nsummary = \"Linux 5.0 {what} \\\"{}\\\"\"\n", last.subject);
    for (switch, value) in patches.iter().flat_map(|patch| patch.sets) {
        writeln!(text, "{switch} = {value}").expect("a string takes everything");
    }
    // Built once, and used for as long as the program runs.
    Preset { name: name.leak(), text: text.leak() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    #[test]
    fn the_whole_series_is_what_5_1_does() {
        let (all, release) = (load("linux-5.0+p01-p22").unwrap(), load("linux-5.1").unwrap());
        assert_eq!(all.policy.compaction, release.policy.compaction);
        assert_eq!(all.policy.slow_path, release.policy.slow_path);
    }

    #[test]
    fn every_policy_of_the_series_loads_and_differs_from_its_base() {
        let base = load(BASE).unwrap().policy;
        for preset in SERIES.iter() {
            let loaded = load(preset.name).unwrap();
            assert!(loaded.policy != base && loaded.summary.contains("mm, "), "{}", preset.name);
        }
        assert_eq!(SERIES.len(), 17 + 16);
    }
}
