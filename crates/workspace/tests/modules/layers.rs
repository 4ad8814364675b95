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
            "alloc_error",
            "daemon_request",
            "daemons",
            "layout",
            "lru_list",
            "policy",
            "runs",
            "trace",
            "vmstat",
            "wakeups",
            "work",
        ],
        cycle: "",
    },
    Layer { name: "physical memory", modules: &["phys", "suitable"], cycle: "" },
    Layer { name: "LRU", modules: &["lru", "page_flags", "workingset"], cycle: "" },
    Layer {
        name: "pages in use",
        modules: &[
            "fs_cache",
            "hugetlb",
            "isolate",
            "mempolicy",
            "numa_balancing",
            "page_alloc",
            "page_cache",
            "pages",
            "pin",
            "settings",
            "shmem",
            "slab",
            "space",
            "swap",
            "tags",
            "thp",
        ],
        cycle: "",
    },
    Layer {
        name: "moving and reclaim",
        modules: &["compaction", "heard", "kswapd", "migrate", "reclaim", "reorder", "shrinker"],
        cycle: "",
    },
    Layer { name: "slow path", modules: &["env", "slow_path"], cycle: "" },
    Layer { name: "whole", modules: &["boot", "check", "levels", "mm", "outlook", "page_view", "tunables"], cycle: "" },
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
