//! The most of everything that a machine with Linux can have. What a snapshot counts is not believed beyond it.

/// CPUs: `CONFIG_NR_CPUS` of x86-64 ends here.
pub const CPUS_MAX: u32 = 8192;

/// NUMA nodes: `CONFIG_NODES_SHIFT` of x86-64 ends at 10.
pub const NODES_MAX: u16 = 1024;
