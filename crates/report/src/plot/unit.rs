//! In which unit the values of a counter are, and of what is made of it.

/// Dimension of values, after levels in pages or KiB were converted to bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// An amount of memory or of data.
    Bytes,
    /// Pages that something was done to, counted each time.
    Pages,
    /// Aligned blocks of 2 MiB, or huge pages.
    Blocks,
    /// Number of events.
    Events,
    /// Percent of a whole.
    Percent,
    /// One quantity by another.
    Ratio,
    /// Time in seconds.
    Seconds,
    /// A number of things.
    Count,
}

/// The unit of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// Dimension of the values.
    pub quantity: Quantity,
    /// Whether values are per second.
    pub per_second: bool,
}

impl Unit {
    /// The unit of `quantity` as such.
    #[must_use]
    pub const fn of(quantity: Quantity) -> Self {
        Self { quantity, per_second: false }
    }

    /// The name that goes above an axis, in front of a `/s`; that of bytes depends on how many there are.
    #[must_use]
    pub(super) const fn noun(self) -> &'static str {
        match self.quantity {
            Quantity::Bytes => "bytes",
            Quantity::Pages => "pages",
            Quantity::Blocks => "x2MiB",
            Quantity::Events => "events",
            Quantity::Percent => "%",
            Quantity::Ratio => "ratio",
            Quantity::Seconds => "s",
            Quantity::Count => "",
        }
    }

    /// The name in messages: `pages/s`.
    #[must_use]
    pub fn name(self) -> String {
        format!("{}{}", self.noun(), if self.per_second { "/s" } else { "" })
    }
}

const PAGE: f64 = 4096.0;
const KIBIBYTE: f64 = 1024.0;

/// Fields of /proc/vmstat that begin with `nr_` and count pages as they come by; all others of pages are levels.
const COUNT_PAGES: [&str; 4] = ["nr_vmscan_write", "nr_vmscan_immediate_reclaim", "nr_dirtied", "nr_written"];

/// Beginnings of the names of counters of pages; all other counters are of events.
const OF_PAGES: [&str; 13] = [
    "pgalloc",
    "pgfree",
    "pgactivate",
    "pgdeactivate",
    "pgrefill",
    "pgskip",
    "pgsteal",
    "pgscan",
    "pgrotated",
    "pswp",
    "workingset_",
    "pgmigrate",
    "numa_",
];

/// Unit of the counter called `name`, and by what its values are multiplied to be in it.
#[must_use]
pub(super) fn of_counter(name: &str) -> (Quantity, f64) {
    let level = name.trim_start_matches("order9_");
    match name {
        "pgpgin" | "pgpgout" | "nr_kernel_stack" | "nr_shadow_call_stack" => (Quantity::Bytes, KIBIBYTE),
        "order9_nr_fragmentation_score" => (Quantity::Percent, 1.0),
        "pgscan_direct_throttle" | "numa_pte_updates" | "numa_huge_pte_updates" => (Quantity::Events, 1.0),
        "order9_boost_added" | "order9_gentle_reclaimed" | "order9_slab_pages_freed" => (Quantity::Pages, 1.0),
        "order9_huge_reclaimed" | "order9_huge_reclaimed_behind" => (Quantity::Pages, 1.0),
        _ if name.ends_with("_ns") => (Quantity::Seconds, 1e-9),
        _ if COUNT_PAGES.contains(&name) => (Quantity::Pages, 1.0),
        _ if level.starts_with("nr_huge_") || level.ends_with("_blocks") && name != level => (Quantity::Blocks, 1.0),
        _ if level.starts_with("nr_") && level.ends_with("hugepages") => (Quantity::Blocks, 1.0),
        _ if level.starts_with("nr_") => (Quantity::Bytes, PAGE),
        _ if OF_PAGES.iter().any(|start| name.starts_with(start)) || name.ends_with("_scanned") => {
            (if name == "slabs_scanned" { Quantity::Events } else { Quantity::Pages }, 1.0)
        }
        "compact_isolated" | "pginodesteal" | "kswapd_inodesteal" => (Quantity::Pages, 1.0),
        _ => (Quantity::Events, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_the_unit_that_linux_counts_in() {
        for (name, quantity, factor) in [
            ("nr_free_pages", Quantity::Bytes, 4096.0),
            ("nr_free_pages_blocks", Quantity::Bytes, 4096.0),
            ("order9_nr_polluting_pages", Quantity::Bytes, 4096.0),
            ("order9_nr_huge_free", Quantity::Blocks, 1.0),
            ("order9_nr_polluted_blocks", Quantity::Blocks, 1.0),
            ("nr_anon_transparent_hugepages", Quantity::Blocks, 1.0),
            ("nr_dirtied", Quantity::Pages, 1.0),
            ("pgpgin", Quantity::Bytes, 1024.0),
            ("pgscan_kswapd", Quantity::Pages, 1.0),
            ("compact_migrate_scanned", Quantity::Pages, 1.0),
            ("slabs_scanned", Quantity::Events, 1.0),
            ("pgfault", Quantity::Events, 1.0),
            ("order9_cpu_busy_ns", Quantity::Seconds, 1e-9),
            ("order9_nr_fragmentation_score", Quantity::Percent, 1.0),
        ] {
            assert_eq!(of_counter(name), (quantity, factor), "{name}");
        }
    }
}
