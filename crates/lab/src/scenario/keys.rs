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
    key("workload", "a name", "what runs", "must be given"),
    key(
        "machine",
        "a built-in machine, a machine file, or a snapshot file",
        "CPUs, nodes, memory and prices",
        "`xeon-1s`",
    ),
    key("node_memory", "a size", "memory of every node, in place of what the machine has", "as the machine has it"),
    key(
        "prices",
        "a built-in machine or a machine file",
        "whose prices count on the machine of a snapshot",
        "`epyc-vm`",
    ),
    key(
        "policies",
        "list of built-in policies, policy files, or `host`",
        "what is compared, with the first one",
        "`[\"linux-6.18\"]`; `[\"host\"]` from a snapshot of one",
    ),
    key(
        "ablate",
        "a built-in policy or a policy file",
        "instead of `policies`: what is taken apart, switch by switch",
        "",
    ),
    key("against", "a built-in policy or a policy file", "with `ablate`: what it is held against", "must be given"),
    key(
        "seeds",
        "a number, or a list of seeds",
        "how often every policy runs, each time with [another seed](#seeds)",
        "3, or 1 where runs are long",
    ),
    key("parameters", "table", "of the workload, see below", ""),
    key("memory.start", "`empty`, `synthetic` or `snapshot`", "what memory holds at the start", "`empty`"),
    key("memory.path", "a snapshot file", "with `snapshot`: the map", "must be given"),
    key("memory.fill", "a share from 0 to 1", "with `synthetic`: memory in use", "0.7"),
    key("memory.unmovable", "a share", "of all memory: held by the kernel for good", "0.03"),
    key("memory.reclaimable", "a share", "of all memory: reclaimable slab", "0.02"),
    key("memory.pinned", "a share", "of all memory: pinned for long", "0"),
    key("memory.huge", "a share", "of all memory: anonymous huge pages", "0.1"),
    key("memory.clean_cache", "a share", "of all memory: clean page cache that nobody maps", "0.25"),
    key(
        "memory.pattern",
        "a word, see `order9 snapshot synth --help`",
        "how used and free frames lie between each other",
        "`aged`",
    ),
    key("memory.degree", "a share", "of free memory: scattered in partly used pageblocks", "0.8"),
    key("memory.contamination", "a share", "of partly used pageblocks: hold one unmovable page", "0.2"),
    key(
        "memory.seed",
        "a number",
        "same seed, same memory for every run; without it each run has its own, by its own seed",
        "the seed of the run",
    ),
    key(
        "boot.cmdline",
        "kernel parameters, separated by blanks",
        "what the kernel is booted with; see settings.md",
        "`\"\"`",
    ),
    key(
        "settings",
        "table",
        "Linux' names and what is written to them before the start, in this order; see settings.md",
        "",
    ),
    key(
        "record.every",
        "a length of time, at least `\"1ms\"`",
        "how often counters are read, in virtual time",
        "200 to 400 times a run, but at least each second; `fsmark` 10 s, `uptime` 10 min",
    ),
    key("record.events", "list of tracepoints", "which events are kept", "none"),
    key(
        "record.check",
        "a number, 0 for never",
        "after how many steps all laws are checked, and the content of every page",
        "`0`",
    ),
    key(
        "case",
        "tables `[[case]]`",
        "[cases](#cases): each is an experiment under the same policies, and a row of one table",
        "",
    ),
    key("case.name", "up to 80 characters", "what its row is called", "must be given"),
    key("case.machines", "list of machines", "in place of `case.machine`: a row for each of them", ""),
];

/// The names of all keys.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(|key| key.key)
}
