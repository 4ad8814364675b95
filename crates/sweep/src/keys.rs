//! Keys of a plan.

/// A key of a plan.
#[derive(Debug)]
pub struct Key {
    /// The key with its table.
    pub key: &'static str,
    /// The accepted values, in words.
    pub takes: &'static str,
    /// The effect of the key, in words.
    pub meaning: &'static str,
}

const fn key(key: &'static str, takes: &'static str, meaning: &'static str) -> Key {
    Key { key, takes, meaning }
}

/// Every key of a plan. What a scenario file says of one experiment, a plan says of every cell, by the same keys.
pub static KEYS: &[Key] = &[
    key("workload", "a name", "the workload, where there is one"),
    key("workloads", "list of names", "axis of workloads, in place of `workload`"),
    key("policies", "list of policies", "axis of policies, as in a scenario; a policy may have changes behind it"),
    key("machine", "a machine", "the machine, where there is one"),
    key("machines", "list of machines", "axis of machines, in place of `machine`"),
    key("prices", "a machine", "machine whose prices count for snapshots"),
    key("node_memory", "a size", "memory of every node, in place of the machine's"),
    key("memory", "table, or tables `[[memory]]`", "memory at the start; several are an axis, each with a `name`"),
    key("seeds", "a number, or a list", "axis of seeds, in place of `until`"),
    key("parameters", "table", "parameters that all cells have whose workload has them"),
    key("settings", "table", "settings that all cells have"),
    key("boot.cmdline", "kernel parameters", "command line of the kernel in all cells"),
    key("record.every", "a length of time", "interval between readings of counters"),
    key("record.check", "a number", "number of steps after which all laws are checked"),
    key("axes.parameters", "table of lists", "axes of parameters: a list of values each"),
    key("axes.settings", "table of lists", "axes of settings: a list of values each"),
    key(
        "exclude",
        "tables `[[exclude]]`",
        "combinations that are left out: an axis with a value, or a list of values, on each line",
    ),
    key(
        "until.measure",
        "an operation and a statistic, or a list",
        "measures that must be known well enough before a point ends",
    ),
    key(
        "until.interval",
        "a share in percent",
        "largest half width of the 95 % confidence interval of the mean over seeds",
    ),
    key("until.seeds", "two numbers", "least and most seeds of a point"),
];

/// The names of all keys.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.key)
}
