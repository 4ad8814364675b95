//! Columns of the table of facts: name, meaning, and the function that reads the value. A new column is a row of this file.

use order9_snapshot::classify::FrameClass;
use order9_snapshot::inspection::{Findings, HeldBy, Inspection, NodeView, View, ZoneView, setting_paths};
use order9_units::{PAGEBLOCK_PAGES, ZoneKind};

/// A column of whole numbers. It is null in rows of levels that do not have it, and where nothing is known.
#[derive(Clone, Debug)]
pub struct Number {
    /// Name of the column, with the unit at its end where that is not a number of huge pages or pageblocks.
    pub name: String,
    /// Meaning of the values, in words.
    pub meaning: String,
    read: Read,
}

/// Subject of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    Host(&'a Inspection),
    Node(&'a NodeView),
    Zone(&'a ZoneView),
    Owner(&'a HeldBy),
}

#[derive(Clone, Copy, Debug)]
enum Read {
    Machine(fn(&Inspection) -> Option<u64>),
    Counter(&'static str),
    Memory(fn(&View) -> u64),
    Map(fn(&Findings) -> u64),
    Class(FrameClass),
    Node(fn(&NodeView) -> Option<u64>),
    Zone(fn(&ZoneView) -> Option<u64>),
    Owner(fn(&HeldBy) -> u64),
}

impl Number {
    /// Value of the column for `subject`.
    pub(crate) fn of(&self, subject: Subject<'_>) -> Option<u64> {
        let view = match subject {
            Subject::Host(inspection) => Some(&inspection.total),
            Subject::Node(node) => Some(&node.view),
            Subject::Zone(zone) => Some(&zone.view),
            Subject::Owner(_) => None,
        };
        let findings = view.and_then(|view| view.findings.as_ref());
        match (self.read, subject) {
            (Read::Machine(read), Subject::Host(inspection)) => read(inspection),
            (Read::Counter(name), Subject::Host(inspection)) => inspection.counters.vmstat.get(name).copied(),
            (Read::Memory(read), _) => view.map(read),
            (Read::Map(read), _) => findings.map(read),
            (Read::Class(class), _) => findings.map(|found| found.census.get(&class).map_or(0, |pages| pages.get())),
            (Read::Node(read), Subject::Node(node)) => read(node),
            (Read::Zone(read), Subject::Zone(zone)) => read(zone),
            (Read::Owner(read), Subject::Owner(held)) => Some(read(held)),
            _ => None,
        }
    }
}

/// Rows of the list below.
type Listed = (&'static str, &'static str, Read);

const MACHINE: &[Listed] = &[
    ("cpus", "online CPUs", Read::Machine(|of| Some(of.machine.cpus.into()))),
    ("nodes", "NUMA nodes", Read::Machine(|of| Some(of.nodes.len() as u64))),
    ("uptime_hours", "whole hours since boot", Read::Machine(|of| of.machine.uptime.map(|up| up.get() / HOUR))),
    ("files_missing", "files that the capture could not read", Read::Machine(|of| Some(of.missing.len() as u64))),
    (
        "contradictions",
        "contradictions between map and counters",
        Read::Machine(|of| Some(of.inconsistencies.len() as u64)),
    ),
];

const HOUR: u64 = 3_600_000_000_000;

const MEMORY: &[Listed] = &[
    ("present_pages", "frames that exist", Read::Memory(|of| of.present.get())),
    ("managed_pages", "frames that the allocator was given", Read::Memory(|of| of.managed.get())),
    ("free_pages", "free pages", Read::Memory(|of| of.free.get())),
    (
        "free_huge",
        "free huge pages, from /proc/buddyinfo: blocks of order 9, and twice those of order 10",
        Read::Memory(|of| of.free_in_huge_pages.get() / PAGEBLOCK_PAGES.get()),
    ),
];

/// Sums without zone DMA: nearly all of its 16 MiB is kept from requests that could use other zones, so that its free huge pages
/// are nobody's.
const ORDINARY: &[Listed] = &[
    (
        "free_huge_ordinary",
        "free huge pages outside zone DMA",
        Read::Machine(|of| {
            Some(ordinary(of).map(|zone| zone.view.free_in_huge_pages.get()).sum::<u64>() / PAGEBLOCK_PAGES.get())
        }),
    ),
    (
        "recoverable_ordinary",
        "huge pages outside zone DMA that moving pages could add",
        Read::Machine(|of| ordinary(of).map(|zone| Some(zone.view.findings.as_ref()?.by_moving.huge_pages)).sum()),
    ),
];

fn ordinary(of: &Inspection) -> impl Iterator<Item = &ZoneView> {
    of.nodes.iter().flat_map(|node| &node.zones).filter(|zone| zone.name != ZoneKind::Dma.name())
}

const MAP: &[Listed] = &[
    ("blocks", "pageblocks with at least one frame", Read::Map(|of| of.blocks.total)),
    ("blocks_free", "pageblocks that are free from end to end", Read::Map(|of| of.blocks.free)),
    ("blocks_huge", "pageblocks that are a huge page in use", Read::Map(|of| of.blocks.huge)),
    ("blocks_evacuable", "pageblocks of free and movable frames", Read::Map(|of| of.blocks.evacuable)),
    ("blocks_slab", "pageblocks held by reclaimable slab alone", Read::Map(|of| of.blocks.slab)),
    ("blocks_unmarked", "pageblocks that per-CPU free pages may hold alone", Read::Map(|of| of.blocks.unmarked)),
    ("blocks_lost", "pageblocks held by frames that stay", Read::Map(|of| of.blocks.lost)),
    ("blocks_partial", "pageblocks beside a hole or the end of a zone", Read::Map(|of| of.blocks.partial)),
    ("blocks_deferred", "pageblocks that are not initialised yet", Read::Map(|of| of.blocks.deferred)),
    ("lost_by_one_page", "lost pageblocks that a single page holds", Read::Map(|of| of.lost.by_one_page)),
    ("recoverable", "huge pages that moving pages could add", Read::Map(|of| of.by_moving.huge_pages)),
    ("recoverable_moves", "least number of moves for them", Read::Map(|of| of.by_moving.moves.get())),
    (
        "recoverable_in_linux",
        "huge pages that moving pages to movable pageblocks alone could add",
        Read::Map(|of| of.by_moving_in_linux.huge_pages),
    ),
    (
        "recoverable_if_drained",
        "huge pages that moving pages could add at best once per-CPU lists are drained",
        Read::Map(|of| of.by_moving_if_drained.huge_pages),
    ),
    (
        "recoverable_if_dropped",
        "huge pages that moving pages could add once caches are dropped",
        Read::Map(|of| of.by_dropping.huge_pages),
    ),
    ("movable_pages", "pages that compaction can move", Read::Map(movable)),
    ("staying_pages", "pages that compaction cannot move, huge pages in use among them", Read::Map(staying)),
    ("gib_areas", "aligned areas of 1 GiB with at least one frame", Read::Map(|of| of.gigabytes.total)),
    ("gib_free", "areas of 1 GiB that are free from end to end", Read::Map(|of| of.gigabytes.free)),
    ("gib_clean", "areas of 1 GiB of free and movable pages", Read::Map(|of| of.gigabytes.clean)),
    ("gib_tainted", "areas of 1 GiB with pages that stay", Read::Map(|of| of.gigabytes.tainted)),
    ("gib_hugetlb", "areas of 1 GiB of hugetlb pages", Read::Map(|of| of.gigabytes.hugetlb)),
    ("gib_partial", "areas of 1 GiB with a hole or of two zones", Read::Map(|of| of.gigabytes.partial)),
    ("gib_recoverable", "areas of 1 GiB that moving pages could free", Read::Map(|of| of.gigabytes.recoverable)),
    ("gib_moves", "least number of moves for them", Read::Map(|of| of.gigabytes.moves.get())),
    (
        "gib_tainted_by_one",
        "areas of 1 GiB whose pages that stay lie in a single pageblock",
        Read::Map(|of| of.gigabytes.tainted_by.first().map_or(0, |few| few.areas)),
    ),
];

const PLACES: &[Listed] = &[
    ("score", "fragmentation score of proactive compaction", Read::Node(|of| Some(of.proactive.score))),
    ("zone_score", "the same, of the zone alone", Read::Zone(|of| Some(of.proactive.score))),
    ("min_pages", "watermark min", Read::Zone(|of| Some(of.watermarks.min.get()))),
    ("low_pages", "watermark low", Read::Zone(|of| Some(of.watermarks.low.get()))),
    ("high_pages", "watermark high", Read::Zone(|of| Some(of.watermarks.high.get()))),
    (
        "per_cpu_pages",
        "free pages on per-CPU lists, as the kernel counts them",
        Read::Zone(|of| Some(of.on_cpu_lists.get())),
    ),
    (
        "allocatable",
        "huge pages that can be allocated above the low watermark if pages move as needed",
        Read::Zone(|of| of.allocation.map(|allocation| allocation.above_low)),
    ),
];

const OWNERS: &[Listed] = &[
    ("held_blocks", "lost pageblocks that this owner holds mostly", Read::Owner(|of| of.blocks)),
    ("held_alone", "of these, pageblocks without other pages that stay", Read::Owner(|of| of.alone)),
    ("held_pages", "pages of this owner in lost pageblocks", Read::Owner(|of| of.pages.get())),
];

/// Counters of /proc/vmstat since boot.
const COUNTERS: [&str; 12] = [
    "compact_stall",
    "compact_success",
    "compact_fail",
    "compact_daemon_wake",
    "pgmigrate_success",
    "pgmigrate_fail",
    "thp_fault_alloc",
    "thp_fault_fallback",
    "thp_collapse_alloc",
    "thp_collapse_alloc_failed",
    "thp_split_page",
    "allocstall_movable",
];

fn movable(of: &Findings) -> u64 {
    of.census.iter().filter(|(class, _)| class.is_movable()).map(|(_, pages)| pages.get()).sum()
}

fn staying(of: &Findings) -> u64 {
    let free = of.census.get(&FrameClass::Free).map_or(0, |pages| pages.get());
    of.census.values().map(|pages| pages.get()).sum::<u64>() - free - movable(of)
}

/// All columns of numbers, in their order.
#[must_use]
pub fn numbers() -> Vec<Number> {
    let listed = |list: &'static [Listed]| {
        list.iter().map(|&(name, meaning, read)| Number { name: name.to_owned(), meaning: meaning.to_owned(), read })
    };
    let classes = FrameClass::ALL.into_iter().filter(|class| class.is_present() && *class != FrameClass::Free);
    let classes = classes.map(|class| Number {
        name: format!("{class}_pages"),
        meaning: format!("frames by class: {}", class.describe()),
        read: Read::Class(class),
    });
    let counters = COUNTERS.iter().map(|&name| Number {
        name: name.to_owned(),
        meaning: "counter of /proc/vmstat since boot".to_owned(),
        read: Read::Counter(name),
    });
    let first = listed(MACHINE).chain(listed(MEMORY)).chain(listed(ORDINARY)).chain(listed(MAP)).chain(classes);
    first.chain(listed(PLACES)).chain(listed(OWNERS)).chain(counters).collect()
}

/// Columns of settings: the name, and the Linux path that it stands for. Rows of hosts have the value, or an empty text.
pub fn settings() -> impl Iterator<Item = (String, String)> {
    setting_paths().map(|path| (setting_name(&path), path))
}

/// `vm_swappiness` for `/proc/sys/vm/swappiness`, `thp_enabled` for that of transparent huge pages.
fn setting_name(path: &str) -> String {
    let path = path.replace("/sys/kernel/mm/transparent_hugepage/", "thp_").replace("/proc/sys/", "");
    path.replace(['/', '-'], "_").to_lowercase()
}

/// The value in brackets of a list like `always [madvise] never`; the whole text where there is none.
pub(crate) fn chosen(value: &str) -> String {
    let inside = value.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let value = inside.map_or(value, |(chosen, _)| chosen);
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_identifiers_and_unique() {
        let mut names: Vec<String> = numbers().into_iter().map(|number| number.name).collect();
        names.extend(settings().map(|(name, _)| name));
        let is_identifier =
            |name: &String| name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        assert!(names.iter().all(is_identifier), "{names:?}");
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn settings_have_short_names_and_the_chosen_value() {
        let names: Vec<String> = settings().map(|(name, _)| name).collect();
        for name in [
            "thp_enabled",
            "thp_hugepages_2048kb_enabled",
            "thp_khugepaged_defrag",
            "vm_defrag_mode",
            "kernel_numa_balancing",
        ] {
            assert!(names.iter().any(|found| found == name), "{name} is none of {names:?}");
        }
        assert_eq!(chosen("always [madvise] never"), "madvise");
        assert_eq!(chosen("256\t32"), "256 32");
    }
}
