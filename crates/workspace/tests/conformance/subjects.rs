//! Subjects of the engine: the document of each, and the modules that belong to it.

/// A subject with its document.
pub(crate) struct Subject {
    /// File in docs/.
    pub(crate) document: &'static str,
    /// Heading on the page.
    pub(crate) title: &'static str,
    /// Words for headings below it.
    pub(crate) short: &'static str,
    /// Folders and files, without ending, that belong to it wherever they stand.
    modules: &'static [&'static str],
}

const fn subject(
    document: &'static str,
    title: &'static str,
    short: &'static str,
    modules: &'static [&'static str],
) -> Subject {
    Subject { document, title, short, modules }
}

/// All subjects. A file belongs to the first one that has one of its folders, or the file itself; to the last one otherwise.
pub(crate) const SUBJECTS: &[Subject] = &[
    subject("settings.md", "Settings and files of /proc and /sys", "settings", &["procfs"]),
    subject(
        "numa.md",
        "NUMA: placement, memory policies, balancing",
        "NUMA",
        &["access_level", "mempolicy", "numa_balancing", "numa_cases", "placement", "placements"],
    ),
    subject("hugetlb.md", "hugetlb pools", "pools", &["hugetlb"]),
    subject("thp.md", "Transparent huge pages", "huge pages", &["huge", "shmem", "thp", "tmpfs"]),
    subject("index.md", "The pageblock index", "the index", &["index", "indexed"]),
    subject("compaction.md", "Compaction", "compaction", &["compaction", "outlook"]),
    subject("migration.md", "Migration", "migration", &["isolate", "migrate"]),
    subject("slab.md", "Slab caches and shrinkers", "slab caches", &["fs_cache", "shrinker", "slab"]),
    subject(
        "reclaim.md",
        "Reclaim and kswapd",
        "reclaim",
        &["kswapd", "out_of_memory", "pressure", "reclaim", "swap", "throttle"],
    ),
    subject("lru.md", "LRU lists", "LRU lists", &["lru", "workingset"]),
    subject("page-cache.md", "The page cache", "the page cache", &["page_cache"]),
    subject("allocator.md", "The allocator", "the allocator", &["frames", "page_alloc", "slow_path", "suitable"]),
    subject("architecture.md", "Address spaces, tasks and the engine as a whole", "the engine", &[]),
];

/// Position in [`SUBJECTS`] of the subject to which the file at `path` belongs.
pub(crate) fn subject_of(path: &str) -> usize {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let has = |subject: &Subject| path.split('/').any(|part| subject.modules.contains(&part));
    SUBJECTS.iter().position(has).unwrap_or(SUBJECTS.len() - 1)
}

#[test]
fn a_file_belongs_to_the_first_subject_that_has_a_part_of_its_path() {
    let document = |path| SUBJECTS[subject_of(path)].document;
    assert_eq!(document("crates/mm/src/pages/thp/placement/tests.rs"), "numa.md");
    assert_eq!(document("crates/mm/src/pages/thp/tests/faults.rs"), "thp.md");
    assert_eq!(document("crates/frames/src/index/set.rs"), "index.md");
    assert_eq!(document("crates/frames/src/buddy/tests.rs"), "allocator.md");
    assert_eq!(document("crates/mm/src/boot.rs"), "architecture.md");
}
