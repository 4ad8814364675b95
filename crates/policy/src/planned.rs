//! Switches of published changes whose mechanism the engine does not have yet.
//!
//! A file that sets one is refused by name. It may say in `needs` which value it would set, so that whoever runs it knows
//! what the result leaves out. When a mechanism arrives its row moves to the table of switches, and every file that still
//! names it in `needs` is refused until it sets it.

/// A switch without a mechanism.
#[derive(Debug)]
pub struct Planned {
    /// Its key.
    pub key: &'static str,
    /// What it switches, in one sentence without its stop.
    pub meaning: &'static str,
    /// The values that may be needed.
    pub values: &'static [&'static str],
}

/// The value that takes a need of the base back: the behaviour is off, or does not exist there.
pub(crate) const OFF: &str = "false";

const ON: &[&str] = &["true"];

const fn flag(key: &'static str, meaning: &'static str) -> Planned {
    Planned { key, meaning, values: ON }
}

const fn one_of(key: &'static str, values: &'static [&'static str], meaning: &'static str) -> Planned {
    Planned { key, meaning, values }
}

/// Every switch that the engine does not have yet.
pub static PLANNED: &[Planned] = &[
    flag("slow_path.compact_only", "A request may ask for compaction without reclaim (__GFP_COMPACT_ONLY)"),
    one_of("compaction.background", &["kswapd", "kcompactd"], "Which thread compacts in the background"),
    flag("compaction.wake_when_balanced", "Requests that may not block wake kcompactd where kswapd has nothing to do"),
    one_of("compaction.source_search", &["linear", "free_lists"], "Where compaction looks for pages to move first"),
    one_of("compaction.target_search", &["linear", "free_lists"], "Where compaction looks for free frames first"),
    one_of("compaction.target_stride", &["1", "adaptive"], "How many pageblocks the free scanner steps at a time"),
    flag("compaction.nohandler_fail_fast", "A page without a migration handler fails at once instead of ten times"),
    flag("compaction.finish_block_always", "A run always scans the pageblock it began to its end"),
    flag("compaction.isolate_ignores_boost", "Free frames are isolated down to the unboosted min mark"),
    flag("compaction.source_private", "A pageblock is a migration source of one run only"),
    flag("compaction.rescan_whole_block", "A pageblock that is scanned again is scanned to its end"),
    flag("compaction.contention_finish_block", "A run that meets a busy lock finishes its pageblock before it stops"),
    flag("compaction.skip_huge_block_early", "The migration scanner passes over huge pages at once"),
    flag(
        "compaction.sync_cached_unusable",
        "Unusable pageblocks advance both cached positions of the migration scanner",
    ),
    flag("compaction.free_cursor_slow", "The free scanner advances only past pageblocks it has searched"),
    flag("compaction.target_order_rr", "The search for free frames begins at the order that gave some last"),
    flag("compaction.capture", "A block freed during direct compaction goes to the task that compacts"),
    flag("compaction.resched_aborts_async", "An asynchronous run ends when its task should give up the CPU"),
    one_of("compaction.skip_reset", &["full", "selective"], "Which pageblocks lose their skip hint at a reset"),
    one_of(
        "compaction.drain_mark",
        &["lowest_isolated", "iteration_start", "block_start"],
        "From which frame on per-CPU lists are drained so that moved-away frames can merge",
    ),
    flag("compaction.fast_source_wasted", "A pageblock found in the free lists is marked, then skipped for that mark"),
    flag("compaction.private_aligned_only", "A source is private only if its first frame can be moved"),
    flag(
        "compaction.cached_migrate_overshoot",
        "The cached position of the migration scanner is one pageblock too far",
    ),
    flag(
        "compaction.reset_free_last_frame",
        "After a selective reset the free scanner sees one frame of its first block",
    ),
    flag("compaction.target_limit_min", "The search for free frames visits one entry per order"),
    flag("compaction.proactive", "kcompactd keeps the fragmentation score of each node down"),
    flag("compaction.proactive_zone_weighted", "Proactive compaction of a zone ends by its score weighted by its size"),
    one_of(
        "compaction.proactive_backoff",
        &["count64", "sleep64"],
        "How proactive compaction pauses after it gained nothing: 64 wake-ups, or one long sleep",
    ),
    flag("compaction.scan_counts_jumps", "Frames that were jumped over count as scanned"),
    flag("compaction.batched_migrate", "Pages are unmapped and moved in batches of up to 512"),
    flag("compaction.migrate_large_folios", "Compaction moves folios larger than a page"),
    one_of("compaction.defer_cap", &["6"], "Failed compactions double the requests that skip it, this many times"),
    one_of("compaction.defer_remote_cap", &["10"], "The same for requests from other nodes, counted apart"),
    flag("compaction.stop_at_fragmented_remote", "The first fully fragmented remote zone ends the walk"),
    flag("compaction.compact_memory_totals_accumulate", "Zones compacted on request count earlier zones' scans again"),
    flag("alloc.defrag_mode", "Requests refuse to mix types until reclaim and compaction are exhausted"),
    one_of(
        "thp.defrag",
        &["always", "madvise"],
        "Default of transparent_hugepage/defrag: which faults reclaim and compact for a huge page",
    ),
    flag("thp.defer_madvise", "transparent_hugepage/defrag takes defer+madvise"),
    flag("thp.madvised_noretry", "Faults in advised memory give up after one round, as others do"),
    one_of(
        "thp.placement",
        &["thisnode", "relax", "noretry", "two_step"],
        "On which nodes a fault looks for a huge page, and what each attempt may do",
    ),
    one_of("thp.cow", &["huge", "split"], "What a write to a shared huge page copies: all of it, or one base page"),
    one_of("thp.zero_write", &["huge", "split"], "What a write to the huge zero page gets: a huge page, or base pages"),
    flag("thp.max_ptes_swap", "khugepaged reads swapped pages back to make a huge page"),
    flag("thp.max_ptes_shared", "khugepaged collapses pages that are mapped more than once"),
    flag("thp.migration", "Huge pages move whole"),
    flag("thp.shmem", "Shared memory and tmpfs have huge pages"),
];

/// The planned switch called `key`.
pub(crate) fn find(key: &str) -> Option<&'static Planned> {
    PLANNED.iter().find(|planned| planned.key == key)
}

impl Planned {
    /// What may be needed of it, for a message.
    pub(crate) fn expected(&self) -> String {
        let values = self.values.join(" or ");
        format!("{values}, or {OFF} to take a need of the base back")
    }

    /// The value written `text`; `None` for [`OFF`].
    pub(crate) fn value(&self, text: &str) -> Option<Option<&'static str>> {
        if text == OFF {
            return Some(None);
        }
        self.values.iter().find(|value| **value == text).map(|value| Some(*value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    #[test]
    fn no_switch_is_planned_twice_or_exists_already() {
        for (at, planned) in PLANNED.iter().enumerate() {
            assert!(PLANNED[..at].iter().all(|before| before.key != planned.key), "{} twice", planned.key);
            assert!(table::find(planned.key).is_none(), "{} exists", planned.key);
            assert!(planned.key.contains('.') && !planned.values.contains(&OFF), "{}", planned.key);
        }
    }
}
