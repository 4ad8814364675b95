//! The layers of the engine, from the ground up.

/// Modules that may use each other as far as `cycle` allows, and everything below.
pub(crate) struct Layer {
    pub(crate) name: &'static str,
    /// Modules of `crates/mm`, by name; `folder::module` inside a folder that spans layers.
    pub(crate) modules: &'static [&'static str],
    /// Why modules of this layer need each other in circles; empty where they must not.
    pub(crate) cycle: &'static str,
}

/// Layers from the ground up. A module uses its own layer and those before it.
pub(crate) const LAYERS: &[Layer] = &[
    Layer {
        name: "vocabulary",
        modules: &[
            "access_level",
            "addr",
            "alloc_error",
            "compact_result",
            "daemon_request",
            "daemons",
            "errno",
            "ids",
            "layout",
            "lru_list",
            "migrate_counts",
            "migrate_reason",
            "policy",
            "reclaimer",
            "runs",
            "settings",
            "trace",
            "vmstat",
            "wakeups",
            "work",
        ],
        cycle: "",
    },
    Layer { name: "physical memory", modules: &["heard", "phys", "suitable"], cycle: "" },
    Layer {
        name: "pages in use",
        modules: &[
            "pages",
            "pages::fs_cache",
            "pages::hugetlb",
            "pages::isolate",
            "pages::lru",
            "pages::mempolicy",
            "pages::migrate",
            "pages::numa_balancing",
            "pages::page_alloc",
            "pages::page_cache",
            "pages::page_flags",
            "pages::pin",
            "pages::shmem",
            "pages::shrinker",
            "pages::slab",
            "pages::space",
            "pages::swap",
            "pages::tags",
            "pages::thp",
            "pages::wake",
            "pages::workingset",
        ],
        cycle: "a page may be a program's, a file's, in swap and part of a huge page at once, and each of these changes with the others",
    },
    Layer { name: "moving and reclaim", modules: &["compaction", "kswapd", "reclaim"], cycle: "" },
    Layer {
        name: "whole",
        modules: &["boot", "check", "levels", "mm", "outlook", "page_view", "reorder", "tunables"],
        cycle: "",
    },
    Layer { name: "worlds", modules: &["env"], cycle: "" },
    Layer { name: "tasks", modules: &["tasks"], cycle: "" },
];

/// The listed module that `path` lies in: the longest that it begins with.
pub(crate) fn module(path: &[String]) -> Option<String> {
    let fits = |name: &&&str| name.split("::").count() <= path.len() && name.split("::").zip(path).all(|(a, b)| a == b);
    let modules = LAYERS.iter().flat_map(|layer| layer.modules);
    modules.filter(fits).max_by_key(|name| name.len()).map(|name| (*name).to_owned())
}

/// The layer of a listed module, counted from the ground.
pub(crate) fn height(module: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.modules.contains(&module));
    found.unwrap_or_else(|| panic!("{module} stands in no layer"))
}

/// The row of a layer in docs/architecture.md.
pub(crate) fn row(at: usize, layer: &Layer) -> String {
    let modules: Vec<String> = layer.modules.iter().map(|name| format!("`{name}`")).collect();
    format!("| {at} | {} | {} | {} |", layer.name, modules.join(", "), layer.cycle)
}
