//! Settings that bear on huge pages, and what their values mean.

use schemars::JsonSchema;
use serde::Serialize;

use crate::Snapshot;
use order9_units::metrics::proactive_thresholds;
use order9_units::{HugeDefrag, HugeEnabled};

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Setting {
    /// Linux path of the setting.
    pub path: String,
    /// Value of the setting as read.
    pub value: String,
    /// Meaning of the value, where that bears on the findings.
    pub meaning: Option<String>,
}

/// Says what a value means; the snapshot for those that depend on others.
type Meaning = fn(&str, &Snapshot) -> Option<String>;

const THP: &str = "/sys/kernel/mm/transparent_hugepage";
const VM: &str = "/proc/sys/vm";

/// The settings, by directory, in the order of the report.
const SETTINGS: [(&str, &str, Meaning); 22] = [
    (THP, "enabled", enabled),
    (THP, "hugepages-2048kB/enabled", enabled),
    (THP, "defrag", defrag),
    (THP, "shmem_enabled", none),
    (THP, "hugepages-2048kB/shmem_enabled", none),
    (THP, "khugepaged/defrag", khugepaged_defrag),
    (THP, "khugepaged/pages_to_scan", khugepaged_pace),
    (THP, "khugepaged/scan_sleep_millisecs", none),
    (THP, "khugepaged/max_ptes_none", max_ptes_none),
    (VM, "compaction_proactiveness", proactiveness),
    (VM, "extfrag_threshold", none),
    (VM, "compact_unevictable_allowed", unevictable),
    (VM, "defrag_mode", defrag_mode),
    (VM, "min_free_kbytes", none),
    (VM, "watermark_boost_factor", boost),
    (VM, "watermark_scale_factor", none),
    (VM, "swappiness", none),
    (VM, "vfs_cache_pressure", none),
    (VM, "zone_reclaim_mode", none),
    (VM, "nr_hugepages", none),
    (VM, "nr_overcommit_hugepages", none),
    ("/proc/sys/kernel", "numa_balancing", none),
];

/// Linux paths of all settings that an inspection looks for, in its order.
pub fn paths() -> impl Iterator<Item = String> {
    SETTINGS.into_iter().map(|(directory, name, _)| format!("{directory}/{name}"))
}

/// The settings that the snapshot has.
pub(super) fn of(snapshot: &Snapshot) -> Vec<Setting> {
    let read = |(directory, name, meaning): (&str, &str, Meaning)| {
        let path = format!("{directory}/{name}");
        let value = snapshot.settings.get(&path)?.clone();
        let meaning = meaning(chosen(&value), snapshot);
        Some(Setting { path, value, meaning })
    };
    SETTINGS.into_iter().filter_map(read).collect()
}

/// The value in brackets of a list like `always [madvise] never`; the whole text where there is none.
fn chosen(value: &str) -> &str {
    let inside = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(value.trim(), |(chosen, _)| chosen)
}

fn none(_: &str, _: &Snapshot) -> Option<String> {
    None
}

fn say(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn enabled(value: &str, _: &Snapshot) -> Option<String> {
    match HugeEnabled::find(value)? {
        HugeEnabled::Always => say("all anonymous memory may use 2 MiB pages"),
        HugeEnabled::Madvise => say("only memory that asked with madvise(MADV_HUGEPAGE) uses 2 MiB pages"),
        HugeEnabled::Never => say("anonymous memory uses no 2 MiB pages, even where some are free"),
    }
}

fn defrag(value: &str, _: &Snapshot) -> Option<String> {
    match HugeDefrag::find(value)? {
        HugeDefrag::Always => say("a page fault waits for reclaim and compaction to make its huge page"),
        HugeDefrag::Defer => {
            say("a page fault takes a huge page only if one is free, and wakes kcompactd for later ones")
        }
        HugeDefrag::DeferMadvise => say("memory that asked waits for compaction; other faults only wake kcompactd"),
        HugeDefrag::Madvise => say("only memory that asked with madvise(MADV_HUGEPAGE) waits for compaction"),
        HugeDefrag::Never => say("a page fault takes a huge page only if one is free; nothing is compacted for it"),
    }
}

fn khugepaged_defrag(value: &str, _: &Snapshot) -> Option<String> {
    match value {
        "0" => say("khugepaged takes huge pages that are free and compacts nothing"),
        "1" => say("khugepaged may compact to get a huge page"),
        _ => None,
    }
}

fn khugepaged_pace(value: &str, snapshot: &Snapshot) -> Option<String> {
    let pages: u64 = value.parse().ok()?;
    let sleep = snapshot.settings.get(&format!("{THP}/khugepaged/scan_sleep_millisecs"))?;
    let sleep_ms: u64 = sleep.trim().parse().ok().filter(|&ms| ms > 0)?;
    let kib_per_s = pages.saturating_mul(4).saturating_mul(1000) / sleep_ms;
    Some(format!("khugepaged looks at {kib_per_s} kB of memory per second at most"))
}

fn max_ptes_none(value: &str, _: &Snapshot) -> Option<String> {
    match value {
        "0" => say("khugepaged collapses only ranges whose pages are all in use"),
        "511" => say("khugepaged makes a huge page of a range with a single page in use"),
        _ => None,
    }
}

fn proactiveness(value: &str, _: &Snapshot) -> Option<String> {
    match value.parse() {
        Ok(0) => say("the kernel never compacts on its own"),
        Ok(value) => {
            let (low, high) = proactive_thresholds(value);
            Some(format!("the kernel compacts a node on its own above score {high}, down to {low}"))
        }
        Err(_) => None,
    }
}

fn unevictable(value: &str, _: &Snapshot) -> Option<String> {
    (value == "0").then(|| "compaction leaves mlocked pages where they are".to_owned())
}

fn defrag_mode(value: &str, _: &Snapshot) -> Option<String> {
    (value == "1").then(|| "the allocator reclaims and compacts before it mixes types in a block".to_owned())
}

fn boost(value: &str, _: &Snapshot) -> Option<String> {
    (value == "0").then(|| "mixing types in a block does not wake kswapd".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_explained_where_that_helps() {
        let mut snapshot = Snapshot::default();
        let mut set = |path: &str, value: &str| snapshot.settings.insert(path.to_owned(), value.to_owned());
        set("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
        set("/sys/kernel/mm/transparent_hugepage/khugepaged/pages_to_scan", "4096");
        set("/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs", "10000");
        set("/proc/sys/vm/compaction_proactiveness", "20");
        let settings = of(&snapshot);
        let meaning = |i: usize| settings[i].meaning.as_deref().unwrap_or_default();
        assert!(meaning(0).starts_with("only memory that asked"));
        assert!(meaning(1).contains("1638 kB"));
        assert_eq!(settings[2].meaning, None);
        assert!(meaning(3).contains("above score 90, down to 80"));
    }
}
