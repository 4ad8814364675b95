//! Keys of a scenario file.

/// A key of a scenario file.
#[derive(Debug)]
pub struct Key {
    /// The key with its table.
    pub key: &'static str,
    /// The accepted values, in words.
    pub takes: &'static str,
    /// The effect of the key, in words.
    pub meaning: &'static str,
    /// The value without the key, in words.
    pub default: &'static str,
}

const fn key(key: &'static str, takes: &'static str, meaning: &'static str, default: &'static str) -> Key {
    Key { key, takes, meaning, default }
}

/// Every key, but for those of parameters and settings, which have tables of their own.
pub static KEYS: &[Key] = &[
    key("workload", "a name", "workload to run", "must be given"),
    key(
        "machine",
        "a built-in machine, a machine file, or a snapshot file",
        "CPUs, nodes, memory and prices",
        "`xeon-1s`",
    ),
    key("node_memory", "a size", "memory of every node, in place of the machine's", "as the machine has it"),
    key("prices", "a built-in machine or a machine file", "machine whose prices count for a snapshot", "`epyc-vm`"),
    key(
        "policies",
        "list of built-in policies, policy files, or `host`",
        "policies to compare with the first one",
        "`[\"linux-6.18\"]`; `[\"host\"]` from a snapshot of one",
    ),
    key(
        "ablate",
        "a built-in policy or a policy file",
        "instead of `policies`: the policy that is taken apart, switch by switch",
        "",
    ),
    key(
        "against",
        "a built-in policy or a policy file",
        "with `ablate`: the policy to compare it with",
        "must be given",
    ),
    key(
        "seeds",
        "a number, or a list of seeds",
        "number of runs of every policy, each with [another seed](#seeds)",
        "3, or 1 where runs are long",
    ),
    key("parameters", "table", "parameters of the workload, see below", ""),
    key("memory.start", "`empty`, `synthetic` or `snapshot`", "contents of memory at the start", "`empty`"),
    key("memory.path", "a snapshot file", "with `snapshot`: the map", "must be given"),
    key("memory.fill", "a share from 0 to 1", "with `synthetic`: share of memory in use", "0.7"),
    key("memory.unmovable", "a share", "share of all memory that the kernel holds for good", "0.03"),
    key("memory.reclaimable", "a share", "share of reclaimable slab in all memory", "0.02"),
    key("memory.pinned", "a share", "share of all memory that is pinned for long", "0"),
    key("memory.huge", "a share", "share of anonymous huge pages in all memory", "0.1"),
    key("memory.clean_cache", "a share", "share of clean, unmapped page cache in all memory", "0.25"),
    key(
        "memory.pattern",
        "a word, see `order9 snapshot synth --help`",
        "arrangement of used and free frames",
        "`aged`",
    ),
    key("memory.degree", "a share", "share of free memory that is scattered in partly used pageblocks", "0.8"),
    key("memory.contamination", "a share", "share of partly used pageblocks that hold one unmovable page", "0.2"),
    key(
        "memory.seed",
        "a number",
        "seed of one memory for every run; without it each run has memory of its own, by its own seed",
        "the seed of the run",
    ),
    key(
        "boot.cmdline",
        "kernel parameters, separated by blanks",
        "command line of the kernel; see settings.md",
        "`\"\"`",
    ),
    key(
        "settings",
        "table",
        "Linux' names with the values that are written before the start, in this order; see settings.md",
        "",
    ),
    key(
        "record.every",
        "a length of time, at least `\"1ms\"`",
        "interval between readings of counters, in virtual time",
        "200 to 400 times a run, but at least each second; `fsmark` 10 s, `uptime` 10 min",
    ),
    key(
        "record.maps",
        "a length of time, at least `\"1ms\"`",
        "interval between maps of memory, each taken when counters are read",
        "none",
    ),
    key("record.events", "list of tracepoints", "events that are kept", "none"),
    key(
        "record.check",
        "a number, 0 for never",
        "number of steps after which all laws are checked, and the content of every page",
        "`0`",
    ),
    key(
        "case",
        "tables `[[case]]`",
        "[cases](#cases): each is an experiment under the same policies, and a row of one table",
        "",
    ),
    key("case.name", "up to 80 characters", "name of its row", "must be given"),
    key("case.machines", "list of machines", "machines in place of `case.machine`: a row for each", ""),
];

/// The names of all keys.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.key)
}
